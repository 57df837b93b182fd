"""Cases of `deepdive.attention.memories.nested`."""

from __future__ import annotations

import torch
from torch import Tensor

from deepdive.attention.memories.nested import NestedAttention, prefix_products
from deepdive.attention.softmax import SoftmaxAttention
from deepdive.masks import Causal
from laws import Case, case, random_rows, set_weights
from laws.attention.softmax import mechanism_case


@case("NestedAttention", NestedAttention)
def _() -> Case:
    q, k, v = (random_rows(2, 2, 9, 4, seed=seed) for seed in range(3))

    def one_slot_a_key() -> tuple[Tensor, Tensor]:
        """Slots that each meet one key, far above all others: packing copies the values."""
        keys = torch.eye(4).double().expand(2, 2, 4, 4)
        nested = set_weights(NestedAttention(2, 4, 4), slots=2000 * torch.eye(4))
        return nested(q, keys, v[:, :, :4]), SoftmaxAttention()(q, v[:, :, :4], v[:, :, :4])

    def silent_slots() -> tuple[Tensor, Tensor]:
        nested = set_weights(NestedAttention(2, 3, 4), slots=0.0)
        return nested(q, k, v), v.mean(2, keepdim=True).expand_as(v)

    def silent_causally() -> tuple[Tensor, Tensor]:
        """Every strength is log2(2) = 1, so all of a row's shares go to the mean of what it saw."""
        nested = set_weights(NestedAttention(2, 3, 4), slots=0.0)
        count = torch.arange(1, 10)[:, None]
        return nested(q, k, v, Causal()), v.cumsum(2) / count

    def a_row_at_a_time() -> tuple[Tensor, Tensor]:
        x, y, z = (random_rows(2, 2, 9, n, seed=n) for n in (4, 4, 3))
        loop = [(x[:, :, t : t + 1] @ y[:, :, : t + 1].mT) @ z[:, :, : t + 1] for t in range(9)]
        return prefix_products(x[:, :, 2:], y, z, chunk=4), torch.cat(loop[2:], dim=2)

    zeros = [torch.zeros(1, 2, 3, 4)] * 3
    return mechanism_case(
        lambda: NestedAttention(4, 3, 4),
        parity="the two attentions, written out as loops over slots, keys and queries",
        limits={
            "slots that meet one key each: attention whose keys are the values": one_slot_a_key,
            "slots of 0: the mean": silent_slots,
            "slots of 0, causal: the mean so far": silent_causally,
            "chunks: one row at a time": a_row_at_a_time,
        },
        refusals={
            "values of another width": lambda: NestedAttention(2, 3, 4)(
                *zeros[:2], torch.zeros(1, 2, 3, 5)
            ),
            "no slots": lambda: NestedAttention(2, 0, 4),
        },
    )
