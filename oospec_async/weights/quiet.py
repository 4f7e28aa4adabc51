"""Hugging Face's libraries without their notes."""

from __future__ import annotations

import logging
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any


@contextmanager
def errors_only(library: Any) -> Iterator[None]:
    """``library``: the module ``logging`` of one of them. What it would say below an error is left out meanwhile."""
    level = library.get_verbosity()
    library.set_verbosity(max(level, logging.ERROR))
    try:
        yield
    finally:
        library.set_verbosity(level)
