"""Cases of `deepdive.models.seq2seq.attention_seq2seq`."""

from __future__ import annotations

import torch
from torch import Tensor

from deepdive.models.seq2seq.attention_decoders import LuongDecoder
from deepdive.models.seq2seq.attention_seq2seq import AttentionSeq2Seq, attention_seq2seq, tiny
from laws import Case, Fails, case
from laws.models.seq2seq.seq2seq import SOURCE, run_pairs, unpaired


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

    return Case(
        make=tiny,
        run=run_pairs,
        begin=lambda model: model.begin(SOURCE[:2]),
        vocab=32,
        parity="the equations, written out with einsum, over torch.nn.GRU",
        limits={"no weight on the context: the plain encoder-decoder": deaf},
        refusals={
            **unpaired(tiny),
            "an odd width": lambda: attention_seq2seq(32, d_hidden=25),
        },
        laws={"order": Fails("a recurrence reads in order")},
    )
