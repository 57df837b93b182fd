"""Cases of `deepdive.layers.feed_forward`."""

from __future__ import annotations

import torch
from torch import Tensor

from deepdive.layers.feed_forward import FeedForward, GatedFeedForward, gelu
from laws import Case, NotApplicable, case, random_rows, set_weights


@case("ffn", FeedForward)
def _() -> Case:
    def linear() -> tuple[Tensor, Tensor]:
        x, ff = random_rows(2, 3, 16), FeedForward(16, 32, activation=lambda rows: rows).double()
        product = ff.out.weight @ ff.inner.weight
        return ff(x), x @ product.T

    return Case(
        place="feed_forward",
        make=lambda: FeedForward(16, 32, gelu),
        parity="torch.nn.TransformerEncoderLayer, its feed-forward part",
        limits={"no activation: one matrix": linear},
        laws={
            "refusal": NotApplicable("it maps any rows; a wrong width is torch's own clear error")
        },
    )


@case("glu_variants", GatedFeedForward)
def _() -> Case:
    def half_open() -> tuple[Tensor, Tensor]:
        x, gated = random_rows(2, 3, 16), GatedFeedForward(16, 32, torch.sigmoid).double()
        set_weights(gated, gate__weight=0.0, gate__bias=0.0)
        plain = FeedForward(16, 32, activation=lambda rows: rows).double()
        set_weights(plain, inner__weight=gated.inner.weight / 2, out__weight=gated.out.weight)
        return gated(x), plain(x)

    return Case(
        place="feed_forward",
        make=lambda: GatedFeedForward(16, 24),
        parity="transformers LlamaMLP",
        limits={"a gate that stands half open is a plain layer": half_open},
        laws={
            "refusal": NotApplicable("it maps any rows; a wrong width is torch's own clear error")
        },
    )
