"""``oospec-train train``: rows and a model in, an adapter out."""

from __future__ import annotations

import json
import math
import sys
from collections.abc import Sequence
from dataclasses import asdict, dataclass
from pathlib import Path

from rich.console import Console
from rich.progress import BarColumn, Progress, TextColumn, TimeElapsedColumn, TimeRemainingColumn

from oospec_async.devices import claim, parse_device
from oospec_async.errors import OospecError
from oospec_async.files.writing import check_writable, same_file, write_atomically
from oospec_async.recording.provenance import software
from oospec_async.request import Json
from oospec_async.target.codec import TokenizerCodec
from oospec_async.training.data.training_rows import TrainingRow, read_training_rows
from oospec_async.training.fit.adapter import WEIGHTS, check_begin
from oospec_async.training.fit.checkpoint import alone
from oospec_async.training.fit.recipe import RECIPES
from oospec_async.training.fit.trainer import Report, Trainer, TrainOptions
from oospec_async.training.manifest import sha256
from oospec_async.weights.adapters import describe_adapter, other_base
from oospec_async.weights.fetch import ModelFiles, resolve
from oospec_async.weights.load import check_device, load


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
    check_device(device.torch_name)
    if options.out.exists() and not options.out.is_dir():
        raise OospecError(f"--out {options.out}: is a file; name a directory for the adapter")
    if options.begin is not None:
        check_begin(options.begin, RECIPES[options.recipe])
        if same_file(options.begin, options.out):
            raise OospecError(f"--begin and --out are both {options.out}; name another --out")
        if (line := other_base(options.begin, options.sidecar)) is not None:
            print(line, file=sys.stderr)
    rows = read_training_rows(options.rows)
    files = resolve(options.sidecar)
    claim(device)
    trainer = _trainer(options, files, rows, device.torch_name)
    try:
        options.out.mkdir(parents=True, exist_ok=True)
    except OSError as error:
        raise OospecError(f"--out {options.out}: cannot be made: {error.strerror}") from None
    check_writable(options.out / "manifest.json", "--out")
    with alone(options.out):
        last = _followed(trainer)
        _write_manifest(options, files, last, trainer.history)
    print(options.out)


def _trainer(options: FitOptions, files: ModelFiles, rows: Sequence[TrainingRow], device: str) -> Trainer:
    loaded = load(files.path, name=options.sidecar, dtype=options.dtype, device=device)
    loaded.model.name_or_path = loaded.model.config._name_or_path = options.sidecar  # what the adapter says it fits
    begin = "none" if options.begin is None else describe_adapter(options.begin)
    made_of = {"base": files.weights_sha256, "dtype": options.dtype, "--begin": begin}
    made_of["content of --rows"] = " ".join(sha256(path)[:12] for path in options.rows)
    recipe = RECIPES[options.recipe]
    train_options = TrainOptions(recipe, options.seed, options.out, options.budget, options.begin, made_of)
    return Trainer(loaded.model, TokenizerCodec(loaded.tokenizer), rows, train_options)


def _followed(trainer: Trainer) -> Report:
    """Run to the end, with progress on stderr: a bar, and a line for each measurement."""
    step = trainer.resume()
    err = Console(stderr=True)
    if step:
        err.print(f"going on after step {step}", style="dim")
    columns = (TextColumn("{task.description}"), BarColumn(), TimeElapsedColumn(), TimeRemainingColumn())
    report = None
    with Progress(*columns, console=err) as progress:
        task = progress.add_task("step", total=None)
        for report in trainer.run():
            progress.update(task, completed=report.step, total=report.steps, description=_line(report))
            if report.dev_loss is not None:
                progress.console.print(_line(report), style="dim", soft_wrap=True)
    assert report is not None  # a run ends with one
    return report


def _write_manifest(options: FitOptions, files: ModelFiles, last: Report, history: Sequence[tuple[int, float]]) -> None:
    said: dict[str, Json] = {"recipe": options.recipe, **asdict(RECIPES[options.recipe]), "seed": options.seed}
    said |= {"dtype": options.dtype, "budget": options.budget}
    said["begin"] = None if options.begin is None else describe_adapter(options.begin)
    manifest = {
        "stage": "train",
        "options": said,
        "base": {"name": files.name, "source": files.source, "weights_sha256": files.weights_sha256},
        "sources": [{"path": str(path), "sha256": sha256(path)} for path in options.rows],
        "output": {"sha256": sha256(options.out / WEIGHTS)},
        "counts": {
            "steps": last.step,
            "tokens": last.tokens,
            "left out, too long": last.left_out,
            "dev loss by step": [list(measured) for measured in history],
        },
        "software": software(),
    }
    write_atomically(options.out / "manifest.json", json.dumps(manifest, indent=1) + "\n", "manifest")


def _line(report: Report) -> str:
    dev = "" if report.dev_loss is None else f", dev loss {report.dev_loss:.3f}"
    loss = "" if math.isnan(report.loss) else f" loss {report.loss:.3f}"
    return f"step {report.step}/{report.steps}{loss}{dev}, {report.tokens} tokens"
