"""T5: a text-to-text Transformer encoder-decoder. Raffel et al. 2020, "Exploring the Limits of
Transfer Learning with a Unified Text-to-Text Transformer".

Long because both of its versions are here, and the initialization that unscaled scores need.

System: t5
Parent: transformer
What differs:
- a relative position bias per head and distance bucket is added to the scores: one table for the
  encoder (`T5Bias`), one for the decoder (`CausalT5Bias`), shared by all layers
- pre-norm without mean and bias (`RMSNorm`); no layer has a bias
- scores are not divided by sqrt(d_head) (`scale=1.0`): query projections are initialized smaller by
  that factor instead (`init_weights`)
- hidden states are multiplied by 1 / sqrt(d_model) before the tied output layer (`scaled`)
- version 1.1 and mT5: gated feed-forward layer (`gated`), untied output layer (`untied`)
Source: Raffel et al. 2020, section 2.1; Shazeer 2020 for version 1.1; Xue et al. 2021 for mT5.
Book: 5.3.2
"""

from functools import partial
from typing import Any

from torch import Tensor, nn

from deepdive.core import (
    Block,
    FeedForward,
    GatedFeedForward,
    MultiHeadAttention,
    Position,
    PreNorm,
    RMSNorm,
    gelu_tanh,
)
from deepdive.core.embeddings import TiedHead, TokenEmbedding
from deepdive.core.stack import Stack
from deepdive.models.generative.t5_config import T5Config
from deepdive.models.transformer.transformer import Decoder, Encoder, Transformer
from deepdive.positions import CausalT5Bias, T5Bias


class T5(Transformer):
    """`Transformer` that stores the config it was built from, which saving and loading need."""

    def __init__(
        self, encoder: Encoder, decoder: Decoder, head: nn.Module, config: T5Config
    ) -> None:
        super().__init__(encoder, decoder, head)
        self.config = config


class ScaledHead(TiedHead):
    """Tied output layer, x @ embedding.weight.T / sqrt(d_model): embeddings have variance 1."""

    def forward(self, x: Tensor) -> Tensor:
        """Return logits (..., vocab_size) for hidden states (..., d_model)."""
        return super().forward(x * self.embedding.d_model**-0.5)


def relu_feed_forward(config: T5Config, _layer: int, _decodes: bool) -> nn.Module:
    """Return the feed-forward layer out(activation(inner(x))), without biases."""
    return FeedForward(config.d_model, config.d_ff, config.activation, config.dropout, bias=False)


def gated(config: T5Config, _layer: int, _decodes: bool) -> nn.Module:
    """Return the gated feed-forward layer out(activation(gate(x)) * inner(x)), without biases."""
    sizes = config.d_model, config.d_ff, config.activation, config.dropout
    return GatedFeedForward(*sizes, bias=False)


def scaled(_config: T5Config, embedding: TokenEmbedding) -> nn.Module:
    return ScaledHead(embedding)


def tied(_config: T5Config, embedding: TokenEmbedding) -> nn.Module:
    return TiedHead(embedding)


def untied(config: T5Config, _embedding: TokenEmbedding) -> nn.Module:
    return nn.Linear(config.d_model, config.vocab_size, bias=False)


BASE = T5Config(relu_feed_forward, scaled)  # t5-small: 60.5 M parameters
V1_1 = BASE.but(  # t5-v1_1-small
    feed_forward=gated, head=untied, activation=gelu_tanh, n_heads=6, n_layers=8,
    n_decoder_layers=8, d_ff=1024,
)  # fmt: skip
MT5 = V1_1.but(vocab_size=250_112, family="mt5")  # mt5-small: 101 languages
TOY: dict[str, Any] = {
    "vocab_size": 32, "d_model": 32, "n_heads": 4, "d_head": 6, "n_layers": 2,
    "n_decoder_layers": 1, "d_ff": 48, "n_buckets": 8, "max_distance": 20,
}  # fmt: skip
TINY, TINY_V1_1 = BASE.but(**TOY), V1_1.but(**TOY)


def t5(config: T5Config = BASE, **changes: Any) -> T5:
    """Build an encoder-decoder from `config` with `changes` to its fields.

    Raises TypeError for a config that is not a `T5Config` and for an unknown field.
    """
    config = T5Config.given(config, changes)
    joint = partial(PreNorm, norm=partial(RMSNorm, eps=config.eps), dropout=config.dropout)

    def attention(position: Position | None = None) -> MultiHeadAttention:
        return MultiHeadAttention(
            config.d_model, config.n_heads, d_head=config.d_head, bias=False, scale=1.0,
            dropout=config.dropout, position=position,
        )  # fmt: skip

    def stack(bias: type[T5Bias], n_layers: int, decodes: bool) -> Stack:
        shared = bias(config.n_heads, config.n_buckets, config.max_distance)

        def block(layer: int) -> Block:
            ff = config.feed_forward(config, layer, decodes)
            return Block(attention(shared), ff, attention() if decodes else None, joint)

        norm = nn.Sequential(RMSNorm(config.d_model, config.eps), nn.Dropout(config.dropout))
        return Stack(block, n_layers, norm)

    embedding = TokenEmbedding(config.vocab_size, config.d_model)
    encoders = stack(T5Bias, config.n_layers, decodes=False)
    decoders = stack(CausalT5Bias, config.n_decoder_layers, decodes=True)
    model = T5(
        Encoder(embedding, Position(), encoders, config.dropout),
        Decoder(embedding, Position(), decoders, config.dropout),
        config.head(config, embedding),
        config,
    )
    init_weights(model, config)
    return model


def init_weights(model: nn.Module, config: T5Config) -> None:
    """Initialize the weights from normal distributions: embeddings with standard deviation 1,
    matrices 1 / sqrt(in_features), which preserves the scale; queries 1 / sqrt(d_head) of that.
    """
    for module in reversed([*model.modules()]):  # submodules before their parents
        if isinstance(module, TokenEmbedding):
            nn.init.normal_(module.weight)
        elif isinstance(module, nn.Linear):
            nn.init.normal_(module.weight, std=module.in_features**-0.5)
        elif isinstance(module, T5Bias):
            nn.init.normal_(module.table.weight, std=config.d_model**-0.5)
        elif isinstance(module, MultiHeadAttention):
            nn.init.normal_(module.q.weight, std=(config.d_model * config.d_head) ** -0.5)
