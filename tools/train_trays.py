"""Train the small DETR of page 6b.6, and write its weights beside deepdive_book.ch06b.toys.

    python tools/train_trays.py          # two minutes on one core

Scenes of 32 x 32 pixels with up to three things, generated; first the backbone learns alone, then
the rest, matched by the least cost. The same machine, torch and thread count give the same files.
"""

from __future__ import annotations

import json

import torch
from safetensors.torch import save_file

from deepdive.models.vision.resnet import resnet
from deepdive_book.ch06b.runs.toy_detr import (
    SMALL,
    learn_boxes,
    learn_places,
    maps,
    on_maps,
    pixels,
    truths,
)
from deepdive_book.ch06b.toys import FOLDER
from deepdive_book.data.scenes import generated_scenes

SCENES, PLACES, BOXES = 3000, 800, 2400  # scenes, and steps of both trainings


def main() -> None:
    scenes = generated_scenes(SCENES, most=3, seed=1)
    backbone = resnet(SMALL.backbone)
    right = learn_places(backbone, scenes, PLACES, SMALL.backbone.widths[-1], seed=0)
    halves = backbone.half().float()  # what is kept is what the rest reads
    torch.manual_seed(0)
    model = on_maps()
    learn_boxes(model, maps(halves, pixels(scenes)), truths(scenes), BOXES, seed=0)
    model.backbone = halves
    save_file({n: t.half() for n, t in model.state_dict().items()}, FOLDER / "trays.safetensors")
    about = {"scenes": SCENES, "steps": [PLACES, BOXES], "places_right": round(right, 3)}
    (FOLDER / "trays.json").write_text(json.dumps(about) + "\n", encoding="utf-8")
    print(about)


if __name__ == "__main__":
    main()
