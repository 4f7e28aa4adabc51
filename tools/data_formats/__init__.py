"""Public tool-calling sets: one module a format, one line a format here."""

from __future__ import annotations

from data_formats.api_bank import ApiBank
from data_formats.base import Format
from data_formats.bfcl import Bfcl

FORMATS: dict[str, type[Format]] = {
    "api-bank": ApiBank,
    "bfcl": Bfcl,
}
