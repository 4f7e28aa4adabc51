"""The GPU's script on the CPU with tiny shapes: ids are compared, times become recorded, everything else stays."""

from __future__ import annotations

from pathlib import Path

import pytest

from helpers.sim_traces import TARGET, observed, random_requests, request, trace
from oospec_async.errors import OospecError
from oospec_async.trace import Trace, check_trace, read_trace, write_trace
from tools import gpu_check
from tools.gpu_timing import shaped_model
from tools.model_shapes import SHAPES


def modelled() -> Trace:
    """Of a request with a sidecar's wave, and of one without."""
    return observed(trace([*random_requests(1), request("b", steps=0)]))


@pytest.fixture(scope="module")
def measured(tmp_path_factory: pytest.TempPathFactory) -> tuple[Trace, Path]:
    folder = tmp_path_factory.mktemp("timing")
    write_trace(modelled(), folder / "t.json")
    paths = [str(folder / "t.json"), "--out", str(folder / "o.json")]
    assert gpu_check.main([*paths, "--devices", "cpu", "--shapes", "tiny"]) == 0
    assert read_trace(folder / "t.json") == modelled()
    return read_trace(folder / "o.json"), folder / "o.json"


def test_every_forward_was_made_in_its_size_and_in_its_place(measured: tuple[Trace, Path]) -> None:
    assert check_trace(measured[1]) == []
    timing, old = measured[0].timing, modelled().timing
    for name in ("target_prefill", "target_verify", "sidecar_prefill", "sidecar_step"):
        of_wave = {"request": "r0"} if name.startswith("sidecar") else {}
        samples = [sample.model_dump() for sample in getattr(timing, name)]
        before = [sample.model_dump() for sample in getattr(old, name)]
        before = [sample for sample in before if of_wave.items() <= sample.items()]
        assert [sample | {"seconds": 0} for sample in samples] == [sample | {"seconds": 0} for sample in before]
        assert all(sample["seconds"] > 0 for sample in samples)


def test_hints_are_published_when_the_measured_steps_end(measured: tuple[Trace, Path]) -> None:
    made, other = measured[0].requests
    assert made.wave is not None
    now, ends = made.wave.start, []
    for step in made.wave.steps:
        now += step.seconds
        ends += [now] if step.publishes else []
    assert [publish.seconds for publish in made.publishes] == ends
    assert (other.publishes, other.wave) == ([], None)


def test_what_was_decoded_drafted_and_modelled_stays_and_rounds_that_had_other_times_go(
    measured: tuple[Trace, Path],
) -> None:
    for made, old in zip(measured[0].requests, modelled().requests, strict=True):
        assert (made.profiles, made.rounds) == (old.profiles, [])
        assert (made.prompt_tokens, made.output_tokens) == (old.prompt_tokens, old.output_tokens)
    assert measured[0].timing.host == modelled().timing.host
    provenance = measured[0].provenance
    kinds = {name: origin.kind for name, origin in provenance.parts.items()}
    assert kinds == {**dict.fromkeys(("outputs", "profiles", "hints", "host timing"), "modelled"),
                     **dict.fromkeys(("target timing", "sidecar timing"), "recorded")}  # fmt: skip
    assert "random weights" in provenance.parts["target timing"].how
    assert provenance.curve == modelled().provenance.curve
    assert provenance.target.device.startswith("cpu (")
    assert provenance.software["torch"]


def test_an_output_that_is_not_generates_is_named_and_exit_code_1(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    make = gpu_check.models.make

    def wrong(folder: Path, device: str) -> object:
        made = make(folder, device)
        made.expected["time"] = (1, *made.expected["time"][1:])
        return made

    monkeypatch.setattr(gpu_check.models, "make", wrong)
    write_trace(gpu_check.first_requests(modelled(), 1), tmp_path / "t.json")
    assert gpu_check.main([str(tmp_path / "t.json"), "--devices", "cpu", "--shapes", "tiny"]) == 1
    said = capsys.readouterr().out
    for method in gpu_check.METHODS:
        assert f"output differs from generate's: time by {method}: token 0, logit gap " in said


@pytest.mark.parametrize(
    ("arguments", "named"),
    [
        (["--devices", "tpu:0"], "tpu:0"),
        (["--devices", "cpu"], "--shapes full: takes CUDA devices, and cpu is none"),
        (["--devices", "cuda:77"], "cuda:77"),
        (["--devices", "cpu", "--shapes", "tiny", "--out", "/nowhere/o.json"], "/nowhere"),
    ],
)
def test_bad_input_is_named_in_one_line(
    arguments: list[str], named: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    write_trace(modelled(), tmp_path / "t.json")
    assert gpu_check.main([str(tmp_path / "t.json"), *arguments]) == 2
    error = capsys.readouterr().err
    assert named in error
    assert len(error.splitlines()) == 1


def test_a_broken_trace_and_an_unknown_shape_are_named(tmp_path: Path) -> None:
    (tmp_path / "t.json").write_text("{}")
    assert gpu_check.main([str(tmp_path / "t.json"), "--devices", "cpu", "--shapes", "tiny"]) == 2
    with pytest.raises(OospecError, match="Qwen3-14B"):
        gpu_check.shape_of(TARGET, "full")
    assert gpu_check.shape_of(TARGET.model_copy(update={"name": "Qwen/Qwen3-14B"}), "full").layers == 40


def test_a_limit_keeps_the_first_requests_and_their_samples_only(tmp_path: Path) -> None:
    kept = gpu_check.first_requests(modelled(), 1)
    assert [r.request for r in kept.requests] == ["r0"]
    assert {s.request for s in kept.timing.target_verify} == {"r0"}
    write_trace(kept, tmp_path / "t.json")
    assert check_trace(tmp_path / "t.json") == []


def test_shapes_have_the_sizes_of_the_models_that_they_are_named_after() -> None:
    billions = {}
    for shape in SHAPES.values():
        weights = shaped_model(shape, "meta", 4096).model.parameters()
        billions[shape.name] = round(sum(parameter.numel() for parameter in weights) / 1e9, 1)
    assert billions == {"Qwen3-0.6B": 0.6, "Qwen3-4B": 4.0, "Qwen3-8B": 8.2, "Qwen3-14B": 14.8, "Qwen3-32B": 32.8}
