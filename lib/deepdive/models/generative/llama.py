"""Today's decoder, in the form of Llama. Touvron et al. 2023, "LLaMA: Open and Efficient Foundation
Language Models".

    x = x + attention(norm(x));  x = x + ff(norm(x)):  tokens (B, T) -> logits (B, T, vocab_size)

Its forward is that of `deepdive.models.transformer.decoder_only.DecoderOnly`. Checkpoints:
LlamaForCausalLM (`deepdive.published.load`), and GGUF files (`deepdive.published.from_gguf`).
Mistral, Qwen2, Qwen3, and Gemma differ by fields of the record (`llama_variants`).

Long because windows, biases, and norms of heads, which its family exchanges, are chosen here.

System: modern_decoder
Parent: gpt2
What differs:
- a norm divides by the root mean square, and takes no mean away (`RMSNorm`)
- nothing is added to the embeddings for a place: queries and keys are turned, so there is no
  longest text (`RotaryPosition`)
- a gate decides how much of the feed-forward layer passes, SwiGLU (`GatedFeedForward`)
- several query heads share keys and values, so the cache is that much smaller (`n_kv_heads`)
- no layer has a bias, and the output layer may have a matrix of its own (`tied`)
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
from deepdive.layers.heads import initialise
from deepdive.models.generative.llama_config import LlamaConfig
from deepdive.models.transformer.decoder_only import DecoderOnly
from deepdive.models.transformer.transformer import Decoder
from deepdive.positions import RotaryPosition


class Llama(DecoderOnly):
    """A `DecoderOnly` that keeps the record it was built from, by which it is published."""

    def __init__(self, decoder: Decoder, head: nn.Module, config: LlamaConfig) -> None:
        super().__init__(decoder, head)
        self.config = config


BASE = LlamaConfig()  # LLaMA's smallest, 6.7 thousand million parameters
SMOLLM2 = BASE.but(  # SmolLM2-135M
    vocab_size=49_152, d_model=576, n_heads=9, n_kv_heads=3, n_layers=30, d_ff=1536,
    max_length=8192, base=100_000.0, eps=1e-5, tied=True,
)  # fmt: skip
TINY = BASE.but(
    vocab_size=32, d_model=32, n_heads=4, n_kv_heads=2, n_layers=2, d_ff=48, max_length=64
)


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


def llama(config: LlamaConfig = BASE, **changes: Any) -> Llama:
    """Build a decoder of `config`, with these fields of it changed.

    Raises TypeError for a config that is no `LlamaConfig` and for a field that it has not,
    ValueError for heads that cannot be cut, shared or turned in pairs.
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
    initialise(model)
    return model
