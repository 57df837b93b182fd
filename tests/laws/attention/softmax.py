"""What the cases of all mechanisms share, and those of softmax and of the scores before it."""

from collections.abc import Callable
from functools import partial
from typing import Any

import torch
from torch import Tensor, nn

from deepdive.attention.scores import AdditiveAttention, DotAttention, GeneralAttention
from deepdive.attention.tiled import TiledAttention
from deepdive.core.hooks import record
from deepdive.core.masks import Causal, Mask, Padding, both
from deepdive.core.softmax import SoftmaxAttention
from laws import Case, Fails, NotApplicable, Pair, case, random_rows, set_weights

NEAR = {"order": Fails("who is near depends on the order")}


def mechanism_case(mechanism: Callable[[], nn.Module], **more: Any) -> Case:
    """Return the case of a mechanism for 4 heads of width 4, with what every mechanism refuses."""
    zeros = [torch.zeros(1, 4, 3, 4)] * 3
    refusals = {
        "a mask of floats": lambda: mechanism()(*zeros, mask=torch.zeros(3, 3)),
        "a mask for other keys": lambda: mechanism()(*zeros, mask=torch.ones(2, 7).bool()),
        "a bias of bools": lambda: mechanism()(*zeros, bias=torch.ones(3, 3).bool()),
        "three axes": lambda: mechanism()(zeros[0][0], *zeros[1:]),
        "other heads": lambda: mechanism()(torch.zeros(1, 3, 3, 4), *zeros[1:]),
        "two dtypes": lambda: mechanism()(zeros[0].double(), *zeros[1:]),
    }
    declared: dict[str, Any] = {
        "place": "mechanism",
        "make": mechanism,
        "parity": "torch.nn.functional.scaled_dot_product_attention",
        "refusals": refusals | more.pop("refusals", {}),
    }
    return Case(**declared | more)


def heads(T: int = 5, H: int = 2) -> list[Tensor]:
    """Return q, k and v (2, H, T, 4)."""
    return [random_rows(2, H, T, 4, seed=seed) for seed in range(3)]


def gap(T: int, start: int, end: int) -> Padding:
    """Return the mask of two texts of T tokens, of which the second has none at start:end."""
    real = torch.ones(2, T).bool()
    real[1, start:end] = False
    return Padding(real)


def mean(v: Tensor) -> Tensor:
    """Return the mean of all values (..., T, d) at every place."""
    return v.mean(-2, keepdim=True).expand_as(v)


def same(
    ours: Any,
    rows: list[Tensor],
    *masks: Mask | None,
    plain: nn.Module | None = None,
    pattern: Any = None,
    bias: Tensor | None = None,
) -> Pair:
    """Return the limit that `ours` gives under each mask what softmax attention, or `plain`, gives
    under that mask and `pattern`, with `bias`.
    """

    def pair() -> tuple[Tensor, Tensor]:
        under, parent = masks or (None,), plain or SoftmaxAttention()
        found = [ours(*rows, mask) for mask in under]
        return torch.cat(found), torch.cat([parent(*rows, both(m, pattern), bias) for m in under])

    return pair


@case("scaled_dot_attention", SoftmaxAttention)
def _() -> Case:
    q, k, v = heads()

    def explicit() -> tuple[Tensor, Tensor]:
        attention, bias = SoftmaxAttention(), random_rows(2, 2, 5, 5)
        mask = Causal() & Padding(torch.tensor([[0, 1, 1, 1, 1], [0, 0, 0, 0, 0]]).bool())
        fused = attention(q, k, v, mask, bias)
        with record(attention, "weights"):
            return attention(q, k, v, mask, bias), fused

    one = k[:, :, :1], v[:, :, :1]
    return mechanism_case(
        SoftmaxAttention,
        limits={
            "the steps one by one: the fused kernel": explicit,
            "scale 0: the mean": lambda: (SoftmaxAttention()(q, k, v, scale=0.0), mean(v)),
            "one key: its value": lambda: (SoftmaxAttention()(q, *one), one[1].expand_as(q)),
        },
    )


@case("flash_attention", TiledAttention)
def _() -> Case:
    q, k, v = rows = heads(23)
    real = torch.ones(2, 23).bool()
    real[0, 17:], real[1, :9] = False, False  # causal, the second text's first rows have no key
    mask = Causal() & Padding(real)
    return mechanism_case(
        lambda: TiledAttention(4),
        limits={
            "tiles of one: SoftmaxAttention": same(TiledAttention(1), rows, mask),
            "tiles of five: SoftmaxAttention": same(TiledAttention(5), rows, mask),
            "one tile: SoftmaxAttention": same(TiledAttention(64), rows, mask),
            "SoftmaxAttention for the last rows": same(
                TiledAttention(4), [q[:, :, -5:], k, v], Causal()
            ),
        },
        laws={"hooks": NotApplicable("the weights of one row never stand side by side")},
        refusals={"a tile of no rows": lambda: TiledAttention(0)},
    )


@case("dot_attention", DotAttention)
def _() -> Case:
    scaled = same(partial(DotAttention(), scale=0.5), heads())
    return mechanism_case(DotAttention, limits={"scale 1 / sqrt(d_head): scaled": scaled})


@case("GeneralAttention", GeneralAttention)
def _() -> Case:
    identity = set_weights(GeneralAttention(4), W__weight=torch.eye(4))
    return mechanism_case(
        lambda: GeneralAttention(4),
        limits={"W = 1: the dot product": same(identity, heads(), plain=DotAttention())},
    )


@case("additive_attention", AdditiveAttention)
def _() -> Case:
    q, k, v = heads()
    deaf = set_weights(AdditiveAttention(4), u__weight=0.0)
    return mechanism_case(
        lambda: AdditiveAttention(4),
        parity="the equations, written out with einsum",
        limits={"u = 0: the mean": lambda: (deaf(q, k, v), mean(v))},
    )
