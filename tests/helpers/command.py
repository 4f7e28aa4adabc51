"""``oospec-train`` as a command: within this process, or as a child that a test stops where it likes."""

from __future__ import annotations

import json
import subprocess
import sys
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from http.server import BaseHTTPRequestHandler, HTTPServer
from pathlib import Path
from typing import Any

import pytest

from helpers import tiny
from oospec_async.training import cli
from oospec_async.training.data.splits import split_of


def train_command(*arguments: object) -> int:
    """The exit code."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(sys, "argv", ["oospec-train", *map(str, arguments)])
        try:
            cli.main()
        except SystemExit as stop:
            return int(stop.code or 0)
    return 0


def child(patches: str, *arguments: object) -> subprocess.Popen[str]:
    """The command in a process of its own, after ``patches`` (Python) has changed its modules."""
    code = f"import sys\n{patches}\nfrom oospec_async.training.entry import main\nmain()\n"
    return subprocess.Popen(
        [sys.executable, "-c", code, *map(str, arguments)], stdin=subprocess.PIPE, stdout=subprocess.PIPE,
        stderr=subprocess.PIPE, text=True,
    )  # fmt: skip


def wait_for(process: subprocess.Popen[str], line: str) -> str:
    """Read stderr up to a line that begins so; returns what was read."""
    assert process.stderr is not None
    read = ""
    for found in process.stderr:
        read += found
        if found.startswith(line):
            return read
    raise AssertionError(f"the command ended before {line!r}: {read}")


def model_folder(folder: Path, *, seed: int = 0) -> Path:
    """A tiny model and its tokenizer on disk. Its name is that of the folder."""
    tiny.random_model("llama", std=0.2, context=2048, seed=seed).save_pretrained(folder)
    tiny.tokenizer().save_pretrained(folder)
    return folder


def names_in(split: str, count: int) -> list[str]:
    """Names of functions that are of a split."""
    return [name for n in range(50 * count) if split_of(name := f"do_thing_{n}") == split][:count]


def hermes(*calls: dict[str, Any]) -> str:
    return "\n".join(f"<tool_call>\n{json.dumps(call)}\n</tool_call>" for call in calls)


@contextmanager
def teacher(answer: Callable[[str], str]) -> Iterator[str]:
    """A server that answers the last message of a chat; yields its address."""

    class Server(BaseHTTPRequestHandler):
        def do_POST(self) -> None:
            body = json.loads(self.rfile.read(int(self.headers["Content-Length"])))
            said = {"message": {"content": answer(body["messages"][-1]["content"])}, "finish_reason": "stop"}
            self.send_response(200)
            self.end_headers()
            self.wfile.write(json.dumps({"choices": [said]}).encode())

        def log_message(self, *arguments: Any) -> None:
            return

    with HTTPServer(("127.0.0.1", 0), Server) as server:
        thread = threading.Thread(target=server.serve_forever, kwargs={"poll_interval": 0.01})
        thread.start()
        try:
            yield f"http://127.0.0.1:{server.server_port}/v1"
        finally:
            server.shutdown()
            thread.join()
