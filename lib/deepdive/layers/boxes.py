"""Bounding boxes: corners, area, and intersection over union. A box is (center x, center y, width,
height), as fractions of the image's sides; its corners are (left, top, right, bottom).
"""

import torch
from torch import Tensor


def corners(boxes: Tensor) -> Tensor:
    """Return (left, top, right, bottom) of boxes (..., 4)."""
    middle, sides = boxes[..., :2], boxes[..., 2:]
    return torch.cat([middle - sides / 2, middle + sides / 2], -1)


def area(boxes: Tensor) -> Tensor:
    """Return the areas (...) of boxes as corners; 0 for empty boxes."""
    return (boxes[..., 2:] - boxes[..., :2]).clamp(min=0).prod(-1)


def shared(a: Tensor, b: Tensor) -> tuple[Tensor, Tensor]:
    """Return the areas of intersection and union, both (N, M), of boxes a (N, 4) and b (M, 4), as
    corners.
    """
    top_left = torch.maximum(a[:, None, :2], b[:, :2])
    bottom_right = torch.minimum(a[:, None, 2:], b[:, 2:])
    intersection = area(torch.cat([top_left, bottom_right], -1))
    return intersection, area(a)[:, None] + area(b) - intersection


def iou(a: Tensor, b: Tensor) -> Tensor:
    """Intersection over union (N, M) of boxes a (N, 4) and b (M, 4), as centers and sides."""
    intersection, union = shared(corners(a), corners(b))
    return intersection / union


def generalized_iou(a: Tensor, b: Tensor) -> Tensor:
    """Generalized IoU (N, M), from -1 to 1: it also varies where boxes do not overlap.

        giou = intersection / union - (hull - union) / hull

    `hull` is the area of the smallest box around both.
    Source: Rezatofighi et al. 2019, algorithm 1.
    """
    a, b = corners(a), corners(b)
    intersection, union = shared(a, b)
    top_left = torch.minimum(a[:, None, :2], b[:, :2])
    hull = area(torch.cat([top_left, torch.maximum(a[:, None, 2:], b[:, 2:])], -1))
    return intersection / union - (hull - union) / hull
