"""Cases of `deepdive.models.seq2seq.seq2seq`, and what the cases of all pairs share."""

from collections.abc import Callable, Mapping
from typing import Any

import torch
from torch import Tensor

from deepdive.models.seq2seq.rnn_encoder import RNNEncoder
from deepdive.models.seq2seq.seq2seq import Seq2Seq, tiny
from deepdive.recurrent import RecurrentState
from laws import IN_ORDER, Case, Pair, case, padding_of

SOURCE = torch.tensor([[7, 5, 9, 11], [4, 12, 6, 8], [10, 4, 13, 5]])


def pair_case(
    make: Callable[[], Any],
    parity: str,
    limits: Mapping[str, Pair],
    source: Tensor = SOURCE,
    **more: Any,
) -> Case:
    """Return the case of a model from a source, the same in all cases, and the target so far to
    the next token.
    """

    def run(model: Any, x: Tensor, mask: Any = None, state: Any = None) -> Tensor:
        if state is not None:
            return model.step(x, state)
        return model(source[: x.shape[0]].to(x.device), x, None, padding_of(mask))

    refusals = {
        "two batches": lambda: make()(source, source[:2]),
        "an inverted mask": lambda: make()(source, source, torch.zeros(3, 4).bool()),
        "an unknown token": lambda: make()(source + 40, source),
    }
    return Case(
        make=make,
        run=run,
        begin=lambda model: model.begin(source[:2]),
        vocab=32,
        parity=parity,
        limits=limits,
        refusals=refusals | more.pop("refusals", {}),
        **more,
    )


@case("seq2seq/Reader", RNNEncoder)
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
        laws=IN_ORDER,
    )


@case("seq2seq", Seq2Seq)
def _() -> Case:
    def one_sequence() -> tuple[Tensor, Tensor]:
        """With one reader for both, the target is read as if it followed the source."""
        model, tgt = tiny().double(), SOURCE.flip(1)
        model.encoder = model.decoder
        return model(SOURCE, tgt), model.head(model.decoder(torch.cat([SOURCE, tgt], 1)))[:, 4:]

    parity = "torch.nn.Embedding, torch.nn.GRU and torch.nn.Linear, composed"
    limits = {"one reader for both: source and target are one sequence": one_sequence}
    return pair_case(tiny, parity, limits, laws=IN_ORDER)
