"""The core beyond its laws: masks written out, hook points, properties over random shapes."""

from __future__ import annotations

import copy
from collections.abc import Callable
from typing import Any

import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st
from torch import Tensor, nn

from deepdive.core import (
    Block,
    Context,
    FeedForward,
    KVCache,
    Layer,
    MultiHeadAttention,
    Slot,
    SoftmaxAttention,
    gelu,
    gelu_sigmoid,
    gelu_tanh,
)
from deepdive.core.hooks import HookPoint, LossPoint, ablate, collect_losses, record, replace
from deepdive.core.masks import Causal, Dense, Global, Mask, Padding, Prefix, Segments, Window, both
from deepdive.core.stack import Stack
from deepdive.models.transformer import decoder_only, transformer


def drawn(mask: Mask, T: int, S: int | None = None) -> list[str]:
    """A mask as rows of # (may attend) and . (may not)."""
    return ["".join("#" if x else "." for x in row) for row in mask.dense(T, S)[0, 0].tolist()]


MASKS = {
    "causal": (Causal(), ["#...", "##..", "###.", "####"]),
    "window": (Window(1, 1), ["##..", "###.", ".###", "..##"]),
    "dilated": (Window(1, 1, dilation=2), ["#.#.", ".#.#", "#.#.", ".#.#"]),
    "causal window": (Window(1) & Causal(), ["#...", "##..", ".##.", "..##"]),
    "prefix": (Causal() | Prefix(2), ["##..", "##..", "###.", "####"]),
    "global": (Window(0) | Global((1,)), ["##..", "####", ".##.", ".#.#"]),
    "segments": (Segments(torch.tensor([[0, 0, 1, 1]])), ["##..", "##..", "..##", "..##"]),
    "padding": (Padding(torch.tensor([[True, True, True, False]])), ["###."] * 4),
    "three": (Causal() & Window(2) & Prefix(3), ["#...", "##..", "###.", ".##."]),
}


@pytest.mark.parametrize("name", MASKS)
def test_mask_written_out(name: str) -> None:
    mask, picture = MASKS[name]
    assert drawn(mask, 4) == picture


@pytest.mark.parametrize("name", MASKS)
def test_queries_are_right_aligned(name: str) -> None:
    """The last two queries see what the last two rows of the square mask say."""
    mask, picture = MASKS[name]
    assert drawn(mask, 2, 4) == picture[2:]
    assert drawn(mask, 1, 4) == picture[3:]


@given(st.integers(1, 6), st.integers(0, 4), st.integers(0, 4), st.integers(1, 3))
def test_and_or_are_those_of_the_dense_masks(T: int, left: int, right: int, dilation: int) -> None:
    a, b = Window(left, right, dilation), Causal()
    assert torch.equal((a & b).dense(T), a.dense(T) & b.dense(T))
    assert torch.equal((a | b).dense(T), a.dense(T) | b.dense(T))
    assert torch.equal((a & b & a).dense(T), (b & a).dense(T))


def test_a_mask_of_the_wrong_kind_is_named() -> None:
    with pytest.raises(TypeError, match=r"`mask == 0`"):
        Dense(torch.zeros(3, 3))
    with pytest.raises(TypeError, match=r"tokens != pad"):
        Padding(torch.ones(2, 3, dtype=torch.long))
    with pytest.raises(ValueError, match=r"Padding\(real\)"):
        Dense(torch.ones(5, 3).bool()).dense(4, 3)
    with pytest.raises(ValueError, match="7 keys"):
        Padding(torch.ones(2, 7).bool()).dense(3, 3)
    assert both(None, None) is None


@settings(deadline=None, max_examples=40)
@given(
    B=st.integers(1, 3),
    T=st.integers(1, 5),
    S=st.integers(1, 6),
    heads=st.sampled_from([(1, 1), (2, 1), (4, 2), (4, 4)]),
    seed=st.integers(0, 99),
)
def test_explicit_equals_fused(B: int, T: int, S: int, heads: tuple[int, int], seed: int) -> None:
    """For any shape, head groups and mask, rows without a key included: outputs, gradients."""
    torch.manual_seed(seed)
    n_heads, n_kv_heads = heads
    attention = MultiHeadAttention(8, n_heads, n_kv_heads=n_kv_heads).double()
    mask = torch.rand(B, n_heads, T, S) > 0.4
    x = torch.randn(B, T, 8, dtype=torch.float64)
    context = torch.randn(B, S, 8, dtype=torch.float64, requires_grad=True)
    fused = attention(x, memory=context, memory_mask=mask)
    with record(attention, "mechanism.weights") as seen:
        explicit = attention(x, memory=context, memory_mask=mask)
    assert torch.allclose(fused, explicit, atol=1e-12)
    (weights,) = seen["mechanism.weights"]
    assert (weights[~mask] == 0).all()
    assert torch.allclose(weights.sum(-1), mask.any(-1).double())
    (a,) = torch.autograd.grad(fused.square().sum(), context, retain_graph=True)
    (b,) = torch.autograd.grad(explicit.square().sum(), context)
    assert torch.isfinite(a).all()
    assert torch.allclose(a, b, atol=1e-10)


def test_scores_beyond_half_precision_are_weighed_in_float32() -> None:
    scores = torch.tensor([[[[1.0, 1.01]]]]).bfloat16() * 100
    weights = SoftmaxAttention().weigh(scores, None)
    assert weights.dtype == torch.bfloat16
    assert torch.equal(weights, scores.float().softmax(-1).bfloat16())


class Counter(nn.Module):
    """Two hook points, one of them shared by two calls, and an auxiliary loss."""

    def __init__(self) -> None:
        super().__init__()
        self.first, self.unused, self.loss = HookPoint(), HookPoint(), LossPoint()

    def forward(self, x: Tensor) -> Tensor:
        self.loss(x.mean())
        return self.first(self.first(x) + 1)


def test_record_keeps_every_call_in_order() -> None:
    model, x = Counter(), torch.zeros(2)
    with record(model, "first") as seen:
        model(x)
    assert [v.tolist() for v in seen["first"]] == [[0, 0], [1, 1]]
    assert not model.first.listening


def test_record_refuses_silence() -> None:
    model = Counter()
    with (
        pytest.raises(ValueError, match="no tensor passed through unused"),
        record(model, "first", "unused"),
    ):
        model(torch.zeros(2))
    with pytest.raises(ValueError, match=r"'\*\.weights' matches no hook point of Counter"):
        record(model, "*.weights").__enter__()
    assert not model.first.listening


def test_record_gives_gradients() -> None:
    attention = MultiHeadAttention(8, 2)
    with record(attention, "*.weights") as seen:
        y = attention(torch.randn(1, 3, 8))
    (weights,) = seen["mechanism.weights"]
    weights.retain_grad()
    y.sum().backward()
    assert weights.grad is not None
    assert weights.grad.abs().sum() > 0


def test_replace_and_ablate() -> None:
    attention, x = MultiHeadAttention(8, 2), torch.randn(1, 3, 8)
    uniform = torch.full((1, 2, 3, 3), 1 / 3)
    with replace(attention, "mechanism.weights", uniform), record(attention, "heads") as seen:
        attention(x)
    v = attention.kv(x).chunk(2, -1)[1].unflatten(-1, (2, 4)).transpose(1, 2)
    assert torch.allclose(seen["heads"][0], v.mean(2, keepdim=True).expand(1, 2, 3, 4), atol=1e-6)
    with ablate(attention, "heads", [0, 1]):
        assert torch.allclose(attention(x), attention.out.bias.expand(1, 3, 8))
    with ablate(attention, "heads", [1]):
        only_first = attention(x)
    with ablate(attention, "heads", [0]):
        only_second = attention(x)
    both_heads = only_first + only_second - attention.out.bias
    assert torch.allclose(both_heads, attention(x), atol=1e-6)
    with pytest.raises(IndexError, match=r"heads=\[2\]"), ablate(attention, "heads", [2]):
        attention(x)
    with (
        pytest.raises(ValueError, match=r"expected \(1, 2, 3, 3\)"),
        replace(attention, "mechanism.weights", torch.zeros(3, 3)),
    ):
        attention(x)


def test_losses_are_collected_and_nothing_stays() -> None:
    model = nn.Sequential(Counter(), Counter())
    x = torch.ones(4, requires_grad=True)
    with collect_losses(model) as losses:
        model(x)
    assert losses.total().item() == pytest.approx(1 + 2)
    copy.deepcopy(model)
    with collect_losses(nn.Linear(2, 2)) as none:
        pass
    assert none.total() == 0.0


def test_compiled_models_are_recorded() -> None:
    attention, x = MultiHeadAttention(8, 2), torch.randn(1, 3, 8)
    compiled = torch.compile(attention, backend="eager")
    compiled(x)
    with record(attention, "*.weights") as seen:
        compiled(x)
    assert seen["mechanism.weights"][0].shape == (1, 2, 3, 3)


def test_gelu_approximations_stay_within_what_they_say() -> None:
    x = torch.linspace(-8, 8, 100_001, dtype=torch.float64)
    assert (gelu(x) - x * torch.distributions.Normal(0, 1).cdf(x)).abs().max() < 1e-12
    assert 4e-4 < (gelu_tanh(x) - gelu(x)).abs().max() < 5e-4
    assert 0.020 < (gelu_sigmoid(x) - gelu(x)).abs().max() < 0.021


def test_cache_crops_and_continues() -> None:
    """After a crop the cache continues as if the rest had never been."""
    model = decoder_only.tiny().double().eval()
    tokens = torch.randint(4, 32, (2, 8))
    with torch.no_grad():
        state = model.begin()
        model.step(tokens[:, :6], state)
        state.crop(3)
        rest = model.step(tokens[:, 3:], state)
    assert torch.allclose(rest, model(tokens)[:, 3:], atol=1e-12)
    with pytest.raises(ValueError, match="between 0 and 8"):
        state.crop(9)


def test_cache_names_a_batch_that_changed() -> None:
    model = decoder_only.tiny()
    with torch.no_grad():
        state = model.begin()
        model.step(torch.full((2, 3), 5), state)
        with pytest.raises(ValueError, match="reorder"):
            model.step(torch.full((3, 1), 5), state)


def test_layers_are_built_not_copied() -> None:
    built: list[int] = []

    def make(layer: int) -> Block:
        built.append(layer)
        return Block(MultiHeadAttention(8, 2), FeedForward(8, 8 * (layer + 1)))

    stack = Stack(make, 3)
    assert built == [0, 1, 2]
    assert [block.ff.inner.out_features for block in stack.blocks] == [8, 16, 24]
    assert stack.blocks[0].attn.q.weight.ne(stack.blocks[1].attn.q.weight).any()


def test_sizes_of_the_published_models() -> None:
    """Counted, on the meta device: close to the 65 and 213 million that the paper prints."""
    with torch.device("meta"):
        sizes = [
            sum(p.numel() for p in m.parameters()) for m in (transformer.base(), transformer.big())
        ]
    assert sizes == [63_082_496, 214_245_376]


def test_source_padding_does_not_matter() -> None:
    model = transformer.tiny().double().eval()
    src, tgt = torch.randint(4, 32, (2, 6)), torch.randint(4, 32, (2, 5))
    keys = torch.tensor([[1, 1, 1, 1, 1, 1], [1, 1, 1, 0, 0, 0]]).bool()
    other = torch.where(keys, src, torch.full_like(src, 4))
    assert torch.allclose(model(src, tgt, keys), model(other, tgt, keys), atol=1e-12)
    alone = model(src[1:, :3], tgt[1:])
    assert torch.allclose(model(src, tgt, keys)[1:], alone, atol=1e-12)


def test_cross_attention_is_projected_once() -> None:
    attention, calls = MultiHeadAttention(8, 2), []
    attention.kv.register_forward_hook(lambda *_: calls.append(1))
    slot, memory = Slot(), torch.randn(1, 4, 8)
    with torch.no_grad():
        for _ in range(3):
            attention(torch.randn(1, 1, 8), memory=memory, cache=slot)
    assert len(calls) == 1


def test_cache_grows_by_doubling() -> None:
    slot, x = Slot(), torch.zeros(1, 1, 1, 2)
    rooms = set()
    for _ in range(100):
        slot.append(x, x)
        rooms.add(slot.keys.shape[2])
    assert rooms == {16, 32, 64, 128}
    assert KVCache([slot]).length == 100


def test_dropped_weights_are_those_that_are_recorded() -> None:
    """On a CPU the fused form has no kernel of its own for dropout: both are the same steps."""
    attention = SoftmaxAttention(0.3).train()
    q, k, v = torch.randn(3, 2, 2, 40, 4)
    torch.manual_seed(3)
    silent = attention(q, k, v, Causal())
    torch.manual_seed(3)
    with record(attention, "weights"):
        assert torch.equal(attention(q, k, v, Causal()), silent)
    many = torch.stack([attention(q, k, v, Causal()) for _ in range(400)])
    gap = many.mean(0) - attention.eval()(q, k, v, Causal())
    assert (gap.abs() < 6 * many.std(0) / 400**0.5 + 1e-6).all()


X = torch.zeros(1, 3, 8)
CONTEXTS: dict[str, tuple[Callable[[], object], type[Exception], str]] = {
    "global tokens": (
        lambda: MultiHeadAttention(8, 2)(X, global_tokens=torch.ones(1, 3).bool()),
        ValueError, "global_tokens.*LongformerAttention",
    ),
    "the memory as it was once given": (
        lambda: MultiHeadAttention(8, 2)(X, X), TypeError, "memory=.*mask="),
    "a mask of x for a memory": (
        lambda: MultiHeadAttention(8, 2)(X, memory=X, mask=Causal()), ValueError, "memory_mask="),
    "a mask of a memory for x": (
        lambda: MultiHeadAttention(8, 2)(X, memory_mask=Causal()), ValueError, "mask="),
    "a field that is none": (
        lambda: MultiHeadAttention(8, 2)(X, padding=Causal()), TypeError, "padding"),
    "the cache of a stack": (
        lambda: MultiHeadAttention(8, 2)(X, cache=KVCache()), TypeError, "to a layer"),
    "the cache of a layer": (
        lambda: Stack(lambda _: plain_block(), 1)(X, cache=Slot()), TypeError, "to a stack"),
    "an order without a sublayer": (
        lambda: plain_block(conv=FeedForward(8, 8)), ValueError, "differ in conv"),
    "an order with one more": (
        lambda: plain_block(order=("attn", "ff", "conv")), ValueError, "differ in conv"),
}  # fmt: skip


def plain_block(**more: Any) -> Block:
    return Block(MultiHeadAttention(8, 2), FeedForward(8, 8), **more)


@pytest.mark.parametrize("name", CONTEXTS)
def test_what_a_layer_cannot_honor_is_refused(name: str) -> None:
    call, kind, says = CONTEXTS[name]
    with pytest.raises(kind, match=says):
        call()


def test_a_context_and_its_fields_are_one() -> None:
    """By name, as a record, and a field by name in the place of the record's."""
    layer, x = MultiHeadAttention(8, 2), torch.randn(1, 3, 8)
    expected = layer(x, mask=Causal())
    assert torch.equal(layer(x, Context(mask=Causal())), expected)
    assert torch.equal(layer(x, Context(mask=Prefix(1)), mask=Causal()), expected)
    assert not torch.equal(layer(x, Context(mask=Prefix(1))), expected)


def test_only_the_cross_attention_sees_the_memory() -> None:
    """Each sublayer in its order: a layer gets the context, a plain module its rows alone."""
    calls: list[tuple[str, Context | None]] = []

    class Spy(Layer):
        d_model = 8

        def __init__(self, name: str) -> None:
            super().__init__()
            self.name = name

        def forward(self, x: Tensor, context: Context) -> Tensor:
            calls.append((self.name, context))
            return x

    block = Block(
        Spy("attn"), nn.Identity(), Spy("cross"), order=("conv", "attn", "ff", "cross"),
        conv=Spy("conv"),
    )  # fmt: skip
    block(X, mask=Causal(), memory=X, memory_mask=Prefix(2), positions=torch.arange(3))
    assert [name for name, _ in calls] == ["conv", "attn", "cross"]
    for name, context in calls:
        assert context is not None
        assert context.positions is not None
        foreign = name == "cross"
        assert (context.memory is not None, context.memory_mask is not None) == (foreign, foreign)
        assert (context.mask is None) == foreign
