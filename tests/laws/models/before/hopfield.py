"""Cases of `deepdive.models.before.hopfield`."""

from __future__ import annotations

import torch
from torch import Tensor

from deepdive.attention import SoftmaxAttention
from deepdive.models.before.hopfield import ModernHopfield, as_attention
from laws import Case, NotApplicable, case, random_rows


@case("hopfield", ModernHopfield)
def _() -> Case:
    stored, state = random_rows(5, 16), random_rows(2, 3, 16, seed=6)

    def one_head() -> tuple[Tensor, Tensor]:
        network = ModernHopfield(stored, 0.7)
        return network(state), as_attention(network)(state, stored.expand(2, 5, 16))

    def mechanism() -> tuple[Tensor, Tensor]:
        rows = stored.expand(2, 1, 5, 16)
        attended = SoftmaxAttention()(state.unsqueeze(1), rows, rows, scale=0.7)
        return ModernHopfield(stored, 0.7)(state), attended.squeeze(1)

    def nearest() -> tuple[Tensor, Tensor]:
        return ModernHopfield(stored, 1e4)(state), stored[(state @ stored.T).argmax(-1)]

    alone = NotApplicable("each state is alone: no other row is read")
    return Case(
        make=lambda: ModernHopfield(stored.float(), 0.7),
        run=lambda module, x, mask, state: module(x),
        parity="torch.nn.functional.scaled_dot_product_attention",
        limits={
            "SoftmaxAttention": mechanism,
            "MultiHeadAttention of one head, identities for projections": one_head,
            "beta 0: the mean of the patterns": lambda: (
                ModernHopfield(stored, 0.0)(state),
                stored.mean(0).expand_as(state),
            ),
            "beta large: the pattern with the largest dot product": nearest,
        },
        refusals={
            "no pattern": lambda: ModernHopfield(torch.zeros(0, 4)),
            "patterns of bools": lambda: ModernHopfield(torch.ones(2, 4).bool()),
            "a beta below 0": lambda: ModernHopfield(stored, -1.0),
            "a state of another width": lambda: ModernHopfield(stored)(torch.zeros(1, 2, 8)),
            "an energy at beta 0": lambda: ModernHopfield(stored, 0.0).energy(state),
        },
        laws={"padding": alone, "cache": alone},
    )
