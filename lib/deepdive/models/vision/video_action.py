"""Video Action Transformer: classify the action of the person in a box. Girdhar, Carreira, Doersch
and Zisserman 2019, "Video Action Transformer Network".

Long because no parent has a unit whose queries and keys differ in width; its config is here.

System: video_action
Parent: transformer
What differs:
- there is no source sentence: the keys and values are features from a video network; a position
  embedding in space and time is concatenated to them, not added (`PositionedFeatures`)
- a query is a region of the middle frame, so one video serves as many queries as there are boxes
  (`RoI`)
- no self-attention among queries: a layer is cross-attention to the video and a feed-forward
  layer, each followed by a residual sum and a norm (`ActionUnit`)
- a query's final state predicts the action classes, several at once (`VideoAction.out`)
Source: Girdhar et al. 2019, section 3.
Book: references

Their features come from an I3D network, their boxes from a region proposal network; here both are
inputs. Our attention has query and output projections, as its parent's does; the paper's equations
omit them.
"""

from dataclasses import dataclass
from functools import partial
from typing import Any

from torch import Tensor, nn

from deepdive.core import FeedForward, MultiHeadAttention, PostNorm
from deepdive.core.checks import positive, real_input, width
from deepdive.layers.heads import initialize
from deepdive.layers.roi_pooling import PositionedFeatures, RoI
from deepdive.models.config import Config


@dataclass(frozen=True)
class VideoActionConfig(Config):
    """d_features: width of a video's features; d_place: width of the spatial position embedding
    concatenated to them, and of the temporal one; bins: rows and columns sampled from a region.
    """

    d_features: int = 832
    d_place: int = 32
    d_model: int = 128
    n_heads: int = 2
    n_layers: int = 3
    d_ff: int = 512
    bins: int = 7
    n_classes: int = 80
    dropout: float = 0.3


BASE = VideoActionConfig()


TINY = BASE.but(d_features=16, d_place=4, d_model=16, d_ff=32, bins=2, n_classes=5, dropout=0.0)


class ActionUnit(nn.Module):
    """Q' = norm(Q + dropout(softmax(Q K^T / sqrt(d)) V));  Q'' = norm(Q' + dropout(FFN(Q')))."""

    def __init__(self, config: VideoActionConfig, d_rows: int) -> None:
        super().__init__()
        positive(d_rows=d_rows)
        d = config.d_model
        self.attn = MultiHeadAttention(d, config.n_heads, d_context=d_rows)
        self.ff = FeedForward(d, config.d_ff)
        joint = partial(PostNorm, dropout=config.dropout)
        self.attn_residual, self.ff_residual = joint(d), joint(d)

    def forward(self, queries: Tensor, film: Tensor) -> Tensor:
        """Return queries (B, R, d_model) after attending to features (B, F * h * w, d_rows)."""
        queries = self.attn_residual(queries, lambda q: self.attn(q, memory=film))
        return self.ff_residual(queries, self.ff)


class VideoAction(nn.Module):
    """Video features (B, F, h, w, d_features) and boxes in the middle frame (B, R, 4) -> logits
    (B, R, n_classes), one per action class.
    """

    def __init__(self, config: VideoActionConfig) -> None:
        super().__init__()
        d_rows = config.d_features + 2 * config.d_place
        self.config, self.located = config, PositionedFeatures(config.d_place)
        self.region = RoI(d_rows, config.d_model, config.bins)
        self.units = nn.ModuleList(ActionUnit(config, d_rows) for _ in range(config.n_layers))
        self.out = nn.Linear(config.d_model, config.n_classes)

    def forward(self, features: Tensor, boxes: Tensor) -> Tensor:
        """Return the logits of each box."""
        shape = f"(B, F, h, w, {self.config.d_features})"
        real_input("features", features, shape, "give what a network of convolutions returns")
        width("features", features, self.config.d_features)
        real_input("boxes", boxes, "(B, R, 4)", "use center and size as fractions of the image")
        if features.ndim != 5 or boxes.ndim != 3 or boxes.shape[-1] != 4:
            raise ValueError(
                f"features, boxes: got {tuple(features.shape)}, {tuple(boxes.shape)}; expected "
                f"{shape} and (B, R, 4)"
            )
        film = self.located(features)
        queries = self.region(film[:, film.shape[1] // 2], boxes)
        for unit in self.units:
            queries = unit(queries, film.flatten(1, 3))
        return self.out(queries)


def video_action(config: VideoActionConfig = BASE, **changes: Any) -> VideoAction:
    """Build an action classifier for features and boxes. Raises as `vit` does."""
    model = VideoAction(VideoActionConfig.given(config, changes))
    initialize(model)
    return model
