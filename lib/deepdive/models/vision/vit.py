"""ViT: a Transformer encoder over image patches. Dosovitskiy et al. 2021, "An Image is
Worth 16x16 Words: Transformers for Image Recognition at Scale".

Long because it holds the config whose components its family exchanges (`VisionConfig`).

System: vit
Parent: bert
What differs:
- a token is a square patch of the image, flattened and projected (`Patches`); no vocabulary
- a learned class token precedes them; its state represents the image (`ImageEmbeddings.special`)
- learned position embeddings in row-major order; for an image of another size the table is
  interpolated as an image would be (`resized`)
- pre-norm: the layer norm is inside each residual branch, plus one after the last layer
  (`PreNorm`); the embeddings are not normalized
Source: Dosovitskiy et al. 2021, section 3.1 and table 1, and their released code.
Book: 6.2.1
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from functools import partial
from typing import Any, ClassVar

from torch import Tensor, nn

from deepdive.core import Block, FeedForward, LayerNorm, PreNorm, gelu
from deepdive.core.feed_forward import Activation
from deepdive.core.stack import Stack
from deepdive.layers.heads import initialize
from deepdive.models.config import Config, full_attention
from deepdive.models.vision.embeddings import ImageEmbeddings


class Vit(nn.Module):
    """Images (B, C, H, W) -> states (B, 1 + N, d_model): the class token's, then one per patch."""

    def __init__(self, embeddings: nn.Module, stack: Stack, config: VisionConfig) -> None:
        super().__init__()
        self.embeddings, self.stack, self.config = embeddings, stack, config

    def forward(self, images: Tensor) -> Tensor:
        """Return the final hidden states, after the last norm."""
        return self.stack(self.embeddings(images))


def block(config: VisionConfig, layer: int) -> Block:
    """Return one pre-norm layer."""
    return Block(
        config.attention(config, layer),
        FeedForward(config.d_model, config.d_ff, config.activation),
        residual=partial(PreNorm, norm=partial(LayerNorm, eps=config.eps), dropout=config.dropout),
    )


@dataclass(frozen=True)
class VisionConfig(Config):
    """Hyperparameters of an image encoder, and the components that its family exchanges.

    image_size        side in pixels of the images that the position embeddings are sized for
    n_special         special tokens before the patches; the state of the first represents the image
    attention, block  (config, layer) -> one layer's attention, one layer
    embeddings        config -> input embedding module
    model             the class that combines embeddings and layers
    family            name of its published form (`deepdive.published`)
    """

    MAY_BE_ZERO: ClassVar[tuple[str, ...]] = (*Config.MAY_BE_ZERO, "n_special")
    image_size: int = 224
    patch_size: int = 16
    channels: int = 3
    d_model: int = 768
    n_heads: int = 12
    n_layers: int = 12
    d_ff: int = 3072
    n_special: int = 1
    dropout: float = 0.0
    attention_dropout: float = 0.0
    eps: float = 1e-12
    activation: Activation = gelu
    attention: Callable[[Any, int], nn.Module] = full_attention
    block: Callable[[Any, int], Block] = block
    embeddings: Callable[[Any], nn.Module] = ImageEmbeddings
    model: type[Vit] = Vit
    family: str = "vit"


BASE = VisionConfig()
LARGE = BASE.but(d_model=1024, n_heads=16, n_layers=24, d_ff=4096)
HUGE = BASE.but(d_model=1280, n_heads=16, n_layers=32, d_ff=5120, patch_size=14)
TINY = BASE.but(image_size=8, patch_size=2, channels=1, d_model=32, n_heads=4, n_layers=2, d_ff=64)


def vit(config: VisionConfig = BASE, **changes: Any) -> Vit:
    """Build an image encoder; defaults are the paper's base model. Raises as `bert` does."""
    config = VisionConfig.given(config, changes)
    norm = LayerNorm(config.d_model, config.eps)
    stack = Stack(lambda layer: config.block(config, layer), config.n_layers, norm)
    model = config.model(config.embeddings(config), stack, config)
    initialize(model)
    return model
