"""Make a plain tool schema look as public ones do: optional parameters with defaults and enums, and lists."""

from __future__ import annotations

import copy
import random
from collections.abc import Sequence
from typing import NamedTuple

from oospec_async.request import Json
from oospec_async.training.data.writing.seal_pool import SealPool, SealTool
from oospec_async.training.records import Object

_TO_LIST = 0.1  # share of parameters that take a list
_HOW_MANY = (0, 0, 1, 1, 2)  # optional parameters are added


class Extra(NamedTuple):
    """An optional parameter, and values that a user may ask for."""

    schema: Object
    values: Sequence[Json]


def _extra(kind: str, about: str, values: Sequence[Json], **more: Json) -> Extra:
    return Extra({"type": kind, "description": about, **more}, values)


EXTRAS: dict[str, Extra] = {
    "unit": _extra("string", "Unit system. Default is 'metric'.", ["metric", "imperial"],
                   enum=["metric", "imperial"], default="metric"),
    "units": _extra("string", "The unit of the result, for example 'kg' or 'lb'. Defaults to 'kg'.",
                    ["kg", "lb", "m", "miles"]),
    "limit": _extra("integer", "Maximum number of results. Default is 10.", [3, 5, 20, 50], default=10),
    "language": _extra("string", "Language of the answer. Default: 'English'.",
                       ["French", "Spanish", "German", "Japanese"], default="English"),
    "format": _extra("string", "Output format (optional).", ["json", "csv", "text"], enum=["json", "csv", "text"]),
    "detailed": _extra("boolean", "Whether to return detailed information. Default is false.", [True], default=False),
    "include_history": _extra("boolean", "If true, earlier entries are included.", [True]),
    "sort_by": _extra("string", "Order of the results.", ["date", "price", "rating", "relevance"],
                      enum=["date", "price", "rating", "relevance"]),
    "precision": _extra("integer", "Number of decimal places to round to. Default is 2.", [1, 3, 4], default=2),
    "currency": _extra("string", "Currency code, e.g. 'USD'. Default is 'USD'.", ["EUR", "GBP", "JPY"], default="USD"),
    "page": _extra("integer", "Page of the results, starting with 1.", [2, 3]),
    "year": _extra("integer", "The year of interest. Default is the current year.", [1998, 2015, 2019, 2021, 2023]),
    "country": _extra("string", "Country to search in. Optional.", ["Brazil", "Kenya", "Norway", "India", "Canada"]),
    "category": _extra("string", "Category to filter by (optional).",
                       ["sports", "science", "music", "food", "travel"]),
    "timezone": _extra("string", "Timezone of the given times, default 'UTC'.", ["CET", "EST", "Asia/Tokyo"],
                       default="UTC"),
    "method": _extra("string", "How to compute the result.", ["fast", "exact"],
                     enum=["fast", "standard", "exact"], default="standard"),
    "tags": _extra("array", "Tags to filter by.", [["new", "popular"], ["vegan", "cheap"], ["family", "outdoor"]],
                   items={"type": "string"}),
    "max_price": _extra("number", "The highest acceptable price.", [50, 99.5, 250, 1000]),
    "radius": _extra("number", "Search radius in kilometres. Default is 5.0.", [2.5, 10, 25], default=5.0),
    "notify": _extra("boolean", "Send a notification when done. Defaults to true.", [False], default=True),
}  # fmt: skip


def widened(tool: SealTool, pool: SealPool, rng: random.Random) -> Object:
    """The tool's function with some parameters made lists and some of ``EXTRAS`` added."""
    function = copy.deepcopy(tool.function)
    properties = function["parameters"]["properties"]
    for name, schema in list(properties.items()):
        if rng.random() < _TO_LIST and pool.has_values(name, schema) and schema["type"] != "boolean":
            about = f"{schema['description']} (one or more)"
            properties[name] = {"type": "array", "items": {"type": schema["type"]}, "description": about}
    for name in rng.sample(list(EXTRAS), rng.choice(_HOW_MANY)):
        properties.setdefault(name, copy.deepcopy(EXTRAS[name].schema))
    return function
