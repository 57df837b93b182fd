"""Config of `deepdive.models.generative.gpt` and its variants."""

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

from torch import nn

from deepdive.core import MultiHeadAttention, Position, PostNorm, PreNorm, gelu_tanh
from deepdive.core.embeddings import TiedHead, TokenEmbedding
from deepdive.core.feed_forward import Activation
from deepdive.models.config import Config, learned_positions


def full_attention(config: Any, layer: int) -> nn.Module:
    """Return a layer's full attention: every token attends to all before it."""
    return MultiHeadAttention(config.d_model, config.n_heads, dropout=config.weights_dropout)


def tied(config: Any, embedding: TokenEmbedding) -> nn.Module:
    """Return an output layer tied to the embedding."""
    return TiedHead(embedding)


@dataclass(frozen=True)
class GPTConfig(Config):
    """Config of a decoder of GPT's family: sizes, and the modules in which its members differ.

    scale              factor on the token embeddings; None: sqrt(d_model)
    attention_dropout  on the attention weights; None: same as `dropout`
    residual           pre-norm or post-norm residual connection
    attention          (config, layer) -> one layer's attention
    band               keys per query in a layer with banded attention, its own position included
    position, head     config -> position embedding; (config, embedding) -> output layer
    family             name of its checkpoint format in `deepdive.published`
    """

    vocab_size: int = 40_478
    d_model: int = 768
    n_heads: int = 12
    n_layers: int = 12
    d_ff: int = 3072
    max_length: int = 512
    scale: float | None = 1.0
    dropout: float = 0.1
    attention_dropout: float | None = None
    eps: float = 1e-5
    activation: Activation = gelu_tanh
    residual: type[PreNorm | PostNorm] = PostNorm
    position: Callable[[Any], Position] = learned_positions
    attention: Callable[[Any, int], nn.Module] = full_attention
    band: int = 256
    head: Callable[[Any, TokenEmbedding], nn.Module] = tied
    family: str = "openai-gpt"

    @property
    def weights_dropout(self) -> float:
        return self.dropout if self.attention_dropout is None else self.attention_dropout
