"""Cases of `deepdive.layers.residual`."""

from __future__ import annotations

import torch
from torch import Tensor, nn

from deepdive.layers.residual import PostNorm, PreNorm, SandwichNorm
from laws import Case, NotApplicable, case, random_rows

NO_REFUSAL = NotApplicable("it joins whatever fits; torch names a sublayer that changes the shape")


@case("residual_norm/PreNorm", PreNorm)
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


@case("residual_norm/PostNorm", PostNorm)
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


@case("residual_norm", SandwichNorm)
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
