"""Cases of `deepdive.models.efficient.set_transformer`."""

from __future__ import annotations

import torch
from torch import Tensor

from deepdive.layers import Block, PostNorm
from deepdive.masks import Causal, Mask, Padding
from deepdive.models.efficient.set_transformer import ISAB, MAB, PMA, SAB, SetTransformer, tiny
from laws import Case, NotApplicable, Refuses, case, random_rows, set_weights

UNORDERED = "a set has no before and after"


def _spread(pooled: Tensor, x: Tensor) -> Tensor:
    """The first answer for each member: equal under every order if the set has none."""
    return pooled[:, :1].expand(-1, x.shape[1], -1)


@case("set_transformer/MAB", MAB)
def _() -> Case:
    def block() -> tuple[Tensor, Tensor]:
        mab, x = MAB(16, 4).double(), random_rows(2, 5, 16)
        plain = Block(mab.attn, mab.ff, residual=PostNorm).double()
        plain.attn_residual, plain.ff_residual = mab.attn_residual, mab.ff_residual
        return mab(x, x), plain(x)

    return Case(
        make=lambda: MAB(16, 4),
        run=lambda module, x, mask, state: module(x, x, mask),
        parity="the paper's equations, written out as loops over rows",
        limits={"a set that reads itself: a post-norm Block": block},
        refusals={"a wrong width": lambda: MAB(8, 2)(torch.zeros(1, 3, 8), torch.zeros(1, 3, 9))},
        laws={"cache": NotApplicable(UNORDERED)},
    )


@case("set_transformer/SAB", SAB)
def _() -> Case:
    def itself() -> tuple[Tensor, Tensor]:
        sab, x = SAB(16, 4).double(), random_rows(2, 5, 16)
        return sab(x), sab.mab(x, x)

    return Case(
        make=lambda: SAB(16, 4),
        run=lambda module, x, mask, state: module(x, mask),
        parity="the paper's equations, written out as loops over rows",
        limits={"MAB of a set with itself": itself},
        refusals={"a wrong width": lambda: SAB(8, 2)(torch.zeros(1, 3, 9))},
        laws={"cache": NotApplicable(UNORDERED)},
    )


@case("set_transformer/ISAB", ISAB)
def _() -> Case:
    def deaf() -> tuple[Tensor, Tensor]:
        """Inducing rows that hear nothing are rows of their own: a plain memory."""
        isab, x = ISAB(16, 4, 3).double(), random_rows(2, 5, 16)
        set_weights(isab, read__attn__out__weight=0.0)
        alone = isab.read.ff_residual(isab.read.attn_residual.norm(isab.inducing), isab.read.ff)
        return isab(x), isab.answer(x, alone.expand(2, -1, -1))

    return Case(
        make=lambda: ISAB(16, 4, 3),
        run=lambda module, x, mask, state: module(x, mask),
        parity="the paper's equations, written out as loops over rows",
        limits={"inducing rows that hear nothing: a memory that does not change": deaf},
        refusals={
            "a causal mask": lambda: ISAB(8, 2, 3)(torch.zeros(1, 3, 8), Causal()),
            "no inducing rows": lambda: ISAB(8, 2, 0),
        },
        laws={
            "no_leak": Refuses("the inducing rows have read the whole set"),
            "cache": NotApplicable(UNORDERED),
        },
    )


@case("set_transformer/PMA", PMA)
def _() -> Case:
    def one_member() -> tuple[Tensor, Tensor]:
        """A set of copies of one member is that member, to a question."""
        pma, x = PMA(16, 4).double(), random_rows(2, 1, 16)
        return pma(x.expand(-1, 7, -1)), pma(x)

    return Case(
        make=lambda: PMA(16, 4),
        run=lambda module, x, mask, state: _spread(module(x, mask), x),
        parity="the paper's equations, written out as loops over rows",
        limits={"copies of one member: that member": one_member},
        refusals={
            "a causal mask": lambda: PMA(8, 2)(torch.zeros(1, 3, 8), Causal()),
            "no seeds": lambda: PMA(8, 2, 0),
        },
        laws={
            "no_leak": Refuses("a question to a whole set"),
            "cache": NotApplicable(UNORDERED),
        },
    )


@case("set_transformer", SetTransformer)
def _() -> Case:
    def its_parts() -> tuple[Tensor, Tensor]:
        model, x = tiny().double(), random_rows(2, 5, 16)
        rows = model.encoder[1](model.encoder[0](model.enter(x)))
        return model(x), model.out(model.compare(model.pool(rows)))

    def run(module: SetTransformer, x: Tensor, mask: Mask | None, state: object) -> Tensor:
        keys = mask.keys if isinstance(mask, Padding) else None
        return _spread(module(x, keys), x)

    return Case(
        make=tiny,
        run=run,
        parity="the paper's equations, written out as loops over rows",
        limits={"encode, pool, compare, read": its_parts},
        refusals={"an inverted mask": lambda: tiny()(torch.zeros(1, 3, 16), torch.zeros(1, 3) > 1)},
        laws={
            "no_leak": NotApplicable(UNORDERED),
            "cache": NotApplicable(UNORDERED),
        },
    )
