"""A study as its TOML file says it.

```toml
name = "Sidecar speed"
trace = "../../traces/qwen3-14b.json"   # from the study's own folder

[scenario]                              # what all have in common
placement = "split"

[grid]                                  # every combination of these
scale_sidecar = [0.25, 1, 4]
method = ["toolspec", "oospec"]

[[assert]]
that = "speedup_vs_toolspec.mean >= 1.2"
where = { method = "oospec" }           # of these only
```
"""

from __future__ import annotations

import itertools
import math
import tomllib
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from oospec_async.errors import OospecError
from oospec_async.files.validation import shown
from sim.scenario.parameters import suggestion
from sim.scenario.scenario import Scenario, UnfitFleet, read_fields, scenario_from
from sim.study.assertions import Assertion, parse_assertion

_KEYS = ("name", "about", "trace", "colocated", "scenario", "grid", "assert")
_MOST = 100_000  # scenarios; an axis too many must not run for days without a word


@dataclass(frozen=True)
class Study:
    path: Path
    name: str
    about: str
    trace: Path
    colocated: Path | None
    axes: Mapping[str, Sequence[object]]  # as written
    scenarios: Sequence[Scenario]  # the last axis varies fastest
    left_out: str  # what of the grid cannot be, and why; empty: nothing
    assertions: Sequence[Assertion]


def read_study(path: Path) -> Study:
    """Raises OospecError, one line that names file and field."""
    try:
        content = tomllib.loads(path.read_text(encoding="utf-8"))
    except OSError as error:
        raise OospecError(f"study {path}: cannot be read: {error.strerror}") from None
    except (tomllib.TOMLDecodeError, UnicodeDecodeError) as error:
        raise OospecError(f"study {path}: not TOML: {error}") from None
    for key in content:
        if key not in _KEYS:
            raise OospecError(f"study {path}: there is no key {key!r}; {suggestion(key, _KEYS)}")
    base = read_fields(_table(content, "scenario", path), f"study {path}: scenario")
    axes = _table(content, "grid", path)
    scenarios, left_out = _scenarios(base, _axes(axes, path), path)
    folder = path.parent
    colocated = _text(content, "colocated", path, "")
    return Study(
        path=path,
        name=_text(content, "name", path, path.stem),
        about=_text(content, "about", path, ""),
        trace=folder / _text(content, "trace", path),
        colocated=folder / colocated if colocated else None,
        axes=axes,
        scenarios=scenarios,
        left_out=left_out,
        assertions=_assertions(content, path, scenarios),
    )


def _axes(axes: Mapping[str, object], path: Path) -> dict[str, list[object]]:
    """Values as scenarios have them."""
    if not axes:
        raise OospecError(f"study {path}: grid: empty; name fields with values, such as scale_sidecar = [0.5, 1, 2]")
    read: dict[str, list[object]] = {}
    for name, values in axes.items():
        if not isinstance(values, list) or not values:
            raise OospecError(f"study {path}: grid.{name}: must be a list with a value at least, not {values!r}")
        read[name] = [read_fields({name: value}, f"study {path}: grid")[name] for value in values]
        for index, value in enumerate(read[name]):
            if value in read[name][:index]:
                raise OospecError(f"study {path}: grid.{name}: names a value twice: {shown(values[index])}")
    return read


def _scenarios(base: Mapping[str, Any], axes: Mapping[str, Sequence[object]], path: Path) -> tuple[list[Scenario], str]:
    """All combinations that can be, and a line about those that cannot."""
    count = math.prod(map(len, axes.values()))
    if count > _MOST:
        raise OospecError(f"study {path}: grid: {count} combinations; at most {_MOST} are run; name fewer values")
    scenarios: list[Scenario] = []
    unfit: list[UnfitFleet] = []
    for values in itertools.product(*axes.values()):
        try:
            scenarios.append(scenario_from({**base, **dict(zip(axes, values, strict=True))}, f"study {path}: grid"))
        except UnfitFleet as error:
            unfit.append(error)
    if not scenarios:
        raise unfit[0]
    return scenarios, f"{len(unfit)} of {count} combinations are left out: {unfit[0]}" if unfit else ""


def _assertions(content: Mapping[str, Any], path: Path, scenarios: Sequence[Scenario]) -> list[Assertion]:
    entries = content.get("assert", [])
    if not isinstance(entries, list):
        raise OospecError(f"study {path}: assert: write [[assert]], once for each")
    found = []
    for number, entry in enumerate(entries):
        what = f"study {path}: assert.{number}"
        if not isinstance(entry, dict) or not isinstance(entry.get("that"), str) or entry.keys() - {"that", "where"}:
            raise OospecError(f'{what}: write that = "METRIC >= NUMBER", and where = {{FIELD = VALUE}} if you like')
        where = _table(entry, "where", path, what)
        found.append(parse_assertion(entry["that"], where, scenarios, what))
    return found


def _table(content: Mapping[str, Any], key: str, path: Path, what: str = "") -> dict[str, Any]:
    value = content.get(key, {})
    if not isinstance(value, dict):
        raise OospecError(f"{what or f'study {path}'}: {key}: must be a table, not {value!r}")
    return value


def _text(content: Mapping[str, Any], key: str, path: Path, default: str | None = None) -> str:
    value = content.get(key, default)
    if value is None:
        raise OospecError(f'study {path}: {key} is missing; write {key} = "…"')
    if not isinstance(value, str):
        raise OospecError(f"study {path}: {key}: must be text, not {value!r}")
    return value
