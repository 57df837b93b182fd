"""Attention, layers, embeddings and positions against torch and transformers, in float64."""

from __future__ import annotations

import math
from collections.abc import Callable
from unittest import mock

import numpy as np
import pytest
import torch
import torch.nn.functional as F
from parity_proofs import alike, real, rows, tokens
from parity_registry import equal, equal_gradients, parity, perturb
from torch import Tensor, nn

from deepdive.attention import AdditiveAttention, DotAttention, GeneralAttention
from deepdive.core import (
    Block,
    FeedForward,
    GatedFeedForward,
    LayerNorm,
    MultiHeadAttention,
    PostNorm,
    PreNorm,
    RMSNorm,
    SoftmaxAttention,
    gelu,
    gelu_sigmoid,
    gelu_tanh,
    relu,
)
from deepdive.core.embeddings import TiedHead, TokenEmbedding
from deepdive.core.feed_forward import Activation
from deepdive.core.hooks import record
from deepdive.core.masks import Causal, Padding
from deepdive.core.stack import Stack
from deepdive.positions import SinusoidalPosition
from deepdive.published.from_torch import (
    ATTENTION,
    DECODER,
    ENCODER,
    from_torch,
    from_torch_transformer,
)
from deepdive.published.weights import adopt
from deepdive_book.course.clinic.parts import BROKEN

KEYS = real([7, 4, 1], 7)


def heads(T: int = 5, S: int = 7, seed: int = 0) -> tuple[Tensor, Tensor, Tensor]:
    """q (3, 4, T, 6), k (3, 4, S, 6), v (3, 4, S, 3)."""
    shapes = ((3, 4, T, 6), (3, 4, S, 6), (3, 4, S, 3))
    q, k, v = (rows(*shape, seed=seed + i) for i, shape in enumerate(shapes))
    return q, k, v


def mechanisms_agree(ours: nn.Module, oracle: Callable[..., Tensor], scale: float | None) -> None:
    """Step by step and, if there is one, in the fused form; with masks, bias and neither."""
    bias = rows(1, 4, 5, 7, seed=9)
    dense = Causal().dense(5, 7) & KEYS[:, None, None]
    for mask, added in ((None, None), (dense, None), (dense, bias), (None, bias)):
        for explicit in (False, True):
            mine, other = heads(), heads()
            if explicit:
                with record(ours, "*weights"):
                    output = ours(*mine, mask=mask, bias=added)
            else:
                output = ours(*mine, mask=mask, bias=added)
            allowed = added if added is not None else mask
            if added is not None and mask is not None:
                allowed = added.masked_fill(~mask, float("-inf"))
            expected = oracle(*other, attn_mask=allowed, scale=scale)
            equal(output, expected)
            equal_gradients(
                output, expected, dict(zip("qkv", zip(mine, other, strict=True), strict=True))
            )


@parity(SoftmaxAttention)
def softmax() -> None:
    mechanisms_agree(SoftmaxAttention(), F.scaled_dot_product_attention, None)


@parity(DotAttention)
def dot() -> None:
    mechanisms_agree(DotAttention(), F.scaled_dot_product_attention, 1.0)


@parity(GeneralAttention)
def general() -> None:
    ours = GeneralAttention(6).double()

    def oracle(q: Tensor, k: Tensor, v: Tensor, attn_mask: Tensor | None, scale: float) -> Tensor:
        through = torch.einsum("bhte,fe->bhtf", q, ours.W.weight)
        return F.scaled_dot_product_attention(through, k, v, attn_mask, scale=scale)

    mechanisms_agree(ours, oracle, 1.0)


@parity(AdditiveAttention)
def additive() -> None:
    ours = perturb(AdditiveAttention(6, d_hidden=5).double())
    W_q, b, W_k, u = ours.W_q.weight, ours.W_q.bias, ours.W_k.weight, ours.u.weight

    def oracle(q: Tensor, k: Tensor, v: Tensor, attn_mask: Tensor | None, scale: float) -> Tensor:
        a = torch.einsum("bhtd,ed->bhte", q, W_q) + b
        c = torch.einsum("bhsd,ed->bhse", k, W_k)
        scores = torch.einsum("bhtse,e->bhts", (a[:, :, :, None] + c[:, :, None]).tanh(), u[0])
        if attn_mask is not None and attn_mask.dtype == torch.bool:
            attn_mask = torch.zeros_like(scores).masked_fill(~attn_mask, float("-inf"))
        return torch.einsum(
            "bhts,bhsd->bhtd", (scores + (0 if attn_mask is None else attn_mask)).softmax(-1), v
        )

    mechanisms_agree(ours, oracle, 1.0)


@parity(
    *("self_attention", "multi_query", "masked_attention", "cross_attention"), MultiHeadAttention
)
def multi_head() -> None:
    for bias, d_context in ((True, None), (False, None), (True, 10)):
        torch.manual_seed(0)
        settings = {"bias": bias, "kdim": d_context, "vdim": d_context, "batch_first": True}
        theirs = perturb(nn.MultiheadAttention(12, 4, **settings).double())
        ours = from_torch(theirs)
        x, y = rows(3, 5 if d_context else 7, 12), rows(3, 5 if d_context else 7, 12)
        c, d = rows(3, 7, d_context or 12, seed=1), rows(3, 7, d_context or 12, seed=1)
        memory = {} if d_context is None else {"memory": c}
        inputs = [(x, y)] if d_context is None else [(x, y), (c, d)]
        other = y if d_context is None else d
        causal = torch.ones(x.shape[1], 7).tril(7 - x.shape[1]).bool()
        for mask, settings in (
            (None, {}),
            (Padding(KEYS), {"key_padding_mask": ~KEYS}),
            (Causal() & Padding(KEYS), {"key_padding_mask": ~KEYS, "attn_mask": ~causal}),
        ):
            given = {"mask" if d_context is None else "memory_mask": mask, **memory}
            with record(ours, "mechanism.weights") as seen:
                explicit = ours(x, **given)
            expected, weights = theirs(y, other, other, average_attn_weights=False, **settings)
            equal(seen["mechanism.weights"][0], weights)
            equal(explicit, expected)
            alike(ours, theirs, ours(x, **given), expected, ATTENTION, (), inputs)


def test_grouped_queries_are_repeated_heads() -> None:
    ours = perturb(MultiHeadAttention(12, 6, n_kv_heads=2).double())
    x = rows(2, 5, 12)
    q = ours.q(x).unflatten(-1, (6, 2)).transpose(1, 2)
    k, v = ours.kv(x).unflatten(-1, (2, 2, 2)).permute(2, 0, 3, 1, 4)
    mixed = F.scaled_dot_product_attention(q, k, v, is_causal=True, enable_gqa=True)
    equal(ours(x, mask=Causal()), ours.out(mixed.transpose(1, 2).flatten(2)))


@parity(LayerNorm)
def layer_norm() -> None:
    for eps, bias in ((1e-5, True), (1e-12, True), (1e-3, False)):
        theirs = perturb(nn.LayerNorm(8, eps, bias=bias).double())
        ours = LayerNorm(8, eps, bias=bias).double()
        adopt(ours, theirs.state_dict())
        x, y = rows(3, 5, 8), rows(3, 5, 8)
        alike(ours, theirs, ours(x), theirs(y), inputs=[(x, y)])
    assert LayerNorm(8).eps == nn.LayerNorm(8).eps


@parity(RMSNorm)
def rms_norm() -> None:
    from transformers.models.llama.modeling_llama import LlamaRMSNorm

    for theirs in (nn.RMSNorm(8, 1e-6), LlamaRMSNorm(8, 1e-6), nn.RMSNorm(8, 1e-2)):
        perturb(theirs.double())
        eps = 1e-2 if getattr(theirs, "eps", 0) == 1e-2 else 1e-6
        ours = RMSNorm(8, eps).double()
        adopt(ours, theirs.state_dict())
        x, y = rows(3, 5, 8), rows(3, 5, 8)
        if isinstance(theirs, nn.RMSNorm):
            alike(ours, theirs, ours(x), theirs(y), inputs=[(x, y)])
        else:  # it computes in float32, whatever comes
            equal(ours(x), theirs(y).double(), 1e-6)


@parity(FeedForward)
def feed_forward() -> None:
    from transformers.activations import ACT2FN

    pairs: list[tuple[Activation, nn.Module]] = [
        (relu, nn.ReLU()),
        (gelu, nn.GELU()),
        (gelu, ACT2FN["gelu"]),
        (gelu_tanh, nn.GELU(approximate="tanh")),
        (gelu_tanh, ACT2FN["gelu_new"]),
        (gelu_sigmoid, ACT2FN["quick_gelu"]),
    ]
    for activation, module in pairs:
        for bias in (True, False):
            theirs = nn.Sequential(nn.Linear(8, 12, bias), module, nn.Linear(12, 8, bias)).double()
            perturb(theirs, size=1.0)
            ours = FeedForward(8, 12, activation, bias=bias).double()
            rules = [(r"^0\.", "inner."), (r"^2\.", "out.")]
            adopt(ours, theirs.state_dict(), rules)
            x, y = rows(3, 5, 8), rows(3, 5, 8)
            alike(ours, theirs, ours(x), theirs(y), rules, inputs=[(x, y)])


@parity(GatedFeedForward)
def gated_feed_forward() -> None:
    from transformers import LlamaConfig
    from transformers.models.llama.modeling_llama import LlamaMLP

    rules = [(r"^gate_proj\.", "gate."), (r"^up_proj\.", "inner."), (r"^down_proj\.", "out.")]
    for bias in (True, False):
        config = LlamaConfig(
            hidden_size=8, intermediate_size=12, num_attention_heads=1, mlp_bias=bias
        )
        theirs = perturb(LlamaMLP(config).double())
        ours = GatedFeedForward(8, 12, bias=bias).double()
        adopt(ours, theirs.state_dict(), rules)
        x, y = rows(3, 5, 8), rows(3, 5, 8)
        alike(ours, theirs, ours(x), theirs(y), rules, inputs=[(x, y)])


def layers_agree(norm_first: bool) -> None:
    """Encoder and decoder layers, under padding and a causal mask, at odd lengths."""
    causal = torch.ones(7, 7).triu(1).bool()
    for activation, bias in (("relu", True), ("gelu", True), ("gelu", False)):
        torch.manual_seed(0)
        settings = {"batch_first": True, "norm_first": norm_first, "bias": bias}
        layer = nn.TransformerEncoderLayer(12, 4, 20, 0.0, activation, 1e-5, **settings)
        theirs = perturb(layer.double())
        ours = from_torch(theirs)
        x, y = rows(3, 7, 12), rows(3, 7, 12)
        expected = theirs(y, src_mask=causal, src_key_padding_mask=~KEYS)
        output = ours(x, mask=Causal() & Padding(KEYS))
        alike(ours, theirs, output[KEYS], expected[KEYS], ENCODER, (), [(x, y)])

        layer = nn.TransformerDecoderLayer(12, 4, 20, 0.0, activation, 1e-5, **settings)
        theirs = perturb(layer.double())
        ours = from_torch(theirs)
        x, y, m, n = rows(3, 7, 12), rows(3, 7, 12), rows(3, 7, 12, seed=1), rows(3, 7, 12, seed=1)
        expected = theirs(y, n, tgt_mask=causal, memory_key_padding_mask=~KEYS)
        output = ours(x, mask=Causal(), memory=m, memory_mask=Padding(KEYS))
        alike(ours, theirs, output, expected, DECODER, (), [(x, y), (m, n)])


@parity(PreNorm)
def pre_norm() -> None:
    layers_agree(norm_first=True)


@parity(PostNorm)
def post_norm() -> None:
    layers_agree(norm_first=False)


@parity(Block)
def block() -> None:
    layers_agree(norm_first=True)
    layers_agree(norm_first=False)


@parity(Stack)
def stack() -> None:
    for norm_first in (True, False):
        torch.manual_seed(0)
        settings = {"batch_first": True, "norm_first": norm_first}
        layer = nn.TransformerEncoderLayer(12, 4, 20, 0.0, **settings)
        norm = nn.LayerNorm(12) if norm_first else None
        theirs = nn.TransformerEncoder(layer, 3, norm, enable_nested_tensor=False)
        perturb(theirs.double())
        ours = from_torch(theirs)
        x, y = rows(3, 7, 12), rows(3, 7, 12)
        expected = theirs(y, src_key_padding_mask=~KEYS)
        output = ours(x, mask=Padding(KEYS))
        alike(ours, theirs, output[KEYS], expected[KEYS], ENCODER, (), [(x, y)])


def test_nn_transformer() -> None:
    """Both stacks, with torch's final norms, in one."""
    for norm_first in (True, False):
        torch.manual_seed(0)
        theirs = nn.Transformer(12, 4, 2, 3, 20, 0.0, batch_first=True, norm_first=norm_first)
        perturb(theirs.double())
        encoder, decoder = from_torch_transformer(theirs)
        src, tgt = rows(3, 7, 12), rows(3, 5, 12, seed=1)
        causal = torch.ones(5, 5).triu(1).bool()
        padding = {"src_key_padding_mask": ~KEYS, "memory_key_padding_mask": ~KEYS}
        expected = theirs(src, tgt, tgt_mask=causal, **padding)
        memory = encoder(src, mask=Padding(KEYS))
        equal(decoder(tgt, mask=Causal(), memory=memory, memory_mask=Padding(KEYS)), expected)


@parity(TokenEmbedding)
def token_embedding() -> None:
    for scale in (1.0, 8**0.5):
        theirs = nn.Embedding(20, 8).double()
        ours = TokenEmbedding(20, 8, scale).double()
        adopt(ours, theirs.state_dict())
        x = tokens(3, 5, vocab=20)
        alike(ours, theirs, ours(x), scale * theirs(x))


@parity(TiedHead)
def tied_head() -> None:
    for bias in (True, False):
        theirs = perturb(nn.Linear(8, 20, bias=bias).double())
        ours = TiedHead(TokenEmbedding(20, 8), bias=bias).double()
        rules = [(r"^weight$", "embedding.weight")]
        adopt(ours, theirs.state_dict(), rules)
        x, y = rows(3, 5, 8), rows(3, 5, 8)
        alike(ours, theirs, ours(x), theirs(y), rules, (), [(x, y)])


def waves(n: int, d_model: int, base: float = 10_000.0) -> Tensor:
    """The paper's formula, one entry at a time."""
    table = np.zeros((n, d_model))
    for pos in range(n):
        for i in range(0, d_model, 2):
            angle = pos / base ** (i / d_model)
            table[pos, i] = math.sin(angle)
            if i + 1 < d_model:
                table[pos, i + 1] = math.cos(angle)
    return torch.from_numpy(table)


@parity(SinusoidalPosition)
def sinusoidal() -> None:
    for d_model, base in ((8, 10_000.0), (7, 10_000.0), (6, 500.0)):
        ours = SinusoidalPosition(d_model, base)
        equal(ours.table(torch.arange(300)), waves(300, d_model, base))
        x = rows(2, 3, d_model)
        expected = x + waves(50, d_model, base)[[4, 49, 7]]
        equal(ours.embed(x, torch.tensor([4, 49, 7])), expected)


MUTATIONS: dict[str, tuple[Callable[[], None], str, object]] = {
    "no scale": (
        softmax,
        "deepdive.core.SoftmaxAttention.default_scale",
        staticmethod(BROKEN["scale"]),
    ),
    "a scale of d_model": (
        multi_head,
        "deepdive.core.SoftmaxAttention.default_scale",
        staticmethod(lambda d: 12**-0.5),
    ),
    "a scaled dot product": (
        dot,
        "deepdive.attention.DotAttention.default_scale",
        staticmethod(lambda d: d**-0.5),
    ),
    "another W": (
        general,
        "deepdive.attention.scores.GeneralAttention.compute",
        SoftmaxAttention.compute,
    ),
    "no tanh": (additive, "torch.tanh", torch.sin),
    "keys and values exchanged": (
        multi_head,
        "deepdive.core.MultiHeadAttention.keys_and_values",
        lambda self, rows: tuple(reversed(KEYS_AND_VALUES(self, rows))),
    ),
    "a causal mask of one less": (
        pre_norm,
        "deepdive.core.masks.Causal.allowed",
        lambda self, T, S, device: torch.ones(T, S).tril(S - T + 1).bool()[None, None],
    ),
    "an inverted causal mask": (
        pre_norm,
        "deepdive.core.masks.Causal.allowed",
        lambda self, T, S, device: BROKEN["mask"](T)[None, None],
    ),
    "Keras' epsilon": (
        layer_norm,
        "deepdive.core.LayerNorm.forward",
        lambda self, x: BROKEN["epsilon"](x) * self.weight + self.bias,
    ),
    "another epsilon": (
        layer_norm,
        "deepdive.core.LayerNorm.forward",
        lambda self, x: F.layer_norm(x, x.shape[-1:], self.weight, self.bias, 1e-6),
    ),
    "another epsilon, RMS": (
        rms_norm,
        "deepdive.core.RMSNorm.forward",
        lambda self, x: F.rms_norm(x, x.shape[-1:], self.weight, 1e-5),
    ),
    "one GELU for all": (
        feed_forward,
        "deepdive.core.feed_forward.F.gelu",
        lambda x, approximate="none": GELU(x),
    ),
    "gate and inner exchanged": (
        gated_feed_forward,
        "deepdive.core.GatedFeedForward.forward",
        lambda self, x: self.out(self.activation(self.inner(x)) * self.gate(x)),
    ),
    "pre-norm for post-norm": (post_norm, "deepdive.core.PostNorm.forward", PreNorm.forward),
    "post-norm for pre-norm": (pre_norm, "deepdive.core.PreNorm.forward", PostNorm.forward),
    "a layer less": (
        stack,
        "deepdive.core.stack.Stack.forward",
        lambda self, x, context: self.blocks[0](x, context.for_layer(0)),
    ),
    "cross-attention before self-attention": (
        block,
        "deepdive.core.Block.forward",
        lambda self, x, context: BLOCK(self, self.ff_residual(x, self.ff), context),
    ),
    "unscaled embeddings": (
        token_embedding,
        "deepdive.core.embeddings.TokenEmbedding.forward",
        lambda self, x: self.weight[x],
    ),
    "no bias": (
        tied_head,
        "deepdive.core.embeddings.TiedHead.forward",
        lambda self, x: x @ self.embedding.weight.T,
    ),
    "positions from 1": (
        sinusoidal,
        "deepdive.positions.SinusoidalPosition.table",
        lambda self, p: TABLE(self, p + 1),
    ),
}
KEYS_AND_VALUES = MultiHeadAttention.keys_and_values
GELU = F.gelu
BLOCK, TABLE = Block.forward, SinusoidalPosition.table


@pytest.mark.parametrize("name", MUTATIONS)
def test_a_mutation_is_seen(name: str) -> None:
    proof, target, wrong = MUTATIONS[name]
    with mock.patch(target, wrong), pytest.raises(AssertionError):
        proof()
