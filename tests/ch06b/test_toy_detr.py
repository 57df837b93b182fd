"""Boxes are learned from generated scenes: things in order, a loss that falls."""

from __future__ import annotations

import torch

from deepdive.models.vision.resnet import resnet
from deepdive_book.ch06b.runs.toy_detr import (
    SMALL,
    learn_boxes,
    learn_places,
    maps,
    memories,
    on_maps,
    on_memories,
    pixels,
    truths,
)
from deepdive_book.ch06b.toys.trays import trays
from deepdive_book.data.scenes import generated_scenes


def test_truths_come_back_to_front_or_left_to_right() -> None:
    scenes = generated_scenes(12)
    for n, (painted, sorted_) in enumerate(
        zip(truths(scenes), truths(scenes, left_to_right=True), strict=True)
    ):
        assert painted.kinds.tolist() == [thing.kind for thing in scenes.things[n]]
        columns = sorted_.boxes[:, 0]
        assert (columns.diff() >= 0).all()
        assert sorted(columns.tolist()) == sorted(painted.boxes[:, 0].tolist())
    assert pixels(scenes).max() <= 1


def test_a_backbone_learns_and_stays_and_the_loss_falls() -> None:
    scenes = generated_scenes(96, most=2)
    backbone = resnet(SMALL.backbone)
    right = learn_places(backbone, scenes, 60, 48, seed=0)
    assert right > 0.4, "four kinds and the ground: 0.2 by luck"
    seen = maps(backbone, pixels(scenes))
    assert seen.shape == (96, 48, 8, 8)
    assert not seen.requires_grad
    torch.manual_seed(0)
    model = on_maps()
    history = learn_boxes(model, seen, truths(scenes), 40, seed=0)
    losses = torch.tensor([float(x) for x in history.losses])
    assert losses[-8:].mean() < 0.85 * losses[:8].mean()
    torch.manual_seed(0)
    again = on_maps()
    learn_boxes(again, seen, truths(scenes), 40, seed=0)
    assert torch.equal(again(seen[:2]).boxes, model(seen[:2]).boxes)


def test_a_decoder_on_memories_is_the_whole_in_parts() -> None:
    scenes, whole = generated_scenes(3, most=2), trays()
    part = on_memories()
    part.load_state_dict(whole.state_dict(), strict=False)
    read = memories(whole, pixels(scenes))
    assert torch.allclose(part(read).boxes, whole(pixels(scenes)).boxes, atol=1e-5)
    assert not [n for n, _ in part.named_parameters() if n.startswith(("encoder", "backbone"))]
