"""Public tool-calling sets: one module a format, one line a format here."""

from __future__ import annotations

from oospec_async.training.data.readers.api_bank import ApiBank
from oospec_async.training.data.readers.api_bank_train import ApiBankTrain
from oospec_async.training.data.readers.base import Format
from oospec_async.training.data.readers.bfcl import Bfcl
from oospec_async.training.data.readers.openai import OpenAi
from oospec_async.training.data.readers.seal_tools import SealTools, SealToolsFinetune
from oospec_async.training.data.readers.toolalpaca import ToolAlpaca

FORMATS: dict[str, type[Format]] = {
    "api-bank": ApiBank,
    "api-bank-train": ApiBankTrain,
    "bfcl": Bfcl,
    "openai": OpenAi,
    "seal-tools": SealTools,
    "seal-tools-finetune": SealToolsFinetune,
    "toolalpaca": ToolAlpaca,
}
