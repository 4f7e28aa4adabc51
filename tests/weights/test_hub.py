"""The hub's answers: a model, or one line that says why there is none."""

from __future__ import annotations

import ssl
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import huggingface_hub
import pytest
from huggingface_hub.errors import GatedRepoError, RepositoryNotFoundError

from helpers.packages import make_model
from oospec_async.errors import OospecError
from oospec_async.weights import hub


def hub_with(
    monkeypatch: pytest.MonkeyPatch, files: list[str], answer: Path | Exception | type[Exception]
) -> dict[str, Any]:
    """A hub that lists these files; returns what it is then asked to download."""
    asked: dict[str, Any] = {}

    def download(name: str, **options: Any) -> str:
        asked.update(options, name=name)
        if isinstance(answer, Path):
            return str(answer)
        raise answer.__new__(answer) if isinstance(answer, type) else answer

    listing = SimpleNamespace(siblings=[SimpleNamespace(rfilename=file) for file in files])
    monkeypatch.setattr(huggingface_hub, "HfApi", lambda: SimpleNamespace(model_info=lambda name, timeout: listing))
    monkeypatch.setattr(huggingface_hub, "snapshot_download", download)
    return asked


def refused_certificate() -> Exception:
    """As HTTP libraries hand it on."""
    said = "[SSL: CERTIFICATE_VERIFY_FAILED] certificate verify failed: self-signed certificate (_ssl.c:1006)"
    error = ConnectionError("connection failed")
    error.__cause__ = ssl.SSLCertVerificationError(1, said)
    return error


@pytest.mark.parametrize(
    ("files", "weights"),
    [
        (["model.safetensors", "pytorch_model.bin"], "model*.safetensors"),
        (["model.safetensors.index.json"], "model*.safetensors"),
        (["pytorch_model.bin"], "pytorch_model*.bin"),
        ([], "*"),
    ],
)
def test_one_form_of_the_weights_is_fetched(
    files: list[str], weights: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    asked = hub_with(monkeypatch, files, make_model(tmp_path / "snapshot"))
    assert hub.fetch("Org/Tiny") == tmp_path / "snapshot"
    assert asked["allow_patterns"][-1] == weights


@pytest.mark.parametrize(
    ("answer", "raised", "said"),
    [
        (GatedRepoError, OospecError, "Org/Tiny: its licence must be accepted"),
        (RepositoryNotFoundError, hub.OutOfReach, "the hub has no such model"),
        (ConnectionError, hub.OutOfReach, r"the hub cannot be reached \(ConnectionError\)"),
        (
            OSError(28, "No space left on device"),
            hub.OutOfReach,
            r"/\S*: No space left .*; make room .* HF_HOME",
        ),
        (RuntimeError("Data processing error: (os error 28)"), hub.OutOfReach, "No space left on device; make room"),
        (
            OSError(30, "Read-only file system", "/ro/x"),
            hub.OutOfReach,
            "/ro/x: Read-only file system; make it",
        ),
        (PermissionError(13, "Permission denied", "/x"), hub.OutOfReach, "/x: Permission denied; make it .* HF_HOME"),
        (PermissionError(13, "Permission denied"), hub.OutOfReach, r"cannot be reached \(PermissionError\)"),
        (refused_certificate(), hub.OutOfReach, "certificate is refused .self-signed certificate.; .* SSL_CERT_FILE"),
        (Path("/nowhere"), OospecError, "Org/Tiny: the hub's copy lacks config.json"),
    ],
)
def test_what_the_hub_does_not_give_has_a_reason(
    answer: Any, raised: type[Exception], said: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    hub_with(monkeypatch, [], answer)
    with pytest.raises(raised, match=said):
        hub.fetch("Org/Tiny")


@pytest.mark.parametrize(
    ("files", "said"),
    [
        (
            ["README.md", "m.Q8_0.gguf", "m.Q4_0.gguf"],
            r"only GGUF files, .*: m.Q4_0.gguf, m.Q8_0.gguf; name one: Org/Tiny/m.Q4_0.gguf$",
        ),
        (["model.onnx", "model.msgpack"], "the hub's copy has none of model.safetensors, pytorch_model.bin$"),
    ],
)
def test_of_a_repository_without_weights_that_can_be_loaded_nothing_is_fetched(
    files: list[str], said: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    asked = hub_with(monkeypatch, files, Path("/nowhere"))
    with pytest.raises(OospecError, match=said):
        hub.fetch("Org/Tiny")
    assert asked == {}
