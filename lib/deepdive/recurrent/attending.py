"""A recurrence that attends to a memory: what it carries, and its steps."""

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
    """What decoding carries from step to step.

    keys, values   what is attended to, (B, 1, S, d_key) and (B, 1, S, d_memory)
    mask           which of the S are real
    recurrent      where the decoder's recurrence stands
    """

    keys: Tensor
    values: Tensor
    mask: Padding | None
    recurrent: RecurrentState

    def reorder(self, index: Tensor) -> None:
        """Let row b continue from row index[b]; the number of rows may change."""
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
    """Read rows y (B, T, d_y) one step after another, beside what the state before each asked for.

        c_t = attention(h_{t-1}, memory, memory)           # (B, d_memory); keys projected before
        h_t = layer([y_t ; c_t], h_{t-1})                  # (B, d_hidden)

    Return h (B, T, d_hidden) and c (B, T, d_memory). `at` is where the layer stands, and moves on;
    it stands still where `mask`, bool (B, T), is False.
    """
    # W [y ; c] = W_y y + W_c c, so that all y are projected at once
    W_y, W_c = layer.W.weight.split([y.shape[-1], state.values.shape[-1]], dim=1)
    values, real = layer.begin(y, at), real_tokens(mask, y)
    states, contexts = [], []
    for t, Wy in enumerate(F.linear(y, W_y, layer.W.bias).unbind(1)):
        q = values[0][:, None, None]
        c = attention.attend(q, state.keys, state.values, state.mask)[:, 0, 0]
        here = None if real is None else real[:, t]
        values = layer.advance(Wy + F.linear(c, W_c), values, here)
        states.append(values[0])
        contexts.append(c)
    at.values = values
    return torch.stack(states, dim=1), torch.stack(contexts, dim=1)
