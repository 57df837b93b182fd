"""Llama: the modern decoder-only Transformer. Touvron et al. 2023, "LLaMA: Open and Efficient
Foundation Language Models".

    x = x + attention(norm(x));  x = x + ff(norm(x)):  tokens (B, T) -> logits (B, T, vocab_size)

The forward pass is that of `deepdive.models.transformer.decoder_only.DecoderOnly`. Checkpoints:
LlamaForCausalLM (`deepdive.published.load`), and GGUF files (`deepdive.published.from_gguf`).
Mistral, Qwen2, Qwen3, and Gemma differ in fields of the config (`llama_variants`).

Long because windows, biases, and query-key norms, which vary in its family, are chosen here.

System: modern_decoder
Parent: gpt2
What differs:
- norms divide by the root mean square, without subtracting the mean (`RMSNorm`)
- rotary position embeddings rotate queries and keys, instead of adding positions to the token
  embeddings, so there is no maximum length (`RotaryPosition`)
- the feed-forward layer is gated, SwiGLU (`GatedFeedForward`)
- grouped-query attention: query heads share keys and values, so the cache shrinks (`n_kv_heads`)
- no layer has a bias, and the output layer may be untied from the embedding (`tied`)
Source: Touvron et al. 2023, section 2.2; grouped queries: Ainslie et al. 2023, section 2.2.
Book: 6.1.3
"""

from functools import partial
from typing import Any

import torch
from torch import nn

from deepdive.attention import QKNormAttention, WindowAttention
from deepdive.core import (
    Block,
    GatedFeedForward,
    MultiHeadAttention,
    Position,
    PreNorm,
    SoftmaxAttention,
)
from deepdive.core.embeddings import TiedHead
from deepdive.core.stack import Stack
from deepdive.layers.heads import initialize
from deepdive.models.generative.llama_config import LlamaConfig
from deepdive.models.transformer.decoder_only import DecoderOnly
from deepdive.models.transformer.transformer import Decoder
from deepdive.positions import RotaryPosition


class Llama(DecoderOnly):
    """`DecoderOnly` that stores the config it was built from, which saving and loading need."""

    def __init__(self, decoder: Decoder, head: nn.Module, config: LlamaConfig) -> None:
        super().__init__(decoder, head)
        self.config = config


BASE = LlamaConfig()  # LLaMA's smallest, 6.7 billion parameters
SMOLLM2 = BASE.but(  # SmolLM2-135M
    vocab_size=49_152, d_model=576, n_heads=9, n_kv_heads=3, n_layers=30, d_ff=1536,
    max_length=8192, base=100_000.0, eps=1e-5, tied=True,
)  # fmt: skip
TINY = BASE.but(
    vocab_size=32, d_model=32, n_heads=4, n_kv_heads=2, n_layers=2, d_ff=48, max_length=64
)


def attention_of(config: LlamaConfig, layer: int, position: Position) -> MultiHeadAttention:
    """Return the attention of a layer, counted from 0: (B, T, d_model) -> (B, T, d_model).

    Raises ValueError for numbers of heads that do not divide.
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


def llama(config: LlamaConfig = BASE, **changes: Any) -> Llama:
    """Build a decoder from `config` with `changes` to its fields.

    Raises TypeError for a config that is not a `LlamaConfig` and for an unknown field, ValueError
    for numbers of heads that do not divide and for a head width that can't be rotated in pairs.
    """
    config = LlamaConfig.given(config, changes)
    turned = RotaryPosition(config.width, config.base, config.scaling)  # one for all layers
    norm = partial(config.norm, eps=config.eps)

    def block(layer: int) -> Block:
        attention = attention_of(config, layer, turned)
        ff = GatedFeedForward(config.d_model, config.d_ff, config.activation, bias=False)
        return Block(attention, ff, residual=partial(PreNorm, norm=norm))

    embedding = config.embedding(config.vocab_size, config.d_model)
    stack = Stack(block, config.n_layers, norm(config.d_model))
    head: nn.Module = TiedHead(embedding)
    if not config.tied:
        head = nn.Linear(config.d_model, config.vocab_size, bias=False)
    model = Llama(Decoder(embedding, Position(), stack), head, config)
    initialize(model)
    return model
