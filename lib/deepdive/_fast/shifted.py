"""Shifted windows of many images: the bias and mask of one image, added to all in one sum."""

from collections.abc import Callable

from torch import Tensor


def mixed(
    q: Tensor, k: Tensor, v: Tensor, allowed: Tensor | None, bias: Tensor, scale: float,
    dropout: Callable[[Tensor], Tensor],
) -> Tensor:  # fmt: skip
    """Return the output (images * windows, H, T, d_v); bias (1, H, T, S), and which pairs of
    one image are `allowed`, (windows, 1, T, S), one for each query at least.
    """
    scores = (scale * q) @ k.transpose(-2, -1)
    if allowed is None:
        return dropout((scores + bias).softmax(-1)) @ v
    bias = bias.masked_fill(~allowed, float("-inf"))  # (windows, H, T, S)
    scores = (scores.unflatten(0, (-1, len(bias))) + bias).flatten(0, 1)
    return dropout(scores.softmax(-1)) @ v
