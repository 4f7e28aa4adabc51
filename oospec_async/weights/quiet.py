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


@contextmanager
def no_bars() -> Iterator[None]:
    """Without the progress bars of transformers. They belong to the application, and are there again afterwards."""
    from huggingface_hub.utils.tqdm import are_progress_bars_disabled, disable_progress_bars, enable_progress_bars
    from transformers.utils import logging as library

    shown, hub_hidden = library.is_progress_bar_enabled(), are_progress_bars_disabled()
    library.disable_progress_bar()  # the hub's too, both ways
    try:
        yield
    finally:
        if shown:
            library.enable_progress_bar()
        (disable_progress_bars if hub_hidden else enable_progress_bars)()
