"""Which functions are trained on, and which are kept to tell what training was worth on functions never seen."""

from __future__ import annotations

import hashlib
from collections.abc import Iterable
from typing import Literal

from oospec_async.training.data.decontaminate import name_key

Split = Literal["train", "dev", "heldout", "eval"]  # eval: a whole set that is kept out

_HELDOUT, _DEV = 0.10, 0.05


def split_of(name: str) -> Split:
    """A function's split, by a hash of its name; restyling the name or moving it into a module changes nothing."""
    key = name_key(name.rsplit(".", 1)[-1])
    place = int.from_bytes(hashlib.sha256(key.encode("utf-8", "replace")).digest()[:8]) / 2**64
    return "heldout" if place < _HELDOUT else "dev" if place < _HELDOUT + _DEV else "train"


def common_split(names: Iterable[str]) -> Split | None:
    """The split of functions that share one; None where they do not, or where there are none."""
    found = {split_of(name) for name in names}
    return found.pop() if len(found) == 1 else None
