"""Restyle the names of functions and parameters, so that a sidecar learns to read them and not to know them."""

from __future__ import annotations

import random
import re
from collections.abc import Callable, Mapping
from pathlib import Path

from oospec_async.training.data.decontaminate import function_of, name_key
from oospec_async.training.records import Object
from oospec_async.training.stage import check_output, read_lines, write_output

_WORD = re.compile(r"[A-Z]+(?=[A-Z][a-z])|[A-Z]?[a-z]+[0-9]*|[A-Z]+[0-9]*|[0-9]+")
Style = Callable[[list[str], random.Random], str]


def _words(name: str) -> list[str]:
    return [word.lower() for word in _WORD.findall(name)]


def _camel(words: list[str], rng: random.Random) -> str:
    return words[0] + "".join(word.capitalize() for word in words[1:])


def _pascal(words: list[str], rng: random.Random) -> str:
    return "".join(word.capitalize() for word in words)


def _snake(words: list[str], rng: random.Random) -> str:
    return "_".join(words)


_MODULES = ("api", "tools", "service", "utils")


def _dotted(words: list[str], rng: random.Random) -> str:
    """``module.name``. The name stays whole: a split and an evaluation set know it by the part after the last dot."""
    about = [words[-1], words[1], "_".join(words[1:])] if len(words) > 1 else list(_MODULES)
    return f"{rng.choice(about)}.{rng.choice((_snake, _snake, _camel))(words, rng)}"


# Styles and their shares; None keeps a name as it is.
FUNCTION_STYLES: Mapping[str, tuple[Style | None, int]] = {
    "as it is": (None, 25),
    "snake_case": (_snake, 30),
    "module.name": (_dotted, 22),
    "camelCase": (_camel, 15),
    "PascalCase": (_pascal, 8),
}
PARAMETER_STYLES: Mapping[str, tuple[Style | None, int]] = {
    "as it is": (None, 50),
    "snake_case": (_snake, 25),
    "camelCase": (_camel, 25),
}


def vary(row: Object, seed: int) -> Object:
    """The same request with its names in another style, the same in tools and gold.

    One style for all functions of a request and one for all parameters, drawn by ``seed`` and the request's ``id``.
    A name that would clash keeps its form. Requests whose text names tools (in a description, or in earlier calls and
    their results) stay as they are, and so do those of an evaluation set.
    """
    if row.get("tools_in_prompt") or row.get("split") == "eval" or any(m.get("tool_calls") for m in row["messages"]):
        return row
    rng = random.Random(f"vary:{seed}:{row['id']}")
    functions, parameters = _drawn(FUNCTION_STYLES, rng), _drawn(PARAMETER_STYLES, rng)
    tools = [function_of(tool) for tool in row.get("tools", [])]
    names = _renamed([tool["name"] for tool in tools], functions, rng)
    keys = {tool["name"]: _renamed(list(_properties(tool)), parameters, rng) for tool in tools}
    made = {**row, "tools": [_tool(tool, names, keys[tool["name"]]) for tool in tools]}
    if "gold" in row:
        made["gold"] = [_call(call, names, keys.get(call["name"], {})) for call in row["gold"]]
    return made


def vary_file(requests: Path, seed: int, out: Path) -> list[str]:
    """Apply ``vary`` to a file of requests; lines that say what was done. Raises OospecError."""
    check_output(out, requests)
    rows = [row.data for row in read_lines(requests, "id", "messages", "tools")]
    made = [vary(row, seed) for row in rows]
    restyled = sum(before != after for before, after in zip(rows, made, strict=True))
    counts = {"requests": len(made), "with other names": restyled}
    write_output(out, made, "vary", {"seed": seed}, [requests], counts)
    return [f"{restyled} of {len(made)} requests have other names"]


def _drawn(styles: Mapping[str, tuple[Style | None, int]], rng: random.Random) -> Style | None:
    shares = [share for _, share in styles.values()]
    return rng.choices([style for style, _ in styles.values()], shares)[0]


def _renamed(names: list[str], style: Style | None, rng: random.Random) -> dict[str, str]:
    """Old name to new, all different."""
    taken, made = set(names), {}
    for name in names:
        new = _restyled(name, style, rng)
        made[name] = new if new not in taken or new == name else name
        taken.add(made[name])
    return made


def _restyled(name: str, style: Style | None, rng: random.Random) -> str:
    module, dot, last = name.rpartition(".")
    words = _words(last)
    if style is None or not words or "".join(words) != name_key(last):  # else letters would be lost
        return name
    if dot:
        style = _snake if style is _dotted else style
        return f"{module}.{style(words, rng)}"
    return style(words, rng)


def _properties(tool: Object) -> Object:
    parameters = tool.get("parameters")
    properties = parameters.get("properties") if isinstance(parameters, dict) else None
    return properties if isinstance(properties, dict) else {}


def _tool(tool: Object, names: Mapping[str, str], keys: Mapping[str, str]) -> Object:
    made = {**tool, "name": names[tool["name"]]}
    if keys:
        parameters = dict(tool["parameters"])
        parameters["properties"] = {keys[key]: schema for key, schema in parameters["properties"].items()}
        if isinstance(parameters.get("required"), list):
            parameters["required"] = [
                keys.get(key, key) if isinstance(key, str) else key for key in parameters["required"]
            ]
        made["parameters"] = parameters
    return {"type": "function", "function": made}


def _call(call: Object, names: Mapping[str, str], keys: Mapping[str, str]) -> Object:
    arguments = {keys.get(key, key): value for key, value in call["arguments"].items()}
    return {**call, "name": names.get(call["name"], call["name"]), "arguments": arguments}
