"""Input embeddings of video encoders: tokens for all frames, or a ViT applied to each frame."""

from typing import Any

import torch
import torch.nn.functional as F
from torch import Tensor, nn

from deepdive.layers.patches import check_pixels
from deepdive.models.vision.embeddings import ImageEmbeddings
from deepdive.models.vision.vit import Vit


class VideoEmbeddings(ImageEmbeddings):
    """x = dropout([special; patches(frame f) + positions + times[f]]) for frames f = 0 ... F - 1,
    shape (B, n_special + F * N, d_model).

    Source: Bertasius et al. 2021, equation 1; the time embeddings as in the released code.
    """

    def __init__(self, config: Any) -> None:
        super().__init__(config)
        self.times = nn.Parameter(torch.zeros(config.n_frames, config.d_model))

    def forward(self, images: Tensor) -> Tensor:
        """Return the embeddings of videos (B, F, C, H, W); for another number of frames, the time
        embeddings are resized by nearest-neighbor interpolation.
        """
        n = len(self.special)
        frames = framewise(images, self.patches.size, self.grid)
        x = super().forward(frames).unflatten(0, images.shape[:2])
        times = F.interpolate(self.times.t()[None], images.shape[1])[0].t()
        patches = self.dropout(x[:, :, n:] + times[:, None])
        return torch.cat([x[:, 0, :n], patches.flatten(1, 2)], 1)


def framewise(films: Tensor, size: int, grid: tuple[int, int]) -> Tensor:
    """Return the frames (B * F, C, H, W) of videos. Raises ValueError for other videos than (B, F,
    C, H, W), and for frames of another size than the grid, which defines where a frame ends.
    """
    if films.ndim != 5:
        raise ValueError(f"films: got {tuple(films.shape)}, expected (B, F, C, H, W)")
    check_pixels(films, "(B, F, C, H, W)")
    sides = (size * grid[0], size * grid[1])
    if tuple(films.shape[3:]) != sides:
        raise ValueError(f"frames of {tuple(films.shape[3:])} pixels, expected {sides}: resize")
    return films.flatten(0, 1)


class PerFrameEmbeddings(Vit):
    """states = ViT(frame) for each frame; those of the special tokens are averaged over frames."""

    def forward(self, images: Tensor) -> Tensor:
        """Return (B, n_special + F * N, d_model) for videos (B, F, C, H, W)."""
        n, embeddings = self.config.n_special, self.embeddings
        frames = framewise(images, self.config.patch_size, embeddings.grid)  # type: ignore[arg-type]
        states = super().forward(frames).unflatten(0, images.shape[:2])
        return torch.cat([states[:, :, :n].mean(1), states[:, :, n:].flatten(1, 2)], 1)
