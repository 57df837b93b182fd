"""Attention rollout: attention weights combined over all layers, with residual connections; and
the mean attention distance of heads on a grid of patches.

    with record(model, "*.weights") as seen:
        model(images)
    rolled = rollout(seen)                  # (L + 1, B, T, T)
    rolled[-1, 0, 0, 1:]                    # the class token's attention to each patch

System: attention_rollout
Parent: none
What differs:
- one layer's weights relate hidden states, not inputs: the layers' matrices are multiplied, each
  averaged with the identity for the residual connection (`rollout`)
- heads are averaged (`mixing`); values, feed-forward layers and norms are ignored, so it shows
  where information could come from, not what was used
- on a grid of patches, a head's mean attention distance is measured in the plane (`distance`)
Source: Abnar and Zuidema 2020, section 3; Dosovitskiy et al. 2021, section 4.5 and figure 7.
Book: 7.5.2
"""

from collections.abc import Mapping, Sequence

import torch
from torch import Tensor

from deepdive.core.checks import positive


def mixing(weights: Tensor) -> Tensor:
    """A = (mean over heads of W + I) / 2, (B, T, T) for weights (B, H, T, T).

    Raises ValueError for weights of another shape, and if a row does not sum to 1: a query that is
    fully masked, or a mechanism whose weights are not normalized.
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
        raise ValueError(f"weights: a row's sum differs from 1 by {worst:.3g}; remove padding")
    return (mean + torch.eye(mean.shape[-1], dtype=mean.dtype, device=mean.device)) / 2


def rollout(weights: Mapping[str, Sequence[Tensor]] | Sequence[Tensor]) -> Tensor:
    """Return R_0 to R_L, (L + 1, B, T, T), for the weights (B, H, T, T) of layers 1 to L:

        R_0 = I,    R_l = A_l R_(l-1)          # A_l: `mixing` of layer l

    R_l[t, s] is the sum over all paths from input s to state t, one edge per layer, of the product
    of the edges' weights; rows sum to 1. `weights` is what `record(model, "*.weights")` yields for
    one forward pass (a shared layer counts once per call), or a list.
    Raises ValueError for no weights, for those of several forward passes, and where `mixing` does.
    Source: Abnar and Zuidema 2020, section 3, "attention rollout".
    """
    layers = one_call(weights) if isinstance(weights, Mapping) else list(weights)
    if not layers:
        raise ValueError("weights: got no layers, expected one or more")
    steps = [mixing(layer) for layer in layers]
    rolled = [torch.eye(steps[0].shape[-1]).to(steps[0]).expand_as(steps[0])]
    for step in steps:
        rolled.append(step @ rolled[-1])
    return torch.stack(rolled)


def distances(grid: tuple[int, int], patch_size: int = 1) -> Tensor:
    """Return the distances between patch centers in pixels, (N, N), for a grid of rows and columns
    in row-major order. Their mean is the attention distance of uniform attention.
    """
    positive(lines=grid[0], columns=grid[1], patch_size=patch_size)
    xy = torch.cartesian_prod(*(torch.arange(n, dtype=torch.float64) for n in grid))
    return patch_size * torch.cdist(xy, xy, compute_mode="donot_use_mm_for_euclid_dist")


def distance(weights: Tensor, grid: tuple[int, int], patch_size: int = 1) -> Tensor:
    """Return the mean attention distance of patches in pixels, (...) for weights (..., T, T):

        d = mean over patches t of sum_s w_ts |position_t - position_s|

    The grid's N patches are the last of the T tokens; weights of the special tokens before them are
    dropped, and the rest of w_t is renormalized. Raises ValueError for fewer tokens than patches.
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
    """Return the tensors of one forward pass, in layer order; ValueError for several passes."""
    often = [name for name, calls in seen.items() if len(calls) > 1]
    if often and len(seen) > 1:
        raise ValueError(
            f"weights: {often[0]} was called {len(seen[often[0]])} times: record one call at a time"
        )
    return [tensor for calls in seen.values() for tensor in calls]
