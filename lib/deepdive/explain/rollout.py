"""Attention through all layers: how much of each input row is in each state, if attention and the
residual connection were all; and how far heads look on a grid of patches.

    with record(model, "*.weights") as seen:
        model(images)
    rolled = rollout(seen)                  # (L + 1, B, T, T)
    rolled[-1, 0, 0, 1:]                    # the class token's share of each patch

System: attention_rollout
Parent: none
What differs:
- one layer's weights say which states are mixed, not which inputs: the layers' matrices are
  multiplied, with half of each row left where it was for the residual connection (`rollout`)
- heads count alike: their mean is taken (`mixing`); values, feed-forward layers and norms are left
  out, so it is a picture of where information could come from, not of what was used
- on a grid of patches a head's reach is a distance in the plane (`distance`)
Source: Abnar and Zuidema 2020, section 3; Dosovitskiy et al. 2021, section 4.5 and figure 7.
Book: 7.5.2
"""

from collections.abc import Mapping, Sequence

import torch
from torch import Tensor

from deepdive.core.checks import positive


def mixing(weights: Tensor) -> Tensor:
    """A = (mean over heads of W + I) / 2, (B, T, T) for weights (B, H, T, T).

    Raises ValueError for weights of another shape, and where a row does not sum to 1: a query that
    sees nothing, or a mechanism whose weights are no shares.
    Source: Abnar and Zuidema 2020, section 3.
    """
    if weights.ndim != 4 or weights.shape[-1] != weights.shape[-2]:
        raise ValueError(
            f"weights: got {tuple(weights.shape)}, expected (B, H, T, T): of self-attention, such "
            'as record(model.encoder, "*.weights")'
        )
    mean = weights.mean(1)
    worst = (mean.sum(-1) - 1).abs().max().item()
    if not worst < 1e-3:
        raise ValueError(f"weights: a row is {worst:.3g} from a sum of 1: leave out padding")
    return (mean + torch.eye(mean.shape[-1], dtype=mean.dtype, device=mean.device)) / 2


def rollout(weights: Mapping[str, Sequence[Tensor]] | Sequence[Tensor]) -> Tensor:
    """Return R_0 to R_L, (L + 1, B, T, T), for each layer's weights (B, H, T, T), the first first:

        R_0 = I,    R_l = A_l R_(l-1)          # A_l: `mixing` of layer l

    R_l[t, s] is the sum over all paths from input s to state t, a step a layer, of the product of
    their shares; rows sum to 1. `weights` is what `record(model, "*.weights")` yields for one call
    (a shared layer, called several times, is several), or a list.
    Raises ValueError for no weights, for those of several calls, and where `mixing` does.
    Source: Abnar and Zuidema 2020, section 3, "attention rollout".
    """
    layers = one_call(weights) if isinstance(weights, Mapping) else list(weights)
    if not layers:
        raise ValueError("weights: there is no layer to multiply")
    steps = [mixing(layer) for layer in layers]
    rolled = [torch.eye(steps[0].shape[-1]).to(steps[0]).expand_as(steps[0])]
    for step in steps:
        rolled.append(step @ rolled[-1])
    return torch.stack(rolled)


def distances(grid: tuple[int, int], patch_size: int = 1) -> Tensor:
    """Return how far the centres of patches are from each other, in pixels, (N, N) for a grid of
    lines and columns counted line by line. Its mean is the reach of a head that looks everywhere.
    """
    positive(lines=grid[0], columns=grid[1], patch_size=patch_size)
    places = torch.cartesian_prod(*(torch.arange(n, dtype=torch.float64) for n in grid))
    return patch_size * torch.cdist(places, places, compute_mode="donot_use_mm_for_euclid_dist")


def distance(weights: Tensor, grid: tuple[int, int], patch_size: int = 1) -> Tensor:
    """Return the mean distance over which patches look, in pixels, (...) for weights (..., T, T):

        d = mean over patches t of sum_s w_ts |place_t - place_s|

    The grid's N patches come last in the T rows; what goes to the special rows before them is left
    out, and the rest of w_t made to sum to 1. Raises ValueError for fewer rows than patches.
    Source: Dosovitskiy et al. 2021, figure 7 (there the mean is over 128 images).
    """
    apart = distances(grid, patch_size).to(weights)
    n = len(apart)
    if weights.ndim < 2 or weights.shape[-1] != weights.shape[-2] or weights.shape[-1] < n:
        raise ValueError(
            f"weights: got {tuple(weights.shape)} for a grid of {grid[0]} x {grid[1]}, expected "
            f"(..., T, T) with T at least {n}"
        )
    shares = weights[..., -n:, -n:]
    shares = shares / shares.sum(-1, keepdim=True)
    return (shares * apart).sum(-1).mean(-1)


def one_call(seen: Mapping[str, Sequence[Tensor]]) -> list[Tensor]:
    """Return the layers of one call of a model, in their order; ValueError for those of several."""
    often = [name for name, calls in seen.items() if len(calls) > 1]
    if often and len(seen) > 1:
        raise ValueError(
            f"weights: {often[0]} was called {len(seen[often[0]])} times: record one call at a time"
        )
    return [tensor for calls in seen.values() for tensor in calls]
