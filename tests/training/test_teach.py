"""A teacher is asked once for each request, whatever interrupts it."""

from __future__ import annotations

import asyncio
import contextlib
import json
from collections.abc import AsyncIterator
from pathlib import Path
from typing import Any

import httpx
import pytest
from rich.progress import Progress

from helpers.stubs import CALL, WEATHER
from helpers.training import asking, call, function, read_back, write_rows
from oospec_async.errors import OospecError
from oospec_async.request import Request, parse_request
from oospec_async.training.teach.endpoint import Endpoint
from oospec_async.training.teach.teach import TeachOptions, opened, teach
from oospec_async.training.teach.teacher import Reply, asked

ROWS = [asking(text, function("water", "litres"), gold=[]) for text in "abcd"]


class Scripted:
    """Answers each request with a call that names it; dies at the one that it is told to."""

    def __init__(self, dies_at: str = "") -> None:
        self.seen: list[str] = []
        self._dies_at = dies_at

    async def reply(self, request: Request) -> Reply:
        assert request.max_new_tokens == 160
        if request.id == self._dies_at:
            raise KeyboardInterrupt
        self.seen.append(request.id)
        return Reply([{"name": "water", "arguments": {"litres": request.id}}], "text", "stop")

    @contextlib.asynccontextmanager
    async def open(self, options: TeachOptions, bar: Progress) -> AsyncIterator[Scripted]:
        yield self


def run(tmp_path: Path, teacher: Scripted, rows: Any = ROWS, **options: Any) -> list[dict[str, Any]]:
    requests, out = write_rows(tmp_path / "requests.jsonl", *rows), tmp_path / "calls.jsonl"
    asyncio.run(teach(TeachOptions("some model", requests, out, **options), teacher.open))
    return read_back(out)


def test_a_line_is_written_for_each_request(tmp_path: Path) -> None:
    made = run(tmp_path, Scripted(), limit=3)
    assert [(row["id"], row["calls"], row["finish"]) for row in made] == [
        (f"id-{text}", [call("water", litres=f"id-{text}")], "stop") for text in "abc"
    ]
    assert all(row["asked"] == asked(parse_request(ROWS[n], "")) and row["seconds"] >= 0 for n, row in enumerate(made))
    manifest = json.loads((tmp_path / "calls.jsonl.manifest.json").read_text())
    assert manifest["counts"] == {"requests": 3, "with calls": 3, "finish": {"stop": 3}}
    assert manifest["options"]["teacher"] == "some model"


def test_after_a_kill_in_mid_line_it_goes_on_where_it_was(tmp_path: Path) -> None:
    with pytest.raises(KeyboardInterrupt):
        run(tmp_path, Scripted(dies_at="id-c"))
    out = tmp_path / "calls.jsonl"
    assert [row["id"] for row in read_back(out)] == ["id-a", "id-b"]
    out.write_bytes(out.read_bytes()[:-7])  # the second line is torn
    again = Scripted()
    assert [row["id"] for row in run(tmp_path, again)] == ["id-a", "id-b", "id-c", "id-d"]
    assert again.seen == ["id-b", "id-c", "id-d"]
    assert run(tmp_path, idle := Scripted())
    assert idle.seen == []


def test_a_request_that_has_changed_is_asked_again(tmp_path: Path) -> None:
    run(tmp_path, Scripted())
    changed = [{**ROWS[0], "tools": [function("water", "litres", "bed")]}, *ROWS[1:]]
    again = Scripted()
    run(tmp_path, again, changed)
    assert again.seen == ["id-a"]


def test_bad_files_are_refused(tmp_path: Path) -> None:
    with pytest.raises(OospecError, match="id 'id-a' is used twice"):
        run(tmp_path, Scripted(), [ROWS[0], ROWS[0]])
    with pytest.raises(OospecError, match=r"requests.jsonl:1: id: missing"):
        run(tmp_path, Scripted(), [{"messages": []}])


URL = "http://teacher/v1/"


class Server:
    """Gives the answers that it was told, and remembers what it was asked."""

    def __init__(self, *answers: httpx.Response) -> None:
        self._answers = list(answers)
        self.asked: list[httpx.Request] = []

    def __call__(self, request: httpx.Request) -> httpx.Response:
        self.asked.append(request)
        return self._answers.pop(0)

    def reply(self) -> Reply:
        return asyncio.run(Endpoint(URL, "the-model", httpx.MockTransport(self)).reply(REQUEST))


REQUEST = Request(messages=({"role": "user", "content": "Hi"},), tools=(WEATHER,), id="r", max_new_tokens=9)


def chat(**message: Any) -> httpx.Response:
    choice = {"message": {"role": "assistant", **message}, "finish_reason": "tool_calls"}
    return httpx.Response(200, json={"choices": [choice]})


def test_a_server_is_asked_greedily_and_its_calls_are_read(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("OPENAI_API_KEY", "key")
    listed = [{"function": {"name": "a", "arguments": '{"x": 1}'}}, {"function": {"name": "b", "arguments": "{"}}]
    server = Server(chat(content=None, tool_calls=listed), chat(content=CALL), chat(content="No."))
    assert [list(server.reply().calls) for _ in range(3)] == [
        [call("a", x=1), {"name": "b", "arguments": "{"}],
        [call("get_weather", city="Paris", days=3)],
        [],
    ]
    assert server.asked[0].headers["Authorization"] == "Bearer key"
    assert json.loads(server.asked[0].content) == {
        "model": "the-model",
        "messages": [{"role": "user", "content": "Hi"}],
        "max_tokens": 9,
        "temperature": 0,
        "tools": [WEATHER.as_openai()],
    }


@pytest.mark.parametrize(
    ("answer", "reason"),
    [
        (httpx.Response(500, text="out of\nmemory"), "HTTP 500: out of memory"),
        (httpx.Response(200, text="no JSON"), "is the server running"),
        (httpx.Response(200, json={"choices": []}), "the answer is no chat completion"),
        (httpx.Response(200, json={"choices": [{"message": None}]}), "the answer is no chat completion"),
    ],
)
def test_a_server_that_fails_is_named(answer: httpx.Response, reason: str) -> None:
    with pytest.raises(OospecError, match=f"--teacher {URL}chat/completions: .*{reason}"):
        Server(answer).reply()


def test_a_server_that_is_not_there_and_a_model_that_is_not_named(tmp_path: Path) -> None:
    with pytest.raises(OospecError, match="is the server running"):
        asyncio.run(Endpoint("http://127.0.0.1:9", "m").reply(REQUEST))

    async def enter() -> None:
        async with opened(TeachOptions("http://x", tmp_path, tmp_path), Progress()):
            pass

    with pytest.raises(OospecError, match="say with --model"):
        asyncio.run(enter())
