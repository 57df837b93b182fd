"""Cases of BERT's family: encoders from tokens to states."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

import torch
from torch import Tensor, nn

from deepdive.house.atlas.examples import EXAMPLES
from deepdive.models.bert import albert, bert, distilbert, roberta
from deepdive.models.efficient import fnet, nystromformer
from laws import Case, Pair, Refuses, case, padding_of
from laws.models.bert.bert import ORDERED, ROW, TWO_SIDED

NO_WEIGHTS = Refuses("no T x S weights exist: record says so")
SMALL: dict[str, Any] = {"d_model": 32, "n_heads": 4, "n_layers": 2, "d_ff": 64}


def encoder(
    make: Callable[[], nn.Module], parity: str, limits: Mapping[str, Pair], **more: Any
) -> Case:
    """The case of an encoder that every token sees whole."""
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


@case("roberta", bert.BertForMaskedLM)
def _() -> Case:
    def a_bert() -> tuple[Tensor, Tensor]:
        """Nothing is padded, and BERT's table is RoBERTa's without the rows before its first."""
        model = roberta.tiny().double().eval()
        plain = bert.bert(32, **SMALL, max_length=64, n_segments=1, eps=1e-5).double().eval()
        state = model.state_dict()
        table = "embeddings.position.table.weight"
        plain.load_state_dict(state | {table: state[table][2:]})
        return model(ROW), plain(ROW)

    return encoder(
        EXAMPLES["roberta"].make, "transformers RobertaForMaskedLM", {"no padding": a_bert}
    )


@case("albert", bert.Bert)
def _() -> Case:
    def in_a_row() -> tuple[Tensor, Tensor]:
        model = albert.tiny().double().eval()
        rows = model.embeddings(ROW, None, torch.arange(3))
        for _ in range(3):
            rows = model.stack.blocks[0](rows)
        return model(ROW), rows

    return encoder(
        albert.tiny, "transformers AlbertForPreTraining", {"its one block, thrice": in_a_row}
    )


@case("distilbert", bert.Bert)
def _() -> Case:
    def a_teacher() -> tuple[Tensor, Tensor]:
        """A student of a teacher with one layer is that teacher."""
        teacher = bert.bert(32, **SMALL | {"n_layers": 1}, max_length=64).double().eval()
        return distilbert.student(teacher)(ROW), teacher(ROW)

    return encoder(
        distilbert.tiny, "transformers DistilBertForMaskedLM", {"one layer: BERT": a_teacher}
    )


@case("nystromformer", bert.Bert)
def _() -> Case:
    def full() -> tuple[Tensor, Tensor]:
        """A landmark for each token, and no convolution: BERT's attention."""
        from deepdive.layers import gelu_tanh

        sizes = SMALL | {"max_length": 64, "dropout": 0.0}
        model = nystromformer.nystromformer(32, **sizes, n_landmarks=64, kernel=None)
        plain = bert.bert(32, **sizes, eps=1e-5, activation=gelu_tanh)
        plain.embeddings = model.embeddings
        plain.stack.load_state_dict(model.stack.state_dict())
        return model.double().eval()(ROW), plain.double().eval()(ROW)

    limits = {"all landmarks": full}
    return encoder(nystromformer.tiny, "transformers NystromformerModel", limits, hooks=NO_WEIGHTS)


@case("fnet", bert.Bert)
def _() -> Case:
    def no_layers() -> tuple[Tensor, Tensor]:
        model = fnet.fnet(32, d_model=16, n_layers=0).double().eval()
        return model(ROW), model.embeddings(ROW, None, torch.arange(3))

    limits = {"no layers: the embeddings": no_layers}
    return encoder(fnet.tiny, "transformers FNetModel", limits, hooks=NO_WEIGHTS)
