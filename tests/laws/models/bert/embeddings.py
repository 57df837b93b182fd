"""Cases of the embeddings of BERT and of those that follow it."""

from collections.abc import Callable
from typing import Any

import torch
from torch import Tensor

from deepdive.core.embeddings import TokenEmbedding
from deepdive.models.bert import albert, roberta
from deepdive.models.bert.albert import FactorizedEmbeddings
from deepdive.models.bert.embeddings import BertEmbeddings
from deepdive.models.bert.roberta import RobertaEmbeddings
from deepdive.models.efficient import fnet
from deepdive.models.efficient.fnet import FNetEmbeddings
from deepdive.positions import LearnedPosition
from laws import ALONE, ORDERED, Case, Pair, case, set_weights

ROW, PLACES = torch.tensor([[4, 9, 6]]), torch.arange(3)


def embeddings_case(make: Callable[[], Any], parity: str, **more: Any) -> Case:
    """Return the case of embeddings of tokens, segments and places."""
    declared = {
        "make": make,
        "run": lambda part, x, mask=None, state=None: part(x, None, torch.arange(x.shape[1])),
        "vocab": 32,
        "parity": f"transformers {parity}",
        "refusals": {"an unknown segment": lambda: make()(ROW, ROW, PLACES)},
        "laws": {**ALONE, "order": ORDERED},
    }
    return Case(**declared | more)


def no_projection(make: Callable[[], Any]) -> Pair:
    """Return the limit of embeddings 8 wide whose projection to the stream is the identity."""

    def pair() -> tuple[Tensor, Tensor]:
        part = make()
        set_weights(part, project__weight=torch.eye(8), project__bias=0.0)
        return part(ROW, None, PLACES), BertEmbeddings.forward(part, ROW, None, PLACES)

    return pair


@case("BertEmbeddings", BertEmbeddings)
def _() -> Case:
    def make(n_segments: int = 2) -> BertEmbeddings:
        return BertEmbeddings(TokenEmbedding(32, 16), LearnedPosition(8, 16), n_segments)

    def only_tokens() -> tuple[Tensor, Tensor]:
        part = make()
        set_weights(part, segments__weight=0.0, position__table__weight=0.0)
        return part(ROW, torch.ones_like(ROW), PLACES), part.norm(part.tokens(ROW))

    def given(segments: Any, n_segments: int = 2) -> Callable[[], Tensor]:
        return lambda: make(n_segments)(ROW, segments, PLACES)

    return embeddings_case(
        make,
        "BertModel",
        limits={"no segments, no positions: the tokens, normalised": only_tokens},
        refusals={
            "an unknown segment": given(ROW.clamp(max=2)),
            "segments of another shape": given(torch.zeros(1, 2).long()),
            "segments that are floats": given(torch.zeros(1, 3)),
            "segments for a model without": given(torch.zeros_like(ROW), n_segments=0),
        },
    )


@case("albert/FactorizedEmbeddings", FactorizedEmbeddings)
def _() -> Case:
    def make(d_model: int = 32) -> FactorizedEmbeddings:
        return FactorizedEmbeddings.of(albert.TINY.but(d_model=d_model, max_length=8))

    limits = {
        "as wide as the stream, no projection: BertEmbeddings": no_projection(lambda: make(8))
    }
    return embeddings_case(make, "AlbertModel", limits=limits)


@case("fnet/FNetEmbeddings", FNetEmbeddings)
def _() -> Case:
    def make() -> FNetEmbeddings:
        return FNetEmbeddings.of(fnet.TINY.but(d_model=8, max_length=8))

    limits = {"the identity matrix: BertEmbeddings": no_projection(make)}
    return embeddings_case(make, "FNetModel", limits=limits)


@case("roberta/RobertaEmbeddings", RobertaEmbeddings)
def _() -> Case:
    def padded_in_front() -> tuple[Tensor, Tensor]:
        """The states of a text are the same wherever its padding stands."""
        model = roberta.roberta(roberta.TINY).double()
        before, real = torch.tensor([[1, 1, 4, 9, 6]]), torch.tensor([[0, 0, 1, 1, 1]]).bool()
        return model(before, real)[:, 2:], model(ROW)

    def make() -> BertEmbeddings:
        return roberta.roberta(roberta.TINY).embeddings

    return embeddings_case(
        make,
        "RobertaModel",
        run=lambda part, x, mask=None, state=None: part(x, None, part.positions(x, None)),
        limits={"padding in front: as without it": padded_in_front},
        refusals={"a second text": lambda: make()(ROW, torch.ones_like(ROW), PLACES)},
    )
