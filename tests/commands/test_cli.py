"""What oospec-run does with bad input: one line on stderr that names it, exit code 2, and no traceback."""

from __future__ import annotations

import json
import shutil
import signal
import subprocess
import sys
from pathlib import Path

import pytest
import torch
from safetensors.torch import load_file, save_file

from helpers import tiny

GOOD = {"messages": [{"role": "user", "content": "hi"}], "tools": [{"name": "f", "parameters": {}}]}


def run(*arguments: str, timeout: float = 120) -> subprocess.CompletedProcess[str]:
    command = [sys.executable, "-c", "from oospec_async.console.entry import main; main()", *arguments]
    return subprocess.run(command, capture_output=True, text=True, timeout=timeout, check=False)


def refused(*arguments: str) -> str:
    """The one line that a refused command prints."""
    done = run(*arguments)
    assert done.returncode == 2, done.stderr
    assert "Traceback" not in done.stderr
    lines = [line for line in done.stderr.splitlines() if line.startswith("oospec-run:")]
    assert len(lines) == 1, done.stderr
    assert done.stdout == ""
    return lines[0]


@pytest.fixture
def good(tmp_path: Path) -> str:
    path = tmp_path / "good.jsonl"
    path.write_text(json.dumps(GOOD) + "\n", encoding="utf-8")
    return str(path)


@pytest.fixture
def unfit(tmp_path: Path) -> Path:
    """A model directory of a family that is refused; its weights are never looked at."""
    folder = tmp_path / "gemma"
    folder.mkdir()
    config = {"model_type": "mamba", "architectures": ["MambaForCausalLM"]}
    (folder / "config.json").write_text(json.dumps(config))
    (folder / "model.safetensors").write_bytes(b"\x02\0\0\0\0\0\0\0{}")
    (folder / "tokenizer.json").write_text("{}")
    return folder


def test_a_line_that_is_not_json_is_named_by_file_and_number(tmp_path: Path) -> None:
    path = tmp_path / "r.jsonl"
    path.write_text(json.dumps(GOOD) + "\n{oops\n")
    assert f"{path}:2" in refused("--live", str(path))


def test_a_missing_requests_file_is_named() -> None:
    assert "/nowhere/r.jsonl" in refused("--live", "/nowhere/r.jsonl")


@pytest.mark.parametrize(
    ("tools", "field"),
    [([{"description": "no name"}], "name"), ([{"name": "f"}, {"name": "f"}], "'f'"), ("f", "tools")],
)
def test_tools_that_cannot_be_used_are_named(tmp_path: Path, tools: object, field: str) -> None:
    path = tmp_path / "r.jsonl"
    path.write_text(json.dumps({**GOOD, "tools": tools}))
    line = refused("--live", str(path))
    assert f"{path}:1" in line
    assert field in line


def test_an_unknown_device_is_named(good: str) -> None:
    assert "tpu:0" in refused("--live", good, "--devices", "tpu:0,cpu")


def test_a_core_that_is_not_there_is_named(good: str) -> None:
    assert "cpu:9999" in refused("--live", good, "--devices", "cpu:9999")


def test_a_cuda_device_that_is_not_there_is_named_before_anything_is_loaded(good: str) -> None:
    done = run("--live", good, "--devices", "cuda:77", "--method", "ar")
    assert done.returncode == 2
    assert "cuda:77" in done.stderr
    assert "loading" not in done.stderr


def test_three_devices_are_refused(good: str) -> None:
    assert "one or two" in refused("--live", good, "--devices", "cpu,cpu,cpu")


def test_an_unknown_method_or_drafter_is_named(good: str) -> None:
    assert "medusa" in refused("--live", good, "--method", "medusa")
    assert "medusa" in refused("--live", good, "--compare", "ar,schema+medusa")


def test_a_method_twice_is_refused(good: str) -> None:
    assert "twice" in refused("--live", good, "--compare", "ar,ar")


def test_method_and_compare_exclude_each_other(good: str) -> None:
    assert "--compare" in refused("--live", good, "--method", "ar", "--compare", "ar,pld")


def test_a_missing_model_directory_is_named(good: str) -> None:
    assert "./no-such-model" in refused("--live", good, "--target", "./no-such-model", "--method", "ar")


def test_a_refused_family_is_named_with_the_reason(good: str, unfit: Path) -> None:
    line = refused("--live", good, "--target", str(unfit), "--method", "ar")
    assert "mamba" in line
    assert "qwen2" in line


@pytest.mark.parametrize("option", ["--record", "--timeline"])
def test_a_path_that_cannot_be_written_is_named_before_the_run(good: str, option: str) -> None:
    path = "/nowhere/out.json"
    assert path in refused("--live", good, option, path, "--method", "ar")


def test_a_timeline_of_another_kind_is_refused(good: str, tmp_path: Path) -> None:
    assert ".html" in refused("--live", good, "--timeline", str(tmp_path / "t.png"), "--method", "ar")


def test_without_a_mode_it_says_which_there_are(good: str) -> None:
    line = refused(good)
    assert "--live" in line
    assert "--fetch" in line


def test_an_unknown_option_and_a_limit_of_zero_are_refused(good: str) -> None:
    assert "--fast" in refused("--live", good, "--fast")
    assert "--limit" in refused("--live", good, "--limit", "0")


@pytest.fixture(scope="module")
def model(tmp_path_factory: pytest.TempPathFactory) -> str:
    """A directory with a tiny model of random weights."""
    folder = tmp_path_factory.mktemp("tiny-llama")
    tiny.random_model("llama").save_pretrained(folder)
    tiny.tokenizer().save_pretrained(folder)
    return str(folder)


def test_a_run_gives_json_alone_on_stdout(good: str, model: str) -> None:
    models = ("--target", model, "--sidecar", model, "--devices", "cpu", "--dtype", "float32")
    done = run("--live", good, *models, "--compare", "ar,oospec", "--json")
    assert done.returncode == 0, done.stderr
    result = json.loads(done.stdout)
    first, second = result["completions"]
    assert first["tokens"] == second["tokens"]
    assert result["measured_on"]["target"]["weights_sha256"]


def test_a_prompt_beyond_the_context_is_named_by_its_request(tmp_path: Path, model: str) -> None:
    path = tmp_path / "r.jsonl"
    long = {**GOOD, "id": "too-long", "messages": [{"role": "user", "content": "weather " * 600}]}
    path.write_text(json.dumps({**GOOD, "id": "fine"}) + "\n" + json.dumps(long))
    line = refused("--live", str(path), "--target", model, "--method", "ar", "--devices", "cpu")
    assert "too-long" in line
    assert "512" in line


def test_an_adapter_that_is_missing_or_for_another_base_is_named(good: str, model: str, tmp_path: Path) -> None:
    arguments = ("--live", good, "--target", model, "--sidecar", model, "--devices", "cpu", "--adapter")
    assert "/nowhere/adapter" in refused(*arguments, "/nowhere/adapter")
    config = {"peft_type": "LORA", "base_model_name_or_path": "someone/Other-7B", "task_type": "CAUSAL_LM"}
    (tmp_path / "adapter_config.json").write_text(json.dumps(config))
    (tmp_path / "adapter_model.safetensors").write_bytes(b"")
    assert "someone/Other-7B" in refused(*arguments, str(tmp_path))


def test_the_file_of_requests_is_never_written_over(good: str, model: str) -> None:
    before = Path(good).read_bytes()
    assert good in refused("--live", good, "--target", model, "--method", "ar", "--record", good)
    assert Path(good).read_bytes() == before


def test_an_adapter_without_a_method_that_takes_hints_is_refused(good: str, model: str, tmp_path: Path) -> None:
    assert "--adapter" in refused("--live", good, "--target", model, "--method", "ar", "--adapter", str(tmp_path))


def test_a_method_that_drafts_with_a_model_and_a_draft_model_go_together(good: str, model: str) -> None:
    assert "--draft-model" in refused("--live", good, "--target", model, "--compare", "ar,schema+draft")
    assert "--draft-model" in refused("--live", good, "--target", model, "--method", "ar", "--draft-model", model)


def test_a_run_that_drafts_with_a_model_cannot_be_recorded(good: str, model: str, tmp_path: Path) -> None:
    arguments = ("--live", good, "--target", model, "--draft-model", model, "--method", "draft")
    assert "'draft' cannot be recorded" in refused(*arguments, "--record", str(tmp_path / "trace.json"))


def test_a_draft_model_with_another_tokenizer_is_refused(good: str, model: str, tmp_path: Path) -> None:
    other = tmp_path / "other"
    shutil.copytree(model, other)
    spec = json.loads((other / "tokenizer.json").read_text())
    words = spec["model"]["vocab"]
    words["a"], words["b"] = words["b"], words["a"]
    (other / "tokenizer.json").write_text(json.dumps(spec))
    arguments = ("--live", good, "--target", model, "--method", "draft", "--devices", "cpu", "--dtype", "float32")
    line = refused(*arguments, "--draft-model", str(other))
    assert "its tokenizer is not that of" in line
    assert str(other) in line


def test_a_draft_model_drafts_and_is_named_beside_the_figures(good: str, model: str) -> None:
    arguments = ("--live", good, "--target", model, "--devices", "cpu", "--dtype", "float32", "--json")
    done = run(*arguments, "--compare", "ar,draft", "--draft-model", model, "--max-new-tokens", "12")
    assert done.returncode == 0, done.stderr
    assert "ms a token, where the target takes" in done.stderr
    result = json.loads(done.stdout)
    assert result["measured_on"]["draft_model"]["name"] == model
    plain, drafted = result["completions"]
    assert plain["tokens"] == drafted["tokens"]


def damaged(model: str, folder: Path) -> tuple[Path, dict[str, torch.Tensor]]:
    """A copy of a model, and its weights to be changed."""
    shutil.copytree(model, folder)
    return folder / "model.safetensors", load_file(folder / "model.safetensors")


def test_weights_that_are_cut_off_or_lack_a_tensor_are_refused(good: str, model: str, tmp_path: Path) -> None:
    cut, _ = damaged(model, tmp_path / "cut")
    cut.write_bytes(cut.read_bytes()[:-1000])
    lacking, tensors = damaged(model, tmp_path / "lacking")
    del tensors["model.layers.0.mlp.down_proj.weight"]
    save_file(tensors, lacking, metadata={"format": "pt"})
    for folder, said in ((cut.parent, "damaged"), (lacking.parent, "down_proj")):
        line = refused("--live", good, "--target", str(folder), "--method", "ar", "--devices", "cpu")
        assert said in line
        assert str(folder) in line


def test_a_sidecar_that_cannot_be_loaded_is_one_line_too(good: str, model: str, tmp_path: Path) -> None:
    cut, _ = damaged(model, tmp_path / "cut")
    cut.write_bytes(cut.read_bytes()[:-1000])
    line = refused("--live", good, "--target", model, "--sidecar", str(cut.parent), "--devices", "cpu")
    assert "damaged" in line


def test_a_full_disk_under_stdout_is_one_line(good: str, model: str) -> None:
    command = [sys.executable, "-c", "from oospec_async.console.entry import main; main()", "--live", good]
    options = ["--target", model, "--method", "ar", "--devices", "cpu", "--json"]
    with open("/dev/full", "w") as full:
        done = subprocess.run([*command, *options], stdout=full, stderr=subprocess.PIPE, text=True, check=False)
    assert done.returncode == 2
    assert "Traceback" not in done.stderr
    assert "stdout" in done.stderr


def test_an_interrupted_run_sums_up_and_writes_what_was_finished(good: str, model: str, tmp_path: Path) -> None:
    path, trace = tmp_path / "r.jsonl", tmp_path / "trace.json"
    lines = [json.dumps({**GOOD, "id": f"r{i}", "max_new_tokens": 300}) for i in range(200)]
    path.write_text("\n".join(lines))
    options = ["--target", model, "--method", "ar", "--devices", "cpu", "--record", str(trace)]
    command = [
        sys.executable,
        "-c",
        "from oospec_async.console.entry import main; main()",
        "--live",
        str(path),
        *options,
    ]
    with subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True) as process:
        assert process.stdout is not None
        for line in process.stdout:
            if line.startswith("r2"):  # two requests are through
                process.send_signal(signal.SIGINT)
                break
        out, err = process.communicate(timeout=60)
    assert process.returncode == 130
    assert "Traceback" not in err
    assert "mean accepted" in out
    finished = [run["request"] for run in json.loads(trace.read_text())["requests"]]
    assert finished[:2] == ["r0", "r1"]
    assert len(finished) < 200


def test_help_imports_no_torch() -> None:
    code = "import sys; from oospec_async.commands.cli import command; sys.exit('torch' in sys.modules)"
    assert subprocess.run([sys.executable, "-c", code], check=False).returncode == 0
