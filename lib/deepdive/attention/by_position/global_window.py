"""Sliding-window attention with global tokens: Longformer's pattern."""

from typing import NamedTuple

import torch
from torch import Tensor

from deepdive._fast.tiled_attention import attend, block_of, window_tiles
from deepdive.attention.patterns import PatternAttention, written_out
from deepdive.attention.structure import all_real, structure
from deepdive.core.checks import not_negative, positive
from deepdive.core.masks import Dense, Global, Mask, Padding, Window, describe


class Slots(NamedTuple):
    """The global tokens of each text, gathered: `at` int64 (B, g), and whether the slot is
    `filled` (B, g), since texts may have fewer than g.
    """

    at: Tensor
    filled: Tensor

    def take(self, x: Tensor) -> Tensor:
        """(B, H, S, d) -> (B, H, g, d)."""
        return x.gather(2, self._spread(x))

    def put(self, x: Tensor, new: Tensor) -> Tensor:
        """Return x (B, H, S, d) with that of filled slots replaced by `new` (B, H, g, d)."""
        new = torch.where(self.filled[:, None, :, None], new, self.take(x))
        return x.scatter(2, self._spread(x), new)

    def _spread(self, x: Tensor) -> Tensor:
        return self.at[:, None, :, None].expand(-1, x.shape[1], -1, x.shape[3])


def slots(chosen: Tensor) -> Slots:
    """Return the slots of chosen (B, S)."""
    n_slots = int(chosen.sum(1).max())
    at = (~chosen).to(torch.int8).argsort(dim=1, stable=True)[:, :n_slots]
    return Slots(at, chosen.gather(1, at))


class GlobalWindowAttention(PatternAttention):
    """Softmax attention under the mask `Window(left, right) | Global(at)`, in O(T * window * d).

    Query t attends to keys t - left ... t + right and the global tokens, in one softmax; a global
    token attends to every key. Global are the positions `at` of every text, from the end if
    negative, and `global_tokens`, bool (B, S). Their number is small, or nothing is saved: the
    cost is that of a window wider by it. Honours `Padding`; no causal form: a global token, which
    attends to all, would pass on later tokens.

    Raises ValueError when left, right, block or a position is out of range.
    Source: Beltagy et al. 2020, section 3.1.
    """

    honors = (Padding,)
    queries = "all"

    def __init__(
        self,
        left: int,
        right: int,
        at: tuple[int, ...] = (),
        *,
        block: int | None = None,
        dropout: float = 0.0,
    ) -> None:
        super().__init__(dropout)
        not_negative(left=left, right=right)
        block = block_of(left, right) if block is None else block
        positive(block=block)
        self.left, self.right, self.at, self.block = left, right, tuple(at), block

    def extra_repr(self) -> str:
        return f"left={self.left}, right={self.right}, at={self.at}, block={self.block}"

    def pattern(self, heads: int) -> Mask:
        return Window(self.left, self.right) | Global(self.at)

    def forward(
        self, q: Tensor, k: Tensor, v: Tensor, mask: Mask | Tensor | None = None,
        bias: Tensor | None = None, scale: float | None = None,
        global_tokens: Tensor | None = None,
    ) -> Tensor:  # fmt: skip
        """Return the output (B, H, T, d_v), as every mechanism does; `global_tokens` bool (B, S),
        True = attends to all and is attended to by all.
        """
        mask, _, scale = self.checked(q, k, v, mask, bias, scale)
        real, _ = structure(mask, k)
        chosen = self.everywhere(global_tokens, real, k)
        if self.listening:
            pattern = Window(self.left, self.right)
            global_pairs = Dense(chosen[:, None, :, None] | chosen[:, None, None, :])
            full_mask = written_out(pattern | global_pairs, real, causal=False)
            return self.steps(q, k, v, self.allowed(full_mask, q, k), None, scale)
        mixed, global_slots = self.local(q, k, v, real, chosen, scale), slots(chosen)
        if not global_slots.at.shape[1]:
            return mixed
        allowed = None if real is None else real[:, None, None]
        global_outputs = self.in_one_call(global_slots.take(q), k, v, allowed, None, scale)
        return global_slots.put(mixed, global_outputs)

    def local(
        self, q: Tensor, k: Tensor, v: Tensor, real: Tensor | None, chosen: Tensor, scale: float
    ) -> Tensor:
        """Return the output of attention to windows and the `chosen` (B or 1, T) tokens."""
        T, global_tokens = q.shape[2], slots(chosen.expand(len(q), -1))
        n_global = global_tokens.at.shape[1]
        if n_global:  # masked in the window: each key counts once
            real = torch.cat([all_real(real, k) & ~chosen, global_tokens.filled], dim=1)
            k, v = (torch.cat([x, global_tokens.take(x)], dim=2) for x in (k, v))
        tiles = window_tiles(T, T, self.left, self.right, self.block, q, n_global)
        return attend(q, k, v, tiles, scale, real=real, dropout=self.dropped)

    def everywhere(self, chosen: Tensor | None, real: Tensor | None, k: Tensor) -> Tensor:
        """Return the global tokens, bool (B, T): real ones, by position or chosen."""
        B, T = k.shape[0], k.shape[2]
        if chosen is not None and (chosen.dtype != torch.bool or chosen.shape != (B, T)):
            raise ValueError(
                f"global_tokens must be bool (B, S) = {(B, T)}, True = attends to all and is "
                f"attended to by all; got {describe(chosen)}"
            )
        is_global = torch.zeros(B, T, dtype=torch.bool, device=k.device)
        if any(not -T <= position < T for position in self.at):
            raise ValueError(f"at={self.at} has a position outside the {T} tokens")
        is_global[:, list(self.at)] = True
        is_global = is_global if chosen is None else is_global | chosen
        return is_global if real is None else is_global & real
