"""A small DETR that detects shapes in generated scenes, and the encoder it starts from.
`tools/train_scene_detr.py` made both; a test holds the hashes of their weights.
"""

from pathlib import Path

from deepdive.layers.residual_conv import Basic
from deepdive.models.vision.detr import Detr, DetrConfig, detr
from deepdive.models.vision.resnet import ResNetConfig
from deepdive.published.weights import adopt, read

FOLDER = Path(__file__).parent
SMALL = DetrConfig(
    n_classes=4, n_queries=16, d_model=48, n_heads=4, n_layers=2, d_ff=96, dropout=0.0,
    backbone=ResNetConfig(d_stem=24, widths=(48,), depths=(1,), layer=Basic),
)  # fmt: skip


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
