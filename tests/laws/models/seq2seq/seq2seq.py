"""Cases of `deepdive.models.seq2seq.seq2seq`."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import torch
from torch import Tensor

from deepdive.models.seq2seq.reader import Reader
from deepdive.models.seq2seq.seq2seq import Seq2Seq, tiny
from deepdive.recurrent import RecurrentState
from laws import Case, Fails, Refuses, case, padding_of

SOURCE = torch.tensor([[7, 5, 9, 11], [4, 12, 6, 8], [10, 4, 13, 5]])


def run_pairs(model: Any, x: Tensor, mask: Any = None, state: Any = None) -> Tensor:
    """Run a model on target tokens x and a fixed source, for cases."""
    if state is not None:
        return model.step(x, state)
    return model(SOURCE[: x.shape[0]], x, None, padding_of(mask))


def unpaired(make: Callable[[], Any]) -> dict[str, Callable[[], object]]:
    """Return what every encoder-decoder refuses, for cases: name -> the call that must raise."""
    return {
        "two batches": lambda: make()(SOURCE, SOURCE[:2]),
        "an inverted mask": lambda: make()(SOURCE, SOURCE, torch.zeros(3, 4).bool()),
        "an unknown token": lambda: make()(SOURCE + 40, SOURCE),
    }


@case("seq2seq/Reader", Reader)
def _() -> Case:
    def rows() -> tuple[Tensor, Tensor]:
        reader = tiny().encoder.double()
        return reader(SOURCE), reader.recurrent(reader.embedding(SOURCE))

    return Case(
        make=lambda: tiny().encoder,
        run=lambda reader, x, mask=None, state=None: reader(x, padding_of(mask), state),
        begin=lambda reader: RecurrentState(),
        vocab=32,
        parity="torch.nn.Embedding and torch.nn.GRU",
        limits={"the network on the embedded rows": rows},
        refusals={
            "a float mask": lambda: tiny().encoder(SOURCE, torch.ones(3, 4)),
            "an inverted mask": lambda: tiny().encoder(SOURCE, torch.zeros(3, 4).bool()),
            "an unknown token": lambda: tiny().encoder(SOURCE + 40),
            "no tokens": lambda: tiny().encoder(SOURCE[:, :0]),
        },
        laws={
            "order": Fails("a recurrence reads in order"),
            "hooks": Refuses("no attention: record says that there are no weights"),
        },
    )


@case("seq2seq", Seq2Seq)
def _() -> Case:
    def one_sequence() -> tuple[Tensor, Tensor]:
        """With one reader for both, the target is read as if it followed the source."""
        model, tgt = tiny().double(), SOURCE.flip(1)
        model.encoder = model.decoder
        return model(SOURCE, tgt), model.head(model.decoder(torch.cat([SOURCE, tgt], 1)))[:, 4:]

    return Case(
        make=tiny,
        run=run_pairs,
        begin=lambda model: model.begin(SOURCE[:2]),
        vocab=32,
        parity="torch.nn.Embedding, torch.nn.GRU and torch.nn.Linear, composed",
        limits={"one reader for both: source and target are one sequence": one_sequence},
        refusals=unpaired(tiny),
        laws={
            "order": Fails("a recurrence reads in order"),
            "hooks": Refuses("no attention: record says that there are no weights"),
        },
    )
