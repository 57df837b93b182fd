"""Informer: a Transformer for long time series. Zhou et al. 2021, "Informer: Beyond Efficient
Transformer for Long Sequence Time-Series Forecasting".

The inputs are feature vectors of time steps, not tokens. The encoder processes the past, halving
its length after each layer but the last; the decoder receives the last known steps and placeholders
for the future ones, and predicts all of them in one pass.

Long because both sides take real-valued inputs: decoder and layers are all built here.

System: informer
Parent: transformer
What differs:
- about ln T of the T queries attend, the others output the mean of the values
  (`ProbSparseAttention`)
- a convolution and max pooling between encoder layers halve the sequence (`Distil`)
- all future steps are predicted in one pass, from placeholders (`Informer.forward`)
- the inputs are real-valued vectors, embedded by a linear layer (`RowEmbedding`)
Source: Zhou et al. 2021, and the released code.
Book: table 1.2
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from functools import partial
from typing import Any, ClassVar

from torch import Tensor, nn

from deepdive.attention import ProbSparseAttention
from deepdive.core import Block, FeedForward, MultiHeadAttention, PostNorm, gelu
from deepdive.core.masks import Causal
from deepdive.layers.series import Distil, InformerEncoder, RowEmbedding
from deepdive.models.config import Config


class Informer(nn.Module):
    """The past (B, T, n_features) and decoder inputs -> hidden states (B, N, d_model).

    `steps` (B, N, n_features) holds the last known steps and, for the future ones, their known
    features (the time of day) and zeros. Add your own head to turn states into forecasts.
    """

    def __init__(
        self, encoder: InformerEncoder, embedding: RowEmbedding, blocks: list[Block],
        config: InformerConfig,
    ) -> None:  # fmt: skip
        super().__init__()
        self.encoder, self.embedding, self.config = encoder, embedding, config
        self.blocks = nn.ModuleList(blocks)

    def forward(self, past: Tensor, steps: Tensor, start: int | None = None) -> Tensor:
        """Return the decoder's hidden states; its first step has position `start`, by default the
        number of past steps.
        """
        return self.decode(steps, self.encoder(past), past.shape[1] if start is None else start)

    def decode(self, steps: Tensor, memory: Tensor, start: int) -> Tensor:
        """Return the decoder's hidden states, given the encoder's output."""
        x = self.embedding(steps, start)
        for block in self.blocks:
            x = block(x, mask=Causal(), memory=memory)
        return x


@dataclass(frozen=True)
class InformerConfig(Config):
    """Hyperparameters of an Informer. `factor` times ln T queries attend; `distil` (d_model) builds
    the layer that halves the sequence, None: no layer does. `series` holds transformers' feature
    settings, such as its lags: they are unused here, and `deepdive.published.save` writes them.
    """

    MAY_BE_ZERO: ClassVar[tuple[str, ...]] = ("n_layers", "n_decoder_layers")
    n_features: int = 7
    d_model: int = 512
    n_heads: int = 8
    n_layers: int = 2
    n_decoder_layers: int = 1
    d_ff: int = 2048
    factor: int = 5
    distil: Callable[[int], nn.Module] | None = Distil
    dropout: float = 0.05
    series: Mapping[str, Any] = field(default_factory=dict)
    family: str = "informer"


def block(config: InformerConfig, cross: nn.Module | None = None) -> Block:
    """Return one layer; the decoder's attends to the encoder by `cross`."""
    mechanism = ProbSparseAttention(config.factor, config.dropout)
    attn = MultiHeadAttention(config.d_model, config.n_heads, mechanism=mechanism)
    ff = FeedForward(config.d_model, config.d_ff, gelu)
    return Block(attn, ff, cross, partial(PostNorm, dropout=config.dropout))


BASE = InformerConfig()
TINY = BASE.but(n_features=16, d_model=16, n_heads=4, d_ff=32, factor=1, dropout=0.0)


def informer(config: InformerConfig = BASE, **changes: Any) -> Informer:
    """Build a model; defaults are the paper's sizes, for a series with 7 features."""
    config = config.but(**changes)
    embedding = partial(RowEmbedding, config.n_features, config.d_model, config.dropout)
    cross = partial(MultiHeadAttention, config.d_model, config.n_heads, dropout=config.dropout)
    distil, n_layers = config.distil, config.n_layers
    encoder = InformerEncoder(
        embedding(),
        [block(config) for _ in range(n_layers)],
        [distil(config.d_model) for _ in range(n_layers - 1)] if distil else [],
    )
    layers = range(config.n_decoder_layers)
    return Informer(encoder, embedding(), [block(config, cross()) for _ in layers], config)
