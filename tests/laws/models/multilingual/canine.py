"""Cases of CANINE and of what it is made of."""

from typing import Any

import torch
from torch import Tensor

from deepdive.layers.hashed import CODE_POINTS, HashEmbedding
from deepdive.layers.sequence_resampling import Downsample, Upsample
from deepdive.models.bert.bert import Bert, bert
from deepdive.models.bert.embeddings import BertEmbeddings, CodePointEmbeddings
from deepdive.models.multilingual import canine
from deepdive.models.multilingual.canine import Canine
from laws import (
    ALONE,
    TWO_SIDED,
    Case,
    Fails,
    NotApplicable,
    case,
    padding_of,
    random_rows,
    set_weights,
)
from laws.models.bert.bert import FIVE, SMALL, encoder
from laws.models.bert.embeddings import PLACES, ROW, embeddings_case

ORACLE = "transformers CanineModel"
READS = {
    **TWO_SIDED,
    "order": Fails("the convolution reads neighbours"),
    "hooks": NotApplicable("no attention"),
}


def unchanged(x: Tensor) -> Tensor:
    return x


@case("canine", Canine)
def _() -> Case:
    def make(**changes: Any) -> Bert:
        return canine.canine(canine.TINY, **changes)

    def two_layers() -> tuple[Tensor, Tensor]:
        """Nobody reads the deep stack, and all stand in one chunk: first and last layer."""
        model = make(activation=unchanged, kernel=1, chunk=8).double().eval()
        own = torch.cat((torch.eye(32), torch.zeros(32, 32)), 1).unsqueeze(-1)
        set_weights(model, upsample__conv__weight=own, upsample__conv__bias=0.0)
        plain = bert(**SMALL, activation=unchanged).double().eval()
        plain.embeddings = model.embeddings
        for ours, theirs in zip((model.first, model.last), plain.stack.blocks, strict=True):
            theirs.load_state_dict(ours.state_dict())
        return model(FIVE), plain(FIVE)

    def in_chunks() -> tuple[Tensor, Tensor]:
        """The first layer of a text is that of its chunks, one after the other."""
        first = make().double().eval().first
        rows = random_rows(2, 8, 32)
        return first(rows), torch.cat([first(rows[:, :4]), first(rows[:, 4:])], dim=1)

    refusals = {
        "a text shorter than one row": lambda: make()(FIVE[:, :1]),
        "hashes that do not divide": lambda: make(n_hashes=5),
    }
    limits = {
        "the deep stack unread, one chunk: a BERT of hashed rows": two_layers,
        "the first layer: chunk by chunk": in_chunks,
    }
    return encoder(make, "CanineModel", limits, refusals)


@case("canine/CodePointEmbeddings", CodePointEmbeddings)
def _() -> Case:
    def make() -> BertEmbeddings:
        return canine.canine(canine.TINY).embeddings

    def hashed() -> tuple[Tensor, Tensor]:
        part = make()
        set_weights(part, segments__weight=0.0, position__table__weight=0.0)
        return part(ROW, None, PLACES), part.norm(part.tokens(ROW))

    limits = {"no segments, no places: hashed rows, normalised": hashed}
    return embeddings_case(make, "CanineModel", limits=limits)


@case("HashEmbedding", HashEmbedding)
def _() -> Case:
    def one_table() -> tuple[Tensor, Tensor]:
        """As many rows as letters, and one hash: a table of tokens, in another order."""
        hashed = HashEmbedding(4, 1, 128).double()
        letters = torch.arange(128)[None]
        return hashed(letters), hashed.tables[0].weight[(letters + 1) * 31 % 128]

    return Case(
        make=lambda: HashEmbedding(16, 4, 64),
        vocab=32,
        parity=ORACLE,
        limits={"one table": one_table},
        refusals={
            "no code point": lambda: HashEmbedding(16, 4, 64)(ROW + CODE_POINTS),
            "below 0": lambda: HashEmbedding(16, 4, 64)(ROW - 10),
            "floats": lambda: HashEmbedding(16, 4, 64)(ROW.float()),
            "more hashes than primes": lambda: HashEmbedding(34, 17, 64),
            "hashes that do not divide": lambda: HashEmbedding(16, 5, 64),
        },
        laws=ALONE,
    )


@case("Shorten", Downsample)
def _() -> Case:
    def make(rate: int = 2) -> Downsample:
        return Downsample(rate, 16, unchanged, 1e-12)

    def run(part: Downsample, x: Tensor, mask: Any = None, state: Any = None) -> Tensor:
        few = part(x, padding_of(mask))[0]
        return few.repeat_interleave(part.rate, 1)[:, : x.shape[1]]

    def one_by_one() -> tuple[Tensor, Tensor]:
        """A rate of 1, and a convolution that does nothing: all rows, the first one twice."""
        part, rows = make(1), random_rows(2, 5, 16)
        set_weights(part, conv__weight=torch.eye(16).unsqueeze(-1), conv__bias=0.0)
        return part(rows)[0], part.norm(torch.cat((rows[:, :1], rows[:, :-1]), 1))

    def all_real() -> tuple[Tensor, Tensor]:
        part, rows = make().double(), random_rows(2, 6, 16)
        return part(rows, torch.ones(2, 6).bool())[0], part(rows)[0]

    return Case(
        make=make,
        run=run,
        parity=ORACLE,
        limits={"a rate of 1: the rows, moved by one": one_by_one, "all real: no mask": all_real},
        refusals={
            "a text shorter than one row": lambda: make(8)(torch.randn(1, 7, 16)),
            "no rate": lambda: make(0),
        },
        laws=READS,
    )


@case("Lengthen", Upsample)
def _() -> Case:
    def make(kernel: int = 4) -> Upsample:
        return Upsample(kernel, 16, unchanged, 1e-12)

    def run(part: Upsample, x: Tensor, mask: Any = None, state: Any = None) -> Tensor:
        return part(x, x[:, ::2].flip(-1), 2, padding_of(mask))

    def own_rows() -> tuple[Tensor, Tensor]:
        """A kernel of 1 that reads the rows alone, which it returns, normalised."""
        part, rows = make(1), random_rows(2, 6, 16)
        own = torch.cat((torch.eye(16), torch.zeros(16, 16)), 1).unsqueeze(-1)
        set_weights(part, conv__weight=own, conv__bias=0.0)
        return part(rows, rows[:, :3], 2), part.norm(rows)

    return Case(
        make=make,
        run=run,
        parity=ORACLE,
        limits={"the few rows unread: the rows, normalised": own_rows},
        refusals={"no kernel": lambda: make(0)},
        laws=READS | {"padding": NotApplicable("few rows are made of padding here too")},
    )
