"""GNMT, "Google's Neural Machine Translation System". Wu et al. 2016; for many languages see
`deepdive.models.seq2seq.multilingual_gnmt`.

Not as in the paper: the output layer is tied to the target's embedding, after a projection of its
own (an LSTM's bounded states cannot be both state and output row); the refinement by
reinforcement learning and the quantised arithmetic (sections 5 and 6) are left out. The decoder
starts from zeros. Its beam search is `deepdive.decoding`, with `coverage` for equation 14. The
parent is Bahdanau's form of it (`deepdive.models.seq2seq.attention_seq2seq.rnnsearch`).

System: gnmt
Parent: attention_seq2seq
What differs:
- depth: eight layers each; above the bottom one all read from left to right (`gnmt`)
- from the third layer on, what a layer read is added to what it says (`ResidualStack`)
- the decoder's bottom layer asks, with its previous state, and what it gets goes to all layers,
  not to the bottom one only (`GNMTDecoder`): the layers above then run over all tokens at once
- word pieces for words, one vocabulary for both sides (`deepdive.tokenizers.WordPieceTokenizer`)
Source: Wu et al. 2016, section 3.
Book: 2.3.3
"""

from __future__ import annotations

from collections.abc import Sequence

import torch
import torch.nn.functional as F
from torch import Tensor, nn

from deepdive.attention import AdditiveAttention
from deepdive.checks import not_negative
from deepdive.fast.dropout import Dropout
from deepdive.inspect import HookPoint
from deepdive.layers.embeddings import TiedHead, TokenEmbedding, check_tokens
from deepdive.masks import Padding, padding
from deepdive.models.seq2seq.attention_decoders import (
    AttentionState,
)
from deepdive.models.seq2seq.seq2seq import (
    Reader,
    check_pairs,
    embeddings,
)
from deepdive.recurrent import LSTM, RNN, Bidirectional, RecurrentState
from deepdive.recurrent.residual import FIRST, ResidualStack, check_widths


class GNMTDecoder(nn.Module):
    """The bottom layer asks, one step after another; the layers above run over all steps at once.

        c_t  = attention(h0_{t-1}, memory, memory)         # (B, d_memory); h0_0 = 0
        h0_t = layer_0([y_t ; c_t], h0_{t-1})              # (B, d_hidden); y_t the embedded token
        x    = h0
        x    = layer_i([x ; c]) + x                        # (B, T, d_hidden); + x from `first` on

    Layer 0 reads rows of width d_model + d_memory, the others d_hidden + d_memory.
    Raises ValueError for layers that do not fit.

    Hook points: `attention.scores` and `attention.weights` (B, 1, 1, S), once a step; `embedded`.
    Source: Wu et al. 2016, section 3, equation 4, and figure 1.
    """

    def __init__(
        self,
        embedding: TokenEmbedding,
        layers: Sequence[RNN],
        attention: AdditiveAttention,
        dropout: float = 0.0,
        first: int = FIRST,
    ) -> None:
        super().__init__()
        not_negative(first=first)
        bottom, *upper = layers
        d_memory = bottom.d_input - embedding.d_model
        if d_memory < 1:
            raise ValueError(
                f"layer 0 reads rows of width {bottom.d_input}, expected the embedding's "
                f"{embedding.d_model} and d_memory: it has no room for the context"
            )
        self.bottom, self.upper = bottom, nn.ModuleList(upper)
        for i, (below, layer) in enumerate(zip(layers, upper, strict=False), 1):
            if layer.d_input != below.d_hidden + d_memory:
                raise ValueError(
                    f"layer {i} reads rows of width {layer.d_input}, expected the "
                    f"{below.d_hidden} of layer {i - 1} and d_memory={d_memory}"
                )
        check_widths(layers[first:], first, d_memory)
        self.embedding, self.attention, self.first = embedding, attention, first
        self.d_hidden = layers[-1].d_hidden
        self.embedded = HookPoint()
        self.dropout = Dropout(dropout)

    def begin(self, memory: Tensor, mask: Padding | None = None) -> AttentionState:
        """Return the state before the first token: the encoder's states (B, S, d_memory), and
        which of them are real.
        """
        rows = memory.unsqueeze(1)
        return AttentionState(self.attention.project_keys(rows), rows, mask, RecurrentState())

    def forward(self, tokens: Tensor, state: AttentionState, mask: Tensor | None = None) -> Tensor:
        """Return (B, T, d_hidden) for target tokens (B, T); the state moves on."""
        check_tokens(tokens)
        real = padding(mask, tokens, "mask")
        y = self.dropout(self.embedded(self.embedding(tokens)))  # (B, T, d_model)
        x, context = self.ask(y, state, mask)
        for i, layer in enumerate(self.upper, 1):
            read = torch.cat([self.dropout(x), context], dim=-1)
            h = layer(read, real, state.recurrent[i])
            x = h + x if i >= self.first else h
        return x

    def ask(self, y: Tensor, state: AttentionState, mask: Tensor | None) -> tuple[Tensor, Tensor]:
        """Return the bottom layer's states (B, T, d_hidden) and the contexts (B, T, d_memory)."""
        W = self.bottom.W
        W_y, W_c = W.weight.split([y.shape[-1], state.values.shape[-1]], dim=1)
        values = self.bottom.begin(y, state.recurrent[0])
        contexts, states = [], []
        for t, Wy in enumerate(F.linear(y, W_y, W.bias).unbind(1)):  # all tokens projected at once
            q = values[0][:, None, None]
            c = self.attention.attend(q, state.keys, state.values, state.mask)[:, 0, 0]
            step = None if mask is None else mask[:, t]
            values = self.bottom.advance(Wy + F.linear(c, W_c), values, step)
            contexts.append(c)
            states.append(values[0])
        state.recurrent[0].values = values
        return torch.stack(states, dim=1), torch.stack(contexts, dim=1)


class GNMT(nn.Module):
    """Encoder-decoder: logits (B, T, V) for the token that follows each target token.

    `gnmt(...)` builds one from numbers. The alignments are `record(model, "*.weights")`.
    """

    def __init__(self, encoder: Reader, decoder: GNMTDecoder, head: nn.Module) -> None:
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
        return self.head(self.decoder(tgt, self.begin(src, src_mask), tgt_mask))

    def begin(self, src: Tensor, src_mask: Tensor | None = None) -> AttentionState:
        """Read the source once, and return the state that `step` continues."""
        mask = padding(src_mask, src, "src_mask")
        return self.decoder.begin(self.encoder(src, src_mask), mask)

    def step(self, tokens: Tensor, state: AttentionState) -> Tensor:
        """Return logits (B, t, V) after the next target tokens (B, t); the state moves on."""
        return self.head(self.decoder(tokens, state))


def gnmt(
    src_vocab: int,
    tgt_vocab: int | None = None,
    *,
    d_model: int = 256,
    d_hidden: int = 256,
    n_layers: int = 4,
    dropout: float = 0.0,
    first: int = FIRST,
) -> GNMT:
    """Build a GNMT of `n_layers` + `n_layers` LSTM layers with residual connections from layer
    `first` (counted from 0) on; first = n_layers builds one without.

    The encoder's bottom layer is d_hidden wide in each direction. Embeddings as in `seq2seq`;
    dropout acts on what each layer reads and before the output layer.
    Raises ValueError when n_layers is below 1, or first below 2 with more than one layer.
    """
    source, target = embeddings(src_vocab, tgt_vocab, d_model)

    def layer(i: int) -> nn.Module:
        if i == 0:
            return Bidirectional(LSTM(d_model, d_hidden), LSTM(d_model, d_hidden))
        return LSTM(2 * d_hidden if i == 1 else d_hidden, d_hidden)

    encoder = Reader(source, ResidualStack(layer, n_layers, dropout, first), dropout)
    d_memory = encoder.d_hidden
    layers = [LSTM((d_hidden if i else d_model) + d_memory, d_hidden) for i in range(n_layers)]
    attention = AdditiveAttention(d_hidden, d_memory)
    decoder = GNMTDecoder(target, layers, attention, dropout, first)
    head = nn.Sequential(
        Dropout(dropout), nn.Linear(d_hidden, d_model), TiedHead(target, bias=True)
    )
    return GNMT(encoder, decoder, head)


def base(src_vocab: int = 32_000, tgt_vocab: int | None = None) -> GNMT:
    """Return the size of Wu et al. 2016: 8 + 8 layers 1024 wide, 32,000 word pieces."""
    return gnmt(src_vocab, tgt_vocab, d_model=1024, d_hidden=1024, n_layers=8, dropout=0.2)


def tiny(vocab_size: int = 32) -> GNMT:
    """Return a model for tests and toys: one vocabulary, rows 16 wide, states 12, 3 + 3 layers."""
    return gnmt(vocab_size, d_model=16, d_hidden=12, n_layers=3)
