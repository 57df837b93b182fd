"""Funnel-Transformer's config, and its sizes."""

from dataclasses import dataclass

from deepdive.core import gelu_tanh
from deepdive.core.feed_forward import Activation
from deepdive.layers.funnel_attention import FunnelAttention, FunnelBlock
from deepdive.models.config import Config


@dataclass(frozen=True)
class FunnelConfig(Config):
    """Funnel's config. `block_sizes`: layers of each block; `n_decoder_layers` None: no decoder."""

    MAY_BE_ZERO = ("n_decoder_layers",)
    vocab_size: int = 30_522
    d_model: int = 768
    n_heads: int = 12
    d_head: int = 64
    d_ff: int = 3072
    block_sizes: tuple[int, ...] = (4, 4, 4)
    n_decoder_layers: int | None = 2
    dropout: float = 0.1
    attention_dropout: float = 0.1
    activation_dropout: float = 0.0
    eps: float = 1e-9
    activation: Activation = gelu_tanh
    separate_cls: bool = True
    truncate: bool = True
    family: str = "funnel"

    def __post_init__(self) -> None:
        """Raise ValueError, naming the field, for a size that is too small."""
        super().__post_init__()
        if not self.block_sizes or min(self.block_sizes) < 1:
            raise ValueError(f"block_sizes={self.block_sizes}: give each block at least one layer")


SMALL = FunnelConfig()  # 4-4-4, and 2 decoder layers
TINY = SMALL.but(
    vocab_size=32, d_model=32, n_heads=4, d_head=8, d_ff=64, block_sizes=(1, 2), n_decoder_layers=1,
    dropout=0.0, attention_dropout=0.0,
)  # fmt: skip


def layer(config: FunnelConfig) -> FunnelBlock:
    """Return one layer."""
    attention = FunnelAttention(
        config.d_model, config.n_heads, config.d_head, config.attention_dropout, config.separate_cls
    )
    rates = config.dropout, config.activation_dropout
    return FunnelBlock(attention, config.d_ff, config.activation, *rates, config.eps)
