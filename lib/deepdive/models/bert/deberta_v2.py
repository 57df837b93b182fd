"""DeBERTa v2 and v3: bucketed distances, shared projections. He, Liu, Gao and Chen 2021,
released code, version 2; He, Gao and Chen 2023, "DeBERTaV3".

Long because it has the modules of two versions.

System: deberta_v2
Parent: deberta
What differs:
- distances beyond half of the buckets share logarithmic buckets, whose embeddings are normalized
  (`BucketedRows`, `n_buckets`)
- content and position share projections (`shared`), so a layer has no more than BERT's
- in the large sizes of version 2 the first layer adds a convolution of its input (`kernel`,
  `ConvolvedBlock`)
- version 3 is pretrained with replaced token detection; its token embedding adds to the
  generator's, to which it sends no gradient (`deepdive.layers.share_embedding`)
- a SentencePiece vocabulary of 128,100 tokens (`vocab_size`)
Source: He et al. 2021, released code; He, Gao and Chen 2023, sections 3 and 4.
Book: 3.2
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import partial
from typing import Any

import torch.nn.functional as F
from torch import Tensor, nn

from deepdive.core import Block, Context, LayerNorm, MultiHeadAttention, gelu
from deepdive.core.checks import positive
from deepdive.core.stack import Stack
from deepdive.layers import Convolution
from deepdive.models.bert import deberta
from deepdive.models.bert.bert import TOY, Bert, bert, block
from deepdive.positions import BucketedRows, DisentangledPosition
from deepdive.positions.disentangled import disentangled_scale


@dataclass(frozen=True)
class DebertaV2Config(deberta.DebertaConfig):
    """DeBERTa's config with `n_buckets` of distances, the last one at distance `reach`; `kernel`:
    kernel size of the first layer's convolution, None: no convolution.
    """

    n_buckets: int = 256
    kernel: int | None = None


class _Keys(nn.Module):
    """Key half of a joint linear projection to keys and values."""

    def __init__(self, kv: nn.Linear) -> None:
        super().__init__()
        self.kv = kv

    def forward(self, rows: Tensor) -> Tensor:
        half = self.kv.out_features // 2
        return F.linear(rows, self.kv.weight[:half], self.kv.bias[:half])


def shared(config: DebertaV2Config, layer: int, rows: BucketedRows) -> nn.Module:
    """Return a layer's attention, whose query and key projections serve content and position."""
    scale = disentangled_scale(config.d_head)
    attention = MultiHeadAttention(
        config.d_model, config.n_heads, dropout=config.weights_dropout, scale=scale
    )
    attention.position = DisentangledPosition(
        rows, _Keys(attention.kv), attention.q, config.n_heads, config.d_head, config.dropout
    )
    return attention


class ConvolvedBlock(Block):
    """Encoder layer with a parallel convolution of its input:
    y = norm(block(x) + gelu(dropout(convolution(x)))).
    """

    def __init__(self, config: DebertaV2Config, kernel: int) -> None:
        positive(kernel=kernel)
        if kernel % 2 == 0:
            raise ValueError(f"kernel={kernel}: expected an odd number, so it has a center")
        plain = block(config, 0)
        super().__init__(plain.attn, plain.ff)
        self.attn_residual, self.ff_residual = plain.attn_residual, plain.ff_residual
        self.convolution = Convolution(config.d_model, kernel // 2, kernel // 2)
        self.norm, self.dropout = LayerNorm(config.d_model, config.eps), nn.Dropout(config.dropout)

    def forward(self, x: Tensor, context: Context) -> Tensor:
        """Return the layer's output (B, T, d_model); the convolution treats padding as 0.
        Raises ValueError for a memory or a cache, which a non-causal convolution doesn't support.
        """
        near = gelu(self.dropout(self.convolution(x, context)))
        return self.stream(self.norm(self.joined(x, context) + near))


def first_convolved(config: DebertaV2Config, layer: int) -> Block:
    """Return a layer; the first one has a convolution if `kernel` is given."""
    if layer or config.kernel is None:
        return block(config, layer)
    return ConvolvedBlock(config, config.kernel)


def one_table(config: DebertaV2Config) -> Stack:
    """Return the layers, which share one table of distance buckets."""
    if config.farthest < (least := config.n_buckets // 2 + 2):
        raise ValueError(
            f"reach={config.reach}, max_length={config.max_length}: n_buckets={config.n_buckets} "
            f"needs distances up to at least {least}: raise reach or, if that is None, max_length"
        )
    norm = LayerNorm(config.d_model, config.eps)
    rows = BucketedRows(config.d_model, config.n_buckets, config.farthest, norm)
    given = config.but(attention=partial(shared, rows=rows))
    return Stack(lambda layer: config.block(given, layer), config.n_layers)


V3_BASE = DebertaV2Config(
    vocab_size=128_100, n_segments=0, eps=1e-7, position=deberta.BASE.position, stack=one_table,
    block=first_convolved, family="deberta-v2",
)  # fmt: skip
V3_XSMALL = V3_BASE.but(d_model=384, n_heads=6, d_ff=1536)
V3_SMALL = V3_BASE.but(n_layers=6)
V3_LARGE = V3_BASE.but(d_model=1024, n_heads=16, n_layers=24, d_ff=4096)
V2_XLARGE = V3_BASE.but(d_model=1536, n_heads=24, n_layers=24, d_ff=6144, kernel=3)
V2_XXLARGE = V2_XLARGE.but(n_layers=48)
TINY = V3_BASE.but(**TOY | {"n_buckets": 4, "reach": 9, "kernel": 3})


def deberta_v2(config: DebertaV2Config = V3_BASE, **changes: Any) -> Bert:
    """Build an encoder; defaults are version 3's base model."""
    return bert(config, **changes)
