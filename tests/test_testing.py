"""``oospec_async.testing``: what its page shows works, and it asks for little."""

from __future__ import annotations

import doctest
import subprocess
import sys

from oospec_async import testing
from oospec_async.testing.models import tokenizer


def test_what_the_docstring_shows_comes_out() -> None:
    found = doctest.testmod(testing)
    assert found.attempted > 5
    assert found.failed == 0


def test_importing_it_imports_neither_torch_nor_pytest() -> None:
    code = "import sys, oospec_async.testing; print({'torch', 'transformers', 'pytest'} & set(sys.modules))"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout.strip() == "set()"


def test_a_larger_tokenizer_reads_more_ids_and_writes_the_same_texts() -> None:
    small, large = tokenizer(), tokenizer(900)
    assert len(large) == 900
    text = 'Köln {"name": "get_weather"}'
    assert large.encode(text) == small.encode(text)
    assert large.decode([899, 899]) not in ("", large.decode([898, 898]))
