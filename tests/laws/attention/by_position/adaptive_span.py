"""Cases of `deepdive.attention.by_position.adaptive_span`."""

from __future__ import annotations

import torch
from torch import Tensor

from deepdive.attention.by_position.adaptive_span import AdaptiveSpanAttention
from deepdive.attention.softmax import SoftmaxAttention
from deepdive.inspect import collect_losses
from deepdive.masks import Causal, Padding, Window
from laws import Case, Fails, case, random_rows
from laws.attention.softmax import mechanism_case


@case("adaptive_span", AdaptiveSpanAttention)
def _() -> Case:
    q, k, v = (random_rows(2, 2, 23, 4, seed=seed) for seed in range(3))
    real = torch.ones(2, 23).bool()
    real[1, 5:11] = False

    def make(start: float = 0.5, longest: int = 6) -> AdaptiveSpanAttention:
        return AdaptiveSpanAttention(2, longest, ramp=3, start=start).double()

    def long_spans() -> tuple[Tensor, Tensor]:
        mask = Causal() & Padding(real)
        return make(0.5, 60)(q, k, v, mask), SoftmaxAttention()(q, k, v, mask)

    def short_spans() -> tuple[Tensor, Tensor]:
        """Spans of nothing: a ramp over three keys, the own one whole."""
        ours, ramp = make(1e-12), torch.tensor([1.0, 2 / 3, 1 / 3], dtype=torch.float64)
        bias = torch.zeros(23, 23, dtype=torch.float64)
        for back in range(3):
            bias.diagonal(-back).fill_(ramp[back].log())
        return ours(q, k, v), SoftmaxAttention()(q, k, v, Window(2), bias)

    def the_loss() -> tuple[Tensor, Tensor]:
        ours = make()
        with collect_losses(ours) as losses:
            ours(q, k, v)
        return torch.stack(list(losses)), 2e-6 * ours.lengths().mean().unsqueeze(0)

    return mechanism_case(
        lambda: AdaptiveSpanAttention(4, 4, ramp=2),
        parity="the paper's equations, pair by pair, gradients of the spans included",
        limits={
            "spans over everything: the mask Causal": long_spans,
            "spans of nothing: the ramp alone": short_spans,
            "the loss: the mean length": the_loss,
        },
        refusals={"no ramp": lambda: AdaptiveSpanAttention(2, 4, ramp=0)},
        laws={"order": Fails("who is near depends on the order")},
    )
