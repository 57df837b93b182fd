"""Layer normalization and RMSNorm, over the last axis."""

import torch
import torch.nn.functional as F
from torch import Tensor, nn

from deepdive.core.checks import numbers, positive, width


class LayerNorm(nn.Module):
    """y = weight * (x - mean(x)) / sqrt(var(x) + eps) + bias, over the last axis; var divides by
    d_model.

    Source: Ba, Kiros and Hinton 2016, equations 3 and 4.
    """

    def __init__(self, d_model: int, eps: float = 1e-5, bias: bool = True) -> None:
        super().__init__()
        positive(d_model=d_model)
        numbers(eps=eps)
        self.eps = eps
        self.weight = nn.Parameter(torch.ones(d_model))
        self.bias = nn.Parameter(torch.zeros(d_model)) if bias else None

    def forward(self, x: Tensor) -> Tensor:
        """Return x (..., d_model) with each vector normalized to mean 0 and variance 1, then scaled
        and shifted.
        """
        width("x", x, len(self.weight))
        return F.layer_norm(x, self.weight.shape, self.weight, self.bias, self.eps)


class RMSNorm(nn.Module):
    """y = weight * x / sqrt(mean(x ** 2) + eps), over the last axis: no mean is subtracted, no
    bias added.

    Source: Zhang and Sennrich 2019, equation 4.
    """

    def __init__(self, d_model: int, eps: float = 1e-6) -> None:
        super().__init__()
        positive(d_model=d_model)
        numbers(eps=eps)
        self.eps = eps
        self.weight = nn.Parameter(torch.ones(d_model))

    def forward(self, x: Tensor) -> Tensor:
        """Return x (..., d_model) with each vector divided by its root mean square, then scaled."""
        width("x", x, len(self.weight))
        return F.rms_norm(x, self.weight.shape, self.weight, self.eps)


class OffsetRMSNorm(RMSNorm):
    """y = (1 + weight) * x / sqrt(mean(x ** 2) + eps): `RMSNorm` whose weight is stored as its
    difference from 1, so that weight decay pulls the factor toward 1, not 0.

    Source: the released code of Gemma (Gemma Team 2024), class RMSNorm.
    """

    def __init__(self, d_model: int, eps: float = 1e-6) -> None:
        super().__init__(d_model, eps)
        nn.init.zeros_(self.weight)

    def forward(self, x: Tensor) -> Tensor:
        """Return x (..., d_model) with each vector divided by its root mean square, then scaled."""
        width("x", x, len(self.weight))
        return F.rms_norm(x, self.weight.shape, 1 + self.weight, self.eps)
