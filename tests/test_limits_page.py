"""The numbers of docs/limits.md are those of the code."""

from __future__ import annotations

import re
from collections.abc import Sequence
from pathlib import Path

import pytest

from oospec_async.decoding import memory, state
from oospec_async.sidecar import channel, questions, wave

PAGE = (Path(__file__).parent.parent / "docs" / "limits.md").read_text(encoding="utf-8")


@pytest.mark.parametrize(
    ("row", "numbers"),
    [
        ("an answer of more than", [wave._LONGEST_ANSWER]),
        ("of the calls named together", [wave._MOST_BRANCHES]),
        ("`most_calls`", [wave.Sidecar.most_calls]),
        ("a payload of more than", [channel.MAX_PAYLOAD]),
        ("a draft has at most", [state.MAX_NODES]),
        ("of each message the sidecar sees", [questions._LONGEST_MESSAGE, questions._LONGEST_DESCRIPTION]),
        ("- messages of more than", [questions._LONGEST_MESSAGE]),
        ("- **History** keeps", [memory._MAX_ENTRIES]),
    ],
)
def test_a_number_stands_in_its_row(row: str, numbers: Sequence[int]) -> None:
    (line,) = [line for line in PAGE.splitlines() if row in line]
    assert set(numbers) <= {int(found.replace(",", "")) for found in re.findall(r"\d[\d,]*", line)}
