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
from typing import Annotated, Any

from pydantic import BaseModel, ConfigDict, Field

from oospec_async.errors import OospecError
from oospec_async.files.validation import shown, validated
from sim.scenario.parameters import suggestion
from sim.scenario.scenario import Scenario, UnfitFleet, read_fields, scenario_from
from sim.study.assertions import Assertion, parse_assertion

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


class _Assert(BaseModel):
    model_config = ConfigDict(extra="forbid")

    that: str
    where: dict[str, Any] = {}


class _File(BaseModel):
    """The keys of a study's file."""

    name: str = ""
    about: str = ""
    trace: str
    colocated: str = ""
    scenario: dict[str, Any] = {}
    grid: dict[str, Annotated[list[Any], Field(min_length=1)]] = {}
    assertions: list[_Assert] = Field(default=[], alias="assert")


def read_study(path: Path) -> Study:
    """Raises OospecError, one line that names file and field."""
    where = f"study {path}"
    try:
        content = tomllib.loads(path.read_text(encoding="utf-8"))
    except OSError as error:
        raise OospecError(f"{where}: cannot be read: {error.strerror}") from None
    except (tomllib.TOMLDecodeError, UnicodeDecodeError) as error:
        raise OospecError(f"{where}: not TOML: {error}") from None
    keys = [field.alias or name for name, field in _File.model_fields.items()]
    for key in content:
        if key not in keys:
            raise OospecError(f"{where}: there is no key {key!r}; {suggestion(key, keys)}")
    found = validated(_File, content, where, "a study")
    base = read_fields(found.scenario, f"{where}: scenario")
    scenarios, left_out = _scenarios(base, _axes(found.grid, f"{where}: grid"), f"{where}: grid")
    return Study(
        path=path,
        name=found.name or path.stem,
        about=found.about,
        trace=path.parent / found.trace,
        colocated=path.parent / found.colocated if found.colocated else None,
        axes=found.grid,
        scenarios=scenarios,
        left_out=left_out,
        assertions=[
            parse_assertion(each.that, each.where, scenarios, f"{where}: assert.{number}")
            for number, each in enumerate(found.assertions)
        ],
    )


def _axes(axes: Mapping[str, Sequence[object]], what: str) -> dict[str, list[object]]:
    """Values as scenarios have them."""
    if not axes:
        raise OospecError(f"{what}: empty; name fields with values, such as scale_sidecar = [0.5, 1, 2]")
    read: dict[str, list[object]] = {}
    for name, values in axes.items():
        read[name] = [read_fields({name: value}, what)[name] for value in values]
        for index, value in enumerate(read[name]):
            if value in read[name][:index]:
                raise OospecError(f"{what}.{name}: names a value twice: {shown(values[index])}")
    return read


def _scenarios(base: Mapping[str, Any], axes: Mapping[str, Sequence[object]], what: str) -> tuple[list[Scenario], str]:
    """All combinations that can be, and a line about those that cannot."""
    count = math.prod(map(len, axes.values()))
    if count > _MOST:
        raise OospecError(f"{what}: {count} combinations; at most {_MOST} are run; name fewer values")
    scenarios: list[Scenario] = []
    unfit: list[UnfitFleet] = []
    for values in itertools.product(*axes.values()):
        try:
            scenarios.append(scenario_from({**base, **dict(zip(axes, values, strict=True))}, what))
        except UnfitFleet as error:
            unfit.append(error)
    if not scenarios:
        raise unfit[0]
    return scenarios, f"{len(unfit)} of {count} combinations are left out: {unfit[0]}" if unfit else ""
