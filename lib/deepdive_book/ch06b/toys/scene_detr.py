"""A small DETR that detects shapes in generated scenes, and the encoder it starts from.
`tools/train_scene_detr.py` made both; a test holds the hashes of their weights.
"""

from pathlib import Path

from deepdive.models.vision.detr import Detr, detr
from deepdive.published.weights import adopt, read
from deepdive_book.ch06b.runs.detr import SMALL

FOLDER = Path(__file__).parent


def scene_detr() -> Detr:
    """Return a DETR trained with Hungarian matching on scenes of up to eight objects."""
    model = detr(SMALL)
    adopt(model, read(FOLDER / "scene_detr.safetensors"))
    return model.eval()


def scene_encoder() -> Detr:
    """Return a DETR with pretrained backbone and encoder (dense prediction); the rest is random."""
    model = detr(SMALL)
    weights = read(FOLDER / "scene_encoder.safetensors")
    adopt(model, {**model.state_dict(), **weights})
    return model.eval()
