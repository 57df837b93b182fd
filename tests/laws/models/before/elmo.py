"""Cases of `deepdive.models.before.elmo`."""

from __future__ import annotations

import torch
from torch import Tensor, nn

from deepdive.models.before.elmo import ELMo, ScalarMix, tiny
from laws import Case, Fails, NotApplicable, case, padding_of, random_rows


@case("elmo/ScalarMix", ScalarMix)
def _() -> Case:
    def chosen() -> tuple[Tensor, Tensor]:
        mix, rows = ScalarMix(3).double(), list(random_rows(3, 2, 4, 16))
        nn.init.constant_(mix.s[:1], 800.0)
        return mix(rows), rows[0]

    def mean() -> tuple[Tensor, Tensor]:
        rows = random_rows(3, 2, 4, 16)
        return ScalarMix(3).double()(list(rows)), rows.mean(0)

    alone = NotApplicable("it mixes numbers of one place; no mask, order or state enters")
    return Case(
        make=lambda: ScalarMix(3),
        run=lambda mix, x, mask=None, state=None: mix([x, x.square(), x.sin()]),
        parity="the direct sum",
        limits={"one s far above the others: that layer": chosen, "at first: the mean": mean},
        refusals={
            "another number of layers": lambda: ScalarMix(3)([torch.zeros(2)] * 2),
            "no layers": lambda: ScalarMix(0),
        },
        laws={"padding": alone, "cache": alone},
    )


@case("elmo", ELMo)
def _() -> Case:
    def last() -> tuple[Tensor, Tensor]:
        model, tokens = tiny().double(), torch.tensor([[4, 9, 5]])
        nn.init.constant_(model.mix.s[-1:], 800.0)
        return model(tokens), model.bilm.layers(tokens)[-1]

    both_ends = "it reads from both ends, and needs the whole sentence"
    return Case(
        make=tiny,
        run=lambda model, x, mask=None, state=None: model(x, padding_of(mask)),
        vocab=32,
        parity="torch.nn.LSTM and the direct sum",
        limits={"all weight on the last layer: that layer": last},
        refusals={"an unknown token": lambda: tiny()(torch.tensor([[40]]))},
        silent={"head": "the output layer is for training the two language models only"},
        laws={
            "no_leak": Fails(both_ends),
            "order": Fails("a recurrence reads in order"),
            "cache": NotApplicable(both_ends),
        },
    )
