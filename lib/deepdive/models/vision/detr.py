"""DETR: a Transformer that reads an image and writes a set of boxes. Carion et al. 2020,
"End-to-End Object Detection with Transformers".

Long because it reads padded images too, and says what its queries say after each layer.

System: detr
Parent: transformer
What differs:
- what is read are the places of a map that a convolutional network makes (`ResNet`, `project`)
- positions are rows that each layer adds anew to queries and keys, not to values
  (`QKPositionAttention`); those of the map are sines of two axes (`grid_sines`)
- the decoder reads no words: it begins with zeros, and learned rows, the object queries, tell its
  rows apart (`Detr.queries`); all are decoded at once, and none is masked
- of each query's state one map makes a kind, or "nothing", another a box (`Detr.kinds`, `boxes`)
- queries are matched with things, then taught (`deepdive.training.objectives.set_loss`)
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

__all__ = ["BASE", "TINY", "Detr", "DetrConfig", "Found", "detr"]


class Found(NamedTuple):
    """What the queries say: logits (..., N, n_kinds + 1), the last of them "nothing", and boxes
    (..., N, 4): the middle's column and line, width and height, in parts of the image's sides.
    """

    logits: Tensor
    boxes: Tensor


class Detr(nn.Module):
    """Pictures (B, C, H, W) -> `Found`: for each query a kind or nothing, and a box."""

    def __init__(
        self, backbone: nn.Module, encoder: Stack, decoder: Stack, config: DetrConfig
    ) -> None:
        super().__init__()
        self.backbone, self.encoder, self.decoder, self.config = backbone, encoder, decoder, config
        d_model = config.d_model
        self.project = nn.Conv2d(config.backbone.widths[-1], d_model, 1)
        self.queries = nn.Parameter(torch.randn(config.n_queries, d_model))
        self.kinds = nn.Linear(d_model, config.n_kinds + 1)
        self.boxes = nn.ModuleList(nn.Linear(d_model, d) for d in (d_model, d_model, 4))
        self.states = HookPoint()

    def forward(self, images: Tensor, real: Tensor | None = None) -> Found:
        """Return what the queries say after the last layer; `real` bool (B, H, W), False where a
        pixel is padding, none of the image's.
        """
        return Found(*(outputs[-1] for outputs in self.layers(images, real)))

    def layers(self, images: Tensor, real: Tensor | None = None) -> Found:
        """Return what the queries say after each layer of the decoder, on a first axis more."""
        states = self.states(self.decode(images, real))
        boxes = states
        for layer in self.boxes[:-1]:
            boxes = F.relu(layer(boxes))
        return Found(self.kinds(states), self.boxes[-1](boxes).sigmoid())

    def decode(self, images: Tensor, real: Tensor | None = None) -> Tensor:
        """Return the states (n_layers, B, N, d_model) of the queries, each after the last norm."""
        seen = self.project(self.backbone(images))  # (B, d_model, h, w)
        pixel_mask = torch.ones_like(seen[:, 0], dtype=torch.bool)
        if real is not None:
            if real.shape != (len(images), *images.shape[2:]) or real.dtype != torch.bool:
                raise ValueError(
                    f"real: came {real.dtype} {tuple(real.shape)}, expected bool (B, H, W) for the "
                    f"images {tuple(images.shape)}: True is a pixel of the image"
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
    """Build a DETR; defaults are the paper's with ResNet-50. Raises ValueError for a width that is
    no multiple of 4, and as `MultiHeadAttention` does.
    """
    config = DetrConfig.given(config, changes)
    if config.d_model % 4:
        raise ValueError(f"d_model={config.d_model}: sines and cosines of two axes need fours")

    def attention() -> QKPositionAttention:
        return QKPositionAttention(config.d_model, config.n_heads, dropout=config.attention_dropout)

    def block(cross: QKPositionAttention | None) -> Block:
        ff = FeedForward(config.d_model, config.d_ff, config.activation, config.dropout)
        return Block(attention(), ff, cross, partial(PostNorm, dropout=config.dropout))

    encoder = Stack(lambda _: block(None), config.n_layers)
    decoder = Stack(lambda _: block(attention()), config.n_layers, LayerNorm(config.d_model))
    return Detr(resnet(config.backbone), encoder, decoder, config)
