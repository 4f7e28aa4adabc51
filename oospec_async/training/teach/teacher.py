"""What a teacher is, and what it says."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Protocol

from oospec_async.request import Request
from oospec_async.training.records import Object

REFUSED = "refused"  # as a finish: the teacher could not take the request, mostly for its length


@dataclass(frozen=True)
class Reply:
    """A teacher's calls, the text that they were read from, and why it ended (``stop``, ``length``, ``refused`` …)."""

    calls: Sequence[Object]  # {"name", "arguments"}
    text: str
    finish: str


Key = tuple[str, str]  # a request's id, and the digest of what was asked


def key_of(request: Request) -> Key:
    return request.id, asked(request)


def unanswered(requests: Sequence[Request], rows: Sequence[Object]) -> list[Request]:
    """Those that none of the rows is for."""
    done = {(row["id"], row["asked"]) for row in rows}
    return [request for request in requests if key_of(request) not in done]


def asked(request: Request) -> str:
    """A digest of what a teacher is asked, so that calls are never taken for those of a request with other tools."""
    content = request.model_dump(include={"tools", "tools_in_prompt"}, exclude_none=True)
    content["messages"] = [message.as_openai() for message in request.messages]
    return hashlib.sha256(json.dumps(content, sort_keys=True).encode()).hexdigest()[:12]


class Teacher(Protocol):
    async def reply(self, request: Request) -> Reply: ...
