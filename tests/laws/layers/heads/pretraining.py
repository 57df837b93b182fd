"""Cases of `deepdive.layers.heads.pretraining`."""

from __future__ import annotations

import torch
from torch import Tensor

from deepdive.layers import gelu
from deepdive.layers.embeddings import TokenEmbedding
from deepdive.layers.heads.pretraining import MaskedHead, Pooler
from laws import Case, NotApplicable, case, random_rows, set_weights

ALONE = NotApplicable("it looks at one state at a time; no mask, order or cache enters")


ONE_ROW = NotApplicable("it gives one row for the whole input")


@case("Pooler", Pooler)
def _() -> Case:
    def closed_form() -> tuple[Tensor, Tensor]:
        x, pooler = random_rows(2, 3, 16), Pooler(16)
        set_weights(pooler, dense__weight=torch.eye(16), dense__bias=0.5)
        return pooler(x), torch.tanh(x[:, 0] + 0.5)

    return Case(
        make=lambda: Pooler(16),
        run=lambda pooler, x, mask=None, state=None: pooler(x),
        parity="transformers BertModel",
        limits={"no projection: tanh of the first state": closed_form},
        refusals={"another width": lambda: Pooler(16)(torch.zeros(2, 3, 15))},
        laws={
            "no_leak": ONE_ROW,
            "padding": ONE_ROW,
            "cache": ONE_ROW,
            "hooks": ALONE,
            "order": ONE_ROW,
        },
    )


@case("MaskedHead", MaskedHead)
def _() -> Case:
    def make() -> MaskedHead:
        return MaskedHead(TokenEmbedding(20, 8), 16)

    def by_hand() -> tuple[Tensor, Tensor]:
        x, head = random_rows(2, 3, 16), make().double()
        rows = head.norm(gelu(x @ head.dense.weight.T + head.dense.bias))
        return head(x), rows @ head.head.embedding.weight.T

    return Case(
        make=make,
        run=lambda head, x, mask=None, state=None: head(x),
        parity="transformers BertForPreTraining",
        limits={"its steps, with a bias of 0": by_hand},
        refusals={"another width": lambda: make()(torch.zeros(2, 3, 15))},
        laws={"padding": ALONE, "cache": ALONE, "hooks": ALONE},
    )
