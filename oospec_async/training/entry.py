"""The entry of ``oospec-train``."""

from __future__ import annotations

from oospec_async.console.entry import enter


def main() -> None:
    enter("oospec-train", "oospec_async.training.cli")
