"""Data2Vec for images: the encoder whose states are learned as
`deepdive.training.objectives.data2vec` has it. Baevski et al. 2022, "data2vec: A General Framework
for Self-supervised Learning in Speech, Vision and Language".

Long because rows, keys and branches differ at once, and its record (`Data2VecConfig`) is here.

System: data2vec
Parent: vit
What differs:
- a hidden patch stays in the sequence: one learned row stands in its place (`Gaps`)
- no position is added to the rows: each head learns a number for each offset in lines and columns
  (`SpecialGridBias`), once for all layers, or in the published fine-tuned form in each (`shared`)
- each number of a branch has a gain of its own, small at first (`ScaledPreNorm`); keys have no bias
  (`KeysWithoutBias`)
- no norm behind the last layer (`data2vec`)
Source: Baevski et al. 2022, sections 3.1 to 3.4; the layer is that of Bao et al. 2022 (BEiT); their
released code.
Book: blog

Stochastic depth, which acts in training alone, is left out.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from functools import partial
from typing import Any

from torch import Tensor, nn

from deepdive.attention import KeysWithoutBias
from deepdive.core import Block, FeedForward, LayerNorm
from deepdive.core.residual import ScaledPreNorm
from deepdive.core.stack import Stack
from deepdive.layers.heads import initialise
from deepdive.layers.patches import per_side
from deepdive.models.vision.embeddings import MaskedPatchEmbeddings
from deepdive.models.vision.vit import VisionConfig, Vit
from deepdive.positions.grid import SpecialGridBias


class Data2VecVision(Vit):
    """Pictures (B, C, H, W), some of their patches hidden -> states (B, 1 + N, d_model)."""

    def forward(self, images: Tensor, hidden: Tensor | None = None) -> Tensor:
        """Return the states of the last layer, before any norm."""
        return self.stack(self.embeddings(images, hidden))


def by_offset(config: Data2VecConfig, layer: int) -> nn.Module:
    """Return the attention of a layer, with its own bias for each offset."""
    bias = SpecialGridBias(config.n_heads, per_side(config.image_size, config.patch_size))
    attention = KeysWithoutBias(
        config.d_model, config.n_heads, dropout=config.attention_dropout, position=bias
    )
    for half in attention.kv.weight.chunk(2):  # drawn again, as when the results here were trained
        nn.init.xavier_uniform_(half)
    return attention


def scaled(config: Data2VecConfig, layer: int) -> Block:
    """Return one layer, with a gain behind each branch."""
    return Block(
        config.attention(config, layer),
        FeedForward(config.d_model, config.d_ff, config.activation),
        residual=partial(
            ScaledPreNorm,
            norm=partial(LayerNorm, eps=config.eps),
            dropout=config.dropout,
            gain=config.gain,
        ),
    )


@dataclass(frozen=True)
class Data2VecConfig(VisionConfig):
    """ViT's record, and three facts more.

    gain     that of all branches at first
    shared   whether all layers have one bias
    masked   whether there is a row for gaps; what was fine-tuned for images without any has none
    """

    gain: float = 1e-4
    shared: bool = True
    masked: bool = True
    attention: Callable[[Any, int], nn.Module] = by_offset
    block: Callable[[Any, int], Block] = scaled
    embeddings: Callable[[Any], nn.Module] = MaskedPatchEmbeddings
    model: type[Vit] = Data2VecVision
    family: str = "data2vec-vision"


BASE = Data2VecConfig()
LARGE = BASE.but(d_model=1024, n_heads=16, n_layers=24, d_ff=4096, gain=1e-5)
TINY = BASE.but(
    image_size=8, patch_size=2, channels=1, d_model=32, n_heads=4, n_layers=2, d_ff=64, gain=0.1
)


def data2vec(config: Data2VecConfig = BASE, **changes: Any) -> Vit:
    """Build the encoder of images; defaults are the paper's base model."""
    config = Data2VecConfig.given(config, changes)
    stack = Stack(lambda layer: config.block(config, layer), config.n_layers)
    if config.shared:
        for block in stack.blocks[1:]:
            block.attn.position = stack.blocks[0].attn.position  # type: ignore[union-attr]
    model = config.model(config.embeddings(config), stack, config)
    initialise(model)
    return model
