"""DETR: a Transformer that detects objects in an image as a set of boxes. Carion et al. 2020,
"End-to-End Object Detection with Transformers".

Long because it also accepts padded images, and returns its predictions after each decoder layer.

System: detr
Parent: transformer
What differs:
- the encoder's tokens are the positions of a CNN's feature map (`ResNet`, `project`)
- position embeddings are added in each layer to queries and keys, not to values
  (`QKPositionAttention`); those of the feature map are 2-D sinusoids (`grid_sines`)
- the decoder's inputs are zeros instead of tokens; learned position embeddings, the object queries
  (`Detr.queries`), tell them apart; all are decoded in parallel, without a causal mask
- each query's state predicts a class or "no object", and a box (`Detr.classes`, `boxes`); the loss
  matches queries with objects first (`deepdive.training.objectives.set_loss`)
Source: Carion et al. 2020, section 3 and appendix A.4, and their released code.
Book: Fleuret, the DETR algorithm; Straka
"""

from __future__ import annotations

from functools import partial
from typing import Any, NamedTuple

import torch
import torch.nn.functional as F
from torch import Tensor, nn

from deepdive.core import Block, Context, FeedForward, LayerNorm, PostNorm
from deepdive.core.hooks import HookPoint
from deepdive.core.masks import Padding
from deepdive.core.stack import Stack
from deepdive.layers.position_aware_attention import QKPositionAttention
from deepdive.models.vision.detr_config import BASE, TINY, DetrConfig
from deepdive.models.vision.resnet import resnet
from deepdive.positions.sinusoidal import grid_sines

__all__ = ["BASE", "TINY", "Detections", "Detr", "DetrConfig", "detr"]


class Detections(NamedTuple):
    """The predictions of the queries: logits (..., N, n_classes + 1), the last of them "no object",
    and boxes (..., N, 4): center x, center y, width, height, relative to the image's sides.
    """

    logits: Tensor
    boxes: Tensor


class Detr(nn.Module):
    """Images (B, C, H, W) -> `Detections`: for each query a class or "no object", and a box."""

    def __init__(
        self, backbone: nn.Module, encoder: Stack, decoder: Stack, config: DetrConfig
    ) -> None:
        super().__init__()
        self.backbone, self.encoder, self.decoder, self.config = backbone, encoder, decoder, config
        d_model = config.d_model
        self.project = nn.Conv2d(config.backbone.widths[-1], d_model, 1)
        self.queries = nn.Parameter(torch.randn(config.n_queries, d_model))
        self.classes = nn.Linear(d_model, config.n_classes + 1)
        self.boxes = nn.ModuleList(nn.Linear(d_model, d) for d in (d_model, d_model, 4))
        self.states = HookPoint()

    def forward(self, images: Tensor, real: Tensor | None = None) -> Detections:
        """Return the predictions after the last layer; `real` bool (B, H, W), False where a pixel
        is padding rather than part of the image.
        """
        return Detections(*(outputs[-1] for outputs in self.layers(images, real)))

    def layers(self, images: Tensor, real: Tensor | None = None) -> Detections:
        """Return the predictions after each decoder layer, stacked along a new first axis."""
        states = self.states(self.decode(images, real))
        boxes = states
        for layer in self.boxes[:-1]:
            boxes = F.relu(layer(boxes))
        return Detections(self.classes(states), self.boxes[-1](boxes).sigmoid())

    def decode(self, images: Tensor, real: Tensor | None = None) -> Tensor:
        """Return the queries' states (n_layers, B, N, d_model), each after the final norm."""
        seen = self.project(self.backbone(images))  # (B, d_model, h, w)
        pixel_mask = torch.ones_like(seen[:, 0], dtype=torch.bool)
        if real is not None:
            if real.shape != (len(images), *images.shape[2:]) or real.dtype != torch.bool:
                raise ValueError(
                    f"real: got {real.dtype} {tuple(real.shape)}, expected bool (B, H, W) for the "
                    f"images {tuple(images.shape)}, True = real pixel"
                )
            pixel_mask = F.interpolate(real[:, None].to(seen.dtype), pixel_mask.shape[1:])[:, 0] > 0
        at = grid_sines(pixel_mask, self.config.d_model).to(seen.dtype)
        mask = None if real is None else Padding(pixel_mask.flatten(1))
        memory = self.encoder(seen.flatten(2).mT, mask=mask, positions=at)
        context = Context(
            positions=self.queries, memory=memory, memory_mask=mask, memory_positions=at
        )
        x, outputs = self.queries.new_zeros(len(images), *self.queries.shape), []
        for block in self.decoder.blocks:
            x = block(x, context)
            outputs.append(self.decoder.norm(x))  # type: ignore[misc]
        return torch.stack(outputs)


def detr(config: DetrConfig = BASE, **changes: Any) -> Detr:
    """Build a DETR; defaults are the paper's with ResNet-50. Raises ValueError if d_model is not a
    multiple of 4, and as `MultiHeadAttention` does.
    """
    config = DetrConfig.given(config, changes)
    if config.d_model % 4:
        raise ValueError(f"d_model={config.d_model}: expected a multiple of 4, for two axes")

    def attention() -> QKPositionAttention:
        return QKPositionAttention(config.d_model, config.n_heads, dropout=config.attention_dropout)

    def block(cross: QKPositionAttention | None) -> Block:
        ff = FeedForward(config.d_model, config.d_ff, config.activation, config.dropout)
        return Block(attention(), ff, cross, partial(PostNorm, dropout=config.dropout))

    encoder = Stack(lambda _: block(None), config.n_layers)
    decoder = Stack(lambda _: block(attention()), config.n_layers, LayerNorm(config.d_model))
    return Detr(resnet(config.backbone), encoder, decoder, config)
