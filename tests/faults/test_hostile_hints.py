"""Whatever lies on the channel, and however fast it changes: the output stays what it is.

``tools/soak.py`` decodes under many more such hints, with a real model.
"""

from __future__ import annotations

import asyncio
import json
import struct
import time

from hypothesis import example, given, settings
from hypothesis import strategies as st

from helpers import tiny
from helpers.sidecars import started, stub_sidecar
from helpers.strategies import PAYLOADS
from helpers.stubs import CALL, YieldingExecutor, ask
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


# A worker that makes its message new as fast as a loop can: thousands of publishes in a millisecond.
FLOOD = """
import json, mmap, os, struct, sys, threading
from oospec_async.hints import CallHint, Hint
from oospec_async.sidecar.channel import CHANNEL_SIZE, Address, HintWriter

block = memoryview(mmap.mmap(json.loads(sys.argv[1])["channel"], CHANNEL_SIZE))
writer, put, serial, told = HintWriter(block), struct.Struct("@Q").pack_into, 0, 0

def read():
    global serial
    for line in sys.stdin:
        serial = json.loads(line).get("serial", serial)
    os._exit(0)

threading.Thread(target=read, daemon=True).start()
print(json.dumps({"ready": 1}), flush=True)
first = 2
while True:
    if serial != told:
        writer.publish(Address(serial), Hint((CallHint("get_weather", {"city": "Rome", "days": 3}),)), 1)
        told, first = serial, struct.unpack_from("@Q", block)[0]
    for sequence in range(first, first + 20_000, 2):
        put(block, 0, sequence)
    first += 20_000
"""
PUBLISHES = 10_000  # of which rounds must have passed at least so many


def test_a_flood_of_publishes_changes_no_output_and_every_round_takes_the_newest() -> None:
    sidecar = stub_sidecar("-c", FLOOD)

    def sequence() -> int:
        (found,) = struct.unpack_from("@Q", sidecar._block)
        return int(found)

    async def serve() -> tuple[int, int]:
        versions = served = 0
        async with started(sidecar):
            target, begun = ScriptedTarget(CALL), sequence()
            engine = scripted_engine(target, sidecar, executor=YieldingExecutor())
            while served < 3 or versions == 0 or sequence() - begun < 2 * PUBLISHES:
                completion = await engine.generate(ask())
                assert completion.tokens == (*CharCodec().encode(target.answers), END)  # type: ignore[arg-type]
                assert completion.metrics.hint.versions <= completion.metrics.rounds
                served, versions = served + 1, versions + completion.metrics.hint.versions
        return served, versions

    served, versions = asyncio.run(serve())
    assert served >= 3
    assert versions > 0
