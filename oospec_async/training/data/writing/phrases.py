"""A writer of messages that needs no model: plain sentences from a function's description and its arguments.

Its messages are stiff, but it knows every function: what a model writes is better and slower.
"""

from __future__ import annotations

import json
import random
import re
from collections.abc import Sequence

from oospec_async.request import Json
from oospec_async.training.data.writing.tasks import Message

_WHOLE = (
    "{Do}{with_}.", "{Do}{with_}", "Please {do}{with_}.", "Can you {do}{with_}?", "Could you {do}{with_}?",
    "I need to {do}{with_}.", "I'd like to {do}{with_}.", "Help me {do}{with_}.", "I want you to {do}{with_}, please.",
)  # fmt: skip
_FIRST = (" with {name} {value}", " for {name} {value}", " where {name} is {value}", ": {name} {value}", " for {value}")
_NEXT = (", {name} {value}", " and {name} {value}", ", with {name} {value}", ", {name} = {value}", ", {value}")


class Phrases:
    """Writes as a ``Writer`` does."""

    def write(self, tasks: Sequence[str], seed: int) -> list[Message]:
        rng = random.Random(f"phrases:{seed}")
        return [Message(_sentence(task, rng), finished=True) for task in tasks]


def _sentence(task: str, rng: random.Random) -> str:
    head, _, rest = task.partition("\n")
    head = re.sub(r", (?:twice|three times)$", "", head)
    blocks = rest.split("\nand\n")
    with_ = "; then ".join(_arguments(block, rng) for block in blocks)
    lowered = head[:1].lower() + head[1:]
    return rng.choice(_WHOLE).format(Do=head, do=lowered, with_=with_)


def _arguments(block: str, rng: random.Random) -> str:
    text = ""
    for line in block.split("\n"):
        name, _, raw = line.partition(" = ")
        if not raw:
            continue
        value, words = json.loads(raw), _words(name)
        if isinstance(value, bool):
            text += f", {'with' if value else 'without'} {words}"
        else:
            text += rng.choice(_NEXT if text else _FIRST).format(name=words, value=_said(value, rng))
    return text


def _words(name: str) -> str:
    """``startDate`` and ``start_date`` as "start date"."""
    return re.sub(r"(?<=[a-z])(?=[A-Z])|_", " ", name).lower()


def _said(value: Json, rng: random.Random) -> str:
    if isinstance(value, list):
        said = [_said(item, rng) for item in value]
        return f"{', '.join(said[:-1])} and {said[-1]}" if len(said) > 1 else said[0]
    return f'"{value}"' if isinstance(value, str) and rng.random() < 0.15 else str(value)
