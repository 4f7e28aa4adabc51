"""A tree over the cache gives, for every path, the logits of a plain forward over that path."""

from __future__ import annotations

import tracemalloc
from typing import Any

import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st

from helpers import tiny
from oospec_async.errors import OospecError
from oospec_async.target import cache
from oospec_async.target.tree_model import TreeModel

VOCABULARY = len(tiny.tokenizer()) + tiny.PADDING
MODELS = {family: tiny.random_model(family, std=0.5) for family in tiny.FAMILIES}
TOKENS = st.integers(0, VOCABULARY - 1)


@pytest.fixture(params=tiny.FAMILIES)
def model(request: pytest.FixtureRequest) -> Any:
    return MODELS[request.param]


def plain(model: Any, tokens: list[int]) -> torch.Tensor:
    with torch.inference_mode():
        row: torch.Tensor = model(torch.tensor([tokens]), use_cache=False).logits[0, -1]
    return row


def same(got: torch.Tensor, expected: torch.Tensor) -> None:
    torch.testing.assert_close(got, expected, rtol=1e-4, atol=2e-4 * float(expected.abs().max()))
    assert int(got.argmax()) == int(expected.argmax())


class Mirror:
    """A TreeModel beside the token path of each of its rows."""

    def __init__(self, model: Any) -> None:
        self.model, self.tree = model, TreeModel(model)
        self.paths: list[list[int]] = []  # of each row, from the first token on

    def extend(self, tokens: list[int], parents: list[int], wanted: list[int] | None = None) -> None:
        before = len(self.paths)
        logits = self.tree.extend(tokens, parents, wanted)
        for token, parent in zip(tokens, parents, strict=True):
            self.paths.append([*(self.paths[parent] if parent >= 0 else []), token])
        rows = range(len(tokens)) if wanted is None else wanted
        assert len(logits.rows) == len(rows)
        for row, got in zip(rows, logits.rows, strict=True):
            same(got, plain(self.model, self.paths[before + row]))
        assert self.tree.rows == len(self.paths)

    def keep(self, path: list[int]) -> None:
        kept = self.paths[path[-1]] if path else self.paths[self.tree.trunk - 1] if self.tree.trunk else []
        self.tree.keep(path)
        self.paths = [kept[: length + 1] for length in range(len(kept))]
        assert self.tree.trunk == self.tree.rows == len(kept)

    def truncate(self, rows: int) -> None:
        self.tree.truncate(rows)
        self.paths = self.paths[:rows]

    def path_of(self, row: int) -> list[int]:
        """Tree rows from the trunk's end to ``row``, by their token paths."""
        chain = [row]
        while len(self.paths[chain[0]]) > self.tree.trunk + 1:
            chain.insert(0, next(r for r in range(chain[0] - 1, -1, -1) if self.paths[r] == self.paths[chain[0]][:-1]))
        return chain


@given(data=st.data(), family=st.sampled_from(tiny.FAMILIES), capacity=st.sampled_from([2, 1024]))
@settings(max_examples=60)
def test_random_trees_in_several_calls_with_paths_kept_and_cut_equal_plain_forwards(
    data: st.DataObject, family: str, capacity: int
) -> None:
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(cache, "_FIRST_CAPACITY", capacity)  # a small one has to grow, again and again
        grow_keep_and_cut(data, Mirror(MODELS[family]))


def grow_keep_and_cut(data: st.DataObject, mirror: Mirror) -> None:
    prompt = data.draw(st.lists(TOKENS, min_size=1, max_size=12))
    mirror.extend(prompt, list(range(-1, len(prompt) - 1)))
    if data.draw(st.booleans()):
        mirror.keep(list(range(len(prompt))))
    for _ in range(data.draw(st.integers(1, 3))):
        for _ in range(data.draw(st.integers(1, 3))):
            tokens, parents, first = list[int](), list[int](), mirror.tree.rows
            siblings: set[tuple[int, int]] = set()
            for row in range(first, first + data.draw(st.integers(1, 5))):
                token, parent = data.draw(TOKENS), data.draw(st.integers(mirror.tree.trunk - 1, row - 1))
                if (token, parent) not in siblings and len(tokens) == row - first:
                    siblings.add((token, parent))
                    tokens.append(token)
                    parents.append(parent)
            mirror.extend(tokens, parents)
        row = data.draw(st.integers(mirror.tree.trunk - 1, mirror.tree.rows - 1))
        mirror.keep(mirror.path_of(row) if row >= mirror.tree.trunk else [])
        if data.draw(st.booleans()):
            mirror.truncate(data.draw(st.integers(max(0, mirror.tree.trunk - 2), mirror.tree.trunk)))


def prefilled(model: Any, prompt: list[int]) -> Mirror:
    mirror = Mirror(model)
    mirror.extend(prompt, list(range(-1, len(prompt) - 1)), wanted=[len(prompt) - 1])
    mirror.keep(list(range(len(prompt))))
    return mirror


def test_only_wanted_rows_get_logits_and_the_state_is_the_last_tokens(model: Any) -> None:
    tree = TreeModel(model)
    logits = tree.extend([1, 2, 3], [-1, 0, 1], wanted=[2, 0])
    assert logits.rows.shape == (2, VOCABULARY) == (2, tree.vocabulary)
    same(logits.rows[0], plain(model, [1, 2, 3]))
    same(logits.rows[1], plain(model, [1]))
    with torch.inference_mode():
        same(model.get_output_embeddings()(logits.state), plain(model, [1, 2, 3]))


def test_a_long_prompt_costs_no_memory_that_grows_with_its_square() -> None:
    length = 3000
    tree = TreeModel(tiny.random_model("qwen2", context=length))
    tracemalloc.start()
    tree.extend([1] * length, range(-1, length - 1), wanted=[length - 1])
    tree.keep(range(length))
    _, peak = tracemalloc.get_traced_memory()
    tracemalloc.stop()
    assert peak < length * length / 4


@pytest.mark.parametrize("parents", [[3], [9], [1], [-1], [2, 4], [2, 1], [-7]])
def test_a_row_that_cannot_be_a_parent_is_an_error_and_changes_nothing(model: Any, parents: list[int]) -> None:
    mirror = prefilled(model, [1, 2, 3])
    with pytest.raises(IndexError):
        mirror.tree.extend([5] * len(parents), parents)
    mirror.extend([7, 8], [2, 2])


def test_a_path_longer_than_the_context_is_refused_and_changes_nothing(model: Any) -> None:
    mirror = Mirror(tiny.random_model(model.config.model_type, std=0.5, context=5))
    with pytest.raises(OospecError, match="context of 5"):
        mirror.tree.extend([1] * 6, list(range(-1, 5)))
    mirror.extend([1, 2, 3], [-1, 0, 1])
    mirror.keep([0, 1, 2])
    with pytest.raises(OospecError, match="context of 5"):
        mirror.tree.extend([1, 2, 3], [2, 3, 4])
    mirror.extend([4, 5], [2, 3])


def test_a_tree_may_be_wider_than_the_context_has_room(model: Any) -> None:
    mirror = Mirror(tiny.random_model(model.config.model_type, std=0.5, context=5))
    mirror.extend([1, 2, 3], [-1, 0, 1])
    mirror.keep([0, 1, 2])
    mirror.extend(list(range(30, 45)), [2] * 15)
    mirror.extend(list(range(15)), list(range(3, 18)))
    mirror.keep([7, 22])
    assert mirror.tree.trunk == 5


@pytest.mark.parametrize("rows", [-1, 4])
def test_cutting_where_there_are_no_rows_is_an_error(model: Any, rows: int) -> None:
    mirror = prefilled(model, [1, 2, 3])
    with pytest.raises(IndexError):
        mirror.tree.truncate(rows)
    mirror.extend([7], [2])


def test_after_a_failure_in_the_middle_of_a_forward_the_next_request_is_right(
    model: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    mirror = prefilled(model, [1, 2, 3])
    second = model.get_decoder().layers[1]

    def out_of_memory(*args: Any, **kwargs: Any) -> Any:
        raise RuntimeError("out of memory")

    with monkeypatch.context() as patched:
        patched.setattr(second, "forward", out_of_memory)
        with pytest.raises(RuntimeError, match="out of memory"):
            mirror.tree.extend([9, 9, 9], [2, 3, 2])
    mirror.extend([7, 8], [2, 2])  # even the interrupted one can go on
    mirror.truncate(0)
    mirror.extend([4, 5], [-1, 0])


def test_in_bfloat16_a_tree_is_as_close_to_a_plain_forward_as_bfloat16_is(model: Any) -> None:
    half = tiny.random_model(model.config.model_type, std=0.5, dtype=torch.bfloat16)
    tree = TreeModel(half)
    tree.extend([1, 2, 3], [-1, 0, 1])
    tree.keep([0, 1, 2])
    logits = tree.extend([4, 5, 6], [2, 2, 3])
    assert logits.rows.dtype == torch.bfloat16
    for got, path in zip(logits.rows, ([1, 2, 3, 4], [1, 2, 3, 5], [1, 2, 3, 4, 6]), strict=True):
        expected = plain(half, path).float()
        assert float((got.float() - expected).abs().max()) < 0.05 * float(expected.abs().max())
