"""Cases of `deepdive.models.efficient.set_transformer`."""

from typing import Any

import torch
from torch import Tensor

from deepdive.core import Block, PostNorm
from deepdive.core.masks import Causal
from deepdive.models.efficient.set_transformer import ISAB, MAB, PMA, SAB, SetTransformer, tiny
from laws import Case, NotApplicable, Refuses, case, padding_of, random_rows, set_weights

UNORDERED = NotApplicable("a set has no before and after")
X, ROWS, WIDER = random_rows(2, 5, 16), torch.zeros(1, 3, 8), torch.zeros(1, 3, 9)


def set_case(limits: Any, laws: Any = None, **more: Any) -> Case:
    """Return the case of a part that reads a set."""
    declared = {
        "run": lambda module, x, mask, state: module(x, mask),
        "parity": "the paper's equations, written out as loops over rows",
        "limits": limits,
        "laws": {"cache": UNORDERED, **(laws or {})},
    }
    return Case(**declared | more)


def spread(pooled: Tensor, x: Tensor) -> Tensor:
    """Return the first answer for each member: equal under every order if the set has none."""
    return pooled[:, :1].expand(-1, x.shape[1], -1)


@case("set_transformer/MAB", MAB)
def _() -> Case:
    def block() -> tuple[Tensor, Tensor]:
        mab = MAB(16, 4).double()
        plain = Block(mab.attn, mab.ff, residual=PostNorm).double()
        plain.attn_residual, plain.ff_residual = mab.attn_residual, mab.ff_residual
        return mab(X, X), plain(X)

    return set_case(
        {"a set that reads itself: a post-norm Block": block},
        make=lambda: MAB(16, 4),
        run=lambda module, x, mask, state: module(x, x, mask),
        refusals={"a wrong width": lambda: MAB(8, 2)(ROWS, WIDER)},
    )


@case("set_transformer/SAB", SAB)
def _() -> Case:
    sab = SAB(16, 4).double()
    return set_case(
        {"MAB of a set with itself": lambda: (sab(X), sab.mab(X, X))},
        make=lambda: SAB(16, 4),
        refusals={"a wrong width": lambda: SAB(8, 2)(WIDER)},
    )


@case("set_transformer/ISAB", ISAB)
def _() -> Case:
    def deaf() -> tuple[Tensor, Tensor]:
        """Inducing rows that hear nothing are rows of their own: a plain memory."""
        isab = ISAB(16, 4, 3)
        set_weights(isab, read__attn__out__weight=0.0)
        alone = isab.read.ff_residual(isab.read.attn_residual.norm(isab.inducing), isab.read.ff)
        return isab(X), isab.answer(X, alone.expand(2, -1, -1))

    return set_case(
        {"inducing rows that hear nothing: a memory that does not change": deaf},
        {"no_leak": Refuses("the inducing rows have read the whole set")},
        make=lambda: ISAB(16, 4, 3),
        refusals={
            "a causal mask": lambda: ISAB(8, 2, 3)(ROWS, Causal()),
            "no inducing rows": lambda: ISAB(8, 2, 0),
        },
    )


@case("set_transformer/PMA", PMA)
def _() -> Case:
    def one_member() -> tuple[Tensor, Tensor]:
        """A set of copies of one member is that member, to a question."""
        pma, x = PMA(16, 4).double(), random_rows(2, 1, 16)
        return pma(x.expand(-1, 7, -1)), pma(x)

    return set_case(
        {"copies of one member: that member": one_member},
        {"no_leak": Refuses("a question to a whole set")},
        make=lambda: PMA(16, 4),
        run=lambda module, x, mask, state: spread(module(x, mask), x),
        refusals={
            "a causal mask": lambda: PMA(8, 2)(ROWS, Causal()),
            "no seeds": lambda: PMA(8, 2, 0),
        },
    )


@case("set_transformer", SetTransformer)
def _() -> Case:
    def its_parts() -> tuple[Tensor, Tensor]:
        model = tiny().double()
        rows = model.encoder[1](model.encoder[0](model.enter(X)))
        return model(X), model.out(model.compare(model.pool(rows)))

    return set_case(
        {"encode, pool, compare, read": its_parts},
        {"no_leak": UNORDERED},
        run=lambda module, x, mask, state: spread(module(x, padding_of(mask)), x),
        refusals={"an inverted mask": lambda: tiny()(torch.zeros(1, 3, 16), torch.zeros(1, 3) > 1)},
    )
