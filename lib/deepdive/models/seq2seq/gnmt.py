"""GNMT: a deep LSTM encoder-decoder with attention, "Google's Neural Machine Translation System".
Wu et al. 2016; for many languages see `deepdive.models.seq2seq.multilingual_gnmt`.

Not as in the paper: the output layer is tied to the target embedding, after an extra projection
(an LSTM's bounded states can't serve as output embeddings as well); the refinement by
reinforcement learning and quantized inference (sections 5 and 6) are left out. The decoder
starts from zeros. Its beam search is `deepdive.decoding`, with `coverage` for equation 14. The
parent is Bahdanau's variant (`deepdive.models.seq2seq.attention_seq2seq.rnnsearch`).

Long because it has its own decoder: a stack of recurrent layers, one of which attends.

System: gnmt
Parent: attention_seq2seq
What differs:
- depth: eight layers each; only the encoder's bottom layer is bidirectional (`gnmt`)
- residual connections from the third layer on (`ResidualStack`)
- the previous state of the decoder's bottom layer is the query, and the context is an input of all
  layers (`GNMTDecoder`): the layers above then run over all tokens at once
- word pieces instead of words, one shared vocabulary (`deepdive.tokenizers.WordPieceTokenizer`)
Source: Wu et al. 2016, section 3.
Book: 2.3.3
"""

from collections.abc import Sequence

import torch
from torch import Tensor, nn

from deepdive.attention import AdditiveAttention
from deepdive.core.checks import not_negative
from deepdive.core.embeddings import TiedHead, TokenEmbedding, check_tokens
from deepdive.core.hooks import HookPoint
from deepdive.core.masks import Padding, padding
from deepdive.models.seq2seq.attention_seq2seq import AttentionSeq2Seq
from deepdive.models.seq2seq.rnn_encoder import RNNEncoder, embeddings
from deepdive.recurrent import LSTM, RNN, Bidirectional, RecurrentState
from deepdive.recurrent.attending import AttentionState, attend_then_advance
from deepdive.recurrent.residual import FIRST, ResidualStack, check_widths


class GNMTDecoder(nn.Module):
    """GNMT's decoder: the bottom layer attends step by step, upper layers run over all steps.

        c_t  = attention(h0_{t-1}, memory, memory)         # (B, d_memory); h0_0 = 0
        h0_t = layer_0([y_t ; c_t], h0_{t-1})              # (B, d_hidden); y_t the embedded token
        x    = h0
        x    = layer_i([x ; c]) + x                        # (B, T, d_hidden); + x from `first` on

    The input of layer 0 has width d_model + d_memory, that of the others d_hidden + d_memory.
    Raises ValueError for layers of other widths.

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
        d_memory = layers[0].d_input - embedding.d_model
        widths = [embedding.d_model, *(layer.d_hidden for layer in layers)]
        for i, (width, layer) in enumerate(zip(widths, layers, strict=False)):
            if d_memory < 1 or layer.d_input != width + d_memory:
                raise ValueError(
                    f"layer {i} reads rows of width {layer.d_input}, expected {width} from below "
                    f"and the context's d_memory={d_memory}, which is 1 or more"
                )
        check_widths(layers[first:], first, d_memory)
        self.bottom, self.upper = layers[0], nn.ModuleList(layers[1:])
        self.embedding, self.attention, self.first = embedding, attention, first
        self.d_hidden = layers[-1].d_hidden
        self.embedded = HookPoint()
        self.dropout = nn.Dropout(dropout)

    def begin(
        self, memory: Tensor, mask: Padding | None = None, ends: RecurrentState | None = None
    ) -> AttentionState:
        """Return the initial decoding state, zeros; the encoder's final state `ends` is unused."""
        keys = memory.unsqueeze(1)
        return AttentionState(self.attention.project_keys(keys), keys, mask, RecurrentState())

    def forward(
        self, tokens: Tensor, state: AttentionState, mask: Tensor | Padding | None = None
    ) -> Tensor:
        """Return hidden states (B, T, d_hidden) of target tokens (B, T), and update the state."""
        check_tokens(tokens)
        real = padding(mask, tokens, "mask")
        y = self.dropout(self.embedded(self.embedding(tokens)))  # (B, T, d_model)
        x, context = attend_then_advance(
            self.bottom, self.attention, y, state, state.recurrent[0], mask
        )
        for i, layer in enumerate(self.upper, 1):
            inputs = torch.cat([self.dropout(x), context], dim=-1)
            h = layer(inputs, real, state.recurrent[i])
            x = h + x if i >= self.first else h
        return x


def gnmt(
    src_vocab: int,
    tgt_vocab: int | None = None,
    *,
    d_model: int = 256,
    d_hidden: int = 256,
    n_layers: int = 4,
    dropout: float = 0.0,
    first: int = FIRST,
) -> AttentionSeq2Seq:
    """Build a GNMT of `n_layers` + `n_layers` LSTM layers with residual connections from layer
    `first` (counted from 0) on; first = n_layers builds one without.

    The encoder's bottom layer is d_hidden wide in each direction. Embeddings as in `seq2seq`;
    dropout acts on each layer's input and before the output layer.
    Raises ValueError when n_layers is below 1, or first below 2 with more than one layer.
    """
    source, target = embeddings(src_vocab, tgt_vocab, d_model)

    def layer(i: int) -> nn.Module:
        if i == 0:
            return Bidirectional(LSTM(d_model, d_hidden), LSTM(d_model, d_hidden))
        return LSTM(2 * d_hidden if i == 1 else d_hidden, d_hidden)

    encoder = RNNEncoder(source, ResidualStack(layer, n_layers, dropout, first), dropout)
    d_memory = encoder.d_hidden
    layers = [LSTM((d_hidden if i else d_model) + d_memory, d_hidden) for i in range(n_layers)]
    attention = AdditiveAttention(d_hidden, d_memory)
    decoder = GNMTDecoder(target, layers, attention, dropout, first)
    head = nn.Sequential(
        nn.Dropout(dropout), nn.Linear(d_hidden, d_model), TiedHead(target, bias=True)
    )
    return AttentionSeq2Seq(encoder, decoder, head)


def base(src_vocab: int = 32_000, tgt_vocab: int | None = None) -> AttentionSeq2Seq:
    """Return the model size of Wu et al. 2016: 8 + 8 layers, 1024 wide, 32,000 word pieces."""
    return gnmt(src_vocab, tgt_vocab, d_model=1024, d_hidden=1024, n_layers=8, dropout=0.2)


def tiny(vocab_size: int = 32) -> AttentionSeq2Seq:
    """Return a model for tests and toys: one vocabulary, d_model 16, d_hidden 12, 3 + 3 layers."""
    return gnmt(vocab_size, d_model=16, d_hidden=12, n_layers=3)
