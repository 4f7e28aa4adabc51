"""Each test of a process runs on both event loops."""

from helpers.loops import run

__all__ = ["run"]
