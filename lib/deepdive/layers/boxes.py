"""Boxes and how much two of them share. A box is (x, y, width, height), its middle first, in parts
of the image's sides; its corners are (left, top, right, bottom).
"""

import torch
from torch import Tensor


def corners(boxes: Tensor) -> Tensor:
    """Return (left, top, right, bottom) of boxes (..., 4)."""
    middle, sides = boxes[..., :2], boxes[..., 2:]
    return torch.cat([middle - sides / 2, middle + sides / 2], -1)


def area(boxes: Tensor) -> Tensor:
    """Return the areas (...) of boxes given by their corners; 0 where no inside is left."""
    return (boxes[..., 2:] - boxes[..., :2]).clamp(min=0).prod(-1)


def shared(a: Tensor, b: Tensor) -> tuple[Tensor, Tensor]:
    """Return the areas that boxes a (N, 4) and b (M, 4), given by their corners, have in common and
    together: intersection and union, both (N, M).
    """
    first = torch.maximum(a[:, None, :2], b[:, :2])
    last = torch.minimum(a[:, None, 2:], b[:, 2:])
    both = area(torch.cat([first, last], -1))
    return both, area(a)[:, None] + area(b) - both


def iou(a: Tensor, b: Tensor) -> Tensor:
    """Intersection over union (N, M) of boxes a (N, 4) and b (M, 4), given as middles and sides."""
    both, either = shared(corners(a), corners(b))
    return both / either


def generalized_iou(a: Tensor, b: Tensor) -> Tensor:
    """Generalised IoU (N, M), from -1 to 1: it still falls where boxes share nothing.

        giou = both / either - (hull - either) / hull

    `hull` is the area of the smallest box around both.
    Source: Rezatofighi et al. 2019, algorithm 1.
    """
    a, b = corners(a), corners(b)
    both, either = shared(a, b)
    first = torch.minimum(a[:, None, :2], b[:, :2])
    hull = area(torch.cat([first, torch.maximum(a[:, None, 2:], b[:, 2:])], -1))
    return both / either - (hull - either) / hull
