"""What a modelled trace says of itself."""

from __future__ import annotations

import datetime
import os
from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass

from oospec_async.decoding.drafters import METHODS
from oospec_async.decoding.tree import VerifyCurve
from oospec_async.recording.provenance import software
from oospec_async.trace import ModelInfo, Origin, Provenance
from oospec_async.training.notes import Notes
from tools.model_shapes import Shape
from tools.trace_models import times
from tools.trace_models.guess import ARGUMENT_RIGHT, FUNCTION_RIGHT, SOURCE, Guess
from tools.trace_models.roofline import Roofline


@dataclass(frozen=True)
class Modelled:
    """What a trace was modelled from."""

    method: str
    target: Roofline
    sidecar: Roofline
    curve: VerifyCurve
    categories: Sequence[str]  # of each request
    guesses: Sequence[Guess]
    seed: int


def provenance(modelled: Modelled, notes: Notes) -> Provenance:
    """``notes``: what the rows needed; those that were left out are told."""
    parts = {
        "outputs": _outputs(modelled, notes),
        "profiles": f"the real drafters ({' + '.join(METHODS[modelled.method])}) at every position of these outputs, "
        f"cut by the modelled budget curve; no model was run, so recycle has no successors to propose, and history "
        f"finds earlier outputs by their text alone, not by the prompt's state (most recent first; the rows in a "
        f"seeded order)",
        "hints": _hints(modelled),
        "target timing": f"{modelled.target.line}; {times.LINES['jitter']}",
        "sidecar timing": f"{modelled.sidecar.line}; {times.LINES['wave']}; {times.LINES['jitter']}",
        "host timing": times.LINES["host timing"],
    }
    versions = {name: version for name, version in software().items() if name in ("python", "oospec", "transformers")}
    return Provenance(
        parts={name: Origin(kind="modelled", how=how) for name, how in parts.items()},
        target=_info(modelled.target.shape, modelled.target),
        sidecar=_info(modelled.sidecar.shape, modelled.sidecar),
        software={**versions, "seed": str(modelled.seed)},
        date=_date(),
        curve=list(modelled.curve.samples),
    )


def _outputs(modelled: Modelled, notes: Notes) -> str:
    counts = Counter(modelled.categories)
    rows = ", ".join(f"{count} of {name}" for name, count in sorted(counts.items()))
    left_out = [
        f"; {note['count']} x {note['rule']}" for note in notes.as_json() if note["rule"].startswith("left out:")
    ]
    return (
        f"gold calls of BFCL v4 ({rows}; of several accepted values the first), as Qwen3's chat template writes them "
        f"without thinking, in its tokens; not decoded by a model, whose own wording and errors may differ"
        f"{''.join(left_out)}"
    )


def _hints(modelled: Modelled) -> str:
    guesses = modelled.guesses
    functions = f"{sum(g.functions_right for g in guesses)} of {sum(g.functions for g in guesses)}"
    arguments = f"{sum(g.arguments_right for g in guesses)} of {sum(g.arguments for g in guesses)}"
    return (
        f"gold calls with errors, seeded: a call's function is right with {FUNCTION_RIGHT:.1%} where there is a choice "
        f"(here {functions}), every argument by itself with {ARGUMENT_RIGHT:.1%} (here {arguments}), as published: "
        f"{SOURCE}; told step by step by the real wave over a scripted model"
    )


def _info(shape: Shape, roofline: Roofline) -> ModelInfo:
    return ModelInfo(
        name=f"Qwen/{shape.name}",
        source="none: modelled",
        weights_sha256="",
        dtype="bfloat16",
        device=f"{roofline.gpu.name} (modelled)",
    )


def _date() -> str:
    epoch = os.environ.get("SOURCE_DATE_EPOCH", "")  # of reproducible builds
    now = datetime.datetime.fromtimestamp(int(epoch), datetime.UTC) if epoch else datetime.datetime.now(datetime.UTC)
    return now.date().isoformat()
