"""RoFormer: BERT with rotary position embeddings. Su et al. 2024, "RoFormer:
Enhanced Transformer with Rotary Position Embedding".

What differs from BERT (the system's header is that of `deepdive.positions.RotaryPosition`):
- no position embeddings are added to the input (`Position` there does nothing);
- in every block queries and keys are rotated (`turned_attention`), so there is no maximum length;
- embeddings may be narrower than d_model and are then projected (`FactorizedEmbeddings`).
"""

from dataclasses import dataclass
from typing import Any

from torch import nn

from deepdive.core import MultiHeadAttention, Position
from deepdive.models.bert.albert import FactorizedEmbeddings
from deepdive.models.bert.bert import TOY, Bert, EncoderConfig, bert
from deepdive.positions import RotaryPosition


@dataclass(frozen=True)
class RoformerConfig(EncoderConfig):
    """`d_embedding`: width of the embeddings; None: d_model."""

    d_embedding: int | None = None


def turned_attention(config: RoformerConfig, layer: int) -> nn.Module:
    """Return one layer's attention, with queries and keys rotated by position."""
    return MultiHeadAttention(
        config.d_model, config.n_heads, dropout=config.weights_dropout,
        position=RotaryPosition(config.d_model // config.n_heads),
    )  # fmt: skip


BASE = RoformerConfig(
    vocab_size=50_000, attention=turned_attention, position=lambda _: Position(), family="roformer"
)
TINY = BASE.but(**TOY)


def roformer(config: RoformerConfig = BASE, **changes: Any) -> Bert:
    """Build an encoder; defaults are the size of the published base model.

    Raises ValueError unless n_heads cuts d_model into heads of an even width.
    """
    config = config.but(**changes)
    if config.n_heads < 1 or config.d_model % (2 * config.n_heads):
        raise ValueError(
            f"n_heads={config.n_heads} does not split d_model={config.d_model} into heads of an "
            "even width, as rotation in pairs needs: choose a divisor of d_model / 2"
        )
    if config.d_embedding not in (None, config.d_model):
        config = config.but(embeddings=FactorizedEmbeddings)
    return bert(config)
