"""A sidecar's process that misbehaves: ``python stub_worker.py MISDEED CONFIG``. It ends with its stdin."""

from __future__ import annotations

import json
import mmap
import os
import random
import signal
import sys
import threading
import time
from typing import Any

from oospec_async.hints import CallHint, Hint
from oospec_async.sidecar.channel import CHANNEL_SIZE, MAX_PAYLOAD, Address, HintWriter

PLAUSIBLE = {"city": "Rome", "days": 99, "unit": "kelvin", "alerts": False, "id": 7, "items": ["x"]}
WRONG_TYPES: list[Any] = [
    ["get_weather", ["city"]], ["get_weather", {"city": {"a": [1, None]}, "days": "three", "unit": 1e308}],
    [["get_weather"], {}], {"get_weather": {}}, ["get_weather", {"city": "\n\"'}}]]</tool_call>"}], [[]], None, 3,
    ["get_weather", {"city": "x" * 4000, "days": -(10**300)}, ["days", 5, None]], ["now", {}] * 200,
]  # fmt: skip


def junk(misdeed: str, serial: int, writer: HintWriter, block: memoryview) -> None:
    """Do something to the channel, once."""
    here, now = Address(serial), time.monotonic_ns()
    if misdeed == "random bytes":
        block[:] = random.randbytes(CHANNEL_SIZE)
    elif misdeed == "huge strings":
        writer.publish(here, Hint((CallHint("get_weather", {"city": "x" * (1 << 20)}),)), now)
        writer.write(here, b"x" * MAX_PAYLOAD, 1, now)
    elif misdeed == "unknown functions":
        writer.publish(here, Hint((CallHint("rm", {"-rf": "/"}), CallHint("get_weather", {"no such": 1}))), now)
    elif misdeed == "wrong types":
        writer.write(here, json.dumps(random.choice(WRONG_TYPES)).encode(), 1, now)
    elif misdeed == "wrong values":
        writer.publish(here, Hint((CallHint(random.choice(["get_weather", "get_order", "now"]), PLAUSIBLE),)), now)
    elif misdeed == "half a message":
        writer.publish(here, Hint((CallHint("get_weather", PLAUSIBLE),)), now)
        block[60:] = random.randbytes(CHANNEL_SIZE - 60)


def report(serial: int) -> dict[str, Any]:
    return {"serial": serial, "start_ns": 1, "end_ns": 2, "cancelled": False, "error": "", "events": []}


def lies(serial: int) -> list[str]:
    """Lines that are no report of a wave, or no honest one."""
    good = report(serial)
    event = {"track": "sidecar", "name": "step", "start_ns": 1, "end_ns": 2, "request": "", "method": "", "data": {}}
    bad: list[Any] = [
        {**good, "start_ns": "soon"}, {**good, "end_ns": 10**400}, {**good, "end_ns": -1}, {**good, "start_ns": 3},
        {**good, "cancelled": 7}, {**good, "error": None}, {**good, "events": 3}, {**good, "serial": [serial]},
        {**good, "events": [{**event, "start_ns": None}]}, {**good, "events": [{**event, "track": "target"}]},
        {**good, "events": [{**event, "data": {"tokens": "many"}}]}, {**good, "events": [{**event, "end_ns": 9}]},
        {"serial": serial}, {**good, "serial": 10**9}, "fatal", ["serial"], {"fatal": "too late"}, 5, None,
    ]  # fmt: skip
    return ["no JSON", "[" * 100_000, "\ufffd\0\x1b[31m", "9" * 5000, *map(json.dumps, bad)]


def main() -> None:
    misdeed, config = sys.argv[1], json.loads(sys.argv[2])
    if misdeed == "interrupted":
        signal.signal(signal.SIGINT, signal.SIG_DFL)
    if misdeed == "exits":
        sys.exit(3)
    if misdeed == "refuses":
        print(json.dumps({"fatal": "no such model"}), flush=True)
        sys.exit(0)
    if misdeed == "lies":
        print("\n".join(line for line in lies(1) if "fatal" not in line), flush=True)
    block = memoryview(mmap.mmap(config["channel"], CHANNEL_SIZE))
    writer = HintWriter(block)
    print(json.dumps({"ready": os.getpid()}), flush=True)
    for line in sys.stdin:
        serial = json.loads(line).get("serial")
        if serial is None:
            continue
        if misdeed == "dies":
            junk("wrong values", serial, writer, block)
            os.kill(os.getpid(), signal.SIGKILL)
        elif misdeed == "stops":
            os.kill(os.getpid(), signal.SIGSTOP)
        elif misdeed == "flood":
            threading.Thread(target=flood, args=(serial, writer), daemon=True).start()
        elif misdeed == "chatter":
            threading.Thread(target=chatter, args=(serial,), daemon=True).start()
        elif misdeed == "lies":
            print("\n".join(lies(serial)), flush=True)
        elif misdeed == "endless line":
            os.write(1, b"x" * (1 << 20))
        elif misdeed == "closes its output":
            os.close(1)
        elif misdeed == "shrinks the channel":
            try:
                os.ftruncate(config["channel"], 0)
            except OSError:
                block[:] = random.randbytes(CHANNEL_SIZE)
        elif misdeed == "honest":
            writer.publish(Address(serial), Hint((CallHint("now"),)), time.monotonic_ns())
            print(json.dumps(report(serial)), flush=True)
        else:
            junk(misdeed, serial, writer, block)


def flood(serial: int, writer: HintWriter) -> None:
    while True:
        writer.publish(Address(serial), Hint((CallHint("get_weather", {"city": random.choice("abc")}),)), 1)


def chatter(serial: int) -> None:
    while True:
        os.write(1, ("\n".join([*lies(serial)[4:], "x"]) + "\n" * 5000).encode())


if __name__ == "__main__":
    main()
