"""Cases of BERT's family: encoders from tokens to states."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import torch
from torch import Tensor

from deepdive.house.atlas.examples import EXAMPLES
from deepdive.models.bert import albert, bert, distilbert, pretraining, roberta
from deepdive.models.efficient import fnet, nystromformer
from laws import Case, Pair, Refuses, case, padding_of
from laws.models.bert.bert import ORDERED, ROW, TWO_SIDED

NO_WEIGHTS = Refuses("no T x S weights exist: record says so")
SMALL: dict[str, Any] = {"d_model": 32, "n_heads": 4, "n_layers": 2, "d_ff": 64}


def encoder(system: str, parity: str, limits: Mapping[str, Pair], **more: Any) -> Case:
    """The case of an encoder that every token sees whole."""
    make = EXAMPLES[system].make
    return Case(
        make=make,
        run=lambda model, x, mask=None, state=None: model(x, padding_of(mask)),
        vocab=32,
        parity=parity,
        limits=limits,
        refusals={
            "an inverted mask": lambda: make()(ROW, torch.zeros(1, 3).bool()),
            "longer than the table": lambda: make()(torch.full((1, 65), 4)),
            "no batch axis": lambda: make()(ROW[0]),
        },
        laws={"no_leak": TWO_SIDED, "cache": TWO_SIDED, "order": ORDERED, **more},
    )


@case("roberta", pretraining.BertForMaskedLM)
def _() -> Case:
    def a_bert() -> tuple[Tensor, Tensor]:
        """Nothing is padded, and BERT's table is RoBERTa's without the rows before its first."""
        model = roberta.roberta(roberta.TINY).double().eval()
        plain = bert.bert(vocab_size=32, **SMALL, max_length=64, n_segments=1, eps=1e-5)
        plain = plain.double().eval()
        state = model.state_dict()
        table = "embeddings.position.table.weight"
        plain.load_state_dict(state | {table: state[table][2:]})
        return model(ROW), plain(ROW)

    return encoder("roberta", "transformers RobertaForMaskedLM", {"no padding": a_bert})


@case("albert", bert.Bert)
def _() -> Case:
    def in_a_row() -> tuple[Tensor, Tensor]:
        model = albert.albert(albert.TINY).double().eval()
        rows = model.embeddings(ROW, None, torch.arange(3))
        for _ in range(3):
            rows = model.stack.blocks[0](rows)
        return model(ROW), rows

    return encoder(
        "albert", "transformers AlbertForPreTraining", {"its one block, thrice": in_a_row}
    )


@case("distilbert", bert.Bert)
def _() -> Case:
    def a_teacher() -> tuple[Tensor, Tensor]:
        """A student of a teacher with one layer is that teacher."""
        teacher = bert.bert(vocab_size=32, **SMALL | {"n_layers": 1}, max_length=64).double().eval()
        return distilbert.student(teacher)(ROW), teacher(ROW)

    return encoder(
        "distilbert", "transformers DistilBertForMaskedLM", {"one layer: BERT": a_teacher}
    )


@case("nystromformer", bert.Bert)
def _() -> Case:
    def full() -> tuple[Tensor, Tensor]:
        """A landmark for each token, and no convolution: BERT's attention."""
        from deepdive.layers import gelu_tanh

        sizes = SMALL | {"max_length": 64, "dropout": 0.0}
        model = nystromformer.nystromformer(vocab_size=32, **sizes, n_landmarks=64, kernel=None)
        plain = bert.bert(vocab_size=32, **sizes, eps=1e-5, activation=gelu_tanh)
        plain.embeddings = model.embeddings
        plain.stack.load_state_dict(model.stack.state_dict())
        return model.double().eval()(ROW), plain.double().eval()(ROW)

    limits = {"all landmarks": full}
    return encoder("nystromformer", "transformers NystromformerModel", limits, hooks=NO_WEIGHTS)


@case("fnet", bert.Bert)
def _() -> Case:
    def no_layers() -> tuple[Tensor, Tensor]:
        model = fnet.fnet(vocab_size=32, d_model=16, n_layers=0).double().eval()
        return model(ROW), model.embeddings(ROW, None, torch.arange(3))

    limits = {"no layers: the embeddings": no_layers}
    return encoder("fnet", "transformers FNetModel", limits, hooks=NO_WEIGHTS)
