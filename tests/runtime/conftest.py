"""Runtime tests run on both event loops where that matters."""

from helpers.loops import run

__all__ = ["run"]
