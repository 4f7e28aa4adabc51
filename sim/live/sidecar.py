"""A sidecar whose waves run as they were recorded, and publish into the live engine's channel."""

from __future__ import annotations

import asyncio
from collections import deque
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field

from oospec_async.events import Event, WaveReport
from oospec_async.request import Request
from oospec_async.sidecar.channel import CHANNEL_SIZE, Address, HintReader, HintWriter
from sim.live.clock import VirtualClock
from sim.live.devices import VirtualDevice
from sim.live.payload import payload_of
from sim.replay.timetable import Forward, Rank, Timetable
from sim.scenario.placement import Law


@dataclass
class VirtualWave:
    """Times in ns. ``over``: nobody wants it any more."""

    address: Address
    timetable: Timetable
    forwards: Sequence[Forward]
    launched: int
    report: asyncio.Future[WaveReport]
    over: bool = False
    spans: list[tuple[int, int]] = field(default_factory=list)  # begin and end of each forward that was run
    publishes: list[tuple[int, int, int]] = field(default_factory=list)  # version, published, readable

    def events(self, method: str) -> Iterator[Event]:
        """What it did, also after it was cancelled."""
        request, hints = self.timetable.request, self.timetable.hints
        for forward, (begin, end) in zip(self.forwards, self.spans, strict=False):
            counts = {"tokens": forward.tokens, "branches": forward.branches}
            yield Event("sidecar", forward.name, begin, end, request, method, counts)
        for version, published, _ in self.publishes:
            data = {"version": version, "bytes": hints[version].bytes, "ready": hints[version].ready}
            yield Event("channel", "publish", published, published, request, method, data)


class VirtualSidecar:
    """A SidecarPort. One wave at a time, in the order of their launch; one that is cancelled ends its forward first."""

    def __init__(self, timetables: Sequence[Timetable], device: VirtualDevice, law: Law, clock: VirtualClock) -> None:
        block = memoryview(bytearray(CHANNEL_SIZE))
        self.reader, self._writer = HintReader(block), HintWriter(block)
        self.waves: list[VirtualWave] = []
        self._timetables = {timetable.request: timetable for timetable in timetables}
        self._device, self._law, self._clock = device, law, clock
        self._waiting: deque[VirtualWave] = deque()
        self._running: VirtualWave | None = None

    async def wave(self, address: Address, request: Request, *, reuse: bool = False) -> WaveReport | None:
        timetable, now = self._timetables[request.id], self._clock()
        if timetable.wave is None:
            return None
        launch = now + max(0, timetable.before_ns + timetable.wave.start_ns)
        report: asyncio.Future[WaveReport] = asyncio.get_running_loop().create_future()
        wave = VirtualWave(address, timetable, timetable.wave.forwards, launch, report)
        self.waves.append(wave)
        self._clock.at(launch, Rank.ENDS, lambda: self._launch(wave))
        try:
            return await report
        finally:
            wave.over = True

    async def close(self) -> None:
        return

    def _launch(self, wave: VirtualWave) -> None:
        self._waiting.append(wave)
        if self._running is None:
            self._begin_next()

    def _begin_next(self) -> None:
        self._running = None
        while self._waiting and self._running is None:
            wave = self._waiting.popleft()
            if not wave.over:
                self._running = wave
                self._go_on(wave)

    def _go_on(self, wave: VirtualWave) -> None:
        """Ask for the next forward of the running wave, or end it."""
        if wave.over or len(wave.spans) == len(wave.forwards):
            if not wave.report.done():
                begin = wave.spans[0][0] if wave.spans else self._clock()
                wave.report.set_result(WaveReport(begin, self._clock(), cancelled=False))
            self._begin_next()
            return
        forward = wave.forwards[len(wave.spans)]

        def ended(begin: int, end: int) -> None:
            wave.spans.append((begin, end))
            if forward.publishes:
                self._publish(wave, forward.publishes)
            self._go_on(wave)

        ns = self._law(forward.ns)
        self._clock.at(self._clock(), Rank.SIDECAR_ASKS, lambda: self._device.ask("sidecar", ns, ended))

    def _publish(self, wave: VirtualWave, version: int) -> None:
        """The message is on its way for the link's latency, and stays behind those before it."""
        now, hint = self._clock(), wave.timetable.hints[version]
        readable = max([now + wave.timetable.link_ns, *(at for _, _, at in wave.publishes[-1:])])
        wave.publishes.append((version, now, readable))
        payload = payload_of(hint.bytes, hint.ready)
        self._clock.at(readable, Rank.ENDS, lambda: self._writer.write(wave.address, payload, version, now))
