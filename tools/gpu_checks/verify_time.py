"""What a forward of a tree costs by its size, for the sizes of real models."""

from __future__ import annotations

import random
import time
from collections.abc import Callable
from functools import partial
from statistics import median
from typing import Any

import torch

from oospec_async.console.table import Table
from oospec_async.target.greedy import GreedyRule
from oospec_async.target.tree_model import TreeModel
from tools.gpu_checks.base import Bench, Outcome, Preset, Shape, one_line
from tools.gpu_checks.randoms import free, shaped_model, synchronize

SIZES = (1, 2, 4, 8, 16, 32, 64)  # tokens in a tree, the root counts
_WARM = 3  # runs before those that count
_PREFILL = 512  # tokens
_BRANCH = (0, 2, 6, 14)  # of a binary tree: rows to keep that do not lie side by side


class _Stopwatch:
    def __init__(self, device: str, repeats: int) -> None:
        self._device, self._repeats = device, repeats

    def ms(self, call: Callable[[], object], before: Callable[[], object]) -> float:
        """Median time of ``call``, from an idle device to an idle device; ``before`` prepares each and is not timed."""
        times = []
        for _ in range(_WARM + self._repeats):
            before()
            synchronize(self._device)
            start = time.perf_counter()
            call()
            synchronize(self._device)
            times.append(time.perf_counter() - start)
        return median(times[_WARM:]) * 1e3


def _at_context(model: TreeModel, context: int, watch: _Stopwatch) -> list[dict[str, Any]]:
    """One entry a tree size. A binary tree: as many parents as a real one, and never a plain chain."""
    chance = random.Random(0)
    model.truncate(0)
    prompt = [chance.randrange(model.vocabulary) for _ in range(context)]
    model.extend(prompt, range(-1, context - 1), wanted=[0])
    model.keep(range(context))
    plain, penalising = GreedyRule(frozenset()), GreedyRule(frozenset(), repetition_penalty=1.1)
    entries: list[dict[str, Any]] = []
    for size in SIZES:
        tokens = [chance.randrange(model.vocabulary) for _ in range(size)]
        parents = [context - 1 + (node + 1) // 2 for node in range(size)]
        forward = watch.ms(partial(model.extend, tokens, parents), partial(model.truncate, context))
        model.truncate(context)
        rows = model.extend(tokens, parents).rows
        paths: list[list[int]] = [[]]
        for node in range(1, size):
            paths.append([*paths[(node - 1) // 2], tokens[node]])
        entry: dict[str, Any] = {"tokens": size, "forward_ms": forward}
        entry["ratio"] = forward / entries[0]["forward_ms"] if entries else 1.0
        entry["choice_ms"] = watch.ms(partial(plain.choose, rows, prompt, paths), lambda: None)
        entry["penalised_choice_ms"] = watch.ms(partial(penalising.choose, rows, prompt, paths), lambda: None)
        entries.append(entry)
    return entries


def _keep_ms(model: TreeModel, watch: _Stopwatch) -> float:
    """Time to keep one branch of a tree."""
    trunk = model.trunk

    def grow() -> None:
        model.truncate(trunk)
        model.extend([0] * 16, [trunk - 1 + (node + 1) // 2 for node in range(16)])

    return watch.ms(lambda: model.keep([trunk + node for node in _BRANCH]), grow)


def _prefill_ms(model: TreeModel, watch: _Stopwatch) -> float:
    ids = [number % model.vocabulary for number in range(_PREFILL)]
    parents = range(-1, _PREFILL - 1)
    return watch.ms(lambda: model.extend(ids, parents, wanted=[_PREFILL - 1]), lambda: model.truncate(0))


def _shape(shape: Shape, preset: Preset, device: str, say: Callable[[str], None]) -> dict[str, Any]:
    say("making it")
    model = shaped_model(shape, device, max(preset.contexts) + 128)
    parameters = sum(parameter.numel() for parameter in model.parameters())
    tree, watch = TreeModel(model), _Stopwatch(device, preset.repeats)
    say("prefill")
    figures: dict[str, Any] = {"parameters": parameters, "dtype": "bfloat16", "prefill_tokens": _PREFILL}
    figures["prefill_ms"] = _prefill_ms(tree, watch)
    figures["verify"] = []
    for context in preset.contexts:
        say(f"context {context}")
        figures["verify"].append({"context": context, "sizes": _at_context(tree, context, watch)})
    figures["keep_ms"] = _keep_ms(tree, watch)
    return figures


async def check(bench: Bench) -> Outcome:
    device, preset = bench.devices[0].torch_name, bench.preset
    results: dict[str, dict[str, Any]] = {}
    for shape in preset.shapes:

        def say(text: str, name: str = shape.name) -> None:
            bench.say(f"verify time: {name}, {text}", len(results) / len(preset.shapes))

        try:
            results[shape.name] = await bench.executor.run(partial(_shape, shape, preset, device, say))
        except torch.OutOfMemoryError as error:
            results[shape.name] = {"skipped": one_line(error)}
        free(device)
    forwards: list[list[str]] = []
    others: list[list[str]] = []
    for name, figures in results.items():
        if "skipped" in figures:
            forwards.append([name, "", figures["skipped"], *[""] * (len(SIZES) - 1)])
            continue
        for verify in figures["verify"]:
            cells = [f"{entry['forward_ms']:.2f} ({entry['ratio']:.2f})" for entry in verify["sizes"]]
            forwards.append([name, str(verify["context"]), *cells])
        sizes = figures["verify"][0]["sizes"]
        choices = (sizes[0]["choice_ms"], sizes[-1]["choice_ms"], sizes[-1]["penalised_choice_ms"])
        others.append([name, *(f"{ms:.2f}" for ms in (figures["prefill_ms"], figures["keep_ms"], *choices))])
    last = SIZES[-1]
    made = Table(
        f"Time of a forward by tokens in the tree, on {bench.devices[0].name}: median ms (ratio to one token)",
        ("shape", "context", *map(str, SIZES)),
        forwards,
    )
    rest = Table(
        f"Beside it: median ms of a prefill of {_PREFILL} tokens, of keeping one branch, of the choice of ids",
        ("shape", "prefill", "keep", "choice, 1 token", f"choice, {last} tokens", f"with a penalty, {last} tokens"),
        others,
    )
    return Outcome(None, {"shapes": results}, [made, rest])
