"""Memformer's memory slots, and how a segment rewrites them."""

from dataclasses import dataclass

import torch
import torch.nn.functional as F
from torch import Tensor, nn

from deepdive.core import DecodingState
from deepdive.core.checks import above_zero, divides, positive
from deepdive.core.masks import Padding
from deepdive.core.multi_head import split_heads


class SlotWriter(nn.Module):
    """Updates memory slots from a segment's states.

        a_i    = softmax([q_i . own_i, q_i . k_1, ..., q_i . k_T] / (sqrt(d_head) temperature))
        slot_i = normalize(a_i0 slot_i + a_i1 v_1 + ... + a_iT v_T + bias_i)

    q_i and own_i are projections of slot i, k_t and v_t of state t; heads are concatenated. own_i
    and k_t share their matrix. The paper's temperature is below 1, its value is our choice.
    """

    def __init__(self, d_model: int, n_heads: int, n_slots: int, temperature: float = 0.5) -> None:
        super().__init__()
        positive(d_model=d_model, n_heads=n_heads, n_slots=n_slots)
        divides(n_heads=n_heads, d_model=d_model)
        above_zero(temperature=temperature)
        self.n_heads, self.temperature = n_heads, temperature
        self.q, self.k, self.v = (nn.Linear(d_model, d_model, bias=False) for _ in range(3))
        self.bias = nn.Parameter(torch.randn(n_slots, d_model) * d_model**-0.5)

    def initial(self, batch: int) -> Tensor:
        """Return the slots before the first segment, (batch, n_slots, d_model)."""
        return F.normalize(self.bias, dim=-1).expand(batch, -1, -1)

    def attend(self, slots: Tensor, states: Tensor, real: Padding | None = None) -> Tensor:
        """Return slot attention's output (B, n_slots, d_model), before the bias."""
        own, old = (split_heads(x, self.n_heads) for x in (self.k(slots), slots))
        q, k, v = (split_heads(x, self.n_heads) for x in (
            self.q(slots), self.k(states), self.v(states)))  # fmt: skip
        scores = torch.cat(((q * own).sum(-1, keepdim=True), q @ k.transpose(-2, -1)), -1)
        if real is not None:
            if not isinstance(real, Padding):
                raise ValueError(
                    f"real is a {type(real).__name__}: slots attend to a whole segment, so only "
                    "Padding is honored"
                )
            hidden = F.pad(~real.real, (1, 0))[:, None, None]  # the slot itself is never padding
            scores = scores.masked_fill(hidden, torch.finfo(scores.dtype).min)
        weights = (scores / (q.shape[-1] ** 0.5 * self.temperature)).softmax(-1)  # (B, H, n, 1 + T)
        new = weights[..., :1] * old + weights[..., 1:] @ v
        return new.transpose(1, 2).flatten(2)

    def forward(self, slots: Tensor, states: Tensor, real: Padding | None = None) -> Tensor:
        """Return the next slots for slots (B, n_slots, d_model), states (B, T, d_model)."""
        return F.normalize(self.attend(slots, states, real) + self.bias, dim=-1)


@dataclass
class MemformerState(DecodingState):
    """A decoding state, and the slots that the next segment reads, (B, n_slots, d_model)."""

    slots: Tensor | None = None

    def reorder(self, index: Tensor) -> None:
        """Let sequence b continue from sequence index[b]; the batch size may change."""
        super().reorder(index)
        if self.slots is not None:
            self.slots = self.slots.index_select(0, index)
