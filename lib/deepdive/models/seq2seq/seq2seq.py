"""Seq2seq: a recurrent encoder and decoder. Sutskever et al. 2014; Cho et al. 2014.

The paper reverses each source sentence; that is left to the data pipeline.

System: seq2seq
Parent: rnn
What differs:
- two networks over token embeddings (`RNNEncoder`): an encoder of the source, and a decoder
- the decoder starts from the encoder's final state (`Seq2Seq.begin`), its only information about
  the source
- in training the decoder's inputs are the correct target tokens (teacher forcing)
- an output layer over the vocabulary, tied to the target embedding (`tied_head`)
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
    """RNN encoder-decoder: the decoder's h_0 is the encoder's h_S, (B, d_hidden) in each layer."""

    def begin(self, src: Tensor, src_mask: Tensor | None = None) -> RecurrentState:
        """Encode the source, and return the encoder's final state."""
        padding(src_mask, src, "src_mask")
        state = RecurrentState()
        self.encoder(src, src_mask, state)
        return state

    def decode(
        self, tokens: Tensor, state: RecurrentState, mask: Tensor | Padding | None = None
    ) -> Tensor:
        """Return the decoder's hidden states (B, t, d_hidden) for the next target tokens (B, t)."""
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

    d_model is the width of embeddings, d_hidden of hidden states. The output layer is tied to the
    target embedding; without `tgt_vocab` source and target share one vocabulary. Dropout acts on
    the embeddings, between layers, and on the hidden states before the output layer.
    """
    source, target = embeddings(src_vocab, tgt_vocab, d_model)

    def reader(embedding: TokenEmbedding) -> RNNEncoder:
        layers = stacked(kind, d_model, d_hidden, n_layers, dropout)
        return RNNEncoder(embedding, layers, dropout)

    return Seq2Seq(reader(source), reader(target), tied_head(target, d_hidden, dropout))


def sutskever(src_vocab: int = 160_000, tgt_vocab: int = 80_000) -> Seq2Seq:
    """Return the model of Sutskever et al. 2014, section 3.4: 4 + 4 LSTM layers, all 1000 wide.

    The paper counts 384 M parameters, with an untied output layer; tied, there are 80 M fewer.
    """
    return seq2seq(src_vocab, tgt_vocab, d_model=1000, d_hidden=1000, n_layers=4, kind=LSTM)


def tiny(vocab_size: int = 32) -> Seq2Seq:
    """Return a model for tests and toys: one vocabulary, d_model 16, d_hidden 24."""
    return seq2seq(vocab_size, d_model=16, d_hidden=24)
