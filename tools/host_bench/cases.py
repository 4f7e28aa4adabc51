"""The requests, the outputs that the target will give, and the hints that the sidecar will."""

from __future__ import annotations

import json
from collections.abc import Iterator
from dataclasses import dataclass

from oospec_async.decoding.text import Codec
from oospec_async.dialects.dialect import NAMED
from oospec_async.dialects.render import render_call
from oospec_async.hints import CallHint, Hint
from oospec_async.request import Json, Message, Request, Tool


def _tool(name: str, description: str, required: int, **properties: Json) -> Tool:
    schema = {"type": "object", "properties": properties, "required": list(properties)[:required]}
    return Tool(name=name, description=description, parameters=schema)


_TEXT: Json = {"type": "string"}
TOOLS = (
    _tool(
        "book_table",
        "Book a table in a restaurant.",
        3,
        restaurant=_TEXT,
        people={"type": "integer"},
        time=_TEXT,
        seating={"type": "string", "enum": ["inside", "terrace", "bar"]},
        note=_TEXT,
    ),
    _tool("play_music", "Play an artist.", 1, artist=_TEXT, shuffle={"type": "boolean"}, volume={"type": "integer"}),
    _tool("send_message", "Send a message to somebody.", 2, to=_TEXT, text=_TEXT, urgent={"type": "boolean"}),
    _tool("track_parcel", "Where a parcel is.", 1, number=_TEXT, carrier={"type": "string", "enum": ["DHL", "UPS"]}),
)
_PLACES = ("Chez Amélie", "The Anchor", "Osteria Blu", "Zum Löwen", "Noodle House 88", "Casa Rosa", "Kinoko")
_PEOPLE = ("Mira", "Tomasz", "Aunt Rosie", "the landlord", "Dr. Okafor", "my sister")
_SAYINGS = ("I am ten minutes late", "the key is under the mat", "call me after lunch, please", "yes, both of us")


def calls() -> Iterator[tuple[str, dict[str, Json]]]:
    """Calls without an end, no two in a row of the same function."""
    n = 0
    while True:
        place, person, saying = _PLACES[n % 7], _PEOPLE[n % 6], _SAYINGS[n % 4]
        evening = f"2026-05-{n % 28 + 1:02}T19:30"
        yield "book_table", {"restaurant": place, "people": 2 + n % 6, "time": evening, "seating": "terrace"}
        yield "send_message", {"to": person, "text": f"{saying}, {person}", "urgent": n % 3 == 0}
        yield "track_parcel", {"number": f"JD{7919 * (n + 11) % 1000003:07}-{n % 10}", "carrier": "DHL"}
        yield "play_music", {"artist": f"{person} and the {place}s", "shuffle": True, "volume": 10 * (n % 10)}
        n += 1


@dataclass(frozen=True)
class Case:
    """A request, the output that the target will give, and the hint that the sidecar will."""

    request: Request
    prompt: list[int]
    output: list[int]
    hint: Hint


def cases(codec: Codec, count: int) -> list[Case]:
    """Every other output is in the hermes dialect, the others are fenced; every third hint has one value wrong."""
    made = []
    tools = "\n".join(json.dumps(tool.as_openai()) for tool in TOOLS)
    for n, (name, arguments) in zip(range(count), calls(), strict=False):
        dialect = NAMED["hermes" if n % 2 == 0 else "fenced"]
        text = f"Please {name.replace('_', ' ')}: {', '.join(str(value) for value in arguments.values())}"
        request = Request(messages=(Message(role="user", content=text),), tools=TOOLS, id=str(n))
        hinted = dict(arguments)
        if n % 3 == 2:
            first = next(iter(hinted))
            hinted[first] = f"not {hinted[first]}"
        output = [*codec.encode(render_call(dialect, name, arguments)), -1]
        made.append(Case(request, codec.encode(f"{tools}\n{text}\n"), output, Hint((CallHint(name, hinted),))))
    return made
