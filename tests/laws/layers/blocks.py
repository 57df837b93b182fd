"""Cases of the parts of `deepdive.layers` that hold others: residual joints, blocks, stacks."""

from typing import Any

import torch
from torch import Tensor, nn

from deepdive.attention import ChannelAttention
from deepdive.core import Context, MultiHeadAttention, Slot
from deepdive.core.block import Block
from deepdive.core.feed_forward import FeedForward
from deepdive.core.norms import LayerNorm, RMSNorm
from deepdive.core.residual import (
    NoNorm,
    PostNorm,
    PreNorm,
    ReZero,
    SandwichNorm,
    ScaledPreNorm,
)
from deepdive.core.stack import Stack
from deepdive.layers.latent import LatentLayer
from deepdive.layers.reversible import ReversibleBlock, ReversibleStack
from laws import Case, NotApplicable, case, random_rows, set_weights

FITS = NotApplicable("it joins whatever fits; torch names a sublayer that changes the shape")
X, ROWS = random_rows(2, 3, 16), torch.zeros(1, 2, 16)


def sublayers() -> tuple[MultiHeadAttention, FeedForward]:
    return MultiHeadAttention(16, 4), FeedForward(16, 32)


def without_norm(joint: type[PreNorm | PostNorm]) -> Tensor:
    """Return sin(X) joined with X."""
    return joint(16, norm=lambda d: nn.Identity())(X, torch.sin)


@case("residual_norm/PreNorm", PreNorm)
def _() -> Case:
    return Case(
        place="residual",
        make=lambda: PreNorm(16),
        parity="torch.nn.TransformerEncoderLayer, norm_first=True",
        limits={"no norm: a plain residual": lambda: (without_norm(PreNorm), X + torch.sin(X))},
        laws={"refusal": FITS},
    )


@case("residual_norm/ScaledPreNorm", ScaledPreNorm)
def _() -> Case:
    def gain_of_one() -> tuple[Tensor, Tensor]:
        return ScaledPreNorm(16, gain=1.0).double()(X, torch.sin), PreNorm(16).double()(
            X, torch.sin
        )

    return Case(
        place="residual",
        make=lambda: ScaledPreNorm(16, gain=0.5),
        parity="transformers Data2VecVisionModel",
        limits={
            "a gain of one: PreNorm": gain_of_one,
            "a gain of zero: the stream": lambda: (
                ScaledPreNorm(16, gain=0.0).double()(X, torch.sin), X),
        },
        laws={"refusal": FITS},
    )  # fmt: skip


@case("residual_norm/PostNorm", PostNorm)
def _() -> Case:
    joints = PostNorm, PreNorm
    return Case(
        place="residual",
        make=lambda: PostNorm(16),
        parity="torch.nn.TransformerEncoderLayer, norm_first=False",
        limits={"no norm: PreNorm without one": lambda: tuple(without_norm(j) for j in joints)},
        laws={"refusal": FITS},
    )


@case("norm_variants/NoNorm", NoNorm)
def _() -> Case:
    return Case(
        place="residual",
        make=lambda: NoNorm(16),
        parity="the layer of the released code, with torch.nn.MultiheadAttention",
        limits={
            "PreNorm with the identity as its norm": lambda: (
                NoNorm(16)(X, torch.sin), without_norm(PreNorm)),
        },
        laws={"refusal": FITS},
    )  # fmt: skip


@case("norm_variants", ReZero)
def _() -> Case:
    def rescaled(alpha: float) -> Tensor:
        return ReZero(16, alpha=alpha).double()(X, torch.sin)

    def gain() -> tuple[Tensor, Tensor]:
        """ScaledPreNorm whose norm is the identity has a gain per channel, here all equal."""
        scaled = ScaledPreNorm(16, norm=lambda d: nn.Identity(), gain=0.3).double()
        return scaled(X, torch.sin), rescaled(0.3)

    def centered() -> tuple[Tensor, Tensor]:
        """For vectors with mean 0, RMSNorm equals LayerNorm."""
        rows = X - X.mean(-1, keepdim=True)
        return RMSNorm(16, eps=1e-5).double()(rows), LayerNorm(16).double()(rows)

    return Case(
        place="residual",
        make=lambda: ReZero(16, alpha=0.5),
        parity="the layer of the released code, with torch.nn.MultiheadAttention",
        limits={
            "alpha 1: NoNorm": lambda: (rescaled(1.0), NoNorm(16)(X, torch.sin)),
            "alpha 0, as initialized: the identity": lambda: (
                ReZero(16).double()(X, torch.sin), X),
            "ScaledPreNorm without a norm, one gain for all channels": gain,
            "RMSNorm for vectors with mean 0: LayerNorm": centered,
        },
        laws={"refusal": FITS},
    )  # fmt: skip


@case("residual_norm", SandwichNorm)
def _() -> Case:
    def without_second() -> tuple[Tensor, Tensor]:
        sandwich = SandwichNorm(16).double()
        sandwich.norm_out = nn.Identity()
        return sandwich(X, torch.sin), PreNorm(16).double()(X, torch.sin)

    return Case(
        place="residual",
        parity="none: no installed library has it; its limit is PreNorm, which is proved",
        limits={"no second norm: PreNorm": without_second},
        laws={"refusal": FITS},
    )


@case("Block", Block)
def _() -> Case:
    def make() -> Block:
        return Block(*sublayers())

    def silent_sublayers() -> tuple[Tensor, Tensor]:
        block = make()
        set_weights(block, attn__out__weight=0.0, ff__out__weight=0.0)
        return block(X), X

    return Case(
        place="layer",
        make=make,
        parity="torch.nn.TransformerEncoderLayer, both norm placements",
        limits={"sublayers that return 0: the stream": silent_sublayers},
        refusals={
            "no memory": lambda: Block(*sublayers(), MultiHeadAttention(16, 4))(ROWS),
            "unread memory": lambda: make()(ROWS, memory=ROWS),
        },
    )


@case("Stack", Stack)
def _() -> Case:
    def in_a_row() -> tuple[Tensor, Tensor]:
        stack = Stack(lambda i: Block(*sublayers()), 2).double()
        return stack.blocks[1](stack.blocks[0](X)), stack(X)

    def shared() -> Stack:  # one block for all layers: the hardest to cache and to save
        one = Block(*sublayers())
        return Stack(lambda i: one, 3)

    return Case(
        place="stack",
        make=shared,
        parity="torch.nn.TransformerEncoder",
        limits={
            "no layers: the input": lambda: (Stack(lambda i: nn.Identity(), 0)(X), X),
            "its blocks in a row": in_a_row,
        },
        refusals={"a negative number of layers": lambda: Stack(lambda i: nn.Identity(), -1)},
    )


@case("reversible/ReversibleBlock", ReversibleBlock)
def _() -> Case:
    x = random_rows(2, 2, 5, 16)

    def make() -> ReversibleBlock:
        return ReversibleBlock(*sublayers())

    def there_and_back() -> tuple[Tensor, Tensor]:
        block = make().double()
        return torch.stack(block.inverse(*block(*x))), x

    def silent_sublayers() -> tuple[Tensor, Tensor]:
        block = make()
        set_weights(block, attn__out__weight=0.0, ff__out__weight=0.0)
        return torch.stack(block(*x)), x

    def run(block: Any, x: Tensor, mask: Any = None, state: Any = None) -> Tensor:
        return torch.cat(block(x, x.flip(-1), Context(mask=mask, cache=state)), dim=-1)

    return Case(
        make=make,
        run=run,
        begin=lambda block: Slot(),
        parity="transformers ReformerLayer",
        limits={"the inverse: the input": there_and_back, "silent: the input": silent_sublayers},
        refusals={"a float mask": lambda: run(make(), ROWS, torch.ones(2, 2))},
    )


@case("reversible", ReversibleStack)
def _() -> Case:
    def make() -> ReversibleStack:
        return ReversibleStack(lambda _: ReversibleBlock(*sublayers()), 3)

    def in_a_row() -> tuple[Tensor, Tensor]:
        stack = make().double()
        y1 = y2 = X
        for block in stack.blocks:
            y1, y2 = block(y1, y2)
        return stack(X), torch.cat([y1, y2], dim=-1)

    return Case(
        place="stack",
        parity="transformers ReformerModel",
        limits={"its blocks in a row": in_a_row},
        refusals={
            "a negative number of layers": lambda: ReversibleStack(lambda i: nn.Identity(), -1),
            "a memory": lambda: make()(ROWS, memory=ROWS),
        },
    )


@case("LatentLayer", LatentLayer)
def _() -> Case:
    def layer(d_context: int | None = None) -> LatentLayer:
        return LatentLayer(ChannelAttention(16, 4, 16, 16, d_context=d_context), 32, d_context)

    silent = set_weights(layer(), attn__out__weight=0.0, ff__out__weight=0.0)
    return Case(
        make=layer,
        run=lambda module, x, mask, state: module(x, mask=mask),
        parity="transformers PerceiverModel",
        limits={"sublayers that return 0: the stream": lambda: (silent(X), X)},
        refusals={
            "no foreign rows": lambda: layer(16)(ROWS),
            "unread foreign rows": lambda: layer()(ROWS, ROWS),
        },
        laws={"cache": NotApplicable("latents are not decoded one by one")},
    )
