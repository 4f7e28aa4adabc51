"""Ctrl-C and SIGTERM at any moment: what was finished is told and kept, nothing is half-written, nobody is left."""

from __future__ import annotations

import json
import signal
from pathlib import Path

import pytest

from faults.conftest import REQUESTS
from faults.preloaded import Done, Instant, Preloaded

RUN, OPEN, TARGET = "oospec_async.commands.run", "oospec_async.runtime.open", "oospec_async.target.target:Target"
SIDECAR = "oospec_async.sidecar.process:SidecarProcess"
STARTING = {
    "reading the requests": Instant("oospec_async.commands.cli:read_request_file"),
    "hashing the weights": Instant(f"{OPEN}:resolve", stays=True),
    "loading, which takes for ever": Instant(f"{OPEN}:load", stays=True),
    "starting the sidecar": Instant(f"{SIDECAR}.start"),
    "calibrating": Instant(f"{TARGET}.calibrate"),
    "in the first prefill": Instant(f"{TARGET}.prefill", nth=2),  # after that of the calibration
    "in the first request": Instant(f"{TARGET}.verify", nth=25),  # the calibration has 21
}
SERVING = {
    "telling a result": Instant("oospec_async.commands.terminal:print_completion", nth=2),
    "in the last prefill": Instant(f"{TARGET}.prefill", nth=1 + REQUESTS),
}
ENDING = {
    "before the first file": Instant(f"{RUN}:write_timeline"),
    "making the trace": Instant(f"{RUN}:make_trace"),
    "before a file appears": Instant("oospec_async.files.writing:os.replace", nth=2),
    "telling the sum": Instant("oospec_async.commands.terminal:print_summary"),
    "closing the sidecar": Instant(f"{SIDECAR}.close"),
}
KINDS = {
    **dict.fromkeys(STARTING, "starting"),
    **dict.fromkeys(SERVING, "serving"),
    **dict.fromkeys(ENDING, "ending"),
}
INSTANTS = {**STARTING, **SERVING, **ENDING}
CODES = {signal.SIGINT: 130, signal.SIGTERM: -signal.SIGTERM}


def stopped(command: Preloaded, live: list[object], folder: Path, instant: Instant, sent: signal.Signals) -> Done:
    files = ["--record", folder / "trace.json", "--timeline", folder / "timeline.html"]
    done = command.run(*live, *files, at=instant, sent=sent)
    assert "Traceback" not in done.err
    assert "Exception ignored" not in done.err
    assert done.left == []
    assert {path.name for path in folder.iterdir()} <= {"trace.json", "timeline.html"}, "half-written"
    return done


@pytest.mark.parametrize("sent", CODES)
@pytest.mark.parametrize("moment", INSTANTS)
def test_a_signal_at_any_moment(
    moment: str, sent: signal.Signals, command: Preloaded, live: list[object], tmp_path: Path
) -> None:
    done = stopped(command, live, tmp_path, INSTANTS[moment], sent)
    kind = KINDS[moment]
    ignored = kind == "ending" and sent == signal.SIGINT  # there is nothing left to cut short
    assert done.code == (0 if ignored else CODES[sent]), done.err
    if sent == signal.SIGINT and not ignored:
        assert done.err.splitlines()[-1] == "oospec-run: interrupted"
    trace = tmp_path / "trace.json"
    if kind == "starting":
        assert not list(tmp_path.iterdir())
        assert "mean accepted" not in done.out
        return
    assert "mean accepted" in done.out
    assert (tmp_path / "timeline.html").read_text().endswith("</html>\n")
    told = [run["request"] for run in json.loads(trace.read_text())["requests"]]
    finished = 1 if moment == "telling a result" else REQUESTS - 1 if kind == "serving" else REQUESTS
    assert told == [f"r{n}" for n in range(len(told))]
    assert len(told) >= finished


@pytest.mark.parametrize("moment", ["hashing the weights", "in the first request"])
def test_a_command_in_the_background_of_a_shell_ignores_ctrl_c_and_takes_sigterm(
    moment: str, command: Preloaded, live: list[object]
) -> None:
    ignoring = "import signal; signal.signal(signal.SIGINT, signal.SIG_IGN)"
    done = command.run(*live, at=INSTANTS[moment], sent=signal.SIGTERM, patches=ignoring)
    assert (done.code, done.left) == (-signal.SIGTERM, [])
    assert "Traceback" not in done.err
    if moment == "in the first request":
        assert command.run(*live, at=INSTANTS[moment], sent=signal.SIGINT, patches=ignoring).code == 0


def test_a_sidecar_with_its_model_ends_too(command: Preloaded, live: list[object], tmp_path: Path) -> None:
    """No stub: the worker that a user's command starts."""
    trace = tmp_path / "trace.json"
    done = command.run(*live, "--record", trace, at=INSTANTS["in the last prefill"], sent=signal.SIGTERM, stub="")
    assert (done.code, done.left) == (-signal.SIGTERM, [])
    assert "Traceback" not in done.err
    assert "mean accepted" in done.out
    told = json.loads(trace.read_text())["requests"]
    assert [run["request"] for run in told] == [f"r{n}" for n in range(len(told))]
    assert all(run["wave"] for run in told), "it was at work"
