"""A recurrent decoder with attention to a memory: its state, and its steps."""

from dataclasses import dataclass

import torch
import torch.nn.functional as F
from torch import Tensor

from deepdive.attention import AdditiveAttention
from deepdive.core.masks import Padding
from deepdive.recurrent.layers import RNN
from deepdive.recurrent.state import RecurrentState, real_tokens


@dataclass
class AttentionState:
    """The state of decoding between steps.

    keys, values   of the memory, (B, 1, S, d_key) and (B, 1, S, d_memory)
    mask           which of the S are real
    recurrent      the state of the decoder's recurrence
    """

    keys: Tensor
    values: Tensor
    mask: Padding | None
    recurrent: RecurrentState

    def reorder(self, index: Tensor) -> None:
        """Let sequence b continue from sequence index[b]; the batch size may change."""
        self.keys, self.values = self.keys[index], self.values[index]
        if self.mask is not None:
            self.mask = self.mask.reorder(index)
        self.recurrent.reorder(index)


def attend_then_advance(
    layer: RNN,
    attention: AdditiveAttention,
    y: Tensor,
    state: AttentionState,
    at: RecurrentState,
    mask: Tensor | Padding | None = None,
) -> tuple[Tensor, Tensor]:
    """Run the recurrence on y (B, T, d_y), each input concatenated with an attention context.

        c_t = attention(h_{t-1}, memory, memory)           # (B, d_memory); keys projected before
        h_t = layer([y_t ; c_t], h_{t-1})                  # (B, d_hidden)

    Return h (B, T, d_hidden) and c (B, T, d_memory). `at` is the layer's state, and is updated;
    it is unchanged where `mask`, bool (B, T), is False.
    """
    # W [y ; c] = W_y y + W_c c, so that all y are projected at once
    W_y, W_c = layer.W.weight.split([y.shape[-1], state.values.shape[-1]], dim=1)
    values, real = layer.begin(y, at), real_tokens(mask, y)
    states, contexts = [], []
    for t, Wy in enumerate(F.linear(y, W_y, layer.W.bias).unbind(1)):
        q = values[0][:, None, None]
        c = attention.attend(q, state.keys, state.values, state.mask)[:, 0, 0]
        real_t = None if real is None else real[:, t]
        values = layer.advance(Wy + F.linear(c, W_c), values, real_t)
        states.append(values[0])
        contexts.append(c)
    at.values = values
    return torch.stack(states, dim=1), torch.stack(contexts, dim=1)
