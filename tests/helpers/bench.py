"""Rows files of the benchmark with known numbers."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from tools.benchmark.rows import Header, Measured, Row


def fingerprint(**more: Any) -> dict[str, Any]:
    weights = {"name": "tiny", "source": "directory", "sha256": "ab" * 32}
    return {
        "requests": "00", "target": weights, "sidecar": None, "adapter": None, "drafter": None, "assistants": [],
        "dtype": "bfloat16", "devices": "cpu:0,cpu:1", "machine": "A Processor, 2 cores", "software": {"torch": "2"},
        **more,
    }  # fmt: skip


def header(methods: list[str], categories: dict[str, str], runs: int = 1, **more: Any) -> Any:
    """``categories``: of each request."""
    found = fingerprint(**more)
    return Header(
        fingerprint=found, methods=methods, runs=runs, categories=categories, date="2026-01-02T03:04:05+00:00"
    )


def row(run: int, request: str, method: str, **measured: Any) -> Any:
    """A row whose times are given in seconds: ``total``, ``first``, ``prefill``, ``decode``, ``host``."""
    times = {f"{name}_seconds": measured.pop(key) for key, name in _TIMES.items() if key in measured}
    values = {"tokens": [1, 2, 3], "rounds": 2, "first_token_seconds": 0, "prefill_seconds": 0, **times, **measured}
    values.setdefault("decode_seconds", values["total_seconds"])
    return Row(run=run, request=request, method=method, measured=Measured.model_validate(values))


_TIMES = {"total": "total", "first": "first_token", "prefill": "prefill", "decode": "decode", "host": "host"}


def failed(run: int, request: str, method: str, error: str = "no") -> Any:
    return Row(run=run, request=request, method=method, error=error)


def write(path: Path, head: Any, *rows: Any) -> Path:
    path.write_text("".join(f"{each.model_dump_json()}\n" for each in (head, *rows)))
    return path
