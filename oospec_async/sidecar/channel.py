"""The hint channel: a one-way, latest-wins mailbox in one block of bytes that two processes may share.

The writer never waits for the reader nor the reader for the writer. A sequence number that is odd during a write, and
a checksum, let a reader recognise a message that was torn, overwritten or left half-written by a process that died.
"""

from __future__ import annotations

import struct
import zlib
from collections.abc import Sequence
from dataclasses import dataclass

from oospec_async.hints import Hint, decode_hint, encode_hint
from oospec_async.request import Tool

_SEQUENCE = struct.Struct("@Q")  # native order, so one store writes it
# request, monotonic ns of the publish, epoch, call index, version; length of the payload, checksum
_HEADER = struct.Struct("@QQIIIII")
_START = _SEQUENCE.size + _HEADER.size
MAX_PAYLOAD = 8192  # bytes
CHANNEL_SIZE = _START + MAX_PAYLOAD


@dataclass(frozen=True)
class Address:
    """Whom a hint is for: the engine's number of a request, which wave of it, and the first call it speaks of."""

    request: int
    epoch: int = 0
    call: int = 0


@dataclass(frozen=True)
class Delivery:
    """A hint as it arrived: bytes of its values, and when it was published (monotonic clock of the machine)."""

    hint: Hint
    payload_bytes: int
    published_ns: int


class HintWriter:
    """The sidecar's end."""

    def __init__(self, block: memoryview) -> None:
        self._block = block

    def publish(self, address: Address, hint: Hint, now_ns: int) -> int | None:
        """Replace the message. Returns the payload's bytes; None for an oversize one, which is dropped."""
        payload = encode_hint(hint)
        if len(payload) > MAX_PAYLOAD:
            return None
        self.write(address, payload, hint.version, now_ns)
        return len(payload)

    def write(self, address: Address, payload: bytes, version: int, now_ns: int) -> None:
        """Write any bytes as a message."""
        block = self._block
        sequence = _SEQUENCE.unpack_from(block)[0] | 1  # odd, also after a writer that died in mid-write
        _SEQUENCE.pack_into(block, 0, sequence)
        fields = (address.request, now_ns, address.epoch, address.call, version)
        _HEADER.pack_into(block, _SEQUENCE.size, *fields, len(payload), _checksum(fields, payload))
        block[_START : _START + len(payload)] = payload
        _SEQUENCE.pack_into(block, 0, (sequence + 1) % (1 << 64))


class HintReader:
    """The target's end, for one request at a time."""

    def __init__(self, block: memoryview) -> None:
        self._block = block
        self._seen = 0
        self._address = Address(0)
        self._tools: Sequence[Tool] = ()
        self.rejected = 0  # messages that were torn, stale or not understood

    def expect(self, address: Address, tools: Sequence[Tool]) -> None:
        """From now on take only messages for ``address``; whatever lies in the mailbox is old."""
        self._address, self._tools = address, tools
        self._seen = _SEQUENCE.unpack_from(self._block)[0]

    def detach(self) -> None:
        """Let go of the block: from now on there are no messages."""
        block, self._block = self._block, memoryview(bytes(CHANNEL_SIZE))
        self._seen = 0
        block.release()

    def poll(self) -> Delivery | None:
        """The newest message since the last poll, or None. A plain call: it never waits and never raises."""
        block = self._block
        sequence = _SEQUENCE.unpack_from(block)[0]
        if sequence == self._seen or sequence & 1:
            return None
        *fields, length, checksum = _HEADER.unpack_from(block, _SEQUENCE.size)
        payload = bytes(block[_START : _START + min(length, MAX_PAYLOAD)])
        if _SEQUENCE.unpack_from(block)[0] != sequence:
            return None  # overwritten meanwhile: the next poll sees the newer one
        self._seen = sequence
        request, published_ns, epoch, call, version = fields
        whole = length <= MAX_PAYLOAD and _checksum(tuple(fields), payload) == checksum
        if whole and Address(request, epoch, call) == self._address:
            hint = decode_hint(payload, version, self._tools)
            if hint is not None:
                return Delivery(hint, length, published_ns)
        self.rejected += 1
        return None


def _checksum(fields: tuple[int, ...], payload: bytes) -> int:
    return zlib.crc32(payload, zlib.crc32(repr(fields).encode()))
