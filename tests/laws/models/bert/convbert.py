"""Cases of ConvBERT and of what its layer is made of."""

from typing import Any

import torch
from torch import Tensor

from deepdive.core import FeedForward, MultiHeadAttention, Slot, gelu
from deepdive.core.multi_head import split_heads
from deepdive.layers.feed_forward import GroupedFeedForward, GroupedLinear
from deepdive.layers.mixed_attention import MixedAttention
from deepdive.layers.span_convolution import SpanConvolution
from deepdive.models.bert import convbert
from deepdive.models.bert.bert import Bert, EncoderConfig, bert
from laws import (
    ALONE,
    NO_WEIGHTS,
    Case,
    Fails,
    NotApplicable,
    Refuses,
    case,
    padding_of,
    random_rows,
    set_weights,
)
from laws.models.bert.bert import FIVE, SMALL, encoder

ORACLE = "transformers ConvBertForMaskedLM"
NEIGHBORS = Fails("the convolution reads neighbours")


@case("convbert", Bert)
def _() -> Case:
    def make(**changes: Any) -> Bert:
        return convbert.convbert(convbert.TINY, **changes).double().eval()

    def narrow_heads(config: EncoderConfig, layer: int) -> MultiHeadAttention:
        return MultiHeadAttention(32, 2, d_head=8)

    def a_bert() -> tuple[Tensor, Tensor]:
        """Nobody reads the convolution: what is left is a BERT of half as many heads."""
        model, plain = make(d_embedding=32, groups=1), bert(**SMALL, attention=narrow_heads)
        state = {n: t.clone() for n, t in model.state_dict().items()}
        for layer, block in enumerate(model.stack.blocks):
            block.attn.out.weight.data[:, 16:] = 0.0
            name = f"stack.blocks.{layer}.attn.out.weight"
            state[name] = state[name][:, :16]
        plain = plain.double().eval()
        plain.load_state_dict({n: t for n, t in state.items() if n in plain.state_dict()})
        return model(FIVE), plain(FIVE)

    limits = {"nobody reads the convolution: BERT": a_bert}
    refusals = {
        "an even kernel": lambda: make(kernel=4),
        "groups that do not divide": lambda: make(groups=3),
    }
    return encoder("convbert", "ConvBertForMaskedLM", limits, refusals)


@case("MixedAttention", MixedAttention)
def _() -> Case:
    x = random_rows(2, 5, 16)

    def make(n_heads: int = 2) -> MixedAttention:
        return MixedAttention(16, n_heads, 3)

    def its_parts() -> tuple[Tensor, Tensor]:
        layer, plain = make().double(), MultiHeadAttention(16, 2, d_head=4).double()
        near = layer.convolution(x, layer.queries(x)).transpose(1, 2).flatten(2)
        state = {n: t for n, t in layer.state_dict().items() if "convolution" not in n}
        plain.load_state_dict(state | {"out.weight": state["out.weight"][:, :8]})
        return layer(x), plain(x) + near @ layer.out.weight[:, 8:].t()

    return Case(
        place="layer",
        make=make,
        parity=ORACLE,
        limits={"attention and a convolution, added": its_parts},
        refusals={
            "heads that do not divide": lambda: make(3),
            "a cache": lambda: make().double()(x, cache=Slot()),
            "foreign rows": lambda: make().double()(x, x),
        },
        laws={
            "no_leak": Refuses("its convolution reads a row ahead"),
            "cache": Refuses("its convolution reads a row ahead"),
            "order": NEIGHBORS,
        },
    )


@case("SpanConvolution", SpanConvolution)
def _() -> Case:
    def run(module: SpanConvolution, x: Tensor, mask: Any = None, state: Any = None) -> Tensor:
        return module(x, split_heads(x, 4), padding_of(mask)).transpose(1, 2).flatten(2)

    def one_row() -> tuple[Tensor, Tensor]:
        module, x = SpanConvolution(16, 4, 4, 1).double(), random_rows(2, 5, 16)
        return run(module, x), module.value(x)

    def all_alike() -> tuple[Tensor, Tensor]:
        """Where nothing is chosen, a mean of three values, 0 outside."""
        module, x = SpanConvolution(16, 4, 4, 3).double(), random_rows(2, 5, 16)
        set_weights(module, chosen__weight=0.0, chosen__bias=0.0)
        v = torch.nn.functional.pad(module.value(x), (0, 0, 1, 1))
        return run(module, x), (v[:, :-2] + v[:, 1:-1] + v[:, 2:]) / 3

    return Case(
        make=lambda: SpanConvolution(16, 4, 4, 3),
        run=run,
        parity=ORACLE,
        limits={"a kernel of 1: the values": one_row, "nothing chosen: a mean": all_alike},
        refusals={"an even kernel": lambda: SpanConvolution(16, 4, 4, 2)},
        laws={
            "no_leak": Fails("it reads both sides; the layer around it refuses a causal mask"),
            "order": NEIGHBORS,
            "cache": NotApplicable("it reads a row ahead; the layer around it refuses a cache"),
            "hooks": NO_WEIGHTS,
        },
    )


@case("GroupedLinear", GroupedLinear)
def _() -> Case:
    def one_group() -> tuple[Tensor, Tensor]:
        layer, x = GroupedLinear(6, 4, 1).double(), random_rows(2, 3, 6)
        return layer(x), x @ layer.weight[0] + layer.bias

    def diagonal_blocks() -> tuple[Tensor, Tensor]:
        layer, x = GroupedLinear(6, 4, 2).double(), random_rows(2, 3, 6)
        return layer(x), x @ torch.block_diag(*layer.weight) + layer.bias

    return Case(
        make=lambda: GroupedLinear(16, 8, 2),
        parity=ORACLE,
        limits={"one group: a matrix": one_group, "a matrix of blocks": diagonal_blocks},
        refusals={"groups that do not divide": lambda: GroupedLinear(6, 4, 3)},
        laws=ALONE,
    )


@case("GroupedFeedForward", GroupedFeedForward)
def _() -> Case:
    def one_group() -> tuple[Tensor, Tensor]:
        layer, plain = GroupedFeedForward(16, 24, 1, gelu).double(), FeedForward(16, 24, gelu)
        state = {n: t[0].t() if t.ndim == 3 else t for n, t in layer.state_dict().items()}
        plain.double().load_state_dict(state)
        return layer(random_rows(2, 3, 16)), plain(random_rows(2, 3, 16))

    return Case(
        place="feed_forward",
        make=lambda: GroupedFeedForward(16, 32, 2),
        parity=ORACLE,
        limits={"one group: a feed-forward layer": one_group},
        refusals={"groups that do not divide": lambda: GroupedFeedForward(16, 32, 3)},
    )
