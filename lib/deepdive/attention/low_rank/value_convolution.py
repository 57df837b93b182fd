"""A depthwise convolution of the values over time, added to what an approximate attention says."""

from __future__ import annotations

import torch
import torch.nn.functional as F
from torch import Tensor, nn

from deepdive.checks import positive


class ValueConvolution(nn.Module):
    """Each head sums its values near t, each distance with one number of its own.

        y[h, t] = sum over j = 0 .. kernel - 1 of weight[h, j] * v[h, t + j - kernel // 2]

    Rows outside the sequence, and rows that are not `real`, count as 0. It costs T * kernel * d a
    head as written; here rows stand in blocks of L >= kernel - 1, and a block is the product of a
    Toeplitz matrix (L, 2 L), made of the weights, with itself and the next one. That is at most
    twice the work, in matrix products.

    Raises ValueError unless `kernel` is odd and positive.
    Source: Xiong et al. 2021 (Nystromformer), section 3, and its released code; that of Zeng et
    al. 2021 (YOSO) has it as an option.
    """

    def __init__(self, n_heads: int, kernel: int) -> None:
        super().__init__()
        positive(n_heads=n_heads, kernel=kernel)
        if kernel % 2 == 0:
            raise ValueError(f"kernel={kernel}: expected an odd number, so that it has a middle")
        self.weight = nn.Parameter(torch.empty(n_heads, kernel))
        nn.init.uniform_(self.weight, -(kernel**-0.5), kernel**-0.5)

    def extra_repr(self) -> str:
        return "n_heads={}, kernel={}".format(*self.weight.shape)

    def forward(self, v: Tensor, real: Tensor | None = None) -> Tensor:
        """Return (B, H, T, d) for v (B, H, T, d); `real` bool (B or 1, T), None = all.

        Raises ValueError for another number of heads.
        """
        n_heads, kernel = self.weight.shape
        if v.ndim != 4 or v.shape[1] != n_heads:
            raise ValueError(f"v must be (B, n_heads={n_heads}, T, d); got {tuple(v.shape)}")
        if real is not None:
            v = v * real[:, None, :, None]
        batch, _, T, d = v.shape
        L = max(kernel - 1, 32)
        blocks, before = -(-T // L), kernel // 2
        v = F.pad(v, (0, 0, before, (blocks + 1) * L - T - before))
        v = v.unflatten(2, (blocks + 1, L)).permute(1, 3, 0, 2, 4)  # (H, L, B, blocks + 1, d)
        y = self._toeplitz(L) @ v.reshape(n_heads, L, -1)
        y = y.view(n_heads, 2, L, batch, blocks + 1, d)
        y = y[:, 0, :, :, :-1] + y[:, 1, :, :, 1:]  # what a block's rows read of it, of the next
        return y.permute(2, 0, 3, 1, 4).reshape(batch, n_heads, blocks * L, d)[:, :, :T]

    def _toeplitz(self, L: int) -> Tensor:
        """Return (H, 2 L, L): rows i = 0 .. L - 1 hold weight[s - i] for s < L, the others for s
        of the next block.
        """
        n_heads, kernel = self.weight.shape
        # A row of 2 L + 1 numbers, repeated and cut at 2 L, moves by one place in each line.
        line = F.pad(self.weight, (0, 2 * L + 1 - kernel)).repeat(1, L)[:, : 2 * L * L]
        return line.view(n_heads, L, 2, L).transpose(1, 2).reshape(n_heads, 2 * L, L)
