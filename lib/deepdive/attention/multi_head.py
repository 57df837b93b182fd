"""Multi-head attention: projections, heads, cache. What happens inside a head is the mechanism's
business.

System: self_attention
Parent: scaled_dot_attention
What differs:
- queries, keys and values are projections of the same rows (`context` = x): every row asks, and
  every row answers
Source: Vaswani et al. 2017, section 3.2.3; Cheng, Dong and Lapata 2016, section 3.
Book: 2.4.2.1

System: cross_attention
Parent: multi_head
What differs:
- keys and values are projected from foreign rows (`context`, of width `d_context`), once for all
  steps of decoding (`cache`)
Source: Vaswani et al. 2017, section 3.2.3.
Book: 2.4.2.4

System: masked_attention
Parent: multi_head
What differs:
- a query does not see what comes after it (`mask`, a `deepdive.masks.Causal`), so that all
  positions train at once
Source: Vaswani et al. 2017, section 3.2.3.
Book: 2.4.2.3
"""

import torch
from torch import Tensor, nn

from deepdive.attention.cache import Places, Slot
from deepdive.attention.softmax import SoftmaxAttention
from deepdive.checks import positive
from deepdive.fast.linear import Linear
from deepdive.inspect import HookPoint
from deepdive.masks import Mask
from deepdive.positions import Position
from deepdive.positions.base import check_positions


def split_heads(rows: Tensor, n_heads: int) -> Tensor:
    """(B, T, H * d_head) -> (B, H, T, d_head)."""
    return rows.unflatten(-1, (n_heads, -1)).transpose(1, 2)


class MultiHeadAttention(nn.Module):
    """n_heads attentions side by side, each in its own d_head dimensions.

        q = split(x @ W_q)                                      # (B, H, T, d_head)
        k, v = split(context @ W_kv)                            # (B, H, S, d_head), context = x
        for self-attention output = join(mechanism(q, k, v)) @ W_out               # (B, T, d_model)

    `n_kv_heads` < n_heads shares each key-value head among n_heads / n_kv_heads query heads
    (grouped queries; 1 = multi-query). `d_context` is the width of foreign rows. `bias` gives the
    four projections a bias vector. `scale` replaces the mechanism's own. `position` may rotate q
    and k or add to the scores.

    Hook points: `values` (B, H, S, d_head), `heads` (B, H, T, d_head, before W_out),
    `mechanism.scores`, `mechanism.weights`.

    Raises ValueError when the heads do not divide the width, or each other.
    Source: Vaswani et al. 2017, section 3.2.2; grouped queries: Shazeer 2019, Ainslie et al. 2023.

    System: multi_head
    Parent: self_attention
    What differs:
    - `n_heads` attentions of width d_model / n_heads, joined by one more matrix (`out`)
    Source: Vaswani et al. 2017, section 3.2.2.
    Book: 2.4.2.2

    System: multi_query
    Parent: multi_head
    What differs:
    - query heads share keys and values in groups (`n_kv_heads`; 1 = multi-query)
    Source: Shazeer 2019, section 3; Ainslie et al. 2023, section 2.2.
    Book: 1.2.1.2
    """

    def __init__(
        self,
        d_model: int,
        n_heads: int,
        *,
        d_head: int | None = None,
        d_context: int | None = None,
        n_kv_heads: int | None = None,
        bias: bool = True,
        dropout: float = 0.0,
        scale: float | None = None,
        mechanism: nn.Module | None = None,
        position: Position | None = None,
    ) -> None:
        super().__init__()
        positive(d_model=d_model, n_heads=n_heads, d_head=d_head, d_context=d_context)
        if d_head is None and d_model % n_heads:
            raise ValueError(
                f"n_heads={n_heads} does not divide d_model={d_model}: choose a divisor, or give "
                f"d_head yourself"
            )
        n_kv_heads = n_heads if n_kv_heads is None else n_kv_heads
        positive(n_kv_heads=n_kv_heads)
        if n_heads % n_kv_heads:
            raise ValueError(
                f"n_kv_heads={n_kv_heads} does not divide n_heads={n_heads}: choose a divisor"
            )
        if mechanism is not None and dropout:
            raise ValueError(
                f"dropout={dropout} belongs to the mechanism that you pass: give it there"
            )
        self.d_model, self.n_heads, self.n_kv_heads = d_model, n_heads, n_kv_heads
        self.d_head = d_model // n_heads if d_head is None else d_head
        self.d_context = d_model if d_context is None else d_context
        self.scale = scale
        self.q = Linear(d_model, n_heads * self.d_head, bias=bias)
        self.kv = Linear(self.d_context, 2 * n_kv_heads * self.d_head, bias=bias)
        self.out = Linear(n_heads * self.d_head, d_model, bias=bias)
        self.mechanism = SoftmaxAttention(dropout) if mechanism is None else mechanism
        self.position = position
        self.values, self.heads = HookPoint(), HookPoint()
        self.reset_parameters()

    def reset_parameters(self) -> None:
        """Draw each projection from Glorot's uniform distribution, biases 0.

        Keys and values are drawn apart, as if W_k and W_v stood alone.
        """
        for weight in (self.q.weight, *self.kv.weight.chunk(2), self.out.weight):
            nn.init.xavier_uniform_(weight)
        for layer in (self.q, self.kv, self.out):
            if layer.bias is not None:
                nn.init.zeros_(layer.bias)

    def forward(
        self,
        x: Tensor,
        context: Tensor | None = None,
        mask: Mask | Tensor | None = None,
        bias: Tensor | None = None,
        positions: Tensor | None = None,
        context_positions: Tensor | None = None,
        cache: Slot | None = None,
    ) -> Tensor:
        """Return (B, T, d_model) for x (B, T, d_model): self-attention, or attention to `context`
        (B, S, d_context).

        With `cache`, self-attention sees the rows of earlier calls too, and attention to a context
        projects it once. `positions` (T,) or (B, T), those of x, and `context_positions` (S,) or
        (B, S) are integers for the position scheme. By default both are counted from 0, and a
        cache, which keeps the places of its rows, goes on from the last one. Positions rotate
        self-attention only: foreign rows have an order of their own.
        """
        self.check_rows(x, context)
        given = ("positions", positions, x), ("context_positions", context_positions, context)
        for name, at, rows in given:
            if at is not None and rows is not None:
                check_positions(name, at, rows)
        slot, T = Slot() if cache is None else cache, x.shape[1]
        q = self.queries(x)  # (B, H, T, d_head)
        if context is None:
            q_at = slot.places.after(positions, T, x.device)
            k, v = self.keys_and_values(x)
            q, k = self.turned(q, k, q_at)
            if cache is not None:
                k, v = cache.append(k, v)
            placed = slot.places = slot.places.plus(positions, T, x.device)
        else:
            q_at = slot.asked.after(positions, T, x.device)
            k, v = self._foreign(context, context_positions, slot)
            slot.asked, placed = slot.asked.plus(positions, T, x.device), slot.cross_places
        k, v = self.to_all_heads(k, v)
        if self.position is not None:
            k_at = placed.all(x.device) if context_positions is None else context_positions
            added = self.position.bias(q, k, q_at, k_at)
            bias = added if bias is None else bias if added is None else bias + added
        return self.output(self.mechanism(q, k, self.values(v), mask, bias, self.scale))

    def _foreign(
        self, context: Tensor, positions: Tensor | None, slot: Slot
    ) -> tuple[Tensor, Tensor]:
        """Return keys and values of foreign rows; the slot keeps them, and where they stand."""
        if slot.cross is None:
            slot.cross = self.keys_and_values(context)
            slot.cross_places = Places().plus(positions, context.shape[1], context.device)
        return slot.cross

    def turned(self, q: Tensor, k: Tensor, at: Tensor) -> tuple[Tensor, Tensor]:
        """Return queries and keys turned by their places, where the position scheme turns any.

        Both at once: with one token a call, what counts is how many operations there are.
        """
        if self.position is None or type(self.position).rotate is Position.rotate:
            return q, k
        both = self.position.rotate(torch.cat((q, k), 1), at)
        return both[:, : self.n_heads], both[:, self.n_heads :]

    def queries(self, x: Tensor) -> Tensor:
        """Return split(x @ W_q), (B, H, T, d_head), for x (B, T, d_model)."""
        return split_heads(self.q(x), self.n_heads)

    def keys_and_values(self, rows: Tensor) -> tuple[Tensor, Tensor]:
        """Return split(rows @ W_kv), two of (B, n_kv_heads, S, d_head), for rows (B, S,
        d_context). A cache keeps these.
        """
        k, v = split_heads(self.kv(rows), 2 * self.n_kv_heads).chunk(2, dim=1)
        return k, v

    def to_all_heads(self, k: Tensor, v: Tensor) -> tuple[Tensor, Tensor]:
        """Return keys and values (B, H, S, d_head), as each query head sees them."""
        if self.n_kv_heads == self.n_heads:
            return k, v
        queries = self.n_heads // self.n_kv_heads
        return k.repeat_interleave(queries, dim=1), v.repeat_interleave(queries, dim=1)

    def output(self, heads: Tensor) -> Tensor:
        """Return join(heads) @ W_out, (B, T, d_model), for heads (B, H, T, d_head)."""
        return self.out(self.heads(heads).transpose(1, 2).flatten(2))

    def check_rows(self, x: Tensor, context: Tensor | None) -> None:
        """Raise ValueError for rows that do not fit the projections, or one another."""
        if context is None and self.d_context != self.d_model:
            raise ValueError(
                f"context is missing: keys and values are made of foreign rows (B, S, "
                f"{self.d_context}), d_context wide, and x is {self.d_model} wide"
            )
        given = (("x", x, "d_model"), ("context", context, "d_context"))
        for name, rows, size in given:
            if rows is None:
                continue
            width = getattr(self, size)
            if rows.ndim != 3 or rows.shape[-1] != width:
                raise ValueError(f"{name} must be (B, T, {size}={width}); got {tuple(rows.shape)}")
            if 0 in rows.shape:
                raise ValueError(
                    f"{name} is empty: {tuple(rows.shape)}; leave empty batches and sequences out"
                )
        if context is not None and context.shape[0] != x.shape[0]:
            raise ValueError(f"x has a batch of {x.shape[0]}, context of {context.shape[0]}")
        if context is not None and getattr(self.mechanism, "right_aligned", False):
            raise ValueError(
                f"context: {type(self.mechanism).__name__} takes the queries for the last of the "
                "keys, and foreign rows have an order of their own: use SoftmaxAttention for them"
            )
