"""Train the small DETR of page 6b.6, and write its weights next to deepdive_book.ch06b.toys.

    python tools/train_scene_detr.py encoder    # backbone and encoder, by dense prediction
    python tools/train_scene_detr.py decoder    # then decoder, queries, heads; Hungarian matching

Each takes about two minutes on one core. The same machine, torch, and thread count give the same
files.
"""

from __future__ import annotations

import json
import sys

import torch
from safetensors.torch import save_file
from torch import Tensor

from deepdive_book.ch06b.runs.detr import (
    assemble,
    load_data,
    on_memories,
    pretrain,
    scenes,
    train,
    truths,
)
from deepdive_book.ch06b.toys import FOLDER

SCENES, ENCODER_STEPS, DECODER_STEPS, NOTHING = 3000, 1500, 2000, 1.0


def save(name: str, weights: dict[str, Tensor], about: dict[str, float]) -> None:
    """Write weights in half precision, and how they were trained."""
    halves = {key: value.half().contiguous() for key, value in weights.items()}
    save_file(halves, FOLDER / f"{name}.safetensors")
    (FOLDER / f"{name}.json").write_text(json.dumps(about) + "\n", encoding="utf-8")
    print(name, about)


def train_encoder() -> None:
    """Save backbone, projection, and encoder."""
    model = pretrain(scenes(SCENES, seed=1), ENCODER_STEPS, seed=0)
    parts = ("backbone.", "project.", "encoder.")
    weights = {key: x for key, x in model.state_dict().items() if key.startswith(parts)}
    save("scene_encoder", weights, {"scenes": SCENES, "steps": ENCODER_STEPS})


def train_decoder() -> None:
    """Save a complete DETR on the saved encoder."""
    data = load_data(SCENES, 2)
    model = on_memories(data.pretrained, seed=0)
    train(model, data.memories[0], truths(data.train), DECODER_STEPS, 0, nothing=NOTHING)
    whole = assemble(data.pretrained, model)
    save("scene_detr", whole.state_dict(),
         {"scenes": SCENES, "steps": DECODER_STEPS, "no_object_weight": NOTHING})  # fmt: skip


if __name__ == "__main__":
    torch.set_num_threads(1)
    {"encoder": train_encoder, "decoder": train_decoder}[sys.argv[1]]()
