"""BART: a Transformer encoder-decoder pretrained as a denoising autoencoder. Lewis et al. 2020,
"BART: Denoising Sequence-to-Sequence Pre-training for Natural Language Generation, Translation, and
Comprehension".

    logits = (decoder(tgt, encoder(damaged)) @ E.T + bias)

System: bart
Parent: transformer
What differs:
- pretrained to reconstruct corrupted text (`deepdive.training.objectives.denoising`)
- learned position embeddings, separate for encoder and decoder, and a layer norm of the embeddings
  (`NormedPosition`)
- the activation is GELU, and embeddings are not scaled (`BASE`)
- encoder embedding, decoder embedding, and output layer share one matrix; the output layer's bias
  is given, not learned (`GivenBiasHead`)
Source: Lewis et al. 2020, sections 2.1 and 2.2.
Book: 6.1.3
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from torch import Tensor

from deepdive.core import LayerNorm, Position, gelu
from deepdive.core.embeddings import GivenBiasHead, TokenEmbedding
from deepdive.layers.heads import initialize
from deepdive.models.transformer.translator import TOY, Translator, translator
from deepdive.models.transformer.translator_config import TranslatorConfig
from deepdive.positions import LearnedPosition


class NormedPosition(Position):
    """Layer norm after adding positions, before the first layer: norm(position.embed(x))."""

    def __init__(self, position: Position, d_model: int) -> None:
        super().__init__()
        self.d_model, self.position, self.norm = d_model, position, LayerNorm(d_model)

    def embed(self, x: Tensor, positions: Tensor) -> Tensor:
        """Return the embeddings plus positions, normalized."""
        h: Tensor = self.norm(self.position.embed(x, positions))
        return h


@dataclass(frozen=True)
class BartConfig(TranslatorConfig):
    """Translator config with `max_length`, the number of positions on each side."""

    max_length: int = 1024


def tied(config: BartConfig) -> tuple[TokenEmbedding, TokenEmbedding, GivenBiasHead]:
    """Return one embedding for encoder and decoder, twice, and an output layer tied to it."""
    embedding = config.embedding(config.src_vocab)
    return embedding, embedding, GivenBiasHead(embedding)


def learned_positions(config: BartConfig) -> NormedPosition:
    """Return learned positions that count from 2, as in the released table (padding offset)."""
    position = LearnedPosition(config.max_length, config.d_model, offset=2)
    return NormedPosition(position, config.d_model)


LARGE = BartConfig(
    tied, learned_positions, "bart", src_vocab=50_265, d_model=1024, n_layers=12,
    n_decoder_layers=12, n_heads=16, n_decoder_heads=16, d_ff=4096, d_decoder_ff=4096,
    activation=gelu, scale=1.0, pad=1, start=2, end=2,
)  # fmt: skip
BASE = LARGE.but(
    d_model=768, n_layers=6, n_decoder_layers=6, n_heads=12, n_decoder_heads=12, d_ff=3072,
    d_decoder_ff=3072,
)  # fmt: skip
TINY = BASE.but(**TOY, max_length=64, dropout=0.0)


def bart(config: BartConfig = BASE, **changes: Any) -> Translator:
    """Build an encoder-decoder; defaults are the paper's base model."""
    model = translator(BartConfig.given(config, changes))
    initialize(model)
    return model
