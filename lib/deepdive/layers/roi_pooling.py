"""RoI pooling for video: positions of features in space and time, and features of a box."""

import torch
import torch.nn.functional as F
from torch import Tensor, nn

from deepdive.core.checks import positive, width


class PositionedFeatures(nn.Module):
    """[features; place(line, column); time(frame)], coordinates from -1 to 1, 0 at the middle of a
    video. `place` and `time` are two matrices with relu between them.
    """

    def __init__(self, d_place: int) -> None:
        super().__init__()
        positive(d_place=d_place)
        self.place = nn.Sequential(nn.Linear(2, d_place), nn.ReLU(), nn.Linear(d_place, d_place))
        self.time = nn.Sequential(nn.Linear(1, d_place), nn.ReLU(), nn.Linear(d_place, d_place))

    def forward(self, features: Tensor) -> Tensor:
        """Return (B, F, h, w, d_features + 2 d_place) for features (B, F, h, w, d_features)."""
        if features.ndim != 5:
            shape = tuple(features.shape)
            raise ValueError(f"features: got {shape}, expected (B, F, h, w, d_features)")
        axes = [middle(side).to(features) for side in features.shape[1:4]]
        frames, lines, columns = torch.meshgrid(*axes, indexing="ij")
        place = self.place(torch.stack([lines, columns], -1))
        at = torch.cat([place, self.time(frames[..., None])], -1)
        return torch.cat([features, at.expand(len(features), -1, -1, -1, -1)], -1)


def middle(side: int) -> Tensor:
    """Return the centers of `side` cells on a line from -1 to 1."""
    return (2 * torch.arange(side, dtype=torch.float64) + 1) / side - 1


def pooled(frame: Tensor, boxes: Tensor, bins: int) -> Tensor:
    """Return the features of each box of a frame, (B, R, bins, bins, d), for frame (B, h, w, d) and
    boxes (B, R, 4) of left, top, right, bottom from 0 to 1: those at the center of each of bins x
    bins parts, by bilinear interpolation.
    """
    width("boxes", boxes, 4)
    first, size = boxes[..., :2], boxes[..., 2:] - boxes[..., :2]
    part = (middle(bins).to(boxes) + 1) / 2  # the middles of the parts, 0 to 1
    grid = torch.stack(torch.meshgrid(part, part, indexing="xy"), -1).flatten(0, 1)
    at = 2 * (first[:, :, None] + size[:, :, None] * grid) - 1  # (B, R, bins^2, 2)
    samples = F.grid_sample(frame.permute(0, 3, 1, 2), at, align_corners=False)
    return samples.permute(0, 2, 3, 1).unflatten(2, (bins, bins))


class RoI(nn.Module):
    """query = W [parts of the box, each projected]: parts keep their positions ("HighRes")."""

    def __init__(self, d_rows: int, d_model: int, bins: int) -> None:
        super().__init__()
        positive(d_rows=d_rows, d_model=d_model, bins=bins)
        self.bins = bins
        self.narrow = nn.Linear(d_rows, d_model // 2)
        self.join = nn.Linear(bins * bins * (d_model // 2), d_model)

    def forward(self, frame: Tensor, boxes: Tensor) -> Tensor:
        """Return a query for each box, (B, R, d_model)."""
        return self.join(self.narrow(pooled(frame, boxes, self.bins)).flatten(2))
