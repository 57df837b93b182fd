"""Boxes learned on generated scenes in a minute: a backbone learns first, alone, and then stays.

DETR begins with a backbone that was trained on ImageNet. Ours is trained to say what is seen at
each place of its map, then frozen, so that each scene passes it once (`maps`); what is trained
after that reads these maps (`on_maps`). Where decoders are compared, a trained encoder is frozen,
too, and a scene passes it once (`memories`, `on_memories`).
"""

from collections.abc import Sequence

import torch
import torch.nn.functional as F
from torch import Tensor, nn

from deepdive.core.stack import Stack
from deepdive.layers.residual_conv import Basic, settle
from deepdive.models.vision.detr import Detr, DetrConfig, detr
from deepdive.models.vision.resnet import ResNetConfig
from deepdive.positions.sinusoidal import grid_sines
from deepdive.training.fit import fit
from deepdive.training.history import History
from deepdive.training.objectives.set_prediction import (
    NOTHING,
    Matching,
    Truth,
    hungarian,
    set_loss,
)
from deepdive.training.optim import adam, linear
from deepdive_book.data.scenes import Scenes

SMALL = DetrConfig(
    n_kinds=4, n_queries=6, d_model=48, n_heads=4, n_layers=2, d_ff=96, dropout=0.0,
    backbone=ResNetConfig(d_stem=24, widths=(48,), depths=(1,), layer=Basic),
)  # fmt: skip
STRIDE = 4  # pixels a place of the map
BATCH = 32


def pixels(scenes: Scenes) -> Tensor:
    """The scenes as a model reads them, (N, 3, size, size) from 0 to 1."""
    return torch.from_numpy(scenes.pixels).float() / 255


def truths(scenes: Scenes, left_to_right: bool = False) -> list[Truth]:
    """What stands in each scene: from back to front, or sorted by the middles' columns."""
    found = []
    for n in range(len(scenes)):
        kinds, boxes = torch.from_numpy(scenes.kinds(n)), torch.from_numpy(scenes.boxes(n)).float()
        order = boxes[:, 0].argsort() if left_to_right else torch.arange(len(kinds))
        found.append(Truth(kinds[order], boxes[order]))
    return found


def learn_places(backbone: nn.Module, scenes: Scenes, steps: int, width: int, seed: int) -> float:
    """Train a backbone whose map has `width` channels to say which kind, or the ground, is seen in
    the middle of each place; return the share of places it has right where a thing is seen.
    """
    torch.manual_seed(seed)
    images, middle = pixels(scenes), slice(STRIDE // 2, None, STRIDE)
    seen = torch.from_numpy(scenes.classes())[:, middle, middle]
    settle(backbone, images[:64])
    both = nn.Sequential(backbone, nn.Conv2d(width, 1 + len(scenes.names), 1))
    batches = list(zip(images.split(BATCH), seen.split(BATCH), strict=True))
    fit(both, batches, lambda net, batch: F.cross_entropy(net(batch[0]), batch[1]), steps=steps,
        optimizer=adam(both, lr=3e-3), schedule=linear(3e-3, max(1, steps // 10), steps),
        seed=seed, progress=False)  # fmt: skip
    with torch.no_grad():
        right = torch.cat([both(part).argmax(1) for part in images[:500].split(100)]) == seen[:500]
    return right[seen[:500] > 0].float().mean().item()


def maps(backbone: nn.Module, images: Tensor) -> Tensor:
    """What a backbone makes of images, (N, width, h, w), with no gradient."""
    with torch.no_grad():
        return torch.cat([backbone(part) for part in images.split(100)])


def memories(model: Detr, images: Tensor) -> Tensor:
    """What a model's encoder says of images, as a map again, (N, d_model, h, w)."""
    with torch.no_grad():
        found = []
        for seen in maps(model.backbone, images).split(100):
            rows = model.project(seen).flatten(2).mT
            at = grid_sines(torch.ones_like(seen[:, 0], dtype=torch.bool), rows.shape[-1])
            read = model.encoder(rows, positions=at.to(rows.dtype))
            found.append(read.mT.unflatten(2, seen.shape[2:]))
    return torch.cat(found)


def on_maps(config: DetrConfig = SMALL) -> Detr:
    """A new DETR that reads what a backbone made."""
    model = detr(config)
    model.backbone = nn.Identity()
    return model


def on_memories(config: DetrConfig = SMALL) -> Detr:
    """A new decoder, with its queries and heads: a DETR that reads what an encoder said."""
    model = on_maps(config)
    model.project = nn.Identity()  # type: ignore[assignment]
    model.encoder = Stack(lambda _: nn.Identity(), 0)
    return model


def learn_boxes(
    model: Detr, seen: Tensor, truths: Sequence[Truth], steps: int, seed: int,
    matching: Matching = hungarian, nothing: float = NOTHING,
) -> History:  # fmt: skip
    """Train a model on what it reads, (N, width, h, w), and what stands there."""
    parts = range(0, len(seen), BATCH)
    batches = [(seen[i : i + BATCH], list(truths[i : i + BATCH])) for i in parts]

    def loss(net: Detr, batch: tuple[Tensor, list[Truth]]) -> Tensor:
        said = net.layers(batch[0])
        return set_loss(said.logits, said.boxes, batch[1], matching, nothing)

    return fit(model, batches, loss, steps=steps, seed=seed, progress=False,
               optimizer=adam(model, lr=2e-3, weight_decay=1e-4),
               schedule=linear(2e-3, max(1, steps // 10), steps))  # fmt: skip
