"""Cases of `deepdive.models.seq2seq.attention_decoders` and `attention_seq2seq`."""

from collections.abc import Callable, Mapping
from typing import Any

import torch
from torch import Tensor

from deepdive.attention import AdditiveAttention, GeneralAttention
from deepdive.core import SoftmaxAttention
from deepdive.core.embeddings import TokenEmbedding
from deepdive.core.masks import Padding
from deepdive.models.seq2seq.attention_decoders import BahdanauDecoder, LuongDecoder
from deepdive.models.seq2seq.attention_seq2seq import AttentionSeq2Seq, attention_seq2seq, tiny
from deepdive.models.seq2seq.rnn_encoder import RNNEncoder
from deepdive.recurrent import GRU, stacked
from deepdive.recurrent.attending import AttentionState
from laws import IN_ORDER, Case, Pair, case, padding_of, random_rows
from laws.models.seq2seq.seq2seq import SOURCE, pair_case

ORDER = {"order": IN_ORDER["order"]}


def over_one_memory(
    make: Callable[[], Any],
    parity: str = "the equations, written out with einsum",
    limits: Mapping[str, Pair] | None = None,
    refusals: Mapping[str, Callable[[], object]] | None = None,
) -> Case:
    """Return the case of a decoder with a memory 24 wide, the same for all rows, so that they may
    be reordered.
    """

    def begin(decoder: Any, B: int = 2) -> AttentionState:
        memory = random_rows(1, 4, 24).to(next(decoder.parameters()).dtype)
        return decoder.begin(memory.expand(B, -1, -1))

    def run(decoder: Any, x: Tensor, mask: Any = None, state: Any = None) -> Tensor:
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
        parity=parity,
        limits={
            "one real source position: as if it were the only one": one_place,
            **(limits or {}),
        },
        refusals={
            "a float mask": refused(SOURCE, mask=torch.ones(3, 4)),
            "an unknown token": refused(SOURCE + 40),
            "the state of another batch": refused(SOURCE, B=2),
            **(refusals or {}),
        },
        laws=ORDER,
    )


@case("LuongDecoder", LuongDecoder)
def _() -> Case:
    def make() -> LuongDecoder:
        reader = RNNEncoder(TokenEmbedding(32, 16), stacked(GRU, 16, 12, 1))
        return LuongDecoder(reader, GeneralAttention(12, 24), 24, 16)

    return over_one_memory(make)


@case("BahdanauDecoder", BahdanauDecoder)
def _() -> Case:
    def make(d_in: int = 40, score: Any = AdditiveAttention) -> BahdanauDecoder:
        return BahdanauDecoder(TokenEmbedding(32, 16), GRU(d_in, 12), score(12, 24), 16)

    refusals = {
        "a score that cannot project its keys": lambda: make(
            score=lambda *widths: SoftmaxAttention()
        ),
        "a recurrence without room for the context": lambda: make(d_in=16),
    }
    return over_one_memory(make, refusals=refusals)


@case("attention_seq2seq", AttentionSeq2Seq)
def _() -> Case:
    def deaf() -> tuple[Tensor, Tensor]:
        """Deaf to the context, the decoder knows the encoder's end state only."""
        model, tgt = tiny().double(), SOURCE.flip(1)
        decoder = model.decoder
        assert isinstance(decoder, LuongDecoder)
        with torch.no_grad():
            decoder.W_c.weight[:, :24] = 0.0
        h = decoder.reader(tgt, None, model.begin(SOURCE).recurrent)
        states = torch.tanh(h @ decoder.W_c.weight[:, 24:].T + decoder.W_c.bias)
        return model(SOURCE, tgt), model.head(states)

    return pair_case(
        tiny,
        "the equations, written out with einsum, over torch.nn.GRU",
        {"no weight on the context: the plain encoder-decoder": deaf},
        refusals={"an odd width": lambda: attention_seq2seq(32, d_hidden=25)},
        laws=ORDER,
    )
