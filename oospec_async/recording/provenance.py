"""What a run was made with: models, devices and software. It stands in every record and beside every figure."""

from __future__ import annotations

import platform
from dataclasses import dataclass
from importlib import metadata

from oospec_async.decoding.tree import VerifyCurve
from oospec_async.trace import ModelInfo


@dataclass(frozen=True)
class Setup:
    target: ModelInfo
    sidecar: ModelInfo | None
    curve: VerifyCurve
    draft_model: ModelInfo | None = None

    @property
    def line(self) -> str:
        """For people: models, dtype and devices."""
        target = f"{self.target.name} ({self.target.source}; {self.target.dtype}) on {self.target.device}"
        if self.draft_model is not None:
            target += f", draft model {self.draft_model.name} ({self.draft_model.source}) on the same device"
        if self.sidecar is None:
            return target
        adapter = f" with {self.sidecar.adapter}" if self.sidecar.adapter else ""
        return f"{target}, sidecar {self.sidecar.name}{adapter} on {self.sidecar.device}"


def software() -> dict[str, str]:
    """Versions of what decides ids and times."""
    versions = {"python": platform.python_version(), "platform": platform.platform()}
    for package in ("oospec", "torch", "transformers", "peft"):
        try:
            versions[package] = metadata.version(package)
        except metadata.PackageNotFoundError:
            continue
    return versions
