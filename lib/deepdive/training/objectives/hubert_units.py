"""HuBERT's objective: predict hidden units, found by k-means, at masked frames.

Source: Hsu et al. 2021, section III; k-means: Lloyd 1982, with the seeding of Arthur and
Vassilvitskii 2007 (k-means++).
"""

from __future__ import annotations

from dataclasses import dataclass

import torch
import torch.nn.functional as F
from torch import Tensor, nn

from deepdive.core.checks import positive
from deepdive.core.hooks import record


@dataclass(frozen=True)
class Units:
    """k clusters: `centers` (k, d), for frames (d,) minus `mean`, divided by `deviation`."""

    centers: Tensor
    mean: Tensor
    deviation: Tensor

    def __call__(self, rows: Tensor) -> Tensor:
        """Return the index of the nearest centroid to each frame (..., d), int64 (...)."""
        scaled = ((rows - self.mean) / self.deviation).flatten(0, -2)
        return nearest(scaled, self.centers)[0].view(rows.shape[:-1])


def nearest(rows: Tensor, centers: Tensor) -> tuple[Tensor, Tensor]:
    """Return the nearest centroid of each frame (n, d), and the squared distance to it."""
    squares = (rows * rows).sum(1, keepdim=True) + (centers * centers).sum(1)
    distance, which = torch.addmm(squares, rows, centers.T, alpha=-2).min(1)
    return which, distance.clamp(min=0)


def make_units(rows: Tensor, k: int, steps: int = 20, draw: torch.Generator | None = None) -> Units:
    """Return k units of frames (n, d), standardized to mean 0 and standard deviation 1, by k-means:

        group(row) = argmin over u of |row - centre_u|^2;   centre_u = mean of its group

    alternating `steps` times or until assignments are stable; an empty cluster restarts at the
    frame farthest from its centroid. The initial centroids are sampled one after another, a frame
    with probability proportional to its squared distance to the nearest one. Raises ValueError for
    fewer frames than units.
    """
    positive(k=k, steps=steps)
    if rows.ndim != 2 or len(rows) < k:
        raise ValueError(f"rows: got {tuple(rows.shape)}, expected (n, d) with n >= k={k}")
    mean, deviation = rows.mean(0), rows.std(0, unbiased=False).clamp(min=1e-8)
    scaled = (rows - mean) / deviation
    centers = scaled[torch.randint(len(rows), (1,), generator=draw)]
    far = nearest(scaled, centers)[1]
    for _ in range(k - 1):
        chosen = torch.multinomial(far + 1e-12, 1, generator=draw)
        centers = torch.cat([centers, scaled[chosen]])
        far = torch.minimum(far, (scaled - scaled[chosen]).square().sum(1))
    before = None
    for _ in range(steps):
        group, far = nearest(scaled, centers)
        if before is not None and torch.equal(group, before):
            break
        count = torch.bincount(group, minlength=k)
        sums = torch.zeros_like(centers).index_add_(0, group, scaled)
        centers = sums / count.clamp(min=1)[:, None].to(sums)
        for empty in (count == 0).nonzero()[:, 0]:
            centers[empty] = scaled[far.argmax()]
            far[far.argmax()] = 0
        before = group
    return Units(centers, mean, deviation)


@torch.no_grad()
def layer_states(encoder: nn.Module, layer: int, *inputs: Tensor) -> Tensor:
    """Return the states (B, T, d_model) after a layer, counted from 1: the units of a second
    training iteration are clusters of these. The encoder, which has blocks in `stack`, receives
    `inputs` unmasked, in evaluation mode. Raises ValueError for a layer that is not there.
    """
    there = len(list(encoder.get_submodule("stack.blocks").children()))
    if not 1 <= layer <= there:
        raise ValueError(f"layer={layer}: the encoder has {there}, counted from 1")
    was_training = encoder.training
    encoder.eval()
    with record(encoder, f"stack.blocks.{layer - 1}.stream") as seen:
        encoder(*inputs)
    encoder.train(was_training)
    ((states,),) = seen.values()
    return states


def unit_loss(
    scores: Tensor, units: Tensor, hidden: Tensor, real: Tensor | None = None, alpha: float = 1.0
) -> Tensor:
    """loss = alpha * (mean over masked frames of -log p(unit)) + (1 - alpha) * (the same over
    unmasked frames), p = softmax(scores).

    scores (B, T, k); units int64 (B, T); hidden, real bool (B, T). The paper takes alpha = 1.
    Raises ValueError where a part with nonzero weight has no frame.
    """
    real = torch.ones_like(hidden) if real is None else real
    parts = [(alpha, hidden & real, "masked"), (1 - alpha, ~hidden & real, "unmasked")]
    total = scores.new_zeros(())
    for weight, where, name in parts:
        if weight:
            if not where.any():
                raise ValueError(f"hidden: no frame is {name}, but its loss has weight {weight}")
            total = total + weight * F.cross_entropy(scores[where], units[where])
    return total
