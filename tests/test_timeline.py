"""Timelines: what the two files hold, that nothing in a run's names can break them, and that a failure leaves none."""

from __future__ import annotations

import json
import os
from itertools import pairwise
from pathlib import Path
from typing import Any

import pytest
from plotly import graph_objects

from helpers.page import Page
from oospec_async.drawing import picture
from oospec_async.drawing.colours import DRAFTER_COLOURS, drafter_colour
from oospec_async.errors import OospecError
from oospec_async.events import Event, Track
from oospec_async.timeline import check_timeline_path, write_timeline
from oospec_async.timeline.figure import figure
from oospec_async.timeline.runs import runs_of

_MS = 1_000_000
_START = 987_654_321_012_345_678  # a monotonic clock is nowhere near zero


def _event(
    track: Track, name: str, start: float, end: float, method: str, request: str = "flight", **data: Any
) -> Event:
    return Event(track, name, _START + round(start * _MS), _START + round(end * _MS), request, method, data)


def _verify(start: float, end: float, method: str, sources: list[str], request: str = "flight") -> Event:
    drafted = len([source for source in sources if source])
    counts = {"tokens": 9, "accepted": drafted, "committed": drafted + 1, "position": 0}
    return _event("target", "verify", start, end, method, request, sources=sources, **counts)


def _run(request: str = "flight") -> list[Event]:
    """Plain decoding of three tokens, then the same under oospec; its clock starts 10 s later."""
    return [
        _event("target", "prefill", 0, 90, "ar", request, tokens=300),
        *(_verify(90 + 14 * k, 104 + 14 * k, "ar", [""], request) for k in range(3)),
        _event("sidecar", "prefill", 9_999, 10_020, "oospec", request, tokens=310),
        _event("target", "prefill", 10_000, 10_090, "oospec", request, tokens=300),
        _event("sidecar", "step", 10_020, 10_030, "oospec", request, branches=4),
        _event("channel", "publish", 10_030, 10_030, "oospec", request, version=1, bytes=40, ready=2),
        _event("channel", "publish", 10_050, 10_050, "oospec", request, version=2, bytes=80, ready=4),
        _event("channel", "publish", 10_090, 10_090, "oospec", request, version=3, bytes=90, ready=5),  # under way
        _event("channel", "poll", 10_091, 10_091, "oospec", request, version=2, position=0),
        _event("host", "draft", 10_090, 10_092, "oospec", request),
        _verify(10_092, 10_110, "oospec", ["schema", "hint", ""], request),
        _event("host", "commit", 10_110, 10_111, "oospec", request),
        _event("sidecar", "step", 10_100, 10_150, "oospec", request, branches=1),
    ]


def _entries(path: Path) -> list[dict[str, Any]]:
    entries: list[dict[str, Any]] = json.loads(path.read_text())["traceEvents"]
    return entries


@pytest.fixture
def chrome(tmp_path: Path) -> list[dict[str, Any]]:
    """The entries of two requests' trace."""
    write_timeline(_run() + _run("hotel"), tmp_path / "run.json", "a run")
    return _entries(tmp_path / "run.json")


def test_a_chrome_trace_holds_every_event_once_in_order_of_time(chrome: list[dict[str, Any]]) -> None:
    timed = [entry for entry in chrome if entry["ph"] != "M"]
    assert [entry["ts"] for entry in timed] == sorted(entry["ts"] for entry in timed)
    assert timed[0]["ts"] == 0.0
    boxes = [entry for entry in timed if entry["ph"] == "X"]
    instants = [entry for entry in timed if entry["ph"] == "i"]
    assert len(boxes) + len(instants) == 2 * len(_run())
    assert all(entry["dur"] >= 0 for entry in boxes)
    assert {entry["name"] for entry in instants} == {"publish", "poll"}
    assert next(entry for entry in boxes if entry["name"] == "verify")["args"]["committed"] == 1


def test_a_chrome_trace_names_a_process_per_run_and_a_thread_per_track(chrome: list[dict[str, Any]]) -> None:
    named = {
        kind: [(e["pid"], e["tid"], e["args"]["name"]) for e in chrome if e["name"] == kind]
        for kind in ("process_name", "thread_name")
    }
    assert [name for _, _, name in named["process_name"]] == [
        "flight · ar", "flight · oospec", "hotel · ar", "hotel · oospec",
    ]  # fmt: skip
    assert [name for pid, _, name in named["thread_name"] if pid == named["process_name"][1][0]] == [
        "target", "host", "channel", "sidecar",
    ]  # fmt: skip
    threads = [tid for _, tid, _ in named["thread_name"]]
    assert len(set(threads)) == len(threads)
    assert not set(threads) & {pid for pid, _, _ in named["process_name"]}
    assert {e["tid"] for e in chrome if e["ph"] != "M"} == set(threads)


def test_a_flow_goes_from_a_publish_to_the_poll_that_found_it(chrome: list[dict[str, Any]]) -> None:
    ids: dict[str, set[int]] = {"s": set(), "f": set()}
    for bound, flow in pairwise(chrome):
        if flow["ph"] in ids:
            ids[flow["ph"]].add(flow["id"])
            assert (flow["ts"], flow["tid"]) == (bound["ts"], bound["tid"])
            assert (bound["name"], bound["args"]["version"]) == ("publish" if flow["ph"] == "s" else "poll", 2)
    assert ids["s"] == ids["f"]
    assert len(ids["s"]) == 2  # versions 1 and 3 were not found in either run


def test_chrome_times_come_back_to_the_nanosecond(tmp_path: Path) -> None:
    """A viewer multiplies by 1000 and cuts off: boxes that touch must still touch, and never overlap."""
    edges = [k * k * 1_001 for k in range(2_000)]
    events = [Event("host", "draft", a, b, "r", "m") for a, b in pairwise(edges)]
    write_timeline(events, tmp_path / "run.json", "a run")
    boxes = [entry for entry in _entries(tmp_path / "run.json") if entry["ph"] == "X"]
    assert [int(entry["ts"] * 1000) for entry in boxes] == edges[:-1]
    assert [int(entry["ts"] * 1000) + int(entry["dur"] * 1000) for entry in boxes] == edges[1:]


def test_a_page_needs_nothing_from_a_network(tmp_path: Path) -> None:
    write_timeline(_run() + _run("hotel"), tmp_path / "run.html", "a run on a laptop")
    page = Page(tmp_path / "run.html")
    page.check(figures=2)
    assert page.tags.count("section") == 2
    assert "a run on a laptop" in page.text
    assert "by hint" in page.text
    assert "by lookup" not in page.text  # the legend lists what occurs


def test_a_figure_is_valid_and_has_few_traces(tmp_path: Path) -> None:
    few, many = figure(runs_of(_run())), figure(runs_of([e for _ in range(50) for e in _run()]))
    graph_objects.Figure(few)
    assert len(few["data"]) == len(many["data"]) < 20


def test_methods_of_a_request_share_a_time_axis_that_starts_at_their_prefill() -> None:
    drawn = figure(runs_of(_run()))
    prefills = [t for t in drawn["data"] if t.get("text") == ["prefill"] * 2]
    assert [trace["base"] for trace in prefills] == [[0.0, 0.0]]
    sidecar = next(t for t in drawn["data"] if t.get("text") == ["prefill"])
    assert sidecar["base"] == [-1.0]
    assert drawn["layout"]["xaxis"]["range"][0] < -1.0
    assert drawn["layout"]["yaxis"]["ticktext"] == ["target", "target", "channel", "sidecar"]
    notes = [note["text"] for note in drawn["layout"]["annotations"]]
    assert any("111 ms" in note and "1.19× as fast as ar" in note for note in notes)


def test_runs_that_committed_different_numbers_of_tokens_are_not_compared() -> None:
    events = [*_run(), _verify(10_120, 10_130, "oospec", [""])]
    assert "as fast as" not in json.dumps(figure(runs_of(events)))


def test_a_rounds_bands_are_the_shares_of_its_drafters() -> None:
    drawn = figure(runs_of(_run()))
    bands = {
        trace["marker"]["color"]: trace
        for trace in drawn["data"]
        if trace["type"] == "bar" and trace["marker"]["color"] in DRAFTER_COLOURS.values()
    }
    shared = {colour: trace["width"][-1] for colour, trace in bands.items()}
    assert shared.keys() == {drafter_colour(name) for name in ("", "schema", "hint")}
    assert len({round(height, 6) for height in shared.values()}) == 1  # one token each
    assert bands[drafter_colour("")]["width"][0] == pytest.approx(3 * shared[drafter_colour("")])  # ar: all its own


def test_names_in_a_run_cannot_break_the_files(tmp_path: Path) -> None:
    nasty = "</script><script>alert(1)</script><img src=http://x.example/y>\ud800"
    events = [
        *_run(nasty),
        _event("target", "prefill", 0, 1, nasty, "b", tokens=nasty),
        _verify(1, 2, nasty, [nasty, ""], "b"),
        _event("host", nasty, 2, 3, nasty, "b"),
    ]
    for name in ("run.html", "run.json"):
        write_timeline(events, tmp_path / name, nasty)
    Page(tmp_path / "run.html").check(figures=2)
    assert json.loads((tmp_path / "run.json").read_text())["otherData"]["title"] == nasty


@pytest.mark.parametrize("name", ["run.html", "run.json"])
def test_sparse_runs_are_drawn_too(tmp_path: Path, name: str) -> None:
    bare = [Event("target", "verify", 5, 5, "r", "m"), Event("channel", "poll", 5, 5, "r", "n")]
    for events in ([], bare, bare[1:]):
        write_timeline(events, tmp_path / name, "sparse")
    assert (tmp_path / name).stat().st_size > 0
    assert "NaN" not in json.dumps(figure(runs_of(bare)))


@pytest.mark.parametrize(
    ("name", "reason"),
    [
        *((name, r"\.html .*\.json .*\.svg or \.png") for name in ("run.gif", "run", "run.html.gz")),
        ("run.svg", r"takes kaleido; pip install '\.\[bench\]' brings it, or name a file in \.html$"),
        ("folder.html", "is no regular file"),
        ("missing/run.html", "there is no folder"),
    ],
)
def test_a_file_that_cannot_be_made_is_refused_before_a_run_and_at_writing(
    name: str, reason: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(picture, "find_spec", lambda name: None)
    (tmp_path / "folder.html").mkdir()
    for refused in (check_timeline_path, lambda path: write_timeline([], path, "a run")):
        with pytest.raises(OospecError, match=rf"^timeline {tmp_path / name}: .*{reason}"):
            refused(tmp_path / name)
    assert [path.name for path in tmp_path.iterdir()] == ["folder.html"]


def test_a_file_that_can_be_made_is_not_made_by_looking(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    check_timeline_path(tmp_path / "run.HTML")
    monkeypatch.setattr(os, "access", lambda *_: False)
    with pytest.raises(OospecError, match="cannot be written"):
        check_timeline_path(tmp_path / "run.html")
    assert not list(tmp_path.iterdir())


def test_an_image_shows_the_request_with_the_median_gain(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    slow = [_verify(0, 10, "ar", [""], "slow"), _verify(0, 10, "oospec", [""], "slow")]
    fast = [_verify(0, 10, "ar", [""], "fast"), _verify(0, 1, "oospec", [""], "fast")]
    drawn: list[dict[str, Any]] = []
    monkeypatch.setattr(picture, "find_spec", lambda name: name)
    monkeypatch.setattr(picture, "_image", lambda figure, path, what: drawn.append(figure) or b"an image")
    write_timeline([*fast, *_run(), *slow], tmp_path / "run.svg", "a run")
    assert [each["data"] for each in drawn] == [figure(runs_of(_run()))["data"]]
    assert drawn[0]["layout"]["annotations"][-1]["text"] == "a run"
    assert (tmp_path / "run.svg").read_bytes() == b"an image"
