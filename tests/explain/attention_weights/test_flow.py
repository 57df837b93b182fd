"""Attention flow: by hand, every cut by brute force, its laws, real models."""

from __future__ import annotations

import sys
from itertools import product
from unittest import mock

import pytest
import torch
from torch import Tensor

from deepdive.core.hooks import record
from deepdive.explain.attention_weights.flow import flow
from deepdive.explain.rollout import mixing
from deepdive.models.bert import albert, bert


def layers(count: int, t: int = 3, heads: int = 2, sharp: float = 2.0) -> list[Tensor]:
    seed = torch.Generator().manual_seed(count)
    shape = (1, heads, t, t)
    return [
        (sharp * torch.randn(shape, generator=seed, dtype=torch.float64)).softmax(-1)
        for _ in range(count)
    ]


def narrowest_cut(pipes: list[Tensor], s: int, t: int) -> float:
    """The least that must be cut to part input s from state t, over all ways to part the rows."""
    size, depth = pipes[0].shape[-1], len(pipes)
    between = [(layer, row) for layer in range(1, depth) for row in range(size)]
    best = float("inf")
    for sides in product((True, False), repeat=len(between)):
        source = {(0, s), *(node for node, side in zip(between, sides, strict=True) if side)}
        source |= {(depth, row) for row in range(size) if row != t}  # they lead nowhere
        cut = sum(
            float(pipe[i, j])
            for layer, pipe in enumerate(pipes)
            for i, j in product(range(size), repeat=2)
            if (layer, j) in source and (layer + 1, i) not in source
        )
        best = min(best, cut)
    return best


@pytest.mark.parametrize(("count", "t"), [(2, 3), (3, 3), (4, 2), (2, 5)])
def test_it_is_the_narrowest_of_all_cuts(count: int, t: int) -> None:
    weights = layers(count, t)
    pipes = [mixing(layer)[0] for layer in weights]
    found = flow(weights)
    for to, source in product(range(t), repeat=2):
        assert found[to, source].item() == pytest.approx(narrowest_cut(pipes, source, to))


def test_two_layers_by_hand() -> None:
    """A path through each row between carries what its narrower edge lets through."""
    weights = layers(2, 4)
    first, second = (mixing(layer)[0] for layer in weights)
    expected = torch.minimum(second[:, :, None], first[None]).sum(1)
    torch.testing.assert_close(flow(weights), expected)


def test_one_layer_is_its_mixing_and_layers_that_stay_change_nothing() -> None:
    (one,) = layers(1, 5)
    torch.testing.assert_close(flow([one]), mixing(one)[0])
    stay = torch.eye(5, dtype=torch.float64).expand(1, 2, 5, 5)
    torch.testing.assert_close(flow([stay, one, stay, stay]), mixing(one)[0])
    assert torch.equal(flow([stay, stay]), stay[0, 0])


def test_wider_pipes_carry_no_less_and_no_state_takes_more_than_one() -> None:
    weights = layers(3, 4)
    found = flow(weights)
    assert (found <= 1 + 1e-12).all()
    assert (found > 0).all()
    assert (flow([*weights, *layers(1, 4)]) <= 1 + 1e-12).all()
    order = torch.tensor([2, 0, 3, 1])
    moved = [layer[..., order, :][..., order] for layer in weights]
    torch.testing.assert_close(flow(moved), found[order][:, order])


def test_what_cannot_be_reached_gets_nothing_and_chosen_states_are_those_of_all() -> None:
    seen = torch.ones(4, 4, dtype=torch.bool).tril()
    causal = [
        layer.masked_fill(~seen, 0) / layer.masked_fill(~seen, 0).sum(-1, keepdim=True)
        for layer in layers(3, 4)
    ]
    found = flow(causal)
    assert (found[~seen] == 0).all()
    assert (found[seen] > 0).all()
    assert torch.equal(flow(causal, [3, 1, -1]), found[[3, 1, -1]])


def test_what_a_model_records() -> None:
    tokens = torch.randint(0, 20, (1, 6))
    for reader in (
        bert.bert(bert.TINY, vocab_size=20, n_layers=3).eval(),
        albert.albert(albert.TINY, vocab_size=20).eval(),
    ):
        with record(reader, "*.weights") as seen:
            reader(tokens)
        found = flow(seen, [0])
        calls = [layer.detach() for each in seen.values() for layer in each]
        assert found.shape == (1, 6)
        torch.testing.assert_close(found, flow(calls)[:1])


def test_what_does_not_fit_is_refused() -> None:
    with pytest.raises(ValueError, match=r"batches of \[2\], expected one or more"):
        flow([torch.eye(3).expand(2, 1, 3, 3)])
    with pytest.raises(ValueError, match=r"batches of \[\]"):
        flow([])
    with pytest.raises(ValueError, match="remove padding"):
        flow([torch.zeros(1, 1, 3, 3)])
    with (
        mock.patch.dict(sys.modules, {"networkx": None}),
        pytest.raises(ImportError, match="or networkx alone"),
    ):
        flow(layers(1))
