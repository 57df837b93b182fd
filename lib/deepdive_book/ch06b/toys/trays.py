"""A small DETR that finds shapes in generated scenes. `tools/train_trays.py` made it; a test holds
the hash of its weights.
"""

from pathlib import Path

from deepdive.models.vision.detr import Detr, detr
from deepdive.published.weights import adopt, read
from deepdive_book.ch06b.runs.toy_detr import SMALL


def trays() -> Detr:
    """Return the DETR that finds up to three things in generated scenes of 32 x 32 pixels."""
    model = detr(SMALL)
    adopt(model, read(Path(__file__).with_suffix(".safetensors")))
    return model.eval()
