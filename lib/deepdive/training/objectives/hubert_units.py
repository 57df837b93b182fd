"""HuBERT's: units of sound, made by k-means, and said of rows that are hidden.

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
    """k groups of rows: `centres` (k, d), for rows (d,) less `mean`, divided by `deviation`."""

    centres: Tensor
    mean: Tensor
    deviation: Tensor

    def __call__(self, rows: Tensor) -> Tensor:
        """Return the number of the nearest centre of each row (..., d), int64 (...)."""
        scaled = ((rows - self.mean) / self.deviation).flatten(0, -2)
        return nearest(scaled, self.centres)[0].view(rows.shape[:-1])


def nearest(rows: Tensor, centres: Tensor) -> tuple[Tensor, Tensor]:
    """Return the nearest centre of each row (n, d), and the squared distance to it."""
    squares = (rows * rows).sum(1, keepdim=True) + (centres * centres).sum(1)
    distance, which = torch.addmm(squares, rows, centres.T, alpha=-2).min(1)
    return which, distance.clamp(min=0)


def make_units(rows: Tensor, k: int, steps: int = 20, draw: torch.Generator | None = None) -> Units:
    """Return k units of rows (n, d), each number of which is first brought to mean 0, deviation 1:

        group(row) = argmin over u of |row - centre_u|^2;   centre_u = mean of its group

    by turns, `steps` times or until no row moves; a group that is left empty begins again at the
    row that is farthest from its centre. The first centres are drawn one after another, a row with
    probability proportional to its squared distance to the nearest one. Raises ValueError for
    fewer rows than units.
    """
    positive(k=k, steps=steps)
    if rows.ndim != 2 or len(rows) < k:
        raise ValueError(f"rows: came {tuple(rows.shape)}, expected (n, d) with n >= k={k}")
    mean, deviation = rows.mean(0), rows.std(0, unbiased=False).clamp(min=1e-8)
    scaled = (rows - mean) / deviation
    centres = scaled[torch.randint(len(rows), (1,), generator=draw)]
    far = nearest(scaled, centres)[1]
    for _ in range(k - 1):
        chosen = torch.multinomial(far + 1e-12, 1, generator=draw)
        centres = torch.cat([centres, scaled[chosen]])
        far = torch.minimum(far, (scaled - scaled[chosen]).square().sum(1))
    before = None
    for _ in range(steps):
        group, far = nearest(scaled, centres)
        if before is not None and torch.equal(group, before):
            break
        count = torch.bincount(group, minlength=k)
        sums = torch.zeros_like(centres).index_add_(0, group, scaled)
        centres = sums / count.clamp(min=1)[:, None].to(sums)
        for empty in (count == 0).nonzero()[:, 0]:
            centres[empty] = scaled[far.argmax()]
            far[far.argmax()] = 0
        before = group
    return Units(centres, mean, deviation)


@torch.no_grad()
def layer_states(encoder: nn.Module, layer: int, *inputs: Tensor) -> Tensor:
    """Return the states (B, T, d_model) behind a layer, counted from 1: of these the units of a
    second training are made. The encoder, which has blocks in `stack`, reads `inputs` without gaps,
    in evaluation mode. Raises ValueError for a layer that is not there.
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
    """loss = alpha * (mean over hidden rows of -log p(unit)) + (1 - alpha) * (the same over rows
    that are not), p = softmax(scores).

    scores (B, T, k); units int64 (B, T); hidden, real bool (B, T). The paper takes alpha = 1.
    Raises ValueError where a part that counts has no row.
    """
    real = torch.ones_like(hidden) if real is None else real
    parts = [(alpha, hidden & real, "hidden"), (1 - alpha, ~hidden & real, "heard")]
    total = scores.new_zeros(())
    for weight, where, name in parts:
        if weight:
            if not where.any():
                raise ValueError(f"hidden: no row is {name}, and its part counts {weight}")
            total = total + weight * F.cross_entropy(scores[where], units[where])
    return total
