"""The entry of ``oospec-sim``."""

from __future__ import annotations

from oospec_async.console.entry import enter


def main() -> None:
    enter("oospec-sim", "sim.cli")
