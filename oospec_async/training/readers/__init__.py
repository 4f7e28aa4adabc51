"""Public tool-calling sets: one module a format, one line a format here."""

from __future__ import annotations

from oospec_async.training.readers.api_bank import ApiBank
from oospec_async.training.readers.api_bank_train import ApiBankTrain
from oospec_async.training.readers.base import Format
from oospec_async.training.readers.bfcl import Bfcl
from oospec_async.training.readers.openai import OpenAi
from oospec_async.training.readers.seal_tools import SealTools, SealToolsFinetune
from oospec_async.training.readers.toolalpaca import ToolAlpaca

FORMATS: dict[str, type[Format]] = {
    "api-bank": ApiBank,
    "api-bank-train": ApiBankTrain,
    "bfcl": Bfcl,
    "openai": OpenAi,
    "seal-tools": SealTools,
    "seal-tools-finetune": SealToolsFinetune,
    "toolalpaca": ToolAlpaca,
}
