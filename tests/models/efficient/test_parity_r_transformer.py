"""R-Transformer's parts against torch's networks, window by window, in float64."""

from __future__ import annotations

from typing import Any

import pytest
import torch
from parity_proofs import real, rows
from parity_registry import equal, equal_gradients, parity, perturb
from torch import Tensor, nn

from deepdive.core import Block, FeedForward, MultiHeadAttention, PostNorm
from deepdive.core.masks import Causal, Padding
from deepdive.models.efficient.r_transformer import LocalRNN, tiny
from deepdive.recurrent import RNN, from_torch


def window_by_window(theirs: nn.RNNBase, x: Tensor, window: int) -> Tensor:
    """The last output of their network on every window of x (B, T, d)."""
    last = [theirs(x[:, max(0, t + 1 - window) : t + 1])[0][:, -1] for t in range(x.shape[1])]
    return torch.stack(last, dim=1)


def in_our_form(theirs: nn.RNNBase) -> RNN:
    (layer,) = [part for part in from_torch(theirs).modules() if isinstance(part, RNN)]
    return layer


@parity(LocalRNN)
def local() -> None:
    for oracle in (nn.RNN, nn.LSTM, nn.GRU):
        theirs = perturb(oracle(6, 6, batch_first=True).double())
        ours = in_our_form(theirs)
        pairs = {
            "W": (ours.W.weight, theirs.weight_ih_l0),
            "U": (ours.U.weight, theirs.weight_hh_l0),
        }
        for window in (1, 3, 9, 20):
            x, y = rows(2, 9, 6), rows(2, 9, 6)
            output, expected = LocalRNN(ours, window)(x), window_by_window(theirs, y, window)
            equal(output, expected)
            leaves = {"x": (x, y), "W": pairs["W"]}
            equal_gradients(output, expected, leaves if window == 1 else {**leaves, **pairs})
        keys = real([9, 5], 9)  # windows of a shorter text, padding behind and in front of it
        x = rows(2, 9, 6)
        alone = window_by_window(theirs, x[1:, :5], 3)
        equal(LocalRNN(ours, 3)(x, mask=Padding(keys))[1:, :5], alone)
        equal(LocalRNN(ours, 3)(x.roll(4, 1), mask=Padding(keys.flip(1)))[1:, 4:], alone)


@parity("r_transformer")
def block() -> None:
    """Three sublayers, each norm(x + sublayer(x)), as the paper has them."""
    local = nn.RNN(8, 8, batch_first=True)
    attention = nn.MultiheadAttention(8, 2, batch_first=True)
    parts = nn.ModuleList(
        [local, attention, nn.Linear(8, 12), nn.Linear(12, 8), *(nn.LayerNorm(8) for _ in range(3))]
    )
    perturb(parts.double())
    _, _, inner, outer, *norms = parts
    near = LocalRNN(in_our_form(local), 3)
    attn, ff, order = MultiHeadAttention(8, 2), FeedForward(8, 12), ("local", "attn", "ff")
    ours: Any = Block(attn, ff, residual=PostNorm, order=order, local=near).double()
    q, kv = ours.attn.q, ours.attn.kv
    with torch.no_grad():
        for name in ("weight", "bias"):
            joined = getattr(attention, f"in_proj_{name}")
            getattr(q, name).copy_(joined[:8])
            getattr(kv, name).copy_(joined[8:])
    ours.attn.out.load_state_dict(attention.out_proj.state_dict())
    ours.ff.inner.load_state_dict(inner.state_dict())
    ours.ff.out.load_state_dict(outer.state_dict())
    joints = (ours.local_residual, ours.attn_residual, ours.ff_residual)
    for joint, norm in zip(joints, norms, strict=True):
        joint.norm.load_state_dict(norm.state_dict())
    x, y = rows(2, 7, 8), rows(2, 7, 8)
    output = ours(x, mask=Causal())
    z = norms[0](y + window_by_window(local, y, 3))
    masked = ~Causal().dense(7)[0, 0]
    z = norms[1](z + attention(z, z, z, attn_mask=masked, need_weights=False)[0])
    expected = norms[2](z + outer(torch.relu(inner(z))))
    equal(output, expected)
    leaves = {"x": (x, y), "U": (ours.local.rnn.U.weight, local.weight_hh_l0)}
    equal_gradients(output, expected, leaves)


def test_decoded_step_by_step_as_at_once() -> None:
    model = perturb(tiny().double().eval())
    tokens = torch.randint(4, 32, (2, 9), generator=torch.Generator().manual_seed(0))
    with torch.no_grad():
        state = model.begin()
        steps = [model.step(tokens[:, a:b], state) for a, b in ((0, 1), (1, 4), (4, 5), (5, 9))]
        equal(torch.cat(steps, 1), model(tokens))
    assert state.cache.length == 9
    assert len(state.cache.slots) == 2  # a layer's network has a part of its slot


def test_a_window_that_is_one_too_wide_is_seen(monkeypatch: pytest.MonkeyPatch) -> None:
    kept = LocalRNN.__init__

    def wider(self: LocalRNN, rnn: RNN, window: int) -> None:
        kept(self, rnn, window + 1)

    monkeypatch.setattr(LocalRNN, "__init__", wider)
    for proof in (local, block):
        with pytest.raises(AssertionError):
            proof()
