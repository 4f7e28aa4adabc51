"""What hypothesis draws: JSON values, spacings, payloads and outputs that nobody would write on purpose."""

from __future__ import annotations

import json

from hypothesis import strategies as st

from oospec_async.dialects.dialect import Spacing
from oospec_async.request import Json

TEXT = st.text(st.characters(codec="utf-8"), max_size=12) | st.sampled_from(
    [
        "",
        "ã",
        "\u00e3",
        "\\",
        '"',
        "{",
        "mkdir -p test/{a,b",
        "}]",
        "\n",
        "\u2028",
        "🙂",
        "name",
        "</tool_call>",
        "<think>",
    ]
)
NUMBERS = st.integers() | st.floats(allow_nan=False, allow_infinity=False)
SCALARS = TEXT | NUMBERS | st.booleans() | st.none()
VALUES = st.recursive(
    SCALARS, lambda inner: st.lists(inner, max_size=3) | st.dictionaries(TEXT, inner, max_size=3), max_leaves=8
)
OBJECTS = st.dictionaries(TEXT, VALUES, max_size=4)

SPACES = st.sampled_from(["", " ", "  "])
SPACINGS = st.builds(Spacing, SPACES, SPACES, SPACES) | st.builds(
    Spacing, SPACES, SPACES, SPACES, st.integers(0, 4), st.booleans()
)

# Pieces that calls and their surroundings are made of, in any order.
PIECES = st.sampled_from(
    ["{", "}", "[", "]", '"', ":", ",", " ", "\n", "\\", "name", "arguments", "parameters", "<think>", "</think>",
     "tru",
     "<tool_call>\n", "\n</tool_call>", "```json\n", '{"name": "get_weather"', ', "arguments": {', '"city": "P', "12",
     '{"name": "get_weather", "arguments": "{', '"arguments": ["', "\ufffd", "é", "; "]
)  # fmt: skip
OUTPUTS = st.lists(PIECES | TEXT, max_size=12).map("".join)

_LEAVES = SCALARS | st.sampled_from(
    [float("nan"), float("inf"), -float("inf"), 10**400, "\ud800", "a\udfff", "x" * 5000]
)
_HOSTILE = st.recursive(
    _LEAVES,
    lambda inner: (
        st.lists(inner, max_size=3)
        | st.dictionaries(TEXT | st.sampled_from(["city", "days", "unit", "id", "items", "address"]), inner, max_size=4)
    ),
    max_leaves=10,
)
_NAMES = st.sampled_from(["get_weather", "get_order", "now", "rm_rf", "", "name"])
_ARGUMENTS = st.dictionaries(st.sampled_from(["city", "days", "unit", "id", "items", "address", "?"]), _HOSTILE)
_CALLS = st.lists(st.tuples(_NAMES, _ARGUMENTS) | st.tuples(_NAMES, _ARGUMENTS, st.lists(TEXT | _NAMES)), max_size=3)


def _payload(value: Json) -> bytes:
    return json.dumps(value).encode()


# Whatever may lie on the channel: noise, JSON of any shape, and calls with absurd values.
PAYLOADS = st.binary(max_size=200) | _HOSTILE.map(_payload) | _CALLS.map(_payload)
