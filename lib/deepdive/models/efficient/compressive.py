"""Compressive Transformer: states that leave Transformer-XL's memory are compressed, not dropped.
Rae et al. 2020, "Compressive Transformers for Long-Range Sequence Modelling".

Long because the loss is part of the model; the memory is in `deepdive.layers.compressed_memory`. Of
the paper's compression functions, dilated convolutions and most-used states aren't built.

System: compressive
Parent: transformer_xl
What differs:
- the oldest states leave the memory in groups of `ratio`, of which each becomes one state of a
  second memory of `n_compressed` states (`CompressiveMemory`); a query attends to both
- compression is a convolution, the mean, or the maximum of a group (`Compression`)
- an auxiliary loss trains the convolution: attention to the compressed states should return what
  attention to the originals returns (`CompressiveTransformer.reconstruct`); no other parameter
  gets its gradient
Source: Rae et al. 2020, section 3 and algorithms 1 and 2.
Book: table 1.1
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import torch.nn.functional as F
from torch import Tensor, nn

from deepdive.core.hooks import LossPoint
from deepdive.core.multi_head import split_heads
from deepdive.layers.compressed_memory import Compression, CompressiveMemory, Kind
from deepdive.layers.heads import initialize
from deepdive.layers.segment_memory import Memory
from deepdive.models.efficient.transformer_xl import TransformerXL, XLBlock, XLConfig


class CompressiveTransformer(TransformerXL):
    """Compressive Transformer: token ids (B, T) -> hidden states (B, T, d_model).

    Loss point: `reconstruction`, one number per layer and segment that compresses states, computed
    only inside `deepdive.core.hooks.collect_losses`.
    """

    config: CompressiveConfig

    def __init__(self, config: CompressiveConfig) -> None:
        super().__init__(config)
        self.compress = nn.ModuleList(
            Compression(config.d_model, config.ratio, config.compression)
            for _ in range(config.n_layers)
        )
        self.reconstruction = LossPoint()

    def begin(self) -> CompressiveMemory:
        """Return two empty memories of the config's lengths."""
        sizes = self.config
        return CompressiveMemory(sizes.n_memory, sizes.n_compressed, sizes.ratio)

    def content(self, layer: int, x: Tensor, memory: Memory | None) -> Tensor:
        """Return what a layer attends to: compressed states, recent states, x; then compress."""
        if memory is None:
            return x
        if not isinstance(memory, CompressiveMemory):
            raise TypeError(f"memory is a {type(memory).__name__}: use this model's begin()")
        content = memory.before(layer, x)
        if (old := memory.leave(layer)) is not None:
            new = self.compress[layer](old)
            memory.store(layer, new)
            if self.reconstruction.listening:
                self.reconstruction(self.reconstruct(layer, x, old, new))
        return content

    def attend(self, layer: int, x: Tensor, states: Tensor) -> Tensor:
        """Return the heads (B, H, T, d_head) of a layer's attention from x (B, T, d_model) to
        `states` (B, n, d_model), without positions; only `states` gets a gradient.
        """
        block = self.stack.blocks[layer]
        assert isinstance(block, XLBlock)
        q = F.linear(x.detach(), block.attn.q.weight.detach())
        kv = F.linear(states, block.attn.kv.weight.detach())
        k, v = split_heads(kv, 2 * block.attn.n_heads).chunk(2, 1)
        return F.scaled_dot_product_attention(split_heads(q, block.attn.n_heads), k, v)

    def reconstruct(self, layer: int, x: Tensor, old: Tensor, new: Tensor) -> Tensor:
        """Return the mean square of attend(x, old) - attend(x, new): the loss of new (B, n,
        d_model), what old (B, n * ratio, d_model) was compressed to.
        """
        return F.mse_loss(self.attend(layer, x, new), self.attend(layer, x, old.detach()))


@dataclass(frozen=True)
class CompressiveConfig(XLConfig):
    """Compressive Transformer's config: Transformer-XL's and the compression."""

    MAY_BE_ZERO = (*XLConfig.MAY_BE_ZERO, "n_compressed")

    n_memory: int = 512
    n_compressed: int = 512
    ratio: int = 4
    compression: Kind = "convolution"

    def __post_init__(self) -> None:
        super().__post_init__()
        if self.same_length:
            raise ValueError("same_length=True hides compressed states: use TransformerXL for it")


BASE = CompressiveConfig()
TINY = BASE.but(
    vocab_size=32, d_model=16, n_heads=4, d_head=4, n_layers=2, d_ff=32, dropout=0.0, n_memory=4,
    n_compressed=3, ratio=2,
)  # fmt: skip


def compressive(config: CompressiveConfig = BASE, **changes: Any) -> CompressiveTransformer:
    """Build a model; defaults are Transformer-XL's, with as many compressed states as recent ones,
    each made of four. `transformer_xl_lm.for_lm` adds the head.
    """
    model = CompressiveTransformer(CompressiveConfig.given(config, changes))
    initialize(model)
    return model
