"""The attention of `deepdive.models.generative.llama`, from the fields of its record."""

from functools import partial
from typing import Any

import torch
from torch import nn

from deepdive.attention import QKNormAttention, WindowAttention
from deepdive.core import MultiHeadAttention, Position, SoftmaxAttention
from deepdive.models.generative.llama_config import LlamaConfig


def attention_of(config: LlamaConfig, layer: int, position: Position) -> MultiHeadAttention:
    """Return the attention of a layer, counted from 0: (B, T, d_model) -> (B, T, d_model).

    Raises ValueError for heads that cannot be cut or shared.
    """
    window, mechanism = config.window_of(layer), SoftmaxAttention(config.dropout)
    if window is not None:
        mechanism = WindowAttention(window - 1, dropout=config.dropout)
    kind: Any = MultiHeadAttention
    if config.qk_norm:
        kind = partial(QKNormAttention, norm=partial(config.norm, eps=config.eps))
    attention: MultiHeadAttention = kind(
        config.d_model, config.n_heads, d_head=config.d_head, n_kv_heads=config.n_kv_heads,
        bias=config.qkv_bias, mechanism=mechanism, position=position,
    )  # fmt: skip
    if config.out_bias != config.qkv_bias:
        bias = nn.Parameter(torch.zeros(config.d_model)) if config.out_bias else None
        attention.out.register_parameter("bias", bias)
    return attention
