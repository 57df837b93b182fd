"""BERT: a Transformer encoder for masked language modeling. Devlin et al. 2019, "BERT: Pre-training
of Deep Bidirectional Transformers for Language Understanding".

The model is the encoder layers with their embeddings. Its heads are in `pretraining` and in
`deepdive.layers.heads`; `deepdive.published.load` loads published weights.

Long because it holds the config that its whole family shares (`EncoderConfig`).

System: bert
Parent: transformer
What differs:
- encoder only: attention is bidirectional, and there is no decoder (`Bert`)
- position embeddings are learned, segment embeddings mark which of two texts a token belongs to,
  and the sum with the token embeddings is normalized (`BertEmbeddings`)
- the activation is GELU (`activation`), and dropout also acts on the attention weights
- pretraining objectives are masked language modeling (`MaskedHead`) and next sentence prediction
  (`Pooler`, `next`)
Source: Devlin et al. 2019, section 3, and their released code.
Book: 3.1
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from functools import partial
from typing import Any, ClassVar

from torch import Tensor, nn

from deepdive.core import (
    Block,
    FeedForward,
    LayerNorm,
    MultiHeadAttention,
    Position,
    PostNorm,
    gelu,
)
from deepdive.core.embeddings import check_tokens
from deepdive.core.feed_forward import Activation
from deepdive.core.masks import Mask, both, padding
from deepdive.core.stack import Stack
from deepdive.layers.heads import initialize
from deepdive.models.bert.embeddings import BertEmbeddings
from deepdive.models.config import Config
from deepdive.positions import LearnedPosition


class Bert(nn.Module):
    """Bidirectional encoder: token ids (B, T) -> hidden states (B, T, d_model)."""

    def __init__(self, embeddings: BertEmbeddings, stack: Stack, config: EncoderConfig) -> None:
        super().__init__()
        self.embeddings, self.stack, self.config = embeddings, stack, config

    def forward(
        self, tokens: Tensor, mask: Tensor | None = None, segments: Tensor | None = None
    ) -> Tensor:
        """Return the hidden states of `tokens`; `mask` bool (B, T), True = real token; `segments`
        int (B, T), None = all 0.
        """
        return self.states(tokens, mask, segments)

    def states(
        self,
        tokens: Tensor,
        mask: Tensor | None,
        segments: Tensor | None,
        pairs: Mask | None = None,
        global_tokens: Tensor | None = None,
    ) -> Tensor:
        """Return the hidden states of `tokens`; the mask `pairs` further limits attention."""
        check_tokens(tokens)
        x = self.embeddings(tokens, segments, self.embeddings.positions(tokens, mask))
        allowed = both(padding(mask, tokens, "mask"), pairs)
        return self.stack(x, mask=allowed, global_tokens=global_tokens)


def learned_positions(config: EncoderConfig) -> LearnedPosition:
    """Return learned position embeddings."""
    return LearnedPosition(config.max_length, config.d_model, config.unused_positions)


def full_attention(config: EncoderConfig, layer: int) -> nn.Module:
    """Return a layer's full attention: every token attends to every token."""
    return MultiHeadAttention(config.d_model, config.n_heads, dropout=config.weights_dropout)


def block(config: EncoderConfig, layer: int) -> Block:
    """Return one post-norm layer, with dropout on each sublayer's output."""
    norm = partial(LayerNorm, eps=config.eps)
    return Block(
        config.attention(config, layer),
        FeedForward(config.d_model, config.d_ff, config.activation),
        residual=partial(PostNorm, norm=norm, dropout=config.dropout),
    )


def blocks(config: EncoderConfig) -> Stack:
    """Return the stack of layers, each with its own weights."""
    return Stack(lambda layer: config.block(config, layer), config.n_layers)


@dataclass(frozen=True)
class EncoderConfig(Config):
    """Config of an encoder of BERT's family: sizes, and the modules in which its members differ.

    attention_dropout  on the attention weights; None: same as `dropout`
    unused_positions   entries of the position table before that of the first token
    embeddings         input embedding class, built by its `of(config)`; uses `position`
    attention, block   (config, layer) -> one layer's attention, one layer
    stack              config -> all layers
    model              the class that combines embeddings and layers
    family             name of its checkpoint format in `deepdive.published`
    """

    MAY_BE_ZERO: ClassVar[tuple[str, ...]] = (
        *Config.MAY_BE_ZERO, "n_segments", "unused_positions",
    )  # fmt: skip
    vocab_size: int = 30_522
    d_model: int = 768
    n_heads: int = 12
    n_layers: int = 12
    d_ff: int = 3072
    max_length: int = 512
    n_segments: int = 2
    dropout: float = 0.1
    attention_dropout: float | None = None
    eps: float = 1e-12
    activation: Activation = gelu
    unused_positions: int = 0
    embeddings: type[BertEmbeddings] = BertEmbeddings
    position: Callable[[Any], Position] = learned_positions
    attention: Callable[[Any, int], nn.Module] = full_attention
    block: Callable[[Any, int], Block] = block
    stack: Callable[[Any], Stack] = blocks
    model: type[Bert] = Bert
    family: str = "bert"

    @property
    def weights_dropout(self) -> float:
        return self.dropout if self.attention_dropout is None else self.attention_dropout


BASE = EncoderConfig()
LARGE = BASE.but(d_model=1024, n_heads=16, n_layers=24, d_ff=4096)
MULTILINGUAL = BASE.but(vocab_size=119_547)
TOY: dict[str, Any] = {
    "vocab_size": 32, "d_model": 32, "n_heads": 4, "n_layers": 2, "d_ff": 64, "max_length": 64,
    "dropout": 0.0,
}  # fmt: skip
TINY = BASE.but(**TOY)  # for tests and toys


def bert(config: EncoderConfig = BASE, **changes: Any) -> Bert:
    """Build an encoder from `config` with `changes` to its fields: `bert(d_model=64)`.

    Raises TypeError for a config that is not an `EncoderConfig` and for an unknown field.
    """
    config = EncoderConfig.given(config, changes)
    model = config.model(config.embeddings.of(config), config.stack(config), config)
    initialize(model)
    return model
