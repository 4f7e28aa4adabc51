"""The modelled trace: its outputs are the template's, its hints are wrong as often as told, and it says what it is."""

from __future__ import annotations

import json
import random
import shutil
from pathlib import Path
from typing import Any

import pytest

from helpers import tiny
from oospec_async.request import Request
from oospec_async.toolcall import ToolCall, parse_calls
from oospec_async.trace import Trace, check_trace, read_trace
from tools import model_trace
from tools.model_shapes import SHAPES, Shape
from tools.trace_models import guess, roofline, rows

QUESTION = "Which ferry sails from Oban to Craignure tomorrow?"


def function(name: str, **kinds: str) -> Any:
    properties = {key: {"type": kind, "description": ""} for key, kind in kinds.items()}
    required = [key for key in kinds if key != "note"]
    return {"name": name, "description": "", "parameters": {"type": "dict", "properties": properties,
                                                            "required": required}}  # fmt: skip


FERRY = function("ferry.find", start="string", end="string", people="integer", note="string")
CAR = function("car_hire", place="string", options="dict")
# category -> rows of id, functions, gold calls as {function: {argument: accepted values}}
ROWS: dict[str, list[tuple[str, list[Any], Any]]] = {
    "simple_python": [
        ("simple_python_0", [FERRY], [{"ferry.find": {"start": ["Oban"], "end": ["Craignure"], "people": [2],
                                                     "note": ["", "early"]}}]),
        ("simple_python_1", [CAR], [{"car_hire": {"place": ["Tobermory"], "options": [{"seats": [5, 4],
                                                                                      "colour": ["blue"]}]}}]),
        ("simple_python_2", [FERRY], "no list"),
        ("simple_python_3", [], [{"ferry.find": {"start": ["Oban"]}}]),
        ("simple_python_4", ["no object"], [{"ferry.find": {"start": ["Oban"]}}]),
        ("simple_python_5", [FERRY], [{"ferry.find": {"start": ["Oban " * 400], "end": ["x"], "people": [1]}}]),
        ("simple_python_6", [FERRY], []),
    ],
    "multiple": [
        ("multiple_0", [CAR, FERRY], [{"ferry.find": {"start": ["Mallaig"], "end": ["Armadale"], "people": [1]}}]),
        ("multiple_1", [CAR, FERRY], [{"car_hire": {"place": ["Skye"], "options": [{"seats": [2]}]}}]),
    ],
    "parallel": [
        ("parallel_0", [FERRY], [{"ferry.find": {"start": ["Oban"], "end": ["Coll"], "people": [1]}},
                                 {"ferry.find": {"start": ["Coll"], "end": ["Tiree"], "people": [1]}}]),
    ],
}  # fmt: skip
WHOLE = ["simple_python_0", "simple_python_1", "multiple_0", "multiple_1", "parallel_0"]


@pytest.fixture(scope="module")
def data(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("bfcl")
    (folder / "possible_answer").mkdir()
    for category, entries in ROWS.items():
        name = f"BFCL_v4_{category}.json"
        questions = [
            {"id": key, "question": [[{"role": "user", "content": QUESTION}]], "function": functions}
            for key, functions, _ in entries
        ]
        answers = [{"id": key, "ground_truth": gold} for key, _, gold in entries]
        (folder / name).write_text("\n".join(map(json.dumps, questions)))
        (folder / "possible_answer" / name).write_text("\n".join(map(json.dumps, answers)))
    return folder


@pytest.fixture(scope="module")
def tokenizer(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("tokenizer")
    tiny.tokenizer().save_pretrained(folder)
    return folder


@pytest.fixture(scope="module", autouse=True)
def small(tokenizer: Path) -> Any:
    """Models of the tiny tokenizer's vocabulary: masks over 150,000 tokens take seconds to make."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("SOURCE_DATE_EPOCH", "1700000000")
        small = {
            name: Shape(name, layers, 64, 128, 4, 2, 16, len(tiny.tokenizer()), True)
            for name, layers in {"Qwen3-4B": 4, "Qwen3-14B": 4, "Qwen3-32B": 16}.items()
        }
        patch.setattr(model_trace, "SHAPES", SHAPES | small)
        patch.setattr(model_trace, "SIDECAR", Shape("s", 4, 64, 128, 4, 2, 16, len(tiny.tokenizer()), True))
        yield


def made(out: Path, tokenizer: Path, data: Path, *more: str) -> Trace:
    assert model_trace.main([str(out), "--tokenizer", str(tokenizer), "--data", str(data), *more]) == 0
    return read_trace(out)


@pytest.fixture(scope="module")
def trace(tmp_path_factory: pytest.TempPathFactory, tokenizer: Path, data: Path) -> tuple[Trace, Path]:
    path = tmp_path_factory.mktemp("trace") / "t.json"
    return made(path, tokenizer, data), path


def test_rows_that_can_be_decoded_are_in_it_and_the_others_are_counted(trace: tuple[Trace, Path]) -> None:
    names = {request.request for request in trace[0].requests}
    assert names == set(WHOLE)
    how = trace[0].provenance.parts["outputs"].how
    assert "2 x left out: malformed row or accepted answers" in how
    assert "1 x left out: no gold call" in how
    assert "1 x left out: a gold call of a function that the row does not offer" in how
    assert "1 x left out: its gold output has more than 512 tokens" in how


def test_it_is_whole_and_holds_no_texts(trace: tuple[Trace, Path]) -> None:
    assert check_trace(trace[1]) == []
    text = trace[1].read_text()
    for word in ("Oban", "Craignure", "ferry", "Tobermory", str(trace[1].parent)):
        assert word not in text


def test_every_part_says_that_it_is_modelled_and_what_it_cannot_know(trace: tuple[Trace, Path]) -> None:
    provenance = trace[0].provenance
    assert {origin.kind for origin in provenance.parts.values()} == {"modelled"}
    assert "not decoded by a model" in provenance.parts["outputs"].how
    assert "recycle has no successors" in provenance.parts["profiles"].how
    assert "96.3%" in provenance.parts["hints"].how
    assert "nothing was fitted to a measurement" in provenance.parts["target timing"].how
    assert provenance.date == "2023-11-14"


def test_the_same_seed_gives_the_same_bytes_and_another_one_others(
    trace: tuple[Trace, Path], tmp_path: Path, tokenizer: Path, data: Path
) -> None:
    made(tmp_path / "again.json", tokenizer, data)
    assert (tmp_path / "again.json").read_bytes() == trace[1].read_bytes()
    made(tmp_path / "other.json", tokenizer, data, "--seed", "1")
    assert (tmp_path / "other.json").read_bytes() != trace[1].read_bytes()


def test_a_larger_target_takes_longer_and_is_named(tmp_path: Path, tokenizer: Path, data: Path) -> None:
    small, large = (made(tmp_path / f"{n}.json", tokenizer, data, "--target", n) for n in ("Qwen3-4B", "Qwen3-32B"))
    assert "Qwen3-4B" in small.provenance.target.name
    assert "Qwen3-32B" in large.provenance.target.name
    assert [run.output_tokens for run in small.requests] == [run.output_tokens for run in large.requests]
    assert large.timing.target_verify[0].seconds > 2 * small.timing.target_verify[0].seconds


def test_every_request_has_samples_of_its_own_and_its_wave_has_as_many_as_forwards(trace: tuple[Trace, Path]) -> None:
    timing = trace[0].timing
    for request in trace[0].requests:
        (prefill,) = [s for s in timing.target_prefill if s.request == request.request]
        assert prefill.tokens == request.prompt_tokens
        assert request.wave is not None
        steps = [s for s in timing.sidecar_step if s.request == request.request]
        assert len(steps) == len(request.wave.steps) - 1
        contexts = [s.context for s in timing.target_verify if s.request == request.request]
        assert len(contexts) > 5
        last = request.prompt_tokens + request.output_tokens
        assert all(request.prompt_tokens <= context < last for context in contexts)


@pytest.mark.parametrize(
    ("arguments", "named"),
    [
        (["--data", "/nowhere"], "/nowhere"),
        (["--tokenizer", "/nowhere"], "--tokenizer /nowhere"),
        (["--limit", "0"], "--limit"),
    ],
)
def test_bad_input_is_named_in_one_line(
    arguments: list[str], named: str, tmp_path: Path, tokenizer: Path, data: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    usual = ["--tokenizer", str(tokenizer), "--data", str(data)]
    assert model_trace.main([str(tmp_path / "t.json"), *usual, *arguments]) == 2
    error = capsys.readouterr().err
    assert named in error
    assert len(error.splitlines()) == 1
    assert list(tmp_path.iterdir()) == []


def test_what_is_read_is_not_written_over(tokenizer: Path, data: Path, capsys: pytest.CaptureFixture[str]) -> None:
    for path in (data / "BFCL_v4_parallel.json", data / "possible_answer" / "BFCL_v4_parallel.json"):
        before = path.read_bytes()
        assert model_trace.main([str(path), "--tokenizer", str(tokenizer), "--data", str(data)]) == 2
        assert f"OUT {path}: is read or written already" in capsys.readouterr().err
        assert path.read_bytes() == before


def test_a_damaged_tokenizer_and_rows_without_sense_are_named(
    tmp_path: Path, tokenizer: Path, data: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    shutil.copytree(tokenizer, tmp_path / "tokenizer")
    (tmp_path / "tokenizer" / "tokenizer.json").write_text("{}")
    shutil.copytree(data, tmp_path / "twice")
    for folder in (tmp_path / "twice", tmp_path / "twice" / "possible_answer"):
        shutil.copy(folder / "BFCL_v4_multiple.json", folder / "BFCL_v4_parallel.json")
    shutil.copytree(data, tmp_path / "none")
    for category in ROWS:
        (tmp_path / "none" / f"BFCL_v4_{category}.json").write_text("{}")
    out = tmp_path / "t.json"
    for at, source, said in (
        (tmp_path / "tokenizer", data, f"--tokenizer {tmp_path / 'tokenizer'}: the tokenizer in"),
        (tokenizer, tmp_path / "twice", f"{tmp_path / 'twice'}: id 'multiple_"),
        (tokenizer, tmp_path / "none", "can be decoded: 3 x left out: malformed row"),
    ):
        assert model_trace.main([str(out), "--tokenizer", str(at), "--data", str(source)]) == 2
        (line,) = capsys.readouterr().err.splitlines()
        assert said in line
        assert not out.exists()


def test_outputs_are_written_as_the_template_writes_them(data: Path) -> None:
    writer = rows.Writer(tiny.tokenizer(), "tiny")
    notes = model_trace.Notes()
    for case in rows.read_cases(data, "parallel", writer, 512, notes):
        text = writer.codec.decode(case.output)
        assert text.startswith('<tool_call>\n{"name": "ferry.find", "arguments": {"start": "Oban"')
        assert text.endswith("}\n</tool_call><|im_end|>")
        assert parse_calls(text) == list(case.gold)
        assert QUESTION in writer.codec.decode(case.prompt)


def test_leaves_of_nested_answers_are_taken_out_of_their_lists(data: Path) -> None:
    writer = rows.Writer(tiny.tokenizer(), "tiny")
    cases = {c.request.id: c for c in rows.read_cases(data, "simple_python", writer, 512, model_trace.Notes())}
    assert cases["simple_python_1"].gold[0].arguments["options"] == {"seats": 5, "colour": "blue"}
    assert "note" not in cases["simple_python_0"].gold[0].arguments


def test_guesses_are_wrong_as_often_as_they_say() -> None:
    request = Request.model_validate(
        {"messages": [{"role": "user", "content": QUESTION}], "tools": [FERRY, CAR], "id": "r"}
    )
    gold = [ToolCall("ferry.find", {"start": "Oban", "end": "Coll", "people": 1})]
    chance = random.Random(5)
    guesses = [guess.corrupted(request, gold, chance) for _ in range(2000)]
    values = {"start": "Oban", "end": "Coll", "people": 1, "note": None}
    right = [g.values["ferry.find", 1, name] == value for g in guesses for name, value in values.items()]
    assert sum(right) / len(right) == pytest.approx(guess.ARGUMENT_RIGHT, abs=0.01)
    assert sum(right) == sum(g.arguments_right for g in guesses)
    names = [g.name(number) == expected for g in guesses for number, expected in ((1, "ferry.find"), (2, "none"))]
    assert sum(names) / len(names) == pytest.approx(guess.FUNCTION_RIGHT, abs=0.01)
    assert sum(names) == sum(g.functions_right for g in guesses)


def test_a_roofline_never_falls_and_one_token_is_bound_by_the_weights() -> None:
    shape = SHAPES["Qwen3-14B"]
    big = roofline.Roofline(shape, roofline.A100)
    assert big.layer_weights + 2 * shape.vocabulary * shape.hidden == pytest.approx(14.77e9, rel=0.01)
    times = [big.seconds(tokens, 300, tokens) for tokens in (1, 2, 8, 48, 500)]
    assert times == sorted(times)
    assert big.seconds(1, 300, 1) < big.seconds(1, 30_000, 1)
    assert 2 * big.layer_weights / roofline.A100.bandwidth < times[0] < 4 * big.layer_weights / roofline.A100.bandwidth
    small = roofline.Roofline(SHAPES["Qwen3-0.6B"], roofline.A100)
    assert small.seconds(1, 300, 1) == small.launch_seconds  # eager: the host decides
