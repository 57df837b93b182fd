"""Sequence to sequence with two recurrent networks. Sutskever et al. 2014; Cho et al. 2014.

The paper turns each source sentence round before it is read; that is left to the data.

System: seq2seq
Parent: rnn
What differs:
- two networks over embedded tokens (`Reader`): one reads the source, one the target
- the second starts in the state in which the first ended (`Seq2Seq.begin`): all that it knows of
  the source is in that vector
- in training it reads the right target tokens, not its own (teacher forcing)
- a layer of scores over the vocabulary, tied to the target's embedding (`tied_head`)
Source: Sutskever et al. 2014, section 2.
Book: 2.1-2.2
"""

from __future__ import annotations

from torch import Tensor, nn

from deepdive.checks import positive
from deepdive.fast.dropout import Dropout
from deepdive.inspect import HookPoint
from deepdive.layers.embeddings import TiedHead, TokenEmbedding, check_tokens
from deepdive.masks import padding
from deepdive.recurrent import GRU, LSTM, RecurrentStack, RecurrentState, stacked
from deepdive.recurrent.stacked import Kind


class Reader(nn.Module):
    """Tokens (B, T) -> states (B, T, d_hidden): embed, then run a recurrent network.

    Hook point: `embedded` (B, T, d_model), the rows that the network reads.
    """

    def __init__(
        self, embedding: TokenEmbedding, recurrent: RecurrentStack, dropout: float = 0.0
    ) -> None:
        super().__init__()
        self.embedding, self.recurrent = embedding, recurrent
        self.d_hidden = recurrent.d_hidden
        self.embedded = HookPoint()
        self.dropout = Dropout(dropout)

    def forward(
        self, tokens: Tensor, mask: Tensor | None = None, state: RecurrentState | None = None
    ) -> Tensor:
        """Return the states of `tokens`, read from `state` on; `mask` bool (B, T), True = real
        token.
        """
        check_tokens(tokens)
        real = padding(mask, tokens, "mask")
        return self.recurrent(self.dropout(self.embedded(self.embedding(tokens))), real, state)


class Seq2Seq(nn.Module):
    """Encoder-decoder: logits (B, T, V) for the token that follows each target token.

    `seq2seq(...)` builds one from numbers.
    """

    def __init__(self, encoder: Reader, decoder: Reader, head: nn.Module) -> None:
        super().__init__()
        self.encoder, self.decoder, self.head = encoder, decoder, head

    def forward(
        self,
        src: Tensor,
        tgt: Tensor,
        src_mask: Tensor | None = None,
        tgt_mask: Tensor | None = None,
    ) -> Tensor:
        """Return logits (B, T, V) for source tokens (B, S) and target tokens (B, T).

        `tgt` begins with the mark of the beginning: its token t is read to predict token t + 1.
        Masks: True = real token.
        """
        check_pairs(src, tgt, tgt_mask)
        return self.head(self.decoder(tgt, tgt_mask, self.begin(src, src_mask)))

    def begin(self, src: Tensor, src_mask: Tensor | None = None) -> RecurrentState:
        """Read the source, and return the state in which that ends."""
        padding(src_mask, src, "src_mask")
        state = RecurrentState()
        self.encoder(src, src_mask, state)
        return state

    def step(self, tokens: Tensor, state: RecurrentState) -> Tensor:
        """Return logits (B, t, V) after the next target tokens (B, t); the state moves on."""
        return self.head(self.decoder(tokens, None, state))


def check_pairs(src: Tensor, tgt: Tensor, tgt_mask: Tensor | None) -> None:
    """Raise ValueError or TypeError unless source and target are tokens of one batch size and the
    mask fits.
    """
    check_tokens(src, "src")
    check_tokens(tgt, "tgt")
    padding(tgt_mask, tgt, "tgt_mask")
    if src.shape[0] != tgt.shape[0]:
        raise ValueError(
            f"src has a batch of {src.shape[0]}, tgt of {tgt.shape[0]}; row b of both is one pair"
        )


def tied_head(embedding: TokenEmbedding, d_hidden: int, dropout: float = 0.0) -> nn.Module:
    """Build states (..., d_hidden) -> logits: dropout, a projection to the embedding's width where
    it is another, then the embedding's own matrix.
    """
    positive(d_hidden=d_hidden)
    head = nn.Sequential(Dropout(dropout))
    if d_hidden != embedding.d_model:
        head.append(nn.Linear(d_hidden, embedding.d_model))
    return head.append(TiedHead(embedding, bias=True))


def embeddings(
    src_vocab: int, tgt_vocab: int | None, d_model: int
) -> tuple[TokenEmbedding, TokenEmbedding]:
    """Build both embeddings; without `tgt_vocab` they are one."""
    positive(src_vocab=src_vocab, tgt_vocab=tgt_vocab, d_model=d_model)
    source = TokenEmbedding(src_vocab, d_model, scale=d_model**0.5)
    if tgt_vocab is None:
        return source, source
    return source, TokenEmbedding(tgt_vocab, d_model, scale=d_model**0.5)


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

    def reader(embedding: TokenEmbedding) -> Reader:
        layers = stacked(kind, d_model, d_hidden, n_layers, dropout)
        return Reader(embedding, layers, dropout)

    return Seq2Seq(reader(source), reader(target), tied_head(target, d_hidden, dropout))


def sutskever(src_vocab: int = 160_000, tgt_vocab: int = 80_000) -> Seq2Seq:
    """Return the size of Sutskever et al. 2014, section 3.4: 4 + 4 LSTM layers, all 1000 wide.

    The paper counts 384 M parameters, with an output layer of its own; tied, they are 80 M fewer.
    """
    return seq2seq(src_vocab, tgt_vocab, d_model=1000, d_hidden=1000, n_layers=4, kind=LSTM)


def tiny(vocab_size: int = 32) -> Seq2Seq:
    """Return a model for tests and toys: one vocabulary, rows 16 wide, states 24."""
    return seq2seq(vocab_size, d_model=16, d_hidden=24)
