"""Multi-head attention whose keys have no bias."""

from typing import Any

import torch
from torch import Tensor, nn

from deepdive.core.multi_head import MultiHeadAttention


class KeysWithoutBias(MultiHeadAttention):
    """k = x @ W_k, v = x @ W_v + v_bias, the rest as in `MultiHeadAttention`.

    A bias of the keys adds a constant to all scores of a query, which does not change the softmax.
    In position-to-content scores (`DisentangledPosition`) it would, and DeBERTa has none.
    Source: He et al. 2021, released code.
    """

    def __init__(self, d_model: int, n_heads: int, **options: Any) -> None:
        super().__init__(d_model, n_heads, **options)
        weight, width = self.kv.weight, self.n_kv_heads * self.d_head
        self.kv = nn.Linear(self.d_context, 2 * width, bias=False)
        self.kv.weight = weight
        self.v_bias = nn.Parameter(torch.zeros(width))

    def keys_and_values(self, states: Tensor) -> tuple[Tensor, Tensor]:
        k, v = super().keys_and_values(states)
        return k, v + self.v_bias.unflatten(0, (self.n_kv_heads, 1, -1))
