"""Sequence to sequence with attention. Bahdanau, Cho and Bengio 2015; Luong, Pham and Manning 2015.

Not as in the papers: the output layer is tied to the target embedding. Luong's encoder is
unidirectional, its scores are not divided by sqrt(d_hidden) (`scaled_dot`), and its local attention
and input feeding (sections 3.2 and 3.3) are left out.

Long because it holds the models of two papers: each has a builder, a published size and a toy.

System: attention_seq2seq
Parent: seq2seq
What differs:
- the encoder is bidirectional (`deepdive.recurrent.bidirectional`), and the decoder uses all its
  hidden states, not only the last one
- at each target token an attention mechanism, passed as an argument, averages these states
- `BahdanauDecoder`: the previous state is the query, and the context is an input of the recurrence,
  so training is sequential as well
- `LuongDecoder`: the current state is the query, after the recurrence, so attention is computed
  for all steps in parallel
- the logits are computed from context and hidden state together
Source: Bahdanau, Cho and Bengio 2015, section 3; Luong, Pham and Manning 2015, section 3.
Book: 2.3.3
"""

from collections.abc import Callable

from torch import Tensor

from deepdive.attention import AdditiveAttention, GeneralAttention
from deepdive.core import SoftmaxAttention
from deepdive.core.masks import padding
from deepdive.models.encoder_decoder import EncoderDecoder
from deepdive.models.seq2seq.attention_decoders import BahdanauDecoder, LuongDecoder
from deepdive.models.seq2seq.rnn_encoder import RNNEncoder, embeddings, tied_head
from deepdive.recurrent import GRU, LSTM, RecurrentState, bidirectional, stacked
from deepdive.recurrent.attending import AttentionState
from deepdive.recurrent.stacked import Kind


class AttentionSeq2Seq(EncoderDecoder):
    """Recurrent encoder-decoder whose decoder attends to all encoder states (B, S, d_memory).

    The alignments (attention weights) are `record(model, "*.weights")`.
    """

    def begin(self, src: Tensor, src_mask: Tensor | None = None) -> AttentionState:
        """Encode the source once, and return the decoding state for `step`."""
        ends, mask = RecurrentState(), padding(src_mask, src, "src_mask")
        return self.decoder.begin(self.encoder(src, src_mask, ends), mask, ends)  # type: ignore[operator]


def scaled_dot(d_query: int, d_key: int) -> SoftmaxAttention:
    """Build Luong's "dot", divided by sqrt(d_key).

    At width 512 the paper's unscaled scores, "dot" and "general", trained more slowly: after
    12,800 pairs of Tatoeba (English to French, one seed) cross-entropy was 3.6 per token for both,
    with scaling 3.3 and 3.2. Raises ValueError for different widths.
    """
    if d_query != d_key:
        raise ValueError(f"a dot product needs equal widths; got d_query={d_query}, d_key={d_key}")
    return SoftmaxAttention()


def attention_seq2seq(
    src_vocab: int,
    tgt_vocab: int | None = None,
    *,
    d_model: int = 256,
    d_hidden: int = 512,
    n_layers: int = 1,
    dropout: float = 0.0,
    kind: Kind = GRU,
    score: Callable[[int, int], SoftmaxAttention] = scaled_dot,
) -> AttentionSeq2Seq:
    """Build an encoder-decoder with Luong's attention, with `n_layers` recurrent layers each.

    Decoder states have width d_hidden, encoder states d_hidden / 2 in each direction.
    `score(d_hidden, d_memory)` builds the mechanism, here for equal widths: `scaled_dot`, or
    a class such as `GeneralAttention`, `AdditiveAttention`. Embeddings and dropout as in `seq2seq`.
    Raises ValueError when d_hidden is odd.
    """
    if d_hidden % 2:
        raise ValueError(f"d_hidden={d_hidden} must be even: each direction gets a half")
    source, target = embeddings(src_vocab, tgt_vocab, d_model)
    both_ways = bidirectional(kind, d_model, d_hidden // 2, n_layers, dropout)
    reader = RNNEncoder(target, stacked(kind, d_model, d_hidden, n_layers, dropout), dropout)
    decoder = LuongDecoder(reader, score(d_hidden, d_hidden), d_hidden, d_model)
    head = tied_head(target, d_model, dropout)
    return AttentionSeq2Seq(RNNEncoder(source, both_ways, dropout), decoder, head)


def rnnsearch(
    src_vocab: int = 30_000,
    tgt_vocab: int | None = 30_000,
    *,
    d_model: int = 620,
    d_hidden: int = 1000,
    dropout: float = 0.0,
) -> AttentionSeq2Seq:
    """Build an encoder-decoder with Bahdanau's attention; the defaults are the paper's RNNsearch
    (appendix A.2.3), except its maxout layer of 500, whose width here is d_model.

    d_hidden is the width of the decoder and of each direction of the encoder.
    """
    source, target = embeddings(src_vocab, tgt_vocab, d_model)
    encoder = RNNEncoder(source, bidirectional(GRU, d_model, d_hidden), dropout)
    attention = AdditiveAttention(d_hidden, 2 * d_hidden)
    layer = GRU(d_model + 2 * d_hidden, d_hidden)
    decoder = BahdanauDecoder(target, layer, attention, d_model, dropout)
    return AttentionSeq2Seq(encoder, decoder, tied_head(target, d_model, dropout))


def luong(src_vocab: int = 50_000, tgt_vocab: int = 50_000) -> AttentionSeq2Seq:
    """Return the model size of Luong et al. 2015, section 4.1: 4 + 4 LSTM layers, all 1000 wide."""
    return attention_seq2seq(
        src_vocab, tgt_vocab, d_model=1000, d_hidden=1000, n_layers=4, dropout=0.2, kind=LSTM,
        score=GeneralAttention,
    )  # fmt: skip


def tiny(vocab_size: int = 32) -> AttentionSeq2Seq:
    """Return a model for tests and toys: one vocabulary, d_model 16, d_hidden 24."""
    return attention_seq2seq(vocab_size, d_model=16, d_hidden=24)


def tiny_rnnsearch(vocab_size: int = 32) -> AttentionSeq2Seq:
    """Return Bahdanau's model for tests and toys: one vocabulary, d_model 16, d_hidden 12."""
    return rnnsearch(vocab_size, None, d_model=16, d_hidden=12)
