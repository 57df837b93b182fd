"""Cases of `deepdive.attention.heads.disagreement`."""

from __future__ import annotations

import torch
from torch import Tensor

from deepdive.attention.heads.disagreement import DisagreeingAttention
from deepdive.attention.softmax import SoftmaxAttention
from deepdive.inspect import collect_losses
from deepdive.masks import Mask, Padding
from laws import Case, case, random_rows
from laws.attention.softmax import mechanism_case


@case("disagreement", DisagreeingAttention)
def _() -> Case:
    q, k, v = (random_rows(2, 4, 5, 4, seed=seed) for seed in range(3))

    def collected(one: DisagreeingAttention, *rows: Tensor, mask: Mask | None = None) -> Tensor:
        with collect_losses(one) as losses:
            one(*rows, mask=mask)
        return torch.as_tensor(losses.total())

    def alike() -> tuple[Tensor, Tensor]:
        """Heads that are copies agree wholly: the loss is 1 for subspaces, and for outputs."""
        copies = [rows[:, :1].expand_as(rows) for rows in (q, k, v)]
        three = [DisagreeingAttention(subspace=1.0), DisagreeingAttention(output=1.0)]
        return torch.stack([collected(one, *copies) for one in three]), torch.ones(2).double()

    def at_odds() -> tuple[Tensor, Tensor]:
        """Orthogonal heads agree with themselves alone: 1 / H."""
        values = torch.eye(4, dtype=torch.float64)[None, :, None].expand(2, 4, 5, 4)
        loss = collected(DisagreeingAttention(subspace=1.0), q, k, values)
        return loss, torch.tensor(1 / 4).double()

    def padded() -> tuple[Tensor, Tensor]:
        """Rows beyond the padding do not change the loss."""
        one = DisagreeingAttention(subspace=1.0, position=2.0, output=3.0)
        real = Padding(torch.tensor([[1, 1, 1, 0, 0]] * 2).bool())
        short = [rows[:, :, :3] for rows in (q, k, v)]
        return collected(one, q, k, v, mask=real), collected(one, *short)

    def not_collected() -> tuple[Tensor, Tensor]:
        one = DisagreeingAttention(subspace=1.0, position=2.0, output=3.0)
        return one(q, k, v), SoftmaxAttention()(q, k, v)

    return mechanism_case(
        lambda: DisagreeingAttention(subspace=1.0, position=1.0, output=1.0),
        parity="the equations of Li et al. 2018, pair by pair",
        limits={
            "copied heads: 1": alike,
            "orthogonal heads: 1 / H": at_odds,
            "padding: the short rows": padded,
            "the output: SoftmaxAttention": not_collected,
        },
        refusals={"a negative weight": lambda: DisagreeingAttention(position=-1.0)},
    )
