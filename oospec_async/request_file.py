"""Files of requests: each line a request, or the reason why it is none."""

from __future__ import annotations

from dataclasses import dataclass, field
from pathlib import Path

from oospec_async.errors import OospecError
from oospec_async.files.json_text import load_json, numbered_lines
from oospec_async.files.reading import decoded, read_bytes
from oospec_async.request import Json, Request, is_batch_line, parse_request


@dataclass(frozen=True)
class Failure:
    """A request that could not be served, and why, in one line; ``method``: by which one, None: by none."""

    request: str
    method: str | None
    error: str


@dataclass
class RequestFile:
    """What a file asks for, in its order. ``places``: for each request's id, "FILE:LINE"."""

    path: Path
    requests: list[Request] = field(default_factory=list)
    refused: list[Failure] = field(default_factory=list)
    places: dict[str, str] = field(default_factory=dict)
    is_batch: bool = False  # written as OpenAI's batch files are, and to be answered like them


def read_request_file(path: Path) -> RequestFile:
    """A bad line costs the others nothing. Raises OospecError for a file that cannot be read, or that asks nothing."""
    stem = path.stem.encode("utf-8", "backslashreplace").decode()  # a file's name need not be text
    text = decoded(read_bytes(path, "requests"), path)
    found = RequestFile(path)
    for number, where, line in numbered_lines(text, path):
        raw: Json = None
        try:
            raw = load_json(line, where, "one request a line")
            request = parse_request(raw, where)
            request = request if request.id else request.model_copy(update={"id": f"{stem}-{number}"})
            if request.id in found.places:
                raise OospecError(f"{where}: id {request.id!r} is used twice; ids must differ")
        except OospecError as error:
            found.refused.append(Failure(_id_of(raw) or f"{stem}-{number}", None, str(error)))
        else:
            found.requests.append(request)
            found.places[request.id] = where
        found.is_batch = found.is_batch or is_batch_line(raw)
    if not found.requests and not found.refused:
        raise OospecError(f"{path}: no requests in this file")
    return found


def _id_of(raw: Json) -> str:
    named = (raw.get("id"), raw.get("custom_id")) if isinstance(raw, dict) else ()
    return next((name for name in named if isinstance(name, str)), "")


def read_requests(path: Path) -> list[Request]:
    """The requests of a file. Raises OospecError naming the file, and the first line that is none."""
    found = read_request_file(path)
    if found.refused:
        raise OospecError(found.refused[0].error)
    return found.requests
