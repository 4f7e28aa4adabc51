"""The channel: the newest whole message for the expected address, or nothing; never an error, never a wait."""

from __future__ import annotations

import mmap
import os
import subprocess
import sys
import tempfile
from typing import Any

from hypothesis import example, given
from hypothesis import strategies as st

from helpers.strategies import PAYLOADS
from helpers.stubs import HINT, WEATHER
from oospec_async.hints import CallHint, Hint, encode_hint
from oospec_async.sidecar.channel import CHANNEL_SIZE, MAX_PAYLOAD, Address, Delivery, HintReader, HintWriter

HERE = Address(7)
TOOLS = (WEATHER,)
OTHER = Hint((CallHint("get_weather", {"city": "Rome"}),), version=2)


def pair(block: bytearray | None = None) -> tuple[HintReader, HintWriter]:
    view = memoryview(block if block is not None else bytearray(CHANNEL_SIZE))
    reader = HintReader(view)
    reader.expect(HERE, TOOLS)
    return reader, HintWriter(view)


def arrived(reader: HintReader) -> Hint | None:
    delivery = reader.poll()
    return None if delivery is None else delivery.hint


ADDRESSES = st.sampled_from([HERE, HERE, Address(6), Address(8), Address(7, epoch=1), Address(7, call=1)])
PUBLISHED = st.tuples(ADDRESSES, st.sampled_from([HINT, OTHER]))


@given(st.lists(PUBLISHED | st.sampled_from(["poll", "poll", "expect"]), max_size=20))
def test_a_poll_gives_the_newest_message_once_unless_it_is_old_or_for_another_request_epoch_or_call(
    steps: list[Any],
) -> None:
    reader, writer = pair()
    newest: tuple[Address, Delivery] | None = None  # that a poll has not seen
    rejected = 0
    for now, step in enumerate(steps):
        if step == "expect":
            reader.expect(HERE, TOOLS)
            newest = None
        elif step == "poll":
            mine = newest is not None and newest[0] == HERE
            assert reader.poll() == (newest[1] if newest is not None and mine else None)
            rejected += newest is not None and not mine
            newest = None
        else:
            address, hint = step
            size = len(encode_hint(hint))
            assert writer.publish(address, hint, now) == size
            newest = address, Delivery(hint, size, now)
        assert reader.rejected == rejected


def test_a_hint_is_read_with_the_tools_of_the_request_expected_last() -> None:
    reader, writer = pair()
    reader.expect(HERE, ())
    writer.publish(HERE, HINT, 1)
    assert reader.poll() is None


def test_a_payload_of_the_limit_fits_and_a_longer_one_is_dropped_and_leaves_the_one_before_it() -> None:
    reader, writer = pair()
    empty = len(encode_hint(Hint((CallHint("get_weather", {"city": ""}),))))
    largest, larger = (Hint((CallHint("get_weather", {"city": "x" * (MAX_PAYLOAD - empty + n)}),)) for n in (0, 1))
    assert writer.publish(HERE, largest, 1) == MAX_PAYLOAD
    assert writer.publish(HERE, larger, 2) is None
    assert arrived(reader) == largest


def write_and_die(block: bytearray, hint: Hint, now: int, cut: int) -> bool:
    """Publish into ``block``, but store only the first ``cut`` bytes. Returns whether all were stored.

    The order of stores is the writer's: the odd sequence number, header and payload, the even sequence number.
    """
    after = bytearray(block)
    HintWriter(memoryview(after)).publish(HERE, hint, now)
    odd = (int.from_bytes(block[:8], sys.byteorder) | 1).to_bytes(8, sys.byteorder)
    end = 44 + len(encode_hint(hint))
    stores = [*enumerate(odd), *enumerate(after[8:end], start=8), *enumerate(after[:8])]
    for offset, byte in stores[:cut]:
        block[offset] = byte
    return cut >= len(stores)


@given(
    cut=st.integers(0, 200),
    again=st.integers(0, 200),
    begun=st.sampled_from([0, 2, 254, 65534, (1 << 32) - 2, (1 << 64) - 2]),
)
@example(cut=8, again=8, begun=0)
def test_a_writer_that_died_after_any_byte_never_yields_a_wrong_hint_and_the_next_write_arrives(
    cut: int, again: int, begun: int
) -> None:
    block = bytearray(CHANNEL_SIZE)
    block[:8] = begun.to_bytes(8, sys.byteorder)
    reader, writer = pair(block)
    for hint, length in ((HINT, cut), (OTHER, again)):
        whole = write_and_die(block, hint, 1, length)
        assert arrived(reader) in ((hint,) if whole else (hint, None))
    last = Hint((CallHint("get_weather", {"city": "Oslo", "days": 1}),), version=9)
    writer.publish(HERE, last, 3)
    assert arrived(reader) == last


@given(
    junk=st.binary(max_size=200),
    tail=st.sampled_from([b"", b"\xff" * CHANNEL_SIZE, b"[" * CHANNEL_SIZE, b'{"' * CHANNEL_SIZE]),
)
@example(junk=b"\xff" * 8, tail=b"")
@example(junk=b"\xfe" + b"\xff" * 7, tail=b"\xff" * CHANNEL_SIZE)
def test_arbitrary_bytes_in_the_block_yield_nothing_raise_nothing_and_the_next_write_arrives(
    junk: bytes, tail: bytes
) -> None:
    block = bytearray(CHANNEL_SIZE)
    reader, writer = pair(block)
    block[:] = (junk + tail).ljust(CHANNEL_SIZE, b"\0")[:CHANNEL_SIZE]
    assert reader.poll() is None
    reader.expect(HERE, TOOLS)
    writer.publish(HERE, HINT, 1)
    assert arrived(reader) == HINT


@given(payload=PAYLOADS.map(lambda payload: payload[:MAX_PAYLOAD]))
@example(payload=b"[" * MAX_PAYLOAD)
@example(payload=b"9" * MAX_PAYLOAD)
@example(payload=b'["get_weather",{"city":"\\ud800"}]')
@example(payload=b'["get_weather",{"city":NaN,"days":1e999}]')
@example(payload=b'["get_weather",{"city":' + b"[" * 2000 + b"]" * 2000 + b"}]")
@example(payload=b'{"get_weather":1}')
@example(payload=b'"get_weather"')
@example(payload=b"7")
def test_a_valid_message_with_any_payload_yields_a_hint_for_the_tools_or_nothing(payload: bytes) -> None:
    reader, writer = pair()
    writer.write(HERE, payload, 1, 1)
    delivery = reader.poll()
    if delivery is None:
        assert reader.rejected == 1
    else:
        assert all(call.function == "get_weather" for call in delivery.hint.calls)


def test_a_message_longer_than_the_block_is_dropped() -> None:
    block = bytearray(CHANNEL_SIZE)
    reader, writer = pair(block)
    writer.publish(HERE, HINT, 1)
    block[36:40] = (0xFFFFFFF0).to_bytes(4, sys.byteorder)  # its length
    assert reader.poll() is None
    assert reader.rejected == 1


FLOOD = """
import mmap, sys
from oospec_async.hints import CallHint, Hint
from oospec_async.sidecar.channel import CHANNEL_SIZE, Address, HintWriter
writer = HintWriter(memoryview(mmap.mmap(int(sys.argv[1]), CHANNEL_SIZE)))
print("up", flush=True)
for n in range(1, int(sys.argv[2]) + 1):
    writer.publish(Address(7), Hint((CallHint("get_weather", {"city": str(n) * (n % 40), "days": n}),), n), n)
print("done", flush=True)
sys.stdin.read()
"""


def test_of_a_flood_from_another_process_only_whole_messages_are_seen_and_the_last_one_is() -> None:
    messages = 20_000
    with tempfile.TemporaryFile() as file:
        file.truncate(CHANNEL_SIZE)
        block = mmap.mmap(file.fileno(), CHANNEL_SIZE)
        reader = HintReader(memoryview(block))
        reader.expect(HERE, TOOLS)
        command = [sys.executable, "-c", FLOOD, str(file.fileno()), str(messages)]
        with subprocess.Popen(
            command, pass_fds=(file.fileno(),), stdin=subprocess.PIPE, stdout=subprocess.PIPE
        ) as writer:
            assert writer.stdin is not None
            assert writer.stdout is not None
            assert writer.stdout.readline() == b"up\n"
            os.set_blocking(writer.stdout.fileno(), False)
            seen, done = [], False
            while not done:
                # "done", or its end; before the poll, which then sees the last message
                done = writer.stdout.read() is not None
                delivery = reader.poll()
                if delivery is not None:
                    n = delivery.published_ns
                    expected = CallHint("get_weather", {"city": str(n) * (n % 40), "days": n})
                    assert delivery.hint == Hint((expected,), n)
                    seen.append(n)
            writer.stdin.close()
    assert seen == sorted(set(seen))
    assert seen[-1] == messages
