"""Min-p and the penalty on repetition: in numbers, and beside transformers'."""

from __future__ import annotations

from typing import Any
from unittest import mock

import pytest
import torch
from torch import Tensor
from transformers import (
    LlamaConfig,
    LlamaForCausalLM,
    MinPLogitsWarper,
    RepetitionPenaltyLogitsProcessor,
)

from deepdive.decoding import filter_min_p, greedy, penalize, sample, sampling
from deepdive.published import load

ROWS = torch.tensor([[5, 9, 3], [4, 4, 7], [8, 20, 8], [6, 5, 11]])


def logits(n: int = 6) -> Tensor:
    return 3 * torch.randn(n, 30, generator=torch.Generator().manual_seed(0))


def test_min_p_in_numbers() -> None:
    p = torch.tensor([0.5, 0.25, 0.15, 0.06, 0.04])
    for share, size in ((1.0, 1), (0.6, 1), (0.5, 2), (0.31, 2), (0.29, 3), (0.1, 4), (1e-9, 5)):
        assert int((filter_min_p(p.log() + 7, share) > float("-inf")).sum()) == size


@pytest.mark.parametrize("share", [1.0, 0.3, 0.05, 0.001])
def test_min_p_is_transformers(share: float) -> None:
    theirs = MinPLogitsWarper(min_p=share)(ROWS[:1].repeat(6, 1), logits())
    assert torch.equal(filter_min_p(logits(), share), theirs)


def test_the_penalty_in_numbers() -> None:
    scores = torch.tensor([[4.0, -4.0, 0.0, 2.0]])
    assert penalize(scores, torch.tensor([[0, 1, 0]]), 2.0).tolist() == [[2.0, -8.0, 0.0, 2.0]]
    assert torch.equal(penalize(scores, torch.tensor([[0, 1, 3]]), 1.0), scores)


def test_the_penalty_is_transformers() -> None:
    read = torch.randint(0, 30, (6, 9), generator=torch.Generator().manual_seed(1))
    theirs = RepetitionPenaltyLogitsProcessor(penalty=1.3)(read, logits().clone())
    assert torch.equal(penalize(logits(), read, 1.3), theirs)


@pytest.fixture(scope="module")
def pair(tmp_path_factory: pytest.TempPathFactory) -> tuple[Any, Any]:
    """A small Llama of transformers, with large weights, so that it prefers; and ours."""
    torch.manual_seed(0)
    theirs = LlamaForCausalLM(
        LlamaConfig(
            vocab_size=30, hidden_size=16, intermediate_size=24, num_hidden_layers=2,
            num_attention_heads=4, num_key_value_heads=2, initializer_range=0.5,
            bos_token_id=1, eos_token_id=2, pad_token_id=0,
        )
    ).eval()  # fmt: skip
    folder = tmp_path_factory.mktemp("llama")
    theirs.save_pretrained(folder)
    return load(folder), theirs


def written(pair: tuple[Any, Any], penalty: float) -> tuple[list[list[int]], list[list[int]]]:
    ours, theirs = pair
    found = theirs.generate(
        ROWS, attention_mask=torch.ones_like(ROWS), do_sample=False, max_new_tokens=14,
        repetition_penalty=penalty,
    )[:, 3:].tolist()  # fmt: skip
    expected = [row[: row.index(2)] if 2 in row else row for row in found]
    return greedy(ours, prompt=ROWS, max_length=14, repetition=penalty), expected


@pytest.mark.parametrize("penalty", [1.0, 1.2, 3.0])
def test_what_is_written_is_what_transformers_writes(pair: tuple[Any, Any], penalty: float) -> None:
    mine, theirs = written(pair, penalty)
    assert mine == theirs


def test_a_penalty_that_forgets_what_was_written_is_seen(pair: tuple[Any, Any]) -> None:
    def wrong(scores: Tensor, read: Tensor, penalty: float) -> Tensor:
        return penalize(scores, read[:, :3], penalty)

    with mock.patch.object(sampling, "penalize", wrong):
        mine, theirs = written(pair, 3.0)
    assert mine != theirs


def test_rows_that_ended_take_what_they_read_along(pair: tuple[Any, Any]) -> None:
    ours = pair[0]
    whole = greedy(ours, prompt=ROWS, max_length=14, repetition=3.0)
    alone = [greedy(ours, prompt=row[None], max_length=14, repetition=3.0)[0] for row in ROWS]
    assert whole == alone


def test_min_p_cuts_what_is_drawn(pair: tuple[Any, Any]) -> None:
    """With 1 only the most probable token is left."""
    drawn = sample(pair[0], prompt=ROWS, max_length=9, min_p=1.0, temperature=3.0, repetition=1.2)
    assert drawn == greedy(pair[0], prompt=ROWS, max_length=9, repetition=1.2)


@pytest.mark.parametrize("wrong", [0.0, -0.1, 1.5])
def test_a_share_that_is_none_is_refused(wrong: float) -> None:
    with pytest.raises(ValueError, match="min_p must be between 0"):
        filter_min_p(logits(), wrong)


@pytest.mark.parametrize("wrong", [0.5, -2.0, float("inf"), float("nan")])
def test_a_penalty_that_rewards_is_refused(wrong: float) -> None:
    with pytest.raises(ValueError, match="repetition must be 1 or more"):
        penalize(logits(), ROWS[:1].repeat(6, 1), wrong)
