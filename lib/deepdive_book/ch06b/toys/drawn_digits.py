"""A small vision Transformer that recognizes a drawn digit of 8 x 8 pixels.
`tools/train_drawn_digits.py` made it; a test holds the hash of its weights.
"""

import json
from pathlib import Path
from typing import NamedTuple

import torch

from deepdive.layers.heads import ImageClassifier
from deepdive.models.vision.vit import TINY as SMALL_IMAGES
from deepdive.models.vision.vit import vit
from deepdive.published.weights import adopt, read

_ABOUT = Path(__file__).with_suffix(".json")


class DrawnToy(NamedTuple):
    """A trained model that reads drawn digits of 8 x 8 pixels; how many it learned from and was
    tested with; and name -> share of right ones in the test, and the ends of its 95 % interval.
    """

    model: ImageClassifier
    learned: int
    tested: int
    right: dict[str, list[float]]


def build_drawn_digits() -> ImageClassifier:
    """Return the model of `drawn_digits`, untrained: 3 layers, 48 wide, 4 heads, patches of 2 x 2
    pixels.
    """
    torch.manual_seed(0)
    config = SMALL_IMAGES.but(d_model=48, n_layers=3, d_ff=96)
    return ImageClassifier(vit(config), config.d_model, 10)


def drawn_digits() -> DrawnToy:
    """Return the model that reads a drawn digit (`deepdive_book.ch06b.figures.drawing`)."""
    about = json.loads(_ABOUT.read_text(encoding="utf-8"))
    model = build_drawn_digits()
    adopt(model, read(_ABOUT.with_suffix(".safetensors")))
    return DrawnToy(model.eval(), about["learned"], about["tested"], about["right"])
