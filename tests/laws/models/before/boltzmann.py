"""Cases of `deepdive.models.before.boltzmann`."""

from __future__ import annotations

import torch
from torch import Tensor

from deepdive.models.before.boltzmann import (
    DBN,
    RBM,
    all_states,
    classifier,
    contrastive_divergence,
)
from laws import Case, NotApplicable, case, random_rows

ALONE = NotApplicable("each row is alone: no other row is read")


NO_WEIGHTS = NotApplicable("no attention: there are no attention weights to record")


@case("dbn/RBM", RBM)
def _() -> Case:
    def brute_force() -> tuple[Tensor, Tensor]:
        rbm, v, h = RBM(5, 3).double(), all_states(5), all_states(3)
        return -rbm.free_energy(v), (-rbm.energy(v[:, None], h)).logsumexp(1)

    return Case(
        make=lambda: RBM(16, 6),
        run=lambda module, x, mask, state: module.free_energy(x).unsqueeze(-1),
        parity="sklearn.neural_network.BernoulliRBM",
        limits={"the sum over all hidden states": brute_force},
        refusals={
            "a side without units": lambda: RBM(4, 0),
            "rows of another width": lambda: RBM(4, 2)(torch.zeros(1, 3)),
            "no Gibbs step": lambda: contrastive_divergence(RBM(4, 2), torch.zeros(1, 4), k=0),
            "a sum over too many states": lambda: RBM(30, 30).log_partition(),
        },
        laws={"padding": ALONE, "cache": ALONE, "hooks": NO_WEIGHTS},
    )


@case("dbn", DBN)
def _() -> Case:
    def network() -> tuple[Tensor, Tensor]:
        """Before any training by labels, the network's last but one layer is the DBN's top."""
        dbn, x = DBN((16, 8, 6)).double(), random_rows(3, 16).sigmoid()
        return classifier(dbn, 10)[:-1](x), dbn(x)

    return Case(
        make=lambda: DBN((16, 8, 6)),
        run=lambda module, x, mask, state: module(x),
        parity="sklearn.neural_network.BernoulliRBM, one over the other",
        limits={"the network that fine-tuning starts from": network},
        refusals={"one size": lambda: DBN((16,))},
        silent={".b": "the visible side's bias is read when rows are drawn, not on the way up"},
        laws={"padding": ALONE, "cache": ALONE, "hooks": NO_WEIGHTS},
    )
