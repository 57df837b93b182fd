"""Cases of `deepdive.models.seq2seq.gnmt`."""

import torch
from torch import Tensor

from deepdive.attention import AdditiveAttention
from deepdive.core.embeddings import TokenEmbedding
from deepdive.models.seq2seq.attention_decoders import BahdanauDecoder
from deepdive.models.seq2seq.attention_seq2seq import AttentionSeq2Seq
from deepdive.models.seq2seq.gnmt import GNMTDecoder, gnmt, tiny
from deepdive.models.seq2seq.multilingual_gnmt import add_target_language_token
from deepdive.recurrent import LSTM, RNN
from laws import Case, case, random_rows
from laws.models.seq2seq.attention_decoders import ORDER, over_one_memory
from laws.models.seq2seq.seq2seq import SOURCE, pair_case
from laws.recurrent.layers import say_nothing


@case("gnmt/GNMTDecoder", GNMTDecoder)
def _() -> Case:
    def decoder(*layers: RNN) -> GNMTDecoder:
        return GNMTDecoder(TokenEmbedding(32, 16), layers, AdditiveAttention(12, 24))

    def make(n_layers: int = 3) -> GNMTDecoder:
        return decoder(*(LSTM(36 if i else 40, 12) for i in range(n_layers)))

    def bahdanau() -> tuple[Tensor, Tensor]:
        """One layer; the parent starts from zeros too, and shows its state only."""
        ours, memory = make(1).double(), random_rows(3, 4, 24)
        parent = BahdanauDecoder(ours.embedding, ours.bottom, ours.attention, 12).double()
        with torch.no_grad():
            for parameter in (*parent.W_s.parameters(), *parent.W_o.parameters()):
                parameter.zero_()
            parent.W_o.weight[:, 24:36] = torch.eye(12).repeat_interleave(2, dim=0)
        return ours(SOURCE, ours.begin(memory)), parent(SOURCE, parent.begin(memory))

    bottom = LSTM(40, 12)
    return over_one_memory(
        make,
        parity="the equations, written out over torch.nn.LSTMCell",
        limits={"one layer: Bahdanau's decoder": bahdanau},
        refusals={
            "a bottom layer without room for the context": lambda: decoder(LSTM(16, 12)),
            "an upper layer without room for the context": lambda: decoder(bottom, LSTM(12, 12)),
            "a residual layer of another width": lambda: decoder(
                bottom, LSTM(36, 12), LSTM(36, 10)
            ),
        },
    )


@case("gnmt", AttentionSeq2Seq)
def _() -> Case:
    def shallow() -> tuple[Tensor, Tensor]:
        """Layers from the third on that say nothing: the model of two layers."""
        deep = gnmt(32, d_model=16, d_hidden=12, n_layers=4).double()
        two = gnmt(32, d_model=16, d_hidden=12, n_layers=2).double()
        two.load_state_dict(deep.state_dict(), strict=False)
        for layer in (*deep.encoder.recurrent.layers[2:], *deep.decoder.upper[1:]):
            say_nothing(layer)
        return deep(SOURCE, SOURCE.flip(1)), two(SOURCE, SOURCE.flip(1))

    reads_both = "a residual on the second layer, which reads both directions"
    return pair_case(
        tiny,
        "the equations, written out over torch.nn.LSTM and torch.nn.LSTMCell",
        {"upper layers that say nothing: two layers": shallow},
        refusals={
            "no layers": lambda: gnmt(32, n_layers=0),
            reads_both: lambda: gnmt(32, first=1),
            "languages for other rows": lambda: add_target_language_token(
                torch.tensor([4, 5]), SOURCE
            ),
        },
        laws=ORDER,
    )
