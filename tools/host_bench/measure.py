"""The times themselves: between forwards, of a poll, and of two thread switches."""

from __future__ import annotations

import time
from collections.abc import Sequence
from itertools import pairwise

from host_bench.cases import TOOLS, Case, calls
from oospec_async.events import Event
from oospec_async.hints import CallHint, Hint
from oospec_async.runtime.channel import CHANNEL_SIZE, Address, HintReader, HintWriter
from oospec_async.runtime.engine import Engine
from oospec_async.runtime.executor import ThreadExecutor

_POLLS = 20_000
_SWITCHES = 2_000
_BUSY = 500_000  # ns

Samples = dict[str, list[float]]  # ms, by phase


async def measure(engine: Engine, given: Sequence[Case]) -> Samples:
    """Serve every request and read the phases off the recorded events.

    ``between`` runs from a forward's end to the next one's start, both on the executor's thread. ``commit`` and
    ``draft`` (the poll included) are its known parts; ``hand-over`` is the rest: thread switches, loop and records.
    """
    for case in given:
        await engine.generate(case.request)
    samples: Samples = {"between": [], "commit": [], "draft": [], "hand-over": []}
    by_request: dict[str, list[Event]] = {}
    for event in engine.recorder.events:
        if event.track in ("target", "host"):
            by_request.setdefault(event.request, []).append(event)
    for events in by_request.values():
        events.sort(key=lambda event: (event.start_ns, event.end_ns))
        forwards = [index for index, event in enumerate(events) if event.track == "target"]
        for this, following in pairwise(forwards):
            between = (events[following].start_ns - events[this].end_ns) / 1e6
            parts = {event.name: event.seconds * 1e3 for event in events[this + 1 : following]}
            samples["between"].append(between)
            samples["commit"].append(parts["commit"])
            samples["draft"].append(parts["draft"])
            samples["hand-over"].append(between - parts["commit"] - parts["draft"])
    return samples


def measure_poll() -> Samples:
    """Times of single polls, in µs, with nothing new and with a new message."""
    block = memoryview(bytearray(CHANNEL_SIZE))
    reader, writer = HintReader(block), HintWriter(block)
    reader.expect(Address(1), TOOLS)
    name, arguments = next(calls())
    hint = Hint((CallHint(name, arguments),))
    nothing, message = [], []
    for _ in range(_POLLS):
        start = time.perf_counter_ns()
        reader.poll()
        nothing.append((time.perf_counter_ns() - start) / 1e3)
    for _ in range(_POLLS // 10):
        writer.publish(Address(1), hint, 0)
        start = time.perf_counter_ns()
        reader.poll()
        message.append((time.perf_counter_ns() - start) / 1e3)
    return {"nothing new": nothing, "new message": message}


async def measure_switch(executor: ThreadExecutor) -> list[float]:
    """Times of calls that do nothing, in ms: what two thread switches take by themselves.

    Between them the loop's thread is as busy as a draft keeps it. Where other programs occupy the cores, the thread of
    the executor waits for one, and the highest times here say how much of the highest times of ``hand-over`` that is.
    """
    times = []
    for _ in range(_SWITCHES):
        busy = time.perf_counter_ns() + _BUSY
        while time.perf_counter_ns() < busy:
            pass
        start = time.perf_counter_ns()
        await executor.run(time.monotonic_ns)
        times.append((time.perf_counter_ns() - start) / 1e6)
    return times
