"""Cases of `deepdive.models.seq2seq.attention_decoders`."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from typing import Any

import torch
from torch import Tensor

from deepdive.attention import AdditiveAttention, GeneralAttention, SoftmaxAttention
from deepdive.layers.embeddings import TokenEmbedding
from deepdive.masks import Padding
from deepdive.models.seq2seq.attention_decoders import BahdanauDecoder, LuongDecoder
from deepdive.models.seq2seq.reader import Reader
from deepdive.recurrent import GRU, stacked
from deepdive.recurrent.attending import AttentionState
from laws import Case, Fails, case, padding_of, random_rows
from laws.models.seq2seq.seq2seq import SOURCE

Decoder = LuongDecoder | BahdanauDecoder


def over_one_memory(make: Callable[[], Decoder]) -> Case:
    """Return the case of a decoder with a memory 24 wide, the same for all rows, so that they may
    be reordered.
    """

    def begin(decoder: Decoder, B: int = 2) -> AttentionState:
        return decoder.begin(
            random_rows(1, 4, 24).to(next(decoder.parameters()).dtype).expand(B, -1, -1)
        )

    def run(decoder: Decoder, x: Tensor, mask: Any = None, state: Any = None) -> Tensor:
        return decoder(x, state or begin(decoder, x.shape[0]), padding_of(mask))

    def one_place() -> tuple[Tensor, Tensor]:
        decoder, memory = make().double(), random_rows(3, 4, 24)
        first = Padding(torch.tensor([[True, False, False, False]] * 3))
        short, long = decoder.begin(memory[:, :1]), decoder.begin(memory, first)
        return decoder(SOURCE, short), decoder(SOURCE, long)

    def refused(tokens: Tensor, B: int = 3, mask: Tensor | None = None) -> Callable[[], Tensor]:
        decoder = make()
        return lambda: decoder(tokens, begin(decoder, B), mask)

    return Case(
        make=make,
        run=run,
        begin=begin,
        vocab=32,
        parity="the equations, written out with einsum",
        limits={"one real source position: as if it were the only one": one_place},
        refusals={
            "a float mask": refused(SOURCE, mask=torch.ones(3, 4)),
            "an unknown token": refused(SOURCE + 40),
            "the state of another batch": refused(SOURCE, B=2),
        },
        laws={"order": Fails("a recurrence reads in order")},
    )


@case("LuongDecoder", LuongDecoder)
def _() -> Case:
    def make() -> LuongDecoder:
        reader = Reader(TokenEmbedding(32, 16), stacked(GRU, 16, 12, 1))
        return LuongDecoder(reader, GeneralAttention(12, 24), 24, 16)

    return over_one_memory(make)


@case("BahdanauDecoder", BahdanauDecoder)
def _() -> Case:
    def make() -> BahdanauDecoder:
        return BahdanauDecoder(TokenEmbedding(32, 16), GRU(40, 12), AdditiveAttention(12, 24), 16)

    plain, table = over_one_memory(make), TokenEmbedding(8, 16)
    refusals = {
        "a score that cannot project its keys": lambda: BahdanauDecoder(
            table,
            GRU(40, 12),
            SoftmaxAttention(),  # type: ignore[arg-type]
            16,
        ),
        "a recurrence without room for the context": lambda: BahdanauDecoder(
            table, GRU(16, 12), AdditiveAttention(12, 24), 16
        ),
    }
    return replace(plain, refusals={**plain.refusals, **refusals})
