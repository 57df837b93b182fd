"""Cases of `deepdive.models.transformer.realformer` and `transparent`, and of their layers."""

from dataclasses import replace
from typing import Any

import torch
from torch import Tensor, nn

from deepdive.attention import LengthProjection, LinformerAttention
from deepdive.core import Block, FeedForward, KVCache, MultiHeadAttention, PostNorm, gelu_tanh
from deepdive.core.masks import Causal
from deepdive.core.stack import Stack
from deepdive.layers.layer_mixture import LayeredMemoryStack, TransparentStack
from deepdive.layers.residual_scores import (
    RealFormerStack,
    ScoreContext,
    ScoreResidualAttention,
)
from deepdive.models.transformer import realformer, transparent
from deepdive.models.transformer.decoder_only import DecoderOnly
from deepdive.models.transformer.transformer import Transformer, transformer
from laws import Case, NotApplicable, case, random_rows
from laws.models.transformer.transformer import ORDER, ROW, SOURCE, step_or_all, translator

X, ROWS = random_rows(2, 5, 16), torch.zeros(1, 3, 16)
SCORES = "x-transformers Decoder with residual_attn and cross_residual_attn, and loops"
LOOPS = "the paper's equations, written out as loops"


def real_stack(n_layers: int = 2, carry: float = 1.0) -> RealFormerStack:
    return realformer.realformer_stack(16, 4, n_layers, 32, carry=carry)


def plain_of(stack: RealFormerStack) -> Stack:
    """The parent's stack with the same weights."""
    make = lambda _layer: Block(  # noqa: E731
        MultiHeadAttention(16, 4), FeedForward(16, 32, gelu_tanh), None, PostNorm
    )  # type: ignore[union-attr]
    plain = Stack(make, len(stack.blocks)).double()
    plain.load_state_dict(stack.state_dict())
    return plain


@case("realformer/ScoreResidualAttention", ScoreResidualAttention)
def _() -> Case:
    def alone() -> tuple[Tensor, Tensor]:
        layer, plain = ScoreResidualAttention(16, 4).double(), MultiHeadAttention(16, 4).double()
        plain.load_state_dict(layer.state_dict())
        return layer(X, mask=Causal()), plain(X, mask=Causal())

    def as_bias() -> tuple[Tensor, Tensor]:
        layer, scores = ScoreResidualAttention(16, 4, carry=0.5).double(), random_rows(2, 4, 5, 5)
        carried = ScoreContext(mask=Causal(), scores={"self": scores})
        return layer(X, carried), layer(X, mask=Causal(), bias=scores / 2)

    def linformer() -> object:
        mechanism = LinformerAttention(*(LengthProjection(4, 8, 3) for _ in range(2)))
        return ScoreResidualAttention(16, 4, mechanism=mechanism)

    return Case(
        place="layer",
        make=lambda: ScoreResidualAttention(16, 4),
        parity=SCORES,
        limits={"no previous scores: plain attention": alone, "a bias of the scores": as_bias},
        refusals={"a mechanism without scores": linformer},
    )


@case("realformer/RealFormerStack", RealFormerStack)
def _() -> Case:
    def one_layer() -> tuple[Tensor, Tensor]:
        stack = real_stack(1).double()
        return stack(X, mask=Causal()), plain_of(stack)(X, mask=Causal())

    def nothing_carried() -> tuple[Tensor, Tensor]:
        stack = real_stack(3, carry=0.0).double()
        return stack(X, mask=Causal()), plain_of(stack)(X, mask=Causal())

    return Case(
        place="stack",
        make=real_stack,
        parity=SCORES,
        limits={"one layer: plain": one_layer, "carry 0: plain": nothing_carried},
        refusals={"a memory": lambda: real_stack()(ROWS, memory=ROWS)},
    )


@case("realformer", DecoderOnly)
def _() -> Case:
    def its_decoder() -> tuple[Tensor, Tensor]:
        model = realformer.tiny().double()
        return model(ROW), model.decoder(ROW) @ model.decoder.embedding.weight.T

    return Case(
        run=step_or_all,
        begin=lambda model: model.begin(),
        parity=SCORES,
        limits={"its decoder's states times the embedding": its_decoder},
        refusals={"a float mask": lambda: realformer.tiny()(ROW, torch.ones(1, 3))},
        laws=ORDER,
    )


def encoder_layers() -> TransparentStack:
    return TransparentStack(lambda _layer: plain_block(), 3, 2)


def plain_block(cross: bool = False) -> Block:
    memory = MultiHeadAttention(16, 4) if cross else None
    return Block(MultiHeadAttention(16, 4), FeedForward(16, 32), memory, PostNorm)


@case("transparent_attention/TransparentStack", TransparentStack)
def _() -> Case:
    def one_hot() -> tuple[Tensor, Tensor]:
        stack = encoder_layers().double()
        stack.mixture.data[:-1] = -1e4
        x = X
        for block in stack.blocks:
            x = block(x)
        return stack(X), x[:, :, None].expand(-1, -1, 2, -1)

    def uniform() -> tuple[Tensor, Tensor]:
        stack = encoder_layers().double()
        states = [X]
        for block in stack.blocks:
            states.append(block(states[-1]))
        return stack(X)[:, :, 1], sum(states) / 4

    def weights() -> tuple[Tensor, Tensor]:
        stack = encoder_layers().double()
        nn.init.normal_(stack.mixture)
        return stack.layer_weights().sum(0), torch.ones(2).double()

    return Case(
        make=encoder_layers,
        run=lambda stack, x, mask, state: stack(x, mask=mask).flatten(2),
        parity=LOOPS,
        limits={
            "one-hot on the last layer: its output": one_hot,
            "weights of 0: the mean": uniform,
            "each decoder layer's weights sum to 1": weights,
        },
        refusals={"no decoder layers": lambda: TransparentStack(lambda _: plain_block(), 3, 0)},
        laws={"cache": NotApplicable("an encoder runs once, over the whole source")},
    )


@case("transparent_attention/LayeredMemoryStack", LayeredMemoryStack)
def _() -> Case:
    def make() -> LayeredMemoryStack:
        return LayeredMemoryStack(lambda _layer: plain_block(True), 2)

    def equal_memories() -> tuple[Tensor, Tensor]:
        stack, memory = make().double(), random_rows(2, 4, 16)
        plain = Stack(lambda _layer: plain_block(True), 2).double()
        plain.load_state_dict(stack.state_dict())
        return stack(X, memory=memory[:, :, None].expand(-1, -1, 2, -1)), plain(X, memory=memory)

    def run(stack: Any, x: Tensor, mask: Any = None, state: Any = None) -> Tensor:
        memory = random_rows(1, 4, 2, 16).to(x.dtype).expand(len(x), -1, -1, -1)
        return stack(x, mask=mask, memory=memory, cache=state)

    return Case(
        make=make,
        run=run,
        begin=lambda _: KVCache(),
        parity=LOOPS,
        limits={"equal memories: a plain decoder": equal_memories},
        refusals={
            "one memory for all": lambda: make()(ROWS, memory=ROWS),
            "no memory": lambda: make()(ROWS),
            "a memory too many": lambda: make()(ROWS, memory=torch.zeros(1, 3, 3, 16)),
        },
    )


@case("transparent_attention", Transformer)
def _() -> Case:
    def last_layer_only() -> tuple[Tensor, Tensor]:
        """One-hot weights on the last encoder layer: the parent, with the same weights."""
        sizes = {"d_model": 32, "n_heads": 4, "n_layers": 2, "d_ff": 64}
        model = transparent.transparent(32, n_decoder_layers=2, dropout=0.0, **sizes).double()  # type: ignore[arg-type]
        parent = transformer(32, dropout=0.0, **sizes).double()  # type: ignore[arg-type]
        state = model.state_dict()
        state.pop("encoder.stack.mixture")
        parent.load_state_dict(state)
        mixture: Any = model.encoder.stack.mixture
        mixture.data[:-1] = -1e4
        return model(SOURCE, SOURCE.flip(1)), parent(SOURCE, SOURCE.flip(1))

    plain = translator(transparent.tiny, LOOPS)
    limits = {**plain.limits, "one-hot on the last layer: the parent": last_layer_only}
    return replace(plain, limits=limits)
