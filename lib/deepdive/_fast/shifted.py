"""Shifted-window attention: the bias and mask of one image, added to all images at once."""

from collections.abc import Callable

from torch import Tensor


def mixed(
    q: Tensor, k: Tensor, v: Tensor, allowed: Tensor | None, bias: Tensor, scale: float,
    dropout: Callable[[Tensor], Tensor],
) -> Tensor:  # fmt: skip
    """Return the output (images * windows, H, T, d_v) for a bias (1, H, T, S) and the mask of one
    image, `allowed` (windows, 1, T, S), with at least one key per query.
    """
    scores = (scale * q) @ k.transpose(-2, -1)
    if allowed is None:
        return dropout((scores + bias).softmax(-1)) @ v
    bias = bias.masked_fill(~allowed, float("-inf"))  # (windows, H, T, S)
    scores = (scores.unflatten(0, (-1, len(bias))) + bias).flatten(0, 1)
    return dropout(scores.softmax(-1)) @ v
