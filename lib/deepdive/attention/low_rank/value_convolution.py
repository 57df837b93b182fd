"""A depthwise convolution of the values over time, added to an approximate attention."""

import torch
from torch import Tensor, nn

from deepdive._fast.value_convolution import convolved
from deepdive.core.checks import positive


class ValueConvolution(nn.Module):
    """Depthwise convolution of the values, with one kernel per head.

        y[h, t] = sum over j = 0 .. kernel - 1 of weight[h, j] * v[h, t + j - kernel // 2]

    Values outside the sequence, and those that are not `real`, count as 0. This is torch's
    convolution `conv2d(v, weight[:, None, :, None], padding=(kernel // 2, 0), groups=n_heads)`,
    which `deepdive._fast.value_convolution` runs as matrix products.

    Raises ValueError unless `kernel` is odd and positive.
    Source: Xiong et al. 2021 (Nystromformer), section 3, and its released code; that of Zeng et
    al. 2021 (YOSO) has it as an option.
    """

    def __init__(self, n_heads: int, kernel: int) -> None:
        super().__init__()
        positive(n_heads=n_heads, kernel=kernel)
        if kernel % 2 == 0:
            raise ValueError(f"kernel={kernel}: expected an odd number, so it has a center")
        self.weight = nn.Parameter(torch.empty(n_heads, kernel))
        nn.init.uniform_(self.weight, -(kernel**-0.5), kernel**-0.5)

    def extra_repr(self) -> str:
        return "n_heads={}, kernel={}".format(*self.weight.shape)

    def forward(self, v: Tensor, real: Tensor | None = None) -> Tensor:
        """Return (B, H, T, d) for v (B, H, T, d); `real` bool (B or 1, T), None = all.

        Raises ValueError for another number of heads.
        """
        n_heads = self.weight.shape[0]
        if v.ndim != 4 or v.shape[1] != n_heads:
            raise ValueError(f"v must be (B, n_heads={n_heads}, T, d); got {tuple(v.shape)}")
        if real is not None:
            v = v * real[:, None, :, None]
        return convolved(v, self.weight)
