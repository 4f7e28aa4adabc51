"""How often drafts were rejected: a lossless check proves nothing where all drafts are right."""

from __future__ import annotations

from collections import defaultdict

DRAFTED: defaultdict[str, int] = defaultdict(int)
REJECTED: defaultdict[str, int] = defaultdict(int)


def count(family: str, drafted: int, accepted: int) -> None:
    DRAFTED[family] += drafted
    REJECTED[family] += drafted - accepted


def summary() -> str:
    shares = (f"{family} {REJECTED[family] / drafted:.0%}" for family, drafted in DRAFTED.items() if drafted)
    return ", ".join(shares)
