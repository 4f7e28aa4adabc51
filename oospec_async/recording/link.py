"""What it takes until a hint can be read by the target's side: measured on a channel of this process's own."""

from __future__ import annotations

import time
from collections.abc import Sequence

from oospec_async.hints import Hint
from oospec_async.request import Tool
from oospec_async.sidecar.channel import CHANNEL_SIZE, Address, HintReader, HintWriter
from oospec_async.trace import LinkSample

_REPEATS = 3  # of which the last counts: the first ones warm up


def link_samples(hints: Sequence[Hint], tools: Sequence[Tool]) -> list[LinkSample]:
    """One per hint: writing its message, and the poll that reads it. Oversize hints, which no channel takes, have none.

    A live round polls when it begins, so how long a message lay there says nothing about the link.
    """
    block = memoryview(bytearray(CHANNEL_SIZE))
    writer, reader = HintWriter(block), HintReader(block)
    reader.expect(Address(1), tools)
    samples = []
    for hint in hints:
        size, seconds = None, 0.0
        for _ in range(_REPEATS):
            start = time.monotonic_ns()
            size = writer.publish(Address(1), hint, start)
            reader.poll()
            seconds = (time.monotonic_ns() - start) / 1e9
        if size is not None:
            samples.append(LinkSample(bytes=size, seconds=seconds))
    return samples
