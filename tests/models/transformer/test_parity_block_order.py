"""Macaron, Sandwich, and DARTS against torch's and transformers' layers and loops over the papers'
equations, in float64 with gradients.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any
from unittest import mock

import pytest
import torch
import torch.nn.functional as F
from parity_proofs import real, rows
from parity_registry import equal, equal_gradients, parity, perturb
from torch import Tensor, nn
from transformers import Wav2Vec2ConformerConfig
from transformers.models.wav2vec2_conformer.modeling_wav2vec2_conformer import (
    Wav2Vec2ConformerEncoderLayer,
)

from deepdive.core import MultiHeadAttention
from deepdive.core.masks import Causal, Padding
from deepdive.layers.mixed_layer import MixedLayer
from deepdive.layers.sublayers import Sublayer, SublayerStack, sublayer_stack
from deepdive.models.transformer import darts, macaron, sandwich
from deepdive.models.transformer.macaron import HalfFeedForward, macaron_block


def attention_of(ours: MultiHeadAttention, theirs: nn.Module) -> None:
    """Give ours the weights of a layer with linear_q, linear_k, linear_v, and linear_out."""
    with torch.no_grad():
        for name in ("weight", "bias"):
            k, v = (getattr(getattr(theirs, f"linear_{part}"), name) for part in "kv")
            getattr(ours.kv, name).copy_(torch.cat([k, v]))
    ours.q.load_state_dict(theirs.linear_q.state_dict())
    ours.out.load_state_dict(theirs.linear_out.state_dict())


@parity("macaron", HalfFeedForward)
def macaron_agrees() -> None:
    """A Conformer's layer whose convolution adds nothing is a Macaron layer and a norm."""
    config = Wav2Vec2ConformerConfig(
        hidden_size=16, num_attention_heads=4, intermediate_size=24, hidden_act="relu",
        position_embeddings_type=None, attention_dropout=0.0, hidden_dropout=0.0,
        activation_dropout=0.0,
    )  # fmt: skip
    theirs: Any = perturb(Wav2Vec2ConformerEncoderLayer(config).double()).eval()
    nn.init.zeros_(theirs.conv_module.pointwise_conv2.weight)
    ours: Any = macaron_block(16, 4, 48).double()
    attention_of(ours.attn, theirs.self_attn)
    for ff, layer in ((ours.ff_first, theirs.ffn1), (ours.ff, theirs.ffn2)):
        ff.inner.load_state_dict(layer.intermediate_dense.state_dict())
        ff.out.load_state_dict(layer.output_dense.state_dict())
    for name, norm in (("ff_first", "ffn1"), ("attn", "self_attn"), ("ff", "ffn2")):
        joint = getattr(ours, f"{name}_residual")
        joint.norm.load_state_dict(getattr(theirs, f"{norm}_layer_norm").state_dict())
    x, y = rows(2, 7, 16), rows(2, 7, 16)
    output, expected = theirs.final_layer_norm(ours(x)), theirs(y)
    equal(output, expected)
    q, first = theirs.self_attn.linear_q, theirs.ffn1.intermediate_dense
    pairs = {
        "x": (x, y),
        "q": (ours.attn.q.weight, q.weight),
        "first": (ours.ff_first.inner.weight, first.weight),
        "second": (ours.ff.out.bias, theirs.ffn2.output_dense.bias),
    }
    equal_gradients(output, expected, pairs)


def by_hand(stack: SublayerStack, order: str, x: Tensor, keys: Tensor) -> Tensor:
    """x through pre-norm sublayers in this order, each of them a call of torch's functions."""
    T = x.shape[1]
    allowed = torch.ones(T, T).tril().bool() & keys[:, None]
    for letter, layer in zip(order, stack.blocks, strict=True):
        part: Any = layer.sublayer
        norm: Any = layer.residual.norm
        h = F.layer_norm(x, (16,), norm.weight, norm.bias)
        if letter == "s":
            weight = torch.cat([part.q.weight, part.kv.weight])
            bias = torch.cat([part.q.bias, part.kv.bias])
            added = F.multi_head_attention_forward(
                h.transpose(0, 1), h.transpose(0, 1), h.transpose(0, 1), 16, 4, weight, bias,
                None, None, False, 0.0, part.out.weight, part.out.bias,
                need_weights=False, attn_mask=~allowed.repeat_interleave(4, 0),
            )[0].transpose(0, 1)  # fmt: skip
        elif letter == "f":
            hidden = F.linear(h, part.inner.weight, part.inner.bias).relu()
            added = F.linear(hidden, part.out.weight, part.out.bias)
        else:
            shown = (h * keys[..., None]).transpose(1, 2)
            added = F.conv1d(F.pad(shown, (3, 0)), part.W.weight, part.W.bias).transpose(1, 2)
        x = x + added
    return F.layer_norm(x, (16,), stack.norm.weight, stack.norm.bias)


@parity("sandwich", Sublayer, SublayerStack)
def any_order_agrees() -> None:
    keys = real([7, 5], 7)
    for order in ("ssfsff", "ffssfs", "csfc"):
        stack: Any = perturb(sublayer_stack(order, 16, 4, 32).double())
        x, y = rows(2, 7, 16), rows(2, 7, 16)
        output = stack(x, mask=Causal() & Padding(keys))[keys]
        expected = by_hand(stack, order, y, keys)[keys]
        equal(output, expected)
        weights = {name: (p, p) for name, p in stack.named_parameters()}
        equal_gradients(output, expected, {"x": (x, y), **weights})


@parity("darts", MixedLayer)
def mixture_agrees() -> None:
    """sum over i of exp(alpha_i) / sum_j exp(alpha_j) * o_i(x), one candidate at a time."""
    layers = {name: sublayer_stack(name, 16, 4, 32).blocks[0] for name in "scf"}
    mixed: Any = perturb(MixedLayer({**layers, "i": nn.Identity()}).double())
    x, y = rows(2, 7, 16), rows(2, 7, 16)
    output = mixed(x, mask=Causal())
    total = sum(alpha.exp() for alpha in mixed.alpha)
    expected = mixed.alpha[3].exp() / total * y
    for alpha, layer in zip(mixed.alpha[:3], layers.values(), strict=True):
        expected = expected + alpha.exp() / total * layer(y, mask=Causal())
    equal(output, expected)
    weights = {name: (p, p) for name, p in mixed.named_parameters()}
    equal_gradients(output, expected, {"x": (x, y), **weights})


def test_a_sandwich() -> None:
    """Examples of the paper's form: k = 0 alternates, k = n has all attention first."""
    found = [sandwich.sandwich_order(3, k) for k in range(4)]
    assert found == ["sfsfsf", "ssfsff", "sssfff", "sssfff"]


def test_a_macaron_block_has_as_many_weights_as_a_plain_one() -> None:
    half = macaron_block(16, 4, 64, bias=False)
    plain = sublayer_stack("sf", 16, 4, 64, bias=False).blocks
    matrices = [
        sum(p.numel() for p in model.parameters() if p.ndim == 2) for model in (half, plain)
    ]
    assert matrices[0] == matrices[1]


def test_orders_that_begin_without_attention_decode_step_by_step() -> None:
    model: Any = perturb(sandwich.tiny().double().eval())
    model.decoder.stack = perturb(sublayer_stack("ffcsfs", 32, 4, 64).double())
    tokens = torch.randint(4, 32, (2, 9), generator=torch.Generator().manual_seed(0))
    with torch.no_grad():
        state = model.begin()
        steps = [model.step(tokens[:, a:b], state) for a, b in ((0, 1), (1, 4), (4, 9))]
        equal(torch.cat(steps, 1), model(tokens))
    assert len(state.cache.slots) == 3  # two attention layers and a convolution
    model.decoder.stack = sublayer_stack("ff", 32, 4, 64).double()
    with torch.no_grad(), pytest.raises(ValueError, match="no sublayer has states"):
        model.step(tokens, model.begin())


def test_the_search_alternates_and_finds_the_only_useful_candidate() -> None:
    """Alphas follow the validation loss, weights the training loss: neither moves the other."""
    torch.manual_seed(0)
    layer = MixedLayer({"zero": Zero(), "twice": Double()})
    model = nn.Sequential(layer)
    seen: list[Tensor] = []

    def loss(module: nn.Module, batch: Tensor) -> Tensor:
        seen.append(batch)
        return (layer(batch) - 2 * batch).square().mean()

    weights = torch.optim.SGD([layer.candidates["twice"].scale], lr=0.1)
    alphas = torch.optim.Adam([layer.alpha], lr=0.1)
    pairs = [(torch.full((1, 2, 3), 1.0 + i), torch.full((1, 2, 3), -1.0)) for i in range(20)]
    assert darts.search(model, loss, pairs, weights, alphas) == "twice"
    assert [float(batch.mean()) for batch in seen[:4]] == [-1, 1, -1, 2]
    before = layer.alpha.detach().clone()
    darts.search(model, loss, pairs[:1], weights, torch.optim.SGD([layer.alpha], lr=0.0))
    equal(layer.alpha.detach().double(), before.double())


class Zero(nn.Module):
    def forward(self, x: Tensor) -> Tensor:
        return torch.zeros_like(x)


class Double(nn.Module):
    def __init__(self) -> None:
        super().__init__()
        self.scale = nn.Parameter(torch.tensor(2.0))

    def forward(self, x: Tensor) -> Tensor:
        return self.scale * x


MUTATIONS: dict[str, tuple[Callable[[], None], Any, str, Any]] = {
    "a whole step": (
        macaron_agrees, macaron.HalfFeedForward, "forward",
        lambda self, x: self.out(self.activation(self.inner(x))),
    ),
    "no residual": (
        any_order_agrees, Sublayer, "forward",
        lambda self, x, context: self.sublayer(x, context)
        if isinstance(self.sublayer, MultiHeadAttention) else self.sublayer(x),
    ),
    "weights that aren't normalized": (
        mixture_agrees, MixedLayer, "forward",
        lambda self, x, context: sum(
            a.exp() * (c(x, context) if n != "i" else x)
            for a, (n, c) in zip(self.alpha, self.candidates.items(), strict=True)
        ),
    ),
}  # fmt: skip


@pytest.mark.parametrize("name", MUTATIONS)
def test_a_mutation_is_seen(name: str) -> None:
    proof, target, method, wrong = MUTATIONS[name]
    with mock.patch.object(target, method, wrong), pytest.raises(AssertionError):
        proof()
