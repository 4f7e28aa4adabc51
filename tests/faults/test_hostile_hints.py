"""Whatever lies on the channel, and however fast it changes: the output stays what it is.

``tools/soak.py`` decodes under many more such hints, with a real model.
"""

from __future__ import annotations

import asyncio
import json
import time

from hypothesis import example, given, settings
from hypothesis import strategies as st

from helpers import tiny
from helpers.strategies import PAYLOADS
from helpers.stubs import ask
from oospec_async.hints import decode_hint
from oospec_async.request import Request
from oospec_async.sidecar.channel import MAX_PAYLOAD
from oospec_async.testing import END, CharCodec, ScriptedSidecar, ScriptedTarget, scripted_engine

ORDER = {"name": "get_order", "arguments": {"id": 12, "items": ["a", "b"], "address": {"street": "M 1", "zip": 7}}}
ANSWER = f"<tool_call>\n{json.dumps(ORDER)}\n</tool_call>"
ASKED = Request(messages=ask().messages, tools=tiny.TOOLS, id="asked")

# Beside what hypothesis draws: long ones, and such as nest without end.
_LONG = st.sampled_from(
    ["[", "{", '{"a":', '["get_order",{"id":', '["get_weather",{"city":"', "9", "\\ud800", "é", "\0"]
)
LONG = st.builds(
    lambda piece, times: (piece * times).encode("utf-8", "surrogatepass")[:MAX_PAYLOAD],
    _LONG,
    st.integers(1, MAX_PAYLOAD),
)
WRAPPED = st.builds(lambda payload: b'["get_order",{"items":' + payload + b"}]", PAYLOADS | LONG).map(
    lambda payload: payload[:MAX_PAYLOAD]
)
HOSTILE = (PAYLOADS | LONG | WRAPPED).filter(lambda payload: len(payload) <= MAX_PAYLOAD)


@given(
    payloads=st.lists(HOSTILE, min_size=1, max_size=2), version=st.integers(0, (1 << 32) - 1), every=st.integers(1, 9)
)
@example(payloads=[b"[" * MAX_PAYLOAD], version=1, every=1)
@example(payloads=[b'["get_order",{"id":' + b"[" * 3000 + b"]" * 3000 + b"}]"], version=1, every=1)
@example(payloads=[b'["get_weather",{"city":NaN,"days":Infinity}]'], version=1, every=1)
@example(payloads=[b'["get_weather",{"city":"\\ud800"}]'], version=1, every=1)
@example(payloads=[b'["rm_rf",{"path":"/"}]', b'["get_weather",{"city":"' + b"x" * 8000 + b'"}]'], version=0, every=1)
@settings(max_examples=200)
def test_hints_that_change_in_every_round_leave_the_output_as_it_is(
    payloads: list[bytes], version: int, every: int
) -> None:
    target, sidecar = ScriptedTarget(ANSWER), ScriptedSidecar()
    engine = scripted_engine(target, sidecar, method="schema+hint")

    def write(round_: int = 0) -> None:
        if round_ % every == 0:
            sidecar.writer.write(sidecar.current, payloads[round_ % len(payloads)], version, time.monotonic_ns())

    target.before_prefill, target.before_verify = write, write
    completion = asyncio.run(engine.generate(ASKED))
    assert completion.text == ANSWER
    assert completion.tokens == (*CharCodec().encode(ANSWER), END)
    if not any(decode_hint(payload, version, ASKED.tools) for payload in payloads):
        assert completion.metrics.hint.versions == 0
        assert sidecar.reader.rejected > 0
