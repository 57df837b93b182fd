"""RealFormer and transparent attention against loops over the papers' equations, in float64 with
gradients; and RealFormer against what x-transformers 2.31.10 computed, of which
`golden/make_realformer.py` made the file.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from pathlib import Path
from typing import Any
from unittest import mock

import pytest
import torch
from parity_attention import attend, joined, normed, projected
from parity_proofs import real, rows
from parity_registry import equal, equal_gradients, parity, perturb
from safetensors.torch import load_file
from torch import Tensor

from deepdive.core import Block, FeedForward, PostNorm, gelu, record
from deepdive.core.context import Context
from deepdive.core.masks import Causal, Padding
from deepdive.layers.layer_mixture import LayeredMemoryStack, TransparentStack
from deepdive.layers.residual_scores import (
    RealFormerStack,
    ScoreContext,
    ScoreResidualAttention,
)
from deepdive.models.transformer import transparent
from deepdive.models.transformer.transformer import transformer

GOLDEN = load_file(Path(__file__).parent / "golden" / "realformer.safetensors")


def stack_of(cross: bool = False, bias: bool = True, **settings: Any) -> RealFormerStack:
    """Three post-norm layers, 16 wide with 4 heads, and GELU, with residual scores."""

    def block(_layer: int) -> Block:
        attention, memory = (ScoreResidualAttention(16, 4, bias=bias, **settings) for _ in range(2))
        ff = FeedForward(16, 32, gelu)
        return Block(attention, ff, memory if cross else None, PostNorm)

    return RealFormerStack(block, 3)


def mixed(scores: list[list[Tensor]], v: Tensor, keys: list[list[int]]) -> Tensor:
    """softmax(scores) v of one head, a query at a time, over the keys that it may attend to."""
    output = []
    for row, allowed in zip(scores, keys, strict=True):
        weights = torch.stack([row[s] for s in allowed]).exp()
        output.append(sum(w * v[s] for w, s in zip(weights / weights.sum(), allowed, strict=True)))
    return torch.stack(output)


def feed_forward(block: Any, x: Tensor, activation: Callable[[Tensor], Tensor]) -> Tensor:
    inner = activation(x @ block.ff.inner.weight.T + block.ff.inner.bias)
    return inner @ block.ff.out.weight.T + block.ff.out.bias


def normal_gelu(x: Tensor) -> Tensor:
    return x * (1 + torch.erf(x / math.sqrt(2))) / 2


def by_equations(stack: Any, x: Tensor, real: Tensor, carry: float) -> Tensor:
    """One text through a causal stack: s_l[t][s] = q_t . k_s / sqrt(d) + carry s_{l-1}[t][s]."""
    T = len(x)
    keys = [[s for s in range(t + 1) if real[s]] for t in range(T)]
    before = [[[torch.zeros((), dtype=x.dtype)] * T for _ in range(T)] for _ in range(4)]
    for block in stack.blocks:
        q, k, v = projected(block.attn, x, x)
        now = [
            [[q[h, t] @ k[h, s] / 2 + carry * before[h][t][s] for s in range(T)] for t in range(T)]
            for h in range(4)
        ]
        heads = [mixed(now[h], v[h], keys) for h in range(4)]
        x = normed(block.attn_residual, x + joined(block.attn, heads))
        x = normed(block.ff_residual, x + feed_forward(block, x, normal_gelu))
        before = now
    return x


@parity("realformer", ScoreResidualAttention, RealFormerStack)
def residual_scores_agree() -> None:
    keys = real([6, 4], 6)
    for carry in (1.0, 0.5):
        stack: Any = perturb(stack_of(carry=carry).double())
        x, y = rows(2, 6, 16), rows(2, 6, 16)
        output = stack(x, mask=Causal() & Padding(keys))[keys]
        expected = torch.stack([by_equations(stack, y[b], keys[b], carry) for b in range(2)])[keys]
        equal(output, expected)
        weights = {name: (p, p) for name, p in stack.named_parameters()}
        equal_gradients(output, expected, {"x": (x, y), **weights})


def golden_stack() -> tuple[RealFormerStack, dict[str, str]]:
    """The golden file's weights in our stack, and our names of its norms and matrices."""
    stack, names = stack_of(cross=True, bias=False).double(), {}
    weights = {n.removeprefix("weight."): w for n, w in GOLDEN.items() if n.startswith("weight.")}
    with torch.no_grad():
        for i, block in enumerate(stack.blocks):
            parts: Any = dict(block.named_children())
            for j, part in enumerate(("attn", "cross", "ff")):
                theirs, ours = f"layers.{3 * i + j}", f"blocks.{i}.{part}"
                parts[f"{part}_residual"].norm.weight.copy_(weights[f"{theirs}.0.2.gamma"] + 1)
                names[f"{theirs}.0.2.gamma"] = f"{ours}_residual.norm.weight"
                if part == "ff":
                    for at, layer in (("0.0", "inner"), ("2", "out")):
                        for name in ("weight", "bias"):
                            value = weights[f"{theirs}.1.ff.{at}.{name}"]
                            getattr(getattr(parts[part], layer), name).copy_(value)
                            names[f"{theirs}.1.ff.{at}.{name}"] = f"{ours}.{layer}.{name}"
                    continue
                q, k, v, out = (
                    weights[f"{theirs}.1.to_{n}.weight"] for n in ("q", "k", "v", "out")
                )
                parts[part].q.weight.copy_(q)
                parts[part].kv.weight.copy_(torch.cat([k, v]))
                parts[part].out.weight.copy_(out)
                names[f"{theirs}.1.to_q.weight"] = f"{ours}.q.weight"
                names[f"{theirs}.1.to_out.weight"] = f"{ours}.out.weight"
    return stack, names


def of_golden(stack: RealFormerStack) -> tuple[Tensor, Tensor, Tensor]:
    """The output on the golden file's input, and the input's two leaves."""
    x, memory = (GOLDEN[name].clone().requires_grad_() for name in ("x", "memory"))
    real, memory_real = GOLDEN["real"], GOLDEN["memory_real"]
    mask, memory_mask = Causal() & Padding(real), Padding(memory_real)
    return stack(x, mask=mask, memory=memory, memory_mask=memory_mask)[real], x, memory


def test_self_and_cross_attention_equal_x_transformers() -> None:
    stack, names = golden_stack()
    output, x, memory = of_golden(stack)
    equal(output, GOLDEN["output"])
    (output * GOLDEN["direction"]).sum().backward()
    mine = {name: p.grad for name, p in stack.named_parameters()} | {"x": x.grad}
    pairs = {**names, "x": "x"}
    for theirs, ours in pairs.items():
        found = mine[ours]
        assert found is not None
        equal(found, GOLDEN[f"gradient.{theirs}"], 1e-8)
    assert memory.grad is not None
    equal(memory.grad, GOLDEN["gradient.memory"], 1e-8)


def mixture_by_equations(stack: Any, x: Tensor, keys: Tensor) -> Tensor:
    """One text: z_j = sum over i of exp(W_ij) / sum over k of exp(W_kj) h_i, (T, M, 16)."""
    states = [x]
    for block in stack.blocks:
        q, k, v = projected(block.attn, states[-1], states[-1])
        heads = [attend(q[h], k[h], v[h], keys) for h in range(4)]
        y = normed(block.attn_residual, states[-1] + joined(block.attn, heads))
        y = normed(block.ff_residual, y + feed_forward(block, y, lambda z: z.clamp(min=0)))
        states.append(y)
    memories = []
    for j in range(stack.mixture.shape[1]):
        total = sum(stack.mixture[k, j].exp() for k in range(len(states)))
        memories.append(sum(stack.mixture[i, j].exp() / total * h for i, h in enumerate(states)))
    return torch.stack(memories, 1)


def encoder_of(n_layers: int = 3, n_decoder_layers: int = 2) -> TransparentStack:
    return TransparentStack(lambda _layer: block_of(), n_layers, n_decoder_layers)


def block_of(cross: bool = False) -> Block:
    memory = ScoreResidualAttention(16, 4) if cross else None
    return Block(ScoreResidualAttention(16, 4), FeedForward(16, 32), memory, PostNorm)


def decoder_by_equations(stack: Any, x: Tensor, memories: Tensor, real: Tensor) -> Tensor:
    """One target through a decoder: layer j attends to memories[:, j], (S, M, 16)."""
    T = len(x)
    for j, block in enumerate(stack.blocks):
        q, k, v = projected(block.attn, x, x)
        heads = [
            torch.cat([attend(q[h, t : t + 1], k[h], v[h], torch.arange(T) <= t) for t in range(T)])
            for h in range(4)
        ]
        x = normed(block.attn_residual, x + joined(block.attn, heads))
        q, k, v = projected(block.cross, x, memories[:, j])
        heads = [attend(q[h], k[h], v[h], real) for h in range(4)]
        x = normed(block.cross_residual, x + joined(block.cross, heads))
        x = normed(block.ff_residual, x + feed_forward(block, x, lambda z: z.clamp(min=0)))
    return x


@parity("transparent_attention", TransparentStack, LayeredMemoryStack)
def mixtures_agree() -> None:
    encoder: Any = perturb(encoder_of().double())
    decoder: Any = perturb(LayeredMemoryStack(lambda _layer: block_of(True), 2).double(), 1)
    keys = real([5, 3], 5)
    x, y = rows(2, 5, 16), rows(2, 5, 16)
    target, same = rows(2, 4, 16, seed=1), rows(2, 4, 16, seed=1)
    memory = encoder(x, mask=Padding(keys))
    output = decoder(target, mask=Causal(), memory=memory, memory_mask=Padding(keys))
    texts = [mixture_by_equations(encoder, y[b], keys[b]) for b in range(2)]
    equal(memory[keys], torch.stack(texts)[keys])
    expected = torch.stack(
        [decoder_by_equations(decoder, same[b], texts[b], keys[b]) for b in range(2)]
    )
    equal(output, expected)
    parameters = [*encoder.named_parameters("encoder"), *decoder.named_parameters("decoder")]
    weights = {name: (p, p) for name, p in parameters}
    equal_gradients(output, expected, {"x": (x, y), "target": (target, same), **weights})


def test_transparent_attention_adds_one_weight_per_encoder_state_and_decoder_layer() -> None:
    sizes = {"d_model": 32, "n_heads": 4, "d_ff": 64, "dropout": 0.0}
    built = transparent.transparent(32, n_layers=5, n_decoder_layers=5, **sizes)  # type: ignore[arg-type]
    plain = transformer(32, n_layers=5, **sizes)  # type: ignore[arg-type]
    counts = [sum(p.numel() for p in model.parameters()) for model in (built, plain)]
    assert counts[0] - counts[1] == (5 + 1) * 5


def test_residual_scores_add_no_parameters() -> None:
    sizes = [sum(p.numel() for p in stack_of(carry=c).parameters()) for c in (0.0, 1.0)]
    assert sizes[0] == sizes[1]


def test_the_loss_reaches_each_encoder_layer_without_passing_those_above() -> None:
    """With all weight on the output of layer i, the layers above have no gradient."""
    for i in range(4):
        encoder: Any = encoder_of().double()
        encoder.mixture.data.fill_(-1e4)[i] = 0.0
        encoder(rows(1, 5, 16)).square().sum().backward()
        reached = [block.attn.q.weight.grad.abs().max() > 0 for block in encoder.blocks]
        assert reached == [layer < i for layer in range(3)]


def test_recorded_scores_are_the_sums_and_the_next_call_starts_anew() -> None:
    stack, x = stack_of().double(), rows(1, 5, 16)
    with record(stack, "*attn.mechanism.scores") as seen:
        stack(x)
        stack(x)
    first, second = ([calls[i] for calls in seen.values()] for i in range(2))
    assert all(torch.equal(a, b) for a, b in zip(first, second, strict=True))
    attention: Any = stack.blocks[1].attn
    with record(stack, "blocks.0.stream") as streams:
        stack(x)
    h = streams["blocks.0.stream"][0]
    own = attention.mechanism.score(attention.queries(h), attention.keys_and_values(h)[0], 0.5)
    equal(first[1], own + first[0])


def test_a_context_without_scores_is_plain_attention() -> None:
    layer, x = ScoreResidualAttention(16, 4).double(), rows(1, 5, 16)
    equal(layer(x, ScoreContext(mask=Causal())), layer(x, Context(mask=Causal())))


MUTATIONS: dict[str, tuple[Callable[[], None], Any, str, Any]] = {
    "only the previous layer's own scores": (
        residual_scores_agree, ScoreResidualAttention, "position_bias",
        lambda self, q, k, context: _own_scores_only(self, q, k, context),
    ),
    "scores that aren't carried": (
        residual_scores_agree, ScoreResidualAttention, "position_bias",
        lambda self, q, k, context: None,
    ),
    "no scores carried, against x-transformers": (
        test_self_and_cross_attention_equal_x_transformers, ScoreResidualAttention,
        "position_bias", lambda self, q, k, context: None,
    ),
    "a softmax over decoder layers": (
        mixtures_agree, TransparentStack, "layer_weights", lambda self: self.mixture.softmax(1),
    ),
    "without the embeddings": (
        mixtures_agree, TransparentStack, "layer_weights",
        lambda self: torch.cat([0 * self.mixture[:1], self.mixture[1:].softmax(0)]),
    ),
    "the memories in reverse": (
        mixtures_agree, LayeredMemoryStack, "forward",
        lambda self, x, context: _reversed(self, x, context),
    ),
}  # fmt: skip


def _own_scores_only(layer: Any, q: Tensor, k: Tensor, context: Any) -> Tensor | None:
    """Add what the layer before computed itself, and drop what it had received."""
    previous = context.scores.get("self")
    context.scores["self"] = layer.mechanism.score(q, k, 0.5)
    return None if previous is None else layer.carry * previous


def _reversed(stack: Any, x: Tensor, context: Context) -> Tensor:
    for j, block in enumerate(stack.blocks):
        memory = context.memory
        assert memory is not None
        x = block(x, context, memory=memory[:, :, -1 - j])
    return x


@pytest.mark.parametrize("name", MUTATIONS)
def test_a_mutation_is_seen(name: str) -> None:
    proof, target, method, wrong = MUTATIONS[name]
    with mock.patch.object(target, method, wrong), pytest.raises(AssertionError):
        proof()
