"""What a run has given: as JSON, as the lines of a batch, and its failures in a line."""

from __future__ import annotations

import json
import time
from collections.abc import Iterator, Sequence
from dataclasses import asdict

from oospec_async.commands.summary import summarise
from oospec_async.completion import Completion
from oospec_async.recording.provenance import Setup, software
from oospec_async.request import Json
from oospec_async.request_file import Failure

_MOST_NAMED = 5  # failures


def told(failed: Sequence[Failure]) -> str:
    """All failures in one line: the first one's words, and which others there are."""
    first, *others = failed
    names = [f"{failure.request!r}{_by(failure)}" for failure in others[:_MOST_NAMED]]
    names += ["…"] if len(others) > _MOST_NAMED else []
    rest = f"; {len(others)} more failed: {', '.join(names)}" if others else ""
    return f"by {first.method}, {first.error}{rest}" if first.method else f"{first.error}{rest}"


def _by(failure: Failure) -> str:
    return f" by {failure.method}" if failure.method else ""


def run_json(setup: Setup, completions: Sequence[Completion], failed: Sequence[Failure]) -> str:
    result = {
        "measured_on": {
            "target": setup.target.model_dump(),
            "sidecar": setup.sidecar.model_dump() if setup.sidecar is not None else None,
            "draft_model": setup.draft_model.model_dump() if setup.draft_model is not None else None,
            "software": software(),
            "curve": setup.curve.samples,
        },
        "summary": [asdict(summary) for summary in summarise(completions)],
        "completions": [
            asdict(completion) | {"mean_accepted": completion.metrics.mean_accepted} for completion in completions
        ],
        "failures": [asdict(failure) for failure in failed],
    }
    # A margin may be infinite or no number: JSON has null for both.
    return json.dumps(json.loads(json.dumps(result), parse_constant=lambda name: None))


def batch_lines(model: str, completions: Sequence[Completion], failed: Sequence[Failure]) -> Iterator[str]:
    """The lines of an output file of OpenAI's batches, those that failed last."""
    for completion in completions:
        answer = {"status_code": 200, "request_id": completion.request, "body": _chat_completion(model, completion)}
        yield _batch_line(completion.request, answer, None)
    for failure in failed:
        code = "request_failed" if failure.method else "invalid_request"
        yield _batch_line(failure.request, None, {"code": code, "message": failure.error})


def _batch_line(request: str, response: Json, error: Json) -> str:
    line = {"id": f"batch_req_{request}", "custom_id": request, "response": response, "error": error}
    return json.dumps(line, ensure_ascii=False)


def _chat_completion(model: str, completion: Completion) -> Json:
    calls = [
        {
            "id": f"call_{completion.request}_{number}",
            "type": "function",
            "function": {"name": call.name, "arguments": json.dumps(call.arguments, ensure_ascii=False)},
        }
        for number, call in enumerate(completion.calls)
    ]
    message: Json = {"role": "assistant", "content": None if calls else completion.text, "refusal": None}
    metrics = completion.metrics
    return {
        "id": f"chatcmpl-{completion.request}",
        "object": "chat.completion",
        "created": int(time.time()),
        "model": model,
        "choices": [
            {
                "index": 0,
                "message": message | ({"tool_calls": calls} if calls else {}),
                "logprobs": None,
                "finish_reason": "length" if completion.finish == "length" else "tool_calls" if calls else "stop",
            }
        ],
        "usage": {
            "prompt_tokens": metrics.prompt_tokens,
            "completion_tokens": metrics.output_tokens,
            "total_tokens": metrics.prompt_tokens + metrics.output_tokens,
        },
    }
