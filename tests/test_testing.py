"""``oospec_async.testing``: what its page shows works."""

from __future__ import annotations

import doctest

from oospec_async import testing
from oospec_async.testing.models import tokenizer


def test_what_the_docstring_shows_comes_out() -> None:
    found = doctest.testmod(testing)
    assert found.attempted > 5
    assert found.failed == 0


def test_a_larger_tokenizer_reads_more_ids_and_writes_the_same_texts() -> None:
    small, large = tokenizer(), tokenizer(900)
    assert len(large) == 900
    text = 'Köln {"name": "get_weather"}'
    assert large.encode(text) == small.encode(text)
    assert large.decode([899, 899]) not in ("", large.decode([898, 898]))
