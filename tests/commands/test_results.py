"""What a run has given, in the form of a batch."""

from __future__ import annotations

import json

import pytest

from oospec_async.commands.results import batch_lines
from oospec_async.completion import Completion, Metrics
from oospec_async.decoding.verify import Finish
from oospec_async.request_file import Failure
from oospec_async.toolcall import ToolCall

METRICS = Metrics(10, 7, 3, 0, 0, 1.0, 0.1, 0.1, 0.9)


@pytest.mark.parametrize(
    ("finish", "calls", "said"),
    [
        ("stop", (ToolCall("f", {"a": "ü"}), ToolCall("g", {})), "tool_calls"),
        ("length", (ToolCall("f", {}),), "length"),
        ("stop", (), "stop"),
    ],
)
def test_a_completion_is_a_chat_completion(finish: Finish, calls: tuple[ToolCall, ...], said: str) -> None:
    done = Completion("r", "ar", "the text", (1,) * 7, ("",) * 7, (1.0,) * 7, calls, finish, METRICS)
    (line,) = map(json.loads, batch_lines("the/model", [done], []))
    body = line["response"]["body"]
    (choice,) = body["choices"]
    assert (line["custom_id"], line["error"], line["response"]["status_code"]) == ("r", None, 200)
    assert (body["model"], choice["finish_reason"]) == ("the/model", said)
    assert body["usage"] == {"prompt_tokens": 10, "completion_tokens": 7, "total_tokens": 17}
    told = [call["function"] for call in choice["message"].get("tool_calls", [])]
    assert [(call["name"], json.loads(call["arguments"])) for call in told] == [(c.name, c.arguments) for c in calls]
    assert choice["message"]["content"] == (None if calls else "the text")
    assert len({call["id"] for call in choice["message"].get("tool_calls", [])}) == len(calls)


def test_failures_say_whether_the_request_was_bad() -> None:
    failed = [Failure("a", None, "f:1: bad"), Failure("b", "ar", "no memory")]
    lines = list(map(json.loads, batch_lines("m", [], failed)))
    assert [(line["custom_id"], line["response"]) for line in lines] == [("a", None), ("b", None)]
    assert [line["error"] for line in lines] == [
        {"code": "invalid_request", "message": "f:1: bad"},
        {"code": "request_failed", "message": "no memory"},
    ]
