"""The two decoders that attend to an encoder's states: Luong's and Bahdanau's.

What differs between them is when the state asks, before the recurrence or after it. The model
around them is `deepdive.models.seq2seq.attention_seq2seq`.

Long because it holds both, each with its equations, its start and its check of what it is given.
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
    """The current state asks; all T target positions at once.

        h = reader(tokens)                                 # (B, T, d_hidden)
        c = attention(h, memory, memory)                   # (B, T, d_memory)
        output = tanh(W_c [c ; h])                         # (B, T, d_out)

    The recurrence starts in the encoder's end state. `attention` is any mechanism that scores
    d_hidden against d_memory.

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
        """Return the state before the first token: the encoder's states (B, S, d_memory), which
        of them are real, and where the encoder ended.
        """
        keys = memory.unsqueeze(1)
        return AttentionState(keys, keys, mask, RecurrentState() if ends is None else ends)

    def forward(
        self, tokens: Tensor, state: AttentionState, mask: Tensor | Padding | None = None
    ) -> Tensor:
        """Return (B, T, d_out) for target tokens (B, T); the state moves on."""
        h = self.reader(tokens, mask, state.recurrent)
        c = self.attention(h.unsqueeze(1), state.keys, state.values, state.mask).squeeze(1)
        return torch.tanh(self.W_c(torch.cat([c, h], dim=-1)))


class BahdanauDecoder(nn.Module):
    """The previous state asks; what it gets is read beside the token, one step after another.

        h_0 = tanh(W_s g_1)                                # g_1: the encoder's right-to-left state
                                                           # at the first token, where it ends
        c_t = attention(h_{t-1}, memory, memory)           # (B, d_memory); keys projected once
        h_t = recurrent([y_t ; c_t], h_{t-1})              # (B, d_hidden); y_t the embedded token
        output_t = maxout(W_o [c_t ; h_t ; y_t])           # (B, d_out): the larger of each two

    `recurrent` is one layer that reads rows of width d_model + d_memory; d_memory is twice the
    width of one direction of the encoder.

    Hook points: `attention.scores` and `attention.weights` (B, 1, 1, S), once a step; `embedded`.
    Source: Bahdanau et al. 2015, section 3.1 and appendix A.2.2 (where h_{t-1} takes the place of
    h_t in the last line; here it is as in their equation 4).
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
                f"recurrent reads rows of width {recurrent.d_input}, expected the embedding's "
                f"{embedding.d_model} and an even d_memory, both directions of the encoder"
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
        """Return the state before the first token; `ends` is not needed, `memory` shows it."""
        rows = memory.unsqueeze(1)
        start = torch.tanh(self.W_s(memory[:, 0].chunk(2, dim=-1)[1]))
        rest = self.recurrent.begin(start, RecurrentState())[1:]  # an LSTM's cell: zeros
        keys = self.attention.project_keys(rows)
        return AttentionState(keys, rows, mask, RecurrentState((start, *rest)))

    def forward(
        self, tokens: Tensor, state: AttentionState, mask: Tensor | Padding | None = None
    ) -> Tensor:
        """Return (B, T, d_out) for target tokens (B, T); the state moves on."""
        check_tokens(tokens)
        padding(mask, tokens, "mask")
        y = self.dropout(self.embedded(self.embedding(tokens)))  # (B, T, d_model)
        h, c = attend_then_advance(self.recurrent, self.attention, y, state, state.recurrent, mask)
        return self.W_o(torch.cat([c, h, y], dim=-1)).unflatten(-1, (-1, 2)).amax(-1)
