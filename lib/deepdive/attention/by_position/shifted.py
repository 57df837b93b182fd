"""Shifted-window attention (Swin), with a mask per window of an image."""

from dataclasses import dataclass

import torch
from torch import Tensor

from deepdive._fast.shifted import mixed
from deepdive.core.masks import Mask, Segments
from deepdive.core.softmax import SoftmaxAttention


@dataclass(frozen=True, eq=False)
class Sides(Segments):
    """`Segments` of one image's windows, ids (windows, S), the same for each image of a batch that
    has `images` of them: (images * windows, H, T, S).
    """

    images: int = 1

    def of_one(self, T: int, S: int, device: torch.device | None) -> Tensor:
        """Return the mask of one image, bool (windows, 1, T, S)."""
        allowed = super().allowed(T, S, device)
        assert allowed is not None
        return allowed

    def allowed(self, T: int, S: int, device: torch.device | None) -> Tensor | None:
        return self.of_one(T, S, device).repeat(self.images, 1, 1, 1)


class ShiftedAttention(SoftmaxAttention):
    """`SoftmaxAttention`, faster where a bias is learned on a CPU, without a mask or under `Sides`.

    torch has no kernel for a bias with a gradient there, and expands the mask for every image.
    Here both are one sum for each window of one image (`deepdive._fast.shifted`).
    Source: Liu et al. 2021, section 3.2.
    """

    def compute(
        self, q: Tensor, k: Tensor, v: Tensor, mask: Mask | None, bias: Tensor | None, scale: float
    ) -> Tensor:
        learned = bias is not None and bias.requires_grad and len(bias) == 1
        exact = q.device.type == "cpu" and q.dtype in (torch.float32, torch.float64)
        if not learned or not exact or self.listening or not isinstance(mask, Sides | None):
            return super().compute(q, k, v, mask, bias, scale)
        allowed = None if mask is None else mask.of_one(q.shape[2], k.shape[2], q.device)
        assert bias is not None
        return mixed(q, k, v, allowed, bias, scale, self.dropout)
