"""Cases of `deepdive.attention.heads.collaborative`."""

from __future__ import annotations

import torch
from torch import Tensor

from deepdive.attention.heads.collaborative import CollaborativeAttention, collaborative
from deepdive.attention.multi_head import MultiHeadAttention
from laws import Case, case, random_rows


@case("collaborative_heads", CollaborativeAttention)
def _() -> Case:
    def plain() -> MultiHeadAttention:
        layer = MultiHeadAttention(16, 4).double()
        with torch.no_grad():
            for i, parameter in enumerate(layer.parameters()):
                parameter.add_(random_rows(*parameter.shape, seed=i), alpha=0.3)
        return layer

    def all_columns() -> tuple[Tensor, Tensor]:
        x, layer = random_rows(2, 5, 16), plain()
        found, _ = collaborative(layer, 16)
        return found(x), layer(x)

    def copied_heads() -> tuple[Tensor, Tensor]:
        """Heads that ask one question at other strengths need the columns of the strongest."""
        x, layer = random_rows(2, 5, 16), plain()
        with torch.no_grad():
            q, k = layer.q.weight[:4], layer.kv.weight[:4]
            layer.q.weight.copy_(torch.cat([q, 50 * q, -q, 0.5 * q]) / 10)
            layer.kv.weight[:16] = k.repeat(4, 1)
        found, _ = collaborative(layer, 4)
        return found(x), layer(x)

    grouped = MultiHeadAttention(16, 4, n_kv_heads=2)
    wide = MultiHeadAttention(16, 4, d_head=8)
    return Case(
        place="layer",
        make=lambda: CollaborativeAttention(16, 4, 6),
        parity="the equations of Cordonnier et al. 2020, entry by entry",
        limits={
            "as many columns as all heads: MultiHeadAttention": all_columns,
            "heads with one question: the columns of one head": copied_heads,
        },
        refusals={
            "no column": lambda: CollaborativeAttention(16, 4, 0),
            "grouped heads": lambda: collaborative(grouped, 8),
            "wide heads": lambda: collaborative(wide, 8),
        },
    )
