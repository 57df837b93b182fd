"""Residual connections around a sublayer: post-norm, pre-norm, sandwich norm, and without a norm.

System: residual_norm
Parent: none
What differs:
- a sublayer's output is added to its input, so that a gradient has a path around it
- the norm is after the sum (`PostNorm`), inside the branch (`PreNorm`), or on both sides of the
  sublayer (`SandwichNorm`)
Source: He et al. 2016, section 3; Ba, Kiros and Hinton 2016; Xiong et al. 2020, figure 1.
Book: 2.4.3

System: norm_variants
Parent: residual_norm
What differs:
- RMSNorm: no mean is subtracted and no bias added (`PreNorm` with norm=`deepdive.core.RMSNorm`)
- no normalization: the sublayer reads the stream itself (`NoNorm`)
- ReZero: no normalization, and a learned scalar that starts at 0 multiplies the branch, so that
  every layer starts as the identity (`ReZero.alpha`)
Source: Zhang and Sennrich 2019; Bachlechner et al. 2021, section 3.
Book: 1.2.1.2
"""

from collections.abc import Callable

import torch
from torch import Tensor, nn

from deepdive.core.checks import numbers, positive
from deepdive.core.norms import LayerNorm

Sublayer = Callable[[Tensor], Tensor]
Norm = Callable[[int], nn.Module]


class PreNorm(nn.Module):
    """x + dropout(sublayer(norm(x))): the stream itself is never normalized, so a stack ends in
    one more norm.

    Source: Xiong et al. 2020, figure 1 (b).
    """

    final_norm = True

    def __init__(self, d_model: int, norm: Norm = LayerNorm, dropout: float = 0.0) -> None:
        super().__init__()
        numbers(0.0, 1.0, dropout=dropout)
        self.norm = norm(d_model)
        self.dropout = nn.Dropout(dropout)

    def forward(self, x: Tensor, sublayer: Sublayer) -> Tensor:
        """Return the stream (B, T, d_model) after the sublayer."""
        return x + self.dropout(sublayer(self.norm(x)))


class ScaledPreNorm(PreNorm):
    """x + gain * dropout(sublayer(norm(x))): a learned gain per channel of a branch, which starts
    small, so that a deep stack starts near the identity.

    Source: Touvron et al. 2021, "Going Deeper with Image Transformers" (LayerScale), section 2.
    """

    def __init__(
        self, d_model: int, norm: Norm = LayerNorm, dropout: float = 0.0, gain: float = 1e-4
    ) -> None:
        super().__init__(d_model, norm, dropout)
        self.gain = nn.Parameter(torch.full((d_model,), gain))

    def forward(self, x: Tensor, sublayer: Sublayer) -> Tensor:
        """Return the stream (B, T, d_model) after the sublayer."""
        return x + self.gain * self.dropout(sublayer(self.norm(x)))


class PostNorm(nn.Module):
    """norm(x + dropout(sublayer(x))): the original form. A deep stack needs a warm-up.

    Source: Vaswani et al. 2017, section 3.1; Xiong et al. 2020, figure 1 (a).
    """

    final_norm = False

    def __init__(self, d_model: int, norm: Norm = LayerNorm, dropout: float = 0.0) -> None:
        super().__init__()
        numbers(0.0, 1.0, dropout=dropout)
        self.norm = norm(d_model)
        self.dropout = nn.Dropout(dropout)

    def forward(self, x: Tensor, sublayer: Sublayer) -> Tensor:
        """Return the stream (B, T, d_model) after the sublayer."""
        return self.norm(x + self.dropout(sublayer(x)))


class NoNorm(nn.Module):
    """x + dropout(sublayer(x)): a residual connection without normalization.

    Source: He et al. 2016, equation 1.
    """

    final_norm = False

    def __init__(self, d_model: int, dropout: float = 0.0) -> None:
        super().__init__()
        positive(d_model=d_model)
        numbers(0.0, 1.0, dropout=dropout)
        self.dropout = nn.Dropout(dropout)

    def forward(self, x: Tensor, sublayer: Sublayer) -> Tensor:
        """Return the stream (B, T, d_model) after the sublayer."""
        return x + self.dropout(sublayer(x))


class ReZero(NoNorm):
    """x + alpha * dropout(sublayer(x)): `alpha` is one learned number, 0 at initialization.

    While alpha is 0, the sublayer's own weights have no gradient, so alpha moves first. The
    released code has one alpha per layer for all its sublayers, this class one per sublayer.
    Source: Bachlechner et al. 2021, "ReZero is All You Need", section 3.
    """

    def __init__(self, d_model: int, dropout: float = 0.0, alpha: float = 0.0) -> None:
        super().__init__(d_model, dropout)
        self.alpha = nn.Parameter(torch.tensor(float(alpha)))

    def forward(self, x: Tensor, sublayer: Sublayer) -> Tensor:
        """Return the stream (B, T, d_model) after the sublayer."""
        return x + self.alpha * self.dropout(sublayer(x))


class SandwichNorm(nn.Module):
    """x + norm_out(dropout(sublayer(norm_in(x)))): a norm before the sublayer and one on its
    output.

    Source: Ding et al. 2021 (CogView), section 2.4.
    """

    final_norm = True

    def __init__(self, d_model: int, norm: Norm = LayerNorm, dropout: float = 0.0) -> None:
        super().__init__()
        numbers(0.0, 1.0, dropout=dropout)
        self.norm_in = norm(d_model)
        self.norm_out = norm(d_model)
        self.dropout = nn.Dropout(dropout)

    def forward(self, x: Tensor, sublayer: Sublayer) -> Tensor:
        """Return the stream (B, T, d_model) after the sublayer."""
        return x + self.norm_out(self.dropout(sublayer(self.norm_in(x))))
