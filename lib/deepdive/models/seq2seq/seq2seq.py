"""Sequence to sequence with two recurrent networks. Sutskever et al. 2014; Cho et al. 2014.

The paper turns each source sentence round before it is read; that is left to the data.

System: seq2seq
Parent: rnn
What differs:
- two networks over embedded tokens (`RNNEncoder`): one reads the source, one the target
- the second starts in the state in which the first ended (`Seq2Seq.begin`): all that it knows of
  the source is in that vector
- in training it reads the right target tokens, not its own (teacher forcing)
- a layer of scores over the vocabulary, tied to the target's embedding (`tied_head`)
Source: Sutskever et al. 2014, section 2.
Book: 2.1-2.2
"""

from torch import Tensor

from deepdive.core.embeddings import TokenEmbedding
from deepdive.core.masks import Padding, padding
from deepdive.models.encoder_decoder import EncoderDecoder
from deepdive.models.seq2seq.rnn_encoder import RNNEncoder, embeddings, tied_head
from deepdive.recurrent import GRU, LSTM, RecurrentState, stacked
from deepdive.recurrent.stacked import Kind


class Seq2Seq(EncoderDecoder):
    """Two readers: the decoder's h_0 is the encoder's h_S, (B, d_hidden) in each layer."""

    def begin(self, src: Tensor, src_mask: Tensor | None = None) -> RecurrentState:
        """Read the source, and return the state in which that ends."""
        padding(src_mask, src, "src_mask")
        state = RecurrentState()
        self.encoder(src, src_mask, state)
        return state

    def decode(
        self, tokens: Tensor, state: RecurrentState, mask: Tensor | Padding | None = None
    ) -> Tensor:
        """Return the decoder's states (B, t, d_hidden) of the next target tokens (B, t)."""
        return self.decoder(tokens, mask, state)


def seq2seq(
    src_vocab: int,
    tgt_vocab: int | None = None,
    *,
    d_model: int = 256,
    d_hidden: int = 512,
    n_layers: int = 1,
    dropout: float = 0.0,
    kind: Kind = GRU,
) -> Seq2Seq:
    """Build an encoder-decoder of `n_layers` + `n_layers` recurrent layers of one kind: `RNN`,
    `LSTM` or `GRU`.

    d_model is the embeddings' width, d_hidden the states'. The output layer shares the target
    embedding's matrix; without `tgt_vocab` source and target share one vocabulary. Dropout acts on
    the embedded rows, between layers, and on the states before the output layer.
    """
    source, target = embeddings(src_vocab, tgt_vocab, d_model)

    def reader(embedding: TokenEmbedding) -> RNNEncoder:
        layers = stacked(kind, d_model, d_hidden, n_layers, dropout)
        return RNNEncoder(embedding, layers, dropout)

    return Seq2Seq(reader(source), reader(target), tied_head(target, d_hidden, dropout))


def sutskever(src_vocab: int = 160_000, tgt_vocab: int = 80_000) -> Seq2Seq:
    """Return the size of Sutskever et al. 2014, section 3.4: 4 + 4 LSTM layers, all 1000 wide.

    The paper counts 384 M parameters, with an output layer of its own; tied, they are 80 M fewer.
    """
    return seq2seq(src_vocab, tgt_vocab, d_model=1000, d_hidden=1000, n_layers=4, kind=LSTM)


def tiny(vocab_size: int = 32) -> Seq2Seq:
    """Return a model for tests and toys: one vocabulary, rows 16 wide, states 24."""
    return seq2seq(vocab_size, d_model=16, d_hidden=24)
