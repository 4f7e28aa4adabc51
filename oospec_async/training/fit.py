"""``oospec-train train``: rows and a model in, an adapter out."""

from __future__ import annotations

import json
import math
import sys
from dataclasses import asdict, dataclass
from pathlib import Path

from rich.console import Console
from rich.progress import BarColumn, Progress, TextColumn, TimeElapsedColumn, TimeRemainingColumn

from oospec_async.errors import OospecError
from oospec_async.files import check_adapter, write_atomically
from oospec_async.models.codec import TokenizerCodec
from oospec_async.models.fetch import resolve
from oospec_async.models.load import load
from oospec_async.provenance import software
from oospec_async.runtime.devices import claim, parse_device
from oospec_async.training.manifest import sha256
from oospec_async.training.recipe import RECIPES
from oospec_async.training.stage import read_lines
from oospec_async.training.train import Report, Trainer, TrainOptions


@dataclass(frozen=True)
class FitOptions:
    rows: tuple[Path, ...]
    sidecar: str
    recipe: str
    budget: float | None  # minutes
    device: str
    dtype: str
    seed: int
    out: Path
    begin: Path | None = None


def fit(options: FitOptions) -> None:
    """Train until the end, the budget or an early stop; go on from a checkpoint in ``out``. Raises OospecError."""
    device = parse_device(options.device)
    claim(device)
    if options.begin is not None:
        check_adapter(options.begin)
    lines = [row for path in options.rows for row in read_lines(path, "id", "split", "request", "rows")]
    try:
        options.out.mkdir(parents=True, exist_ok=True)
    except OSError as error:
        raise OospecError(f"--out {options.out}: cannot be made: {error.strerror}") from None
    files = resolve(options.sidecar)
    loaded = load(files.path, name=options.sidecar, dtype=options.dtype, device=device.torch_name)
    loaded.model.name_or_path = loaded.model.config._name_or_path = options.sidecar  # what the adapter says it fits
    recipe = RECIPES[options.recipe]
    trainer = Trainer(
        loaded.model, TokenizerCodec(loaded.tokenizer), lines,
        TrainOptions(recipe, options.seed, options.out, options.budget, options.begin),
    )  # fmt: skip
    step = trainer.resume()
    err = Console(stderr=True)
    if step:
        err.print(f"going on after step {step}", style="dim")
    columns = (TextColumn("{task.description}"), BarColumn(), TimeElapsedColumn(), TimeRemainingColumn())
    history: list[Report] = []
    with Progress(*columns, console=err) as progress:
        task = progress.add_task("step", total=None)
        for report in trainer.run():
            progress.update(task, completed=report.step, total=report.steps, description=_line(report))
            if report.dev_loss is not None:
                history.append(report)
                progress.console.print(_line(report), style="dim")
    counts = {
        "steps": history[-1].step if history else 0,
        "tokens": history[-1].tokens if history else 0,
        "left out, too long": history[-1].left_out if history else 0,
        "dev loss by step": [[r.step, r.dev_loss] for r in history],
    }
    manifest = {
        "stage": "train",
        "options": {"recipe": options.recipe, **asdict(recipe), "seed": options.seed, "dtype": options.dtype},
        "base": {"name": files.name, "source": files.source, "weights_sha256": files.weights_sha256},
        "sources": [{"path": str(path), "sha256": sha256(path)} for path in options.rows],
        "output": {"sha256": sha256(options.out / "adapter_model.safetensors")},
        "counts": counts,
        "software": software(),
    }
    write_atomically(options.out / "manifest.json", json.dumps(manifest, indent=1) + "\n", "manifest")
    sys.stdout.write(f"{options.out}\n")


def _line(report: Report) -> str:
    dev = "" if report.dev_loss is None else f", dev loss {report.dev_loss:.3f}"
    loss = "" if math.isnan(report.loss) else f" loss {report.loss:.3f}"
    return f"step {report.step}/{report.steps}{loss}{dev}, {report.tokens} tokens"
