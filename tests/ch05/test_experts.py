"""The decoder with a layer of experts: what is held equal, and what is counted of its router."""

from __future__ import annotations

import pytest
import torch

from deepdive.core import FeedForward
from deepdive.core.hooks import collect_losses
from deepdive_book.ch05.runs import experts as runs
from deepdive_book.ch06a.runs.decoder_ablations import cut

TEXT = cut("the quality of mercy is not strained, it droppeth as the gentle rain. " * 120)


def test_a_decoder_of_one_expert_s_size_has_the_operations_of_one_and_a_router() -> None:
    kinds = len(TEXT.letters)
    plain, several = (runs.step_flops(runs.decoder(kinds, w), kinds) for w in (None, 0.01))
    router = 2 * runs.ROWS * runs.LENGTH * runs.D_MODEL * runs.EXPERTS
    assert several - plain == 3 * router
    assert isinstance(runs.decoder(kinds, None).decoder.stack.blocks[1].ff, FeedForward)


def test_experts_begin_as_a_feed_forward_layer_does() -> None:
    torch.manual_seed(0)
    plain, several = (runs.decoder(30, w).decoder.stack.blocks[1].ff for w in (None, 0.01))
    for name in ("inner", "out"):
        one = getattr(plain, name).weight
        each = getattr(several.experts, name).weight
        assert float(each.detach().std()) == pytest.approx(float(one.detach().std()), rel=0.05)


def test_the_balance_is_paid_for() -> None:
    torch.manual_seed(0)
    batch = TEXT.train[: 2 * 65].view(2, 65)
    free, paid = runs.decoder(30, 0.0), runs.decoder(30, 0.5)
    paid.load_state_dict(free.state_dict())
    with collect_losses(paid) as extra:
        paid(batch[:, :-1])
    assert float(extra.total()) > 0.4
    difference = runs.both_losses(paid, batch) - runs.both_losses(free, batch)
    assert float(difference) == pytest.approx(float(extra.total()), rel=1e-5)


def test_a_row() -> None:
    line = "mercy is not"
    row = runs.measure(TEXT, 0.01, None, 0, 3, line)
    assert row["done"] == 3
    assert sum(row["asked"]) == pytest.approx(1)
    assert row["busiest"] == max(row["asked"])
    assert torch.tensor(row["kinds"]).sum(0).div(6 * 64).tolist() == pytest.approx(row["asked"])
    assert row["passing"] == sorted(row["passing"], reverse=True)
    assert (len(row["tight"]), len(row["line"])) == (len(runs.ROOMS), len(line))
    plain = runs.measure(TEXT, None, None, 0, 3)
    assert set(plain) == {"done", "parameters", "flops", "test"}
    assert row["parameters"] > plain["parameters"]
    assert row["flops"] <= 1.2 * plain["flops"]


def test_room_is_given_to_the_training_and_left_as_it_was() -> None:
    model = runs.decoder(len(TEXT.letters), 0.01, room=10)
    runs.router_statistics(model, TEXT, "")
    assert runs.mixture(model).capacity == 10
