"""Cases of `deepdive.attention.tiled`."""

from __future__ import annotations

import torch
from torch import Tensor

from deepdive.attention.softmax import SoftmaxAttention
from deepdive.attention.tiled import TiledAttention
from deepdive.masks import Causal, Padding
from laws import Case, NotApplicable, case, random_rows
from laws.attention.softmax import mechanism_case


@case("flash_attention", TiledAttention)
def _() -> Case:
    q, k, v = (random_rows(2, 2, 23, 4, seed=seed) for seed in range(3))
    real = torch.ones(2, 23).bool()
    real[0, 17:], real[1, :9] = False, False  # causal, the second text's first rows have no key

    def in_tiles(block: int) -> tuple[Tensor, Tensor]:
        mask = Causal() & Padding(real)
        return TiledAttention(block)(q, k, v, mask), SoftmaxAttention()(q, k, v, mask)

    def the_last_rows() -> tuple[Tensor, Tensor]:
        last = q[:, :, -5:]
        ours = TiledAttention(4)(last, k, v, Causal())
        return ours, SoftmaxAttention()(last, k, v, Causal())

    return mechanism_case(
        lambda: TiledAttention(4),
        limits={
            "tiles of one: SoftmaxAttention": lambda: in_tiles(1),
            "tiles of five: SoftmaxAttention": lambda: in_tiles(5),
            "one tile: SoftmaxAttention": lambda: in_tiles(64),
            "SoftmaxAttention for the last rows": the_last_rows,
        },
        laws={"hooks": NotApplicable("the weights of one row never stand side by side")},
        refusals={"a tile of no rows": lambda: TiledAttention(0)},
    )
