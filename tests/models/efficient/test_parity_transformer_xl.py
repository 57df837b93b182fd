"""Transformer-XL against what transformers 4.57.6 computed, in float64, with gradients; later
versions do not have it. `golden/make_transformer_xl.py` says how the file came about.
"""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from unittest import mock

import pytest
import torch
from parity_registry import differs, equal, parity
from safetensors.torch import load_file
from torch import Tensor

from deepdive.core.hooks import record
from deepdive.layers.segment_memory import Memory
from deepdive.models.efficient import transformer_xl
from deepdive.models.efficient.transformer_xl import TransformerXL, XLBlock
from deepdive.models.efficient.transformer_xl_lm import TransformerXLLM, for_lm
from deepdive.positions import SinusoidalPosition, XLPosition

GOLDEN = load_file(Path(__file__).parent / "golden" / "transformer_xl.safetensors")
SIZES = transformer_xl.BASE.but(
    vocab_size=20, d_model=16, n_heads=4, d_head=5, n_layers=2, d_ff=24, dropout=0.0, n_memory=5
)
VARIANTS = {
    "shared": SIZES.but(longest=6),
    "same_length": SIZES.but(share_uv=False, same_length=True),
}


def named(kind: str, variant: str) -> Iterator[tuple[str, Tensor]]:
    """Yield their weights or gradients under our names."""
    start = f"{variant}.{kind}."
    for name, values in GOLDEN.items():
        if not name.startswith(start):
            continue
        name = name.removeprefix(start)
        if name == "crit.out_layers.0.bias":
            yield "head.bias", values
        elif name == "transformer.word_emb.emb_layers.0.weight":
            yield "body.tokens.weight", values
        elif name in ("transformer.r_w_bias", "transformer.r_r_bias"):
            which = "u" if "r_w" in name else "v"
            yield f"body.stack.blocks.0.attn.position.{which}", values
        else:
            _, _, layer, rest = name.split(".", 3)
            for theirs, ours in (
                ("dec_attn.r_net.weight", "attn.position.W.weight"),
                ("dec_attn.r_w_bias", "attn.position.u"), ("dec_attn.r_r_bias", "attn.position.v"),
                ("dec_attn.o_net", "attn.out"), ("dec_attn.layer_norm", "attn_residual.norm"),
                ("pos_ff.layer_norm", "ff_residual.norm"), ("pos_ff.CoreNet.0", "ff.inner"),
                ("pos_ff.CoreNet.3", "ff.out"),
            ):  # fmt: skip
                rest = rest.replace(theirs, ours)
            block = f"body.stack.blocks.{layer}."
            if rest == "dec_attn.qkv_net.weight":
                yield f"{block}attn.q.weight", values[:20]
                yield f"{block}attn.kv.weight", values[20:]
            else:
                yield block + rest, values


def loaded(variant: str) -> TransformerXLLM:
    model = for_lm(TransformerXL(VARIANTS[variant])).double()
    weights = dict(named("weight", variant))
    own = dict(model.named_parameters())
    assert set(own) == set(weights), set(own) ^ set(weights)
    with torch.no_grad():
        for name, values in weights.items():
            own[name].copy_(values)
    return model


@parity("transformer_xl", TransformerXLLM, TransformerXL, XLBlock)
def transformer_xl_agrees() -> None:
    for variant in VARIANTS:
        model, memory = loaded(variant), Memory(5)
        memory.rows = [torch.zeros(3, 5, 16, dtype=torch.float64) for _ in range(2)]
        tokens = GOLDEN[f"{variant}.tokens"]
        logp = torch.cat(
            [model.step(part, memory).log_softmax(-1) for part in tokens.split(4, 1)], 1
        )
        equal(logp, GOLDEN[f"{variant}.logp"])
        for i, states in enumerate(memory.rows):
            equal(states, GOLDEN[f"{variant}.memory.{i}"])
        (logp * GOLDEN[f"{variant}.direction"]).sum().backward()
        own = dict(model.named_parameters())
        for name, gradient in named("gradient", variant):
            found = own[name].grad
            assert found is not None, name
            assert differs(found, gradient) < 1e-8, name
            assert gradient.abs().max() > 1e-12, name


def keeps_gradients(self: Memory, layer: int, x: Tensor) -> Tensor:
    x = torch.cat((*self.rows[layer : layer + 1], x), 1)
    self.rows[layer : layer + 1] = [x[:, -5:]]
    return x


ONE_BIAS = XLPosition.bias


def swapped(self: XLPosition, q: Tensor, k: Tensor, q_at: Tensor, k_at: Tensor) -> Tensor:
    """u and v exchanged."""
    self.u, self.v = self.v, self.u
    try:
        return ONE_BIAS(self, q, k, q_at, k_at)
    finally:
        self.u, self.v = self.v, self.u


MUTATIONS: dict[str, tuple[str, object]] = {
    "a memory with gradients": ("deepdive.layers.segment_memory.Memory.before", keeps_gradients),
    "u for v": ("deepdive.positions.xl.XLPosition.bias", swapped),
    "waves that alternate": (
        "deepdive.models.efficient.transformer_xl.BlockedSinusoidalPosition", SinusoidalPosition),
    "one state more": (
        "deepdive.models.efficient.transformer_xl.Window",
        lambda left: transformer_xl.Causal()),
}  # fmt: skip


@pytest.mark.parametrize("name", MUTATIONS)
def test_a_mutation_is_seen(name: str) -> None:
    target, wrong = MUTATIONS[name]
    with mock.patch(target, wrong), pytest.raises(AssertionError):
        transformer_xl_agrees()


def test_the_published_size() -> None:
    with torch.device("meta"):
        model = for_lm(transformer_xl.transformer_xl())
    assert sum(p.numel() for p in model.parameters()) == 41_055_436


def test_no_gradient_flows_into_the_memory() -> None:
    model, memory = loaded("shared"), Memory(5)
    embeddings = model.body.tokens.weight
    model.step(torch.tensor([[4, 5, 6]]), memory)
    assert not any(states.requires_grad for states in memory.rows)
    model.step(torch.tensor([[7, 8]]), memory)[..., 0].sum().backward()
    assert embeddings.grad is not None
    assert embeddings.grad.abs().sum(1).nonzero().flatten().tolist() == [0, 7, 8]  # 0: tied head


def test_the_receptive_field_grows_by_the_memory_in_each_layer() -> None:
    """In segments of one token, a change n_layers * n_memory positions back moves the output, and
    one further back does not.
    """
    model = transformer_xl.transformer_xl(transformer_xl.TINY.but(n_memory=3)).double()
    tokens = torch.randint(4, 32, (1, 12), generator=torch.Generator().manual_seed(0))

    def last(tokens: Tensor) -> Tensor:
        memory = model.begin()
        return [model(part, memory=memory) for part in tokens.split(1, 1)][-1]

    before = last(tokens)
    moved = []
    for back in range(1, 12):
        other = tokens.clone()
        other[0, -1 - back] = (other[0, -1 - back] - 3) % 28 + 4
        moved.append(bool((last(other) - before).abs().max() > 1e-9))
    assert moved == [True] * 6 + [False] * 5


def test_recorded_weights_cover_memory_and_segment() -> None:
    model, memory = loaded("shared"), Memory(5)
    with record(model, "*weights") as seen:
        model.step(torch.tensor([[4, 5, 6]]), memory)
        model.step(torch.tensor([[7, 8]]), memory)
    shapes = [tuple(weights.shape) for each in seen.values() for weights in each]
    assert shapes == [(1, 4, 3, 3), (1, 4, 2, 5)] * 2
