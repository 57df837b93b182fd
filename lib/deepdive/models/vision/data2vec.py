"""data2vec (vision): an image encoder pretrained to predict the contextualized states of a teacher
(`deepdive.training.objectives.data2vec`). Baevski et al. 2022, "data2vec: A General Framework
for Self-supervised Learning in Speech, Vision and Language".

Long because embeddings, keys, and residual branches differ, and its `Data2VecConfig` is here.

System: data2vec
Parent: vit
What differs:
- a learned mask embedding replaces each masked patch (`MaskedPatchEmbeddings`)
- no position embeddings, but a relative position bias per head and 2-D offset (`SpecialGridBias`),
  shared by all layers, or one per layer in the published fine-tuned form (`shared`)
- each residual branch is scaled per dimension (LayerScale), by small values at initialization
  (`ScaledPreNorm`); keys have no bias (`KeysWithoutBias`)
- no layer norm after the last layer (`data2vec`)
Source: Baevski et al. 2022, sections 3.1 to 3.4; the layer follows Bao et al. 2022 (BEiT); their
released code.
Book: blog

Stochastic depth, used only in training, is left out.
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
from deepdive.layers.heads import initialize
from deepdive.layers.patches import per_side
from deepdive.models.vision.embeddings import MaskedPatchEmbeddings
from deepdive.models.vision.vit import VisionConfig, Vit
from deepdive.positions.grid import SpecialGridBias


class Data2VecVision(Vit):
    """Images (B, C, H, W), some of their patches masked -> hidden states (B, 1 + N, d_model)."""

    def forward(self, images: Tensor, hidden: Tensor | None = None) -> Tensor:
        """Return the hidden states of the last layer, without a final norm."""
        return self.stack(self.embeddings(images, hidden))


def by_offset(config: Data2VecConfig, layer: int) -> nn.Module:
    """Return one layer's attention, with a bias for each relative offset."""
    bias = SpecialGridBias(config.n_heads, per_side(config.image_size, config.patch_size))
    attention = KeysWithoutBias(
        config.d_model, config.n_heads, dropout=config.attention_dropout, position=bias
    )
    for half in attention.kv.weight.chunk(2):  # reinitialized, as when the results were trained
        nn.init.xavier_uniform_(half)
    return attention


def scaled(config: Data2VecConfig, layer: int) -> Block:
    """Return one layer, with a learned scale on each residual branch (LayerScale)."""
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
    """`VisionConfig` plus three fields.

    gain     initial scale of all residual branches
    shared   whether all layers share one relative position bias
    masked   whether there is a mask embedding; fine-tuned models that mask nothing have none
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
    """Build the image encoder; defaults are the paper's base model."""
    config = Data2VecConfig.given(config, changes)
    stack = Stack(lambda layer: config.block(config, layer), config.n_layers)
    if config.shared:
        for block in stack.blocks[1:]:
            block.attn.position = stack.blocks[0].attn.position  # type: ignore[union-attr]
    model = config.model(config.embeddings(config), stack, config)
    initialize(model)
    return model
