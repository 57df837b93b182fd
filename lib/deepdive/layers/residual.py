"""How a sublayer joins the residual stream: where the norm stands.

System: residual_norm
Parent: none
What differs:
- a sublayer's output is added to what it read, so that a gradient has a path past it
- the norm stands behind the sum (`PostNorm`), inside the branch (`PreNorm`), or on both sides of
  the sublayer (`SandwichNorm`)
Time: O(d_model)
Memory: O(d_model)
Source: He et al. 2016, section 3; Ba, Kiros and Hinton 2016; Xiong et al. 2020, figure 1.
Book: 2.4.3
Page: 02_transformer/09_residuals_norms#where-the-norm-stands
Checkpoints: none
"""

from __future__ import annotations

from collections.abc import Callable

import torch
from torch import Tensor, nn

from deepdive.fast.dropout import Dropout
from deepdive.laws import Case, NotApplicable, case, random_rows
from deepdive.layers.norms import LayerNorm

Sublayer = Callable[[Tensor], Tensor]
Norm = Callable[[int], nn.Module]


class PreNorm(nn.Module):
    """x + dropout(sublayer(norm(x))): the stream itself is never normalised, so a stack ends in
    one more norm.

    Source: Xiong et al. 2020, figure 1 (b).
    """

    final_norm = True

    def __init__(self, d_model: int, norm: Norm = LayerNorm, dropout: float = 0.0) -> None:
        super().__init__()
        self.norm = norm(d_model)
        self.dropout = Dropout(dropout)

    def forward(self, x: Tensor, sublayer: Sublayer) -> Tensor:
        """Return the stream (B, T, d_model) after the sublayer."""
        return x + self.dropout(sublayer(self.norm(x)))


class PostNorm(nn.Module):
    """norm(x + dropout(sublayer(x))): the original form. It needs a warm-up when it is deep.

    Source: Vaswani et al. 2017, section 3.1; Xiong et al. 2020, figure 1 (a).
    """

    final_norm = False

    def __init__(self, d_model: int, norm: Norm = LayerNorm, dropout: float = 0.0) -> None:
        super().__init__()
        self.norm = norm(d_model)
        self.dropout = Dropout(dropout)

    def forward(self, x: Tensor, sublayer: Sublayer) -> Tensor:
        """Return the stream (B, T, d_model) after the sublayer."""
        return self.norm(x + self.dropout(sublayer(x)))


class SandwichNorm(nn.Module):
    """x + norm_out(dropout(sublayer(norm_in(x)))): a norm before the sublayer and one on what it
    returns.

    Source: Ding et al. 2021 (CogView), section 2.4.
    """

    final_norm = True

    def __init__(self, d_model: int, norm: Norm = LayerNorm, dropout: float = 0.0) -> None:
        super().__init__()
        self.norm_in = norm(d_model)
        self.norm_out = norm(d_model)
        self.dropout = Dropout(dropout)

    def forward(self, x: Tensor, sublayer: Sublayer) -> Tensor:
        """Return the stream (B, T, d_model) after the sublayer."""
        return x + self.norm_out(self.dropout(sublayer(self.norm_in(x))))


NO_REFUSAL = NotApplicable("it joins whatever fits; torch names a sublayer that changes the shape")


@case(PreNorm)
def _() -> Case:
    def plain_sum() -> tuple[Tensor, Tensor]:
        x = random_rows(2, 3, 16)
        return PreNorm(16, norm=lambda d: nn.Identity())(x, torch.sin), x + torch.sin(x)

    return Case(
        place="residual",
        make=lambda: PreNorm(16),
        parity="torch.nn.TransformerEncoderLayer, norm_first=True",
        limits={"no norm: a plain residual": plain_sum},
        laws={"refusal": NO_REFUSAL},
    )


@case(PostNorm)
def _() -> Case:
    def plain_sum() -> tuple[Tensor, Tensor]:
        x = random_rows(2, 3, 16)
        without = PostNorm(16, norm=lambda d: nn.Identity())
        return without(x, torch.sin), PreNorm(16, norm=lambda d: nn.Identity())(x, torch.sin)

    return Case(
        place="residual",
        make=lambda: PostNorm(16),
        parity="torch.nn.TransformerEncoderLayer, norm_first=False",
        limits={"no norm: PreNorm without one": plain_sum},
        laws={"refusal": NO_REFUSAL},
    )


@case(SandwichNorm)
def _() -> Case:
    def without_second() -> tuple[Tensor, Tensor]:
        x, sandwich = random_rows(2, 3, 16), SandwichNorm(16).double()
        sandwich.norm_out = nn.Identity()
        return sandwich(x, torch.sin), PreNorm(16).double()(x, torch.sin)

    return Case(
        place="residual",
        make=lambda: SandwichNorm(16),
        parity="none: no installed library has it; its limit is PreNorm, which is proved",
        limits={"no second norm: PreNorm": without_second},
        laws={"refusal": NO_REFUSAL},
    )
