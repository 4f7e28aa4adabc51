"""The greedy rule chooses as ``generate`` does; settings that it does not apply are refused by name."""

from __future__ import annotations

from typing import Any

import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st
from transformers import GenerationConfig
from transformers.generation.logits_process import RepetitionPenaltyLogitsProcessor

from oospec_async.errors import OospecError
from oospec_async.target.greedy import TOP_K, GreedyRule

PLAIN = GreedyRule(frozenset())


@given(
    rows=st.integers(1, 4), width=st.integers(1, 40), values=st.integers(1, 5), seed=st.integers(0, 999),
    dtype=st.sampled_from([torch.float32, torch.bfloat16]),
)  # fmt: skip
def test_among_equal_logits_the_lowest_id_is_chosen_as_argmax_chooses(
    rows: int, width: int, values: int, seed: int, dtype: torch.dtype
) -> None:
    logits = torch.randint(0, values, (rows, width), generator=torch.Generator().manual_seed(seed)).to(dtype)
    choice = PLAIN.choose(logits, [], [()] * rows)
    assert choice.predicted == logits.argmax(dim=-1).tolist()
    assert [len(s) for s in choice.successors] == [min(TOP_K, width)] * rows
    assert all(margin >= 0 for margin in choice.margins)


def test_the_margin_is_the_lead_over_the_second_best() -> None:
    choice = PLAIN.choose(torch.tensor([[0.0, 3.0, 1.0] + [-1.0] * 9, [2.0, 2.0] + [0.0] * 10]), [], [(), ()])
    assert choice.margins == [2.0, 0.0]
    assert choice.successors[0][:2] == [1, 2]
    assert choice.predicted == [1, 0]


@given(
    committed=st.lists(st.integers(0, 29), min_size=1, max_size=20),
    path=st.lists(st.integers(0, 29), max_size=5),
    seed=st.integers(0, 999),
    penalty=st.sampled_from([0.8, 1.05, 1.1, 2.0]),
)
def test_the_repetition_penalty_is_that_of_transformers_for_each_nodes_own_path(
    committed: list[int], path: list[int], seed: int, penalty: float
) -> None:
    rule = GreedyRule(frozenset(), repetition_penalty=penalty)
    logits = torch.randn(2, 30, generator=torch.Generator().manual_seed(seed))
    before = logits.clone()
    processor = RepetitionPenaltyLogitsProcessor(penalty)
    expected = [
        processor(torch.tensor([committed + more]), row[None].clone())[0]
        for more, row in zip([path, []], logits, strict=True)
    ]
    got = rule._process(logits.clone(), committed, [path, []])
    assert torch.equal(got, torch.stack(expected))
    assert rule.choose(logits, committed, [path, []]).predicted == [int(row.argmax()) for row in expected]
    assert torch.equal(logits, before)


def test_suppressed_ids_are_never_chosen() -> None:
    rule = GreedyRule(frozenset(), suppressed=(1, 2))
    assert rule.choose(torch.tensor([[0.0, 9.0, 8.0, 1.0]]), [], [()]).predicted == [3]


@pytest.mark.parametrize(("declared", "ends"), [(None, set()), (7, {7}), ([7, 9], {7, 9})])
def test_one_several_or_no_end_tokens(declared: Any, ends: set[int]) -> None:
    assert GreedyRule.from_config(GenerationConfig(eos_token_id=declared), "m").end_tokens == ends


def test_a_config_as_checkpoints_ship_it_is_accepted_and_applied() -> None:
    config = GenerationConfig(
        do_sample=True, temperature=0.7, top_p=0.8, top_k=20, repetition_penalty=1.1, eos_token_id=[151645, 151643],
        pad_token_id=151643, bos_token_id=151643, suppress_tokens=[5],
    )  # fmt: skip
    rule = GreedyRule.from_config(config, "m")
    assert rule == GreedyRule(frozenset({151645, 151643}), 1.1, (5,))


@pytest.mark.parametrize(
    ("setting", "value"),
    [
        ("num_beams", 4), ("no_repeat_ngram_size", 3), ("min_new_tokens", 5), ("min_length", 9),
        ("bad_words_ids", [[3]]), ("forced_eos_token_id", 2), ("forced_bos_token_id", 2), ("penalty_alpha", 0.6),
        ("guidance_scale", 1.5), ("sequence_bias", [[[3], -1.0]]), ("stop_strings", ["x"]), ("max_time", 3.0),
        ("exponential_decay_length_penalty", (5, 1.1)), ("begin_suppress_tokens", [3]),
        ("encoder_repetition_penalty", 1.2), ("remove_invalid_values", True), ("token_healing", True),
        ("dola_layers", "high"),
    ],
)  # fmt: skip
def test_a_setting_that_changes_greedy_and_is_not_applied_is_refused_by_name(setting: str, value: Any) -> None:
    config = GenerationConfig()
    setattr(config, setting, value)
    with pytest.raises(OospecError, match=rf"^some/model: .*{setting}=") as refused:
        GreedyRule.from_config(config, "some/model")
    assert "\n" not in str(refused.value)
