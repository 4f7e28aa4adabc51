"""The main process's side of a worker: start it, ask it, end it."""

from __future__ import annotations

import contextlib
import json
import os
import subprocess
import sys
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from types import TracebackType
from typing import Any

from oospec_async.errors import OospecError
from tools.benchmark.history import beside_rows
from tools.benchmark.worker import Spec

_ROOT = Path(__file__).parents[2]  # of the repository
_COMMAND = (sys.executable, "-P", "-m", "tools.benchmark.worker")
_GRACE = 5.0  # seconds for a worker whose stdin has ended


class WorkerProcess:
    """A child that serves rows. It reads the end of its stdin when this process ends, however that happens."""

    def __init__(
        self, spec: Spec, note: Callable[[str], None], log: Path, *, command: Sequence[str] = _COMMAND
    ) -> None:
        """Starts the process; ``opened`` waits for it. What it prints on its own goes to ``log``."""
        self._name, self._note, self._log = spec.name, note, log
        environment = dict(os.environ)
        environment["PYTHONPATH"] = os.pathsep.join([str(_ROOT), *filter(None, [environment.get("PYTHONPATH")])])
        if spec.cores:  # as many threads as cores, from the first tensor on
            environment |= {"OMP_NUM_THREADS": str(len(spec.cores)), "MKL_NUM_THREADS": str(len(spec.cores))}
        with beside_rows(log):
            stream = log.open("wb")
        with stream:
            self._process = subprocess.Popen(
                command,
                stdin=subprocess.PIPE,
                stdout=subprocess.PIPE,
                stderr=stream,
                env=environment,
                start_new_session=True,  # Ctrl-C in a terminal is for this process alone
            )
        try:
            self._send(spec.model_dump(mode="json"))
        except BaseException:
            self.close()
            raise

    @property
    def pid(self) -> int:
        return self._process.pid

    def opened(self) -> dict[str, Any]:
        """Wait until models are loaded. Returns ``curve``. Raises OospecError, the worker's own reason."""
        opened: dict[str, Any] = self._answer()["opened"]
        return opened

    def ask(self, job: Mapping[str, Any]) -> dict[str, Any]:
        """One job at a time. Raises OospecError if the worker has ended."""
        self._send(job)
        return self._answer()

    def close(self) -> None:
        assert self._process.stdin is not None
        assert self._process.stdout is not None
        with contextlib.suppress(OSError):  # it is gone already
            self._process.stdin.close()
        try:
            self._process.wait(_GRACE)
        except subprocess.TimeoutExpired:
            self._process.kill()
            self._process.wait()
        self._process.stdout.close()

    def _send(self, message: Mapping[str, Any]) -> None:
        assert self._process.stdin is not None
        try:
            self._process.stdin.write(json.dumps(message).encode() + b"\n")
            self._process.stdin.flush()
        except OSError:
            raise self._ended() from None

    def _answer(self) -> dict[str, Any]:
        assert self._process.stdout is not None
        while line := self._process.stdout.readline():
            try:
                message: dict[str, Any] = json.loads(line)
            except ValueError:  # cut off
                break
            if "note" in message:
                self._note(message["note"])
            elif "fatal" in message:
                told = f"worker {self._name}: {message['fatal']}; see {self._log}"
                raise OospecError(told if message.get("unexpected") else message["fatal"])
            else:
                return message
        raise self._ended()

    def _ended(self) -> OospecError:
        code = self._process.wait()
        return OospecError(f"worker {self._name}: its process ended with code {code}; see {self._log}")

    def __enter__(self) -> WorkerProcess:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.close()
