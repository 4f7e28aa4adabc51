"""``oospec-run`` in real processes that start at once: forks of one that has imported everything already.

As a script it is that one. Each line on its stdin is a command; it answers with the exit code.
"""

from __future__ import annotations

import atexit
import importlib
import json
import os
import signal
import subprocess
import sys
import threading
import traceback
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import psutil

MARK = "OOSPEC_TEST_COMMAND"  # in the environment of whatever a command starts
STUB = Path(__file__).parent.parent / "helpers" / "stub_worker.py"


@dataclass(frozen=True)
class Instant:
    """The ``nth`` call of a function, ``module:attribute.attribute``; the process then sends itself a signal.

    ``stays``: the call never returns.
    """

    where: str
    nth: int = 1
    stays: bool = False


@dataclass(frozen=True)
class Done:
    code: int  # negative: the signal that ended it
    out: str
    err: str
    left: Sequence[int]  # processes that it has started and not ended


class Preloaded:
    def __init__(self, server: subprocess.Popen[str], folder: Path) -> None:
        self._server, self._folder = server, folder
        self._number = 0

    def run(
        self,
        *arguments: object,
        at: Instant | None = None,
        sent: signal.Signals = signal.SIGINT,
        patches: str = "",
        stub: str = "honest",
    ) -> Done:
        """``patches``: Python that is run before the command. ``stub``: the misdeed of the stub that is the sidecar;
        empty: the sidecar is a real one."""
        self._number += 1
        mark = f"{os.getpid()}-{self._number}"
        out, err = (self._folder / f"{self._number}.{kind}" for kind in ("out", "err"))
        job: dict[str, Any] = {
            "arguments": list(map(str, arguments)), "out": str(out), "err": str(err), "mark": mark, "stub": stub,
            "patches": patches, "at": [at.where, at.nth, at.stays, int(sent)] if at else None,
        }  # fmt: skip
        assert self._server.stdin is not None
        assert self._server.stdout is not None
        self._server.stdin.write(json.dumps(job) + "\n")
        self._server.stdin.flush()
        code = json.loads(self._server.stdout.readline())
        return Done(code, out.read_text(), err.read_text(), marked(mark))


@contextmanager
def preloaded(folder: Path) -> Iterator[Preloaded]:
    tests = Path(__file__).parent.parent
    environment = {**os.environ, "PYTHONPATH": os.pathsep.join([str(tests.parent), str(tests)])}
    with subprocess.Popen(
        [sys.executable, __file__], stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True, env=environment
    ) as server:
        yield Preloaded(server, folder)
        assert server.stdin is not None
        server.stdin.close()


def marked(mark: str) -> list[int]:
    """Living processes that carry a mark, wherever they were adopted."""
    everyone = psutil.process_iter(["environ"])
    return [process.pid for process in everyone if (process.info["environ"] or {}).get(MARK) == mark]


def _serve() -> None:
    """Returns in a child only, as the command."""
    import torch  # noqa: F401
    import transformers.models.llama.modeling_llama  # noqa: F401

    import oospec_async.commands.cli
    import oospec_async.runtime.open  # noqa: F401

    assert threading.active_count() == 1, "a thread would not be there in a fork"
    for line in sys.stdin:
        job = json.loads(line)
        if (pid := os.fork()) == 0:
            _become(job)
            return
        print(os.waitstatus_to_exitcode(os.waitpid(pid, 0)[1]), flush=True)
    os._exit(0)


def _become(job: Mapping[str, Any]) -> None:
    from oospec_async.sidecar.process import SidecarProcess

    os.setsid()
    for number, path in ((0, os.devnull), (1, job["out"]), (2, job["err"])):
        file = os.open(path, os.O_RDWR | os.O_CREAT)
        os.dup2(file, number)
        os.close(file)
    os.environ[MARK] = job["mark"]
    sys.argv = ["oospec-run", *job["arguments"]]
    if job["stub"]:
        SidecarProcess.__init__.__kwdefaults__["command"] = (sys.executable, str(STUB), job["stub"])
    exec(job["patches"], {})
    if job["at"] is not None:
        _signal_at(*job["at"])


def _signal_at(where: str, nth: int, stays: bool, number: int) -> None:
    module, _, path = where.partition(":")
    *owners, name = path.split(".")
    owner: Any = importlib.import_module(module)
    for each in owners:
        owner = getattr(owner, each)
    function: Callable[..., Any] = getattr(owner, name)
    calls = 0

    def signalling(*arguments: Any, **options: Any) -> Any:
        nonlocal calls
        calls += 1
        if calls == nth:
            os.kill(os.getpid(), number)
            if stays:
                threading.Event().wait()
        return function(*arguments, **options)

    setattr(owner, name, signalling)


def _end(command: Callable[[], object]) -> None:
    """As the interpreter ends a program, but for taking itself apart, which costs a fork a second."""
    code: Any = 0
    try:
        command()
    except SystemExit as stop:
        code = stop.code or 0
    except BaseException:
        traceback.print_exc()
        code = 1
    threading._shutdown()  # type: ignore[attr-defined]  # waits for threads
    atexit._run_exitfuncs()
    for stream in (sys.stdout, sys.stderr):
        stream.flush()
    os._exit(code)


if __name__ == "__main__":
    signal.signal(signal.SIGINT, signal.default_int_handler)
    _serve()
    from oospec_async.console.entry import main

    _end(main)
