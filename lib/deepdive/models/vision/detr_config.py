"""Hyperparameters of a DETR and of its backbone."""

from dataclasses import dataclass, field

from deepdive.core import relu
from deepdive.core.feed_forward import Activation
from deepdive.models.config import Config
from deepdive.models.vision.resnet import RESNET_50, ResNetConfig
from deepdive.models.vision.resnet import TINY as TINY_RESNET


@dataclass(frozen=True)
class DetrConfig(Config):
    """Hyperparameters of a DETR, and its backbone. The encoder and the decoder have `n_layers`
    layers each; `n_classes` does not count "no object".
    """

    n_classes: int = 91
    n_queries: int = 100
    d_model: int = 256
    n_heads: int = 8
    n_layers: int = 6
    d_ff: int = 2048
    dropout: float = 0.1
    attention_dropout: float = 0.0
    activation: Activation = relu
    backbone: ResNetConfig = field(default=RESNET_50)
    family: str = "detr"


BASE = DetrConfig()
TINY = DetrConfig(  # for tests and small examples
    n_classes=4, n_queries=5, d_model=16, n_heads=4, n_layers=2, d_ff=24, dropout=0.0,
    backbone=TINY_RESNET,
)  # fmt: skip
