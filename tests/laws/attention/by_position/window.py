"""Cases of `deepdive.attention.by_position.window`."""

from __future__ import annotations

import torch
from torch import Tensor

from deepdive.attention.by_position.window import WindowAttention
from deepdive.attention.softmax import SoftmaxAttention
from deepdive.masks import Causal, Padding, Window
from laws import Case, Fails, case, random_rows
from laws.attention.softmax import mechanism_case


@case("WindowAttention", WindowAttention)
def _() -> Case:
    q, k, v = (random_rows(2, 2, 23, 4, seed=seed) for seed in range(3))
    real = torch.ones(2, 23).bool()
    real[1, 5:11] = False  # longer than the window: some rows have no key

    def its_mask() -> tuple[Tensor, Tensor]:
        window, mask = WindowAttention(3, 1, block=4), Padding(real)
        return window(q, k, v, mask), SoftmaxAttention()(q, k, v, mask & Window(3, 1))

    def the_last_rows() -> tuple[Tensor, Tensor]:
        window, last = WindowAttention(3, 2), q[:, :, -5:]
        ours = [window(last, k, v, mask) for mask in (None, Causal())]
        masks = (Window(3, 2), Window(3, 2) & Causal())
        return torch.cat(ours), torch.cat([SoftmaxAttention()(last, k, v, mask) for mask in masks])

    def everywhere() -> tuple[Tensor, Tensor]:
        return WindowAttention(22, 22)(q, k, v), SoftmaxAttention()(q, k, v)

    return mechanism_case(
        lambda: WindowAttention(2, 1, block=2),
        parity="torch.nn.functional.scaled_dot_product_attention under the band's mask, "
        "transformers LongformerSelfAttention",
        limits={
            "the mask Window, padding included": its_mask,
            "the mask Window for the last rows": the_last_rows,
            "a window over everything: SoftmaxAttention": everywhere,
        },
        refusals={"a window to the wrong side": lambda: WindowAttention(-1)},
        laws={"order": Fails("who is near depends on the order")},
    )
