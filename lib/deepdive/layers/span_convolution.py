"""Span-based dynamic convolution (ConvBERT): each position generates its kernel from its span."""

import torch
import torch.nn.functional as F
from torch import Tensor, nn

from deepdive.core.checks import positive


class SpanConvolution(nn.Module):
    """Span-based dynamic convolution: the query and the span around t generate the kernel.

        span[t]   = pointwise(sum over j of depthwise[j] * x[t + j - kernel // 2])  # (H, d_head)
        weights[t] = softmax(chosen(span[t] * q[t]))                              # (H, kernel)
        y[t]      = sum over j of weights[t, j] * value(x)[t + j - kernel // 2]

    x outside the sequence, and where it is not `real`, counts as 0.
    Raises ValueError unless `kernel` is odd.
    Source: Jiang et al. 2020, section 3.2, and their released code.
    """

    def __init__(self, d_model: int, n_heads: int, d_head: int, kernel: int) -> None:
        super().__init__()
        positive(d_model=d_model, n_heads=n_heads, d_head=d_head, kernel=kernel)
        if kernel % 2 == 0:
            raise ValueError(f"kernel={kernel}: expected an odd number, so it has a center")
        self.n_heads, self.d_head, self.kernel = n_heads, d_head, kernel
        width = n_heads * d_head
        self.depthwise = nn.Conv1d(
            d_model, d_model, kernel, padding=kernel // 2, groups=d_model, bias=False
        )
        nn.init.normal_(self.depthwise.weight, std=0.02)
        self.pointwise = nn.Linear(d_model, width)
        self.chosen = nn.Linear(width, n_heads * kernel)
        self.value = nn.Linear(d_model, width)

    def forward(self, x: Tensor, q: Tensor, real: Tensor | None = None) -> Tensor:
        """Return (B, H, T, d_head) for x (B, T, d_model) and q (B, H, T, d_head); `real` bool
        (B or 1, T), None = all.
        """
        if real is not None:
            x = x * real.unsqueeze(-1)
        span = self.pointwise(self.depthwise(x.transpose(1, 2)).transpose(1, 2))
        logits = self.chosen(span * q.transpose(1, 2).flatten(2))  # (B, T, H * kernel)
        weights = logits.unflatten(-1, (self.n_heads, self.kernel)).softmax(-1)
        v = self.value(x)
        if real is not None:
            v = v * real.unsqueeze(-1)
        v = F.pad(v, (0, 0, self.kernel // 2, self.kernel // 2)).unflatten(-1, (-1, self.d_head))
        T, y = x.shape[1], torch.zeros_like(q.transpose(1, 2))
        for j in range(self.kernel):  # distance by distance: no values are copied
            y = torch.addcmul(y, weights[..., j : j + 1], v[:, j : j + T])
        return y.transpose(1, 2)
