"""Layers that read what is near: restricted attention and convolution against their references."""

from __future__ import annotations

import pytest
import torch
import torch.nn.functional as F
from parity_proofs import alike, real, rows
from parity_registry import equal, equal_gradients, parity, perturb
from torch import nn

from deepdive.attention import WindowAttention
from deepdive.core import MultiHeadAttention
from deepdive.core.hooks import record
from deepdive.core.masks import Causal, Padding, Window
from deepdive.layers import Convolution
from deepdive.published.weights import adopt


@parity(WindowAttention)
def window() -> None:
    under_its_mask()
    longformer()


def under_its_mask() -> None:
    """Odd lengths, a block that divides none of them, padding, few queries, step by step too."""
    for T, S, left, right in ((13, 13, 3, 2), (4, 13, 2, 2), (13, 13, 20, 0)):
        for causal in (False, True):
            keys = real([13, 9], 13)
            dense = Window(left, right).dense(T, S) & keys[:, None, None]
            if causal:
                dense = dense & Causal().dense(T, S)
            mask = Padding(keys) & Causal() if causal else Padding(keys)
            shapes = ((2, 3, T, 6), (2, 3, S, 6), (2, 3, S, 5))
            q, k, v = (rows(*shape, seed=i) for i, shape in enumerate(shapes))
            ours = WindowAttention(left, right, block=4)
            with record(ours, "weights") as seen:
                explicit = ours(q, k, v, mask)
            assert seen["weights"][0].shape == (2, 3, T, left + 1 + right)
            leaves = {"q": (q, q), "k": (k, k), "v": (v, v)}
            for output in (explicit, ours(q, k, v, mask)):
                expected = F.scaled_dot_product_attention(q, k, v, dense)
                equal(output, expected)
                equal_gradients(output, expected, leaves)


def longformer() -> None:
    """Its softmax is computed in float32, so all is: 1e-5, gradients 1e-4."""
    from transformers import LongformerConfig
    from transformers.models.longformer.modeling_longformer import LongformerSelfAttention

    torch.manual_seed(0)
    config = LongformerConfig(
        hidden_size=12,
        num_attention_heads=3,
        attention_window=[4],
        attention_probs_dropout_prob=0.0,
    )
    theirs = perturb(LongformerSelfAttention(config, 0))
    ours = MultiHeadAttention(12, 3, mechanism=WindowAttention(2, 2, block=5))
    with torch.no_grad():
        ours.q.load_state_dict(theirs.query.state_dict())
        ours.kv.weight.copy_(torch.cat([theirs.key.weight, theirs.value.weight]))
        ours.kv.bias.copy_(torch.cat([theirs.key.bias, theirs.value.bias]))
        ours.out.weight.copy_(torch.eye(12))
    keys = real([12, 9, 5], 12)
    x, y = (rows(3, 12, 12).detach().float().requires_grad_() for _ in range(2))
    with record(ours, "mechanism.weights") as seen:
        ours(x, mask=Padding(keys))
    (weights,) = seen["mechanism.weights"]
    padding = torch.zeros(3, 12).masked_fill(~keys, torch.finfo(torch.float32).min)
    expected, band = theirs(y, padding, ~keys, torch.zeros(3, 12).bool(), False, True)
    equal(weights.transpose(1, 2)[keys], band[keys], 1e-5)
    output = ours(x, mask=Padding(keys))
    equal(output[keys], expected[keys], 1e-5)
    equal_gradients(output[keys], expected[keys], {"x": (x, y)}, 1e-4)


def test_a_window_that_is_one_too_wide_is_seen(monkeypatch: pytest.MonkeyPatch) -> None:
    kept = WindowAttention.__init__

    def wider(self: WindowAttention, left: int, right: int = 0, **more: int) -> None:
        kept(self, left + 1, right, **more)

    monkeypatch.setattr(WindowAttention, "__init__", wider)
    for proof in (under_its_mask, longformer):
        with pytest.raises((AssertionError, RuntimeError)):
            proof()


@parity(Convolution)
def convolution() -> None:
    """Torch pads both ends alike: what a causal layer must not see is cut off."""
    for left, right, dilation, bias in ((1, 1, 1, True), (2, 2, 3, True), (3, 0, 2, False)):
        reach, settings = left * dilation, {"dilation": dilation, "bias": bias}
        theirs = nn.Conv1d(8, 8, left + 1 + right, padding=reach, **settings).double()
        perturb(theirs)
        ours = Convolution(8, left, right, dilation, bias=bias).double()
        rules = [(r"^", "W.")]
        adopt(ours, theirs.state_dict(), rules)
        for keys in (None, real([11, 6], 11)):
            x, y = rows(2, 11, 8), rows(2, 11, 8)
            read = y if keys is None else y * keys.unsqueeze(-1)
            expected = theirs(read.transpose(1, 2)).transpose(1, 2)[:, :11]
            output = ours(x, mask=None if keys is None else Padding(keys))
            alike(ours, theirs, output, expected, rules, inputs=[(x, y)])
