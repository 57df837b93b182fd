"""Recurrent decoders with attention over the encoder's hidden states: Luong's and Bahdanau's.

They differ in whether the attention query is computed after or before the recurrence. The full
model is `deepdive.models.seq2seq.attention_seq2seq`.

Long because it holds both, each with its equations, initial state and argument checks.
"""

import torch
from torch import Tensor, nn

from deepdive.attention import AdditiveAttention
from deepdive.core import SoftmaxAttention
from deepdive.core.checks import positive
from deepdive.core.embeddings import TokenEmbedding, check_tokens
from deepdive.core.hooks import HookPoint
from deepdive.core.masks import Padding, padding
from deepdive.models.seq2seq.rnn_encoder import RNNEncoder
from deepdive.recurrent import RNN, RecurrentState
from deepdive.recurrent.attending import AttentionState, attend_then_advance


class LuongDecoder(nn.Module):
    """Luong's decoder: the current hidden state is the query; all T target positions in parallel.

        h = reader(tokens)                                 # (B, T, d_hidden)
        c = attention(h, memory, memory)                   # (B, T, d_memory)
        output = tanh(W_c [c ; h])                         # (B, T, d_out)

    The recurrence starts from the encoder's final state. `attention` is any mechanism that scores
    queries of width d_hidden against keys of width d_memory.

    Hook points: `attention.scores` and `attention.weights` (B, 1, T, S); `reader.embedded`.
    Source: Luong et al. 2015, sections 3 (equation 5) and 3.1.
    """

    def __init__(
        self, reader: RNNEncoder, attention: SoftmaxAttention, d_memory: int, d_out: int
    ) -> None:
        super().__init__()
        positive(d_memory=d_memory, d_out=d_out)
        self.reader, self.attention = reader, attention
        self.W_c = nn.Linear(d_memory + reader.d_hidden, d_out)

    def begin(
        self, memory: Tensor, mask: Padding | None = None, ends: RecurrentState | None = None
    ) -> AttentionState:
        """Return the initial decoding state from the encoder's hidden states `memory` (B, S,
        d_memory), their padding `mask`, and the encoder's final state `ends`.
        """
        keys = memory.unsqueeze(1)
        return AttentionState(keys, keys, mask, RecurrentState() if ends is None else ends)

    def forward(
        self, tokens: Tensor, state: AttentionState, mask: Tensor | Padding | None = None
    ) -> Tensor:
        """Return outputs (B, T, d_out) for target tokens (B, T), and update the state."""
        h = self.reader(tokens, mask, state.recurrent)
        c = self.attention(h.unsqueeze(1), state.keys, state.values, state.mask).squeeze(1)
        return torch.tanh(self.W_c(torch.cat([c, h], dim=-1)))


class BahdanauDecoder(nn.Module):
    """Bahdanau's decoder: the previous state is the query; the context is an input of each step.

        h_0 = tanh(W_s g_1)                                # g_1: the encoder's backward state at
                                                           # the first token, its final state
        c_t = attention(h_{t-1}, memory, memory)           # (B, d_memory); keys projected once
        h_t = recurrent([y_t ; c_t], h_{t-1})              # (B, d_hidden); y_t the embedded token
        output_t = maxout(W_o [c_t ; h_t ; y_t])           # (B, d_out): the larger of each two

    `recurrent` is one layer with inputs of width d_model + d_memory; d_memory is twice the width
    of one direction of the encoder.

    Hook points: `attention.scores` and `attention.weights` (B, 1, 1, S), once a step; `embedded`.
    Source: Bahdanau et al. 2015, section 3.1 and appendix A.2.2 (which has h_{t-1} instead of h_t
    in the last line; here it is as in their equation 4).
    """

    def __init__(
        self,
        embedding: TokenEmbedding,
        recurrent: RNN,
        attention: AdditiveAttention,
        d_out: int,
        dropout: float = 0.0,
    ) -> None:
        super().__init__()
        positive(d_out=d_out)
        d_memory = recurrent.d_input - embedding.d_model
        if d_memory < 2 or d_memory % 2:
            raise ValueError(
                f"recurrent has inputs of width {recurrent.d_input}, expected the embedding's "
                f"{embedding.d_model} plus an even d_memory (both directions of the encoder)"
            )
        if not hasattr(attention, "project_keys"):
            raise TypeError(
                f"attention must project its keys once, as AdditiveAttention does; got "
                f"{type(attention).__name__}: pass it to LuongDecoder"
            )
        self.embedding, self.recurrent, self.attention = embedding, recurrent, attention
        self.embedded = HookPoint()
        self.dropout = nn.Dropout(dropout)
        self.W_s = nn.Linear(d_memory // 2, recurrent.d_hidden)
        self.W_o = nn.Linear(recurrent.d_input + recurrent.d_hidden, 2 * d_out)

    def begin(
        self, memory: Tensor, mask: Padding | None = None, ends: RecurrentState | None = None
    ) -> AttentionState:
        """Return the initial decoding state; `ends` is unused, since `memory` contains it."""
        rows = memory.unsqueeze(1)
        start = torch.tanh(self.W_s(memory[:, 0].chunk(2, dim=-1)[1]))
        rest = self.recurrent.begin(start, RecurrentState())[1:]  # an LSTM's cell: zeros
        keys = self.attention.project_keys(rows)
        return AttentionState(keys, rows, mask, RecurrentState((start, *rest)))

    def forward(
        self, tokens: Tensor, state: AttentionState, mask: Tensor | Padding | None = None
    ) -> Tensor:
        """Return outputs (B, T, d_out) for target tokens (B, T), and update the state."""
        check_tokens(tokens)
        padding(mask, tokens, "mask")
        y = self.dropout(self.embedded(self.embedding(tokens)))  # (B, T, d_model)
        h, c = attend_then_advance(self.recurrent, self.attention, y, state, state.recurrent, mask)
        return self.W_o(torch.cat([c, h, y], dim=-1)).unflatten(-1, (-1, 2)).amax(-1)
