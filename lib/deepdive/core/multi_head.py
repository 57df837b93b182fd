"""Multi-head attention: projections, heads, cache. The mechanism computes the attention inside the
heads.

System: self_attention
Parent: scaled_dot_attention
What differs:
- queries, keys and values are projections of the same states: each position attends to all
Source: Vaswani et al. 2017, section 3.2.3; Cheng, Dong and Lapata 2016, section 3.
Book: 2.4.2.1

System: cross_attention
Parent: multi_head
What differs:
- keys and values are projections of other states (`memory`, of width `d_context`), computed once
  for all steps of decoding (`cache`)
Source: Vaswani et al. 2017, section 3.2.3.
Book: 2.4.2.4

System: masked_attention
Parent: multi_head
What differs:
- a query does not attend to later positions (`mask`, a `deepdive.core.masks.Causal`), so that all
  positions train in parallel
Source: Vaswani et al. 2017, section 3.2.3.
Book: 2.4.2.3
"""

from typing import ClassVar

import torch
from torch import Tensor, nn

from deepdive.core.checks import positive
from deepdive.core.context import Context, Layer
from deepdive.core.hooks import HookPoint
from deepdive.core.position import (
    Position,
    check_positions,
    overrides,
    pair_positions,
    query_positions,
)
from deepdive.core.softmax import SoftmaxAttention


def split_heads(x: Tensor, n_heads: int) -> Tensor:
    """(B, T, H * d_head) -> (B, H, T, d_head)."""
    return x.unflatten(-1, (n_heads, -1)).transpose(1, 2)


class MultiHeadAttention(Layer):
    """Multi-head attention: n_heads attentions in parallel, each in d_head dimensions.

        q      = split(x @ W_q)                                 # (B, H, T, d_head)
        k, v   = split(memory @ W_kv)                           # (B, H, S, d_head)
        output = join(mechanism(q, k, v)) @ W_out               # (B, T, d_model)

    Without a memory this is self-attention: memory = x.

    `n_kv_heads` < n_heads shares each key-value head among n_heads / n_kv_heads query heads
    (grouped queries; 1 = multi-query). `d_context` is the width of the memory. `bias` gives the
    four projections a bias vector. `scale` replaces the mechanism's own. `position` may rotate q
    and k or add to the scores.

    Hook points: `values` (B, H, S, d_head), `heads` (B, H, T, d_head, before W_out),
    `mechanism.scores`, `mechanism.weights`.

    Raises ValueError when the heads do not divide the width, or each other.
    Source: Vaswani et al. 2017, section 3.2.2; grouped queries: Shazeer 2019, Ainslie et al. 2023.

    System: multi_head
    Parent: self_attention
    What differs:
    - `n_heads` attentions of width d_model / n_heads, concatenated and projected (`out`)
    Source: Vaswani et al. 2017, section 3.2.2.
    Book: 2.4.2.2

    System: multi_query
    Parent: multi_head
    What differs:
    - query heads share keys and values in groups (`n_kv_heads`; 1 = multi-query)
    Source: Shazeer 2019, section 3; Ainslie et al. 2023, section 2.2.
    Book: 1.2.1.2
    """

    reads: ClassVar[tuple[str, ...]] = (
        "mask", "bias", "positions", "memory", "memory_mask", "memory_positions", "cache",
    )  # fmt: skip
    instead = "LongformerAttention has global tokens"

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
        self.q = nn.Linear(d_model, n_heads * self.d_head, bias=bias)
        self.kv = nn.Linear(self.d_context, 2 * n_kv_heads * self.d_head, bias=bias)
        self.out = nn.Linear(n_heads * self.d_head, d_model, bias=bias)
        self.mechanism = SoftmaxAttention(dropout) if mechanism is None else mechanism
        self.position = position
        self.values, self.heads = HookPoint(), HookPoint()
        self.reset_parameters()

    def reset_parameters(self) -> None:
        """Initialize each projection from Glorot's uniform distribution, biases 0.

        Keys and values are initialized separately, as two matrices W_k and W_v.
        """
        for weight in (self.q.weight, *self.kv.weight.chunk(2), self.out.weight):
            nn.init.xavier_uniform_(weight)
        for layer in (self.q, self.kv, self.out):
            if layer.bias is not None:
                nn.init.zeros_(layer.bias)

    def forward(self, x: Tensor, context: Context) -> Tensor:
        """Return (B, T, d_model) for x (B, T, d_model): cross-attention to the memory if there is
        one, else self-attention.

        With a cache, self-attention also attends to the states of earlier calls, and the keys and
        values of a memory are computed once. Positions rotate only self-attention: a memory has an
        order of its own.
        """
        self.check_context(x, context)
        q, slot = self.queries(x), context.slot  # (B, H, T, d_head)
        states, mask, _ = context.sources(x)
        if context.memory is None:
            k, v = self.keys_and_values(states)
            if overrides(self.position, "rotate"):
                q, k = self.rotated(q, k, query_positions(x, context))
            if slot is not None:
                k, v = slot.append(k, v)
        elif slot is None:
            k, v = self.keys_and_values(states)
        else:
            slot.memory = slot.memory or self.keys_and_values(states)
            k, v = slot.memory
        k, v = self.to_all_heads(k, v)  # (B, H, S, d_head)
        bias = self.position_bias(q, k, context)
        return self.output(self.mechanism(q, k, self.values(v), mask, bias, self.scale))

    def position_bias(self, q: Tensor, k: Tensor, context: Context) -> Tensor | None:
        """Return the bias of the scores: the context's plus that of the positions."""
        if self.position is None or not overrides(self.position, "bias"):
            return context.bias
        added = self.position.bias(q, k, *pair_positions(q, k, context))
        if context.bias is None or added is None:
            return context.bias if added is None else added
        return context.bias + added

    def rotated(self, q: Tensor, k: Tensor, at: Tensor) -> tuple[Tensor, Tensor]:
        """Return queries and keys rotated by their positions `at`, (T,) or (B, T).

        Both in one call: with one token per call, the number of operations sets the time.
        """
        assert self.position is not None
        rotated = self.position.rotate(torch.cat((q, k), 1), at)
        return rotated[:, : self.n_heads], rotated[:, self.n_heads :]

    def queries(self, x: Tensor) -> Tensor:
        """Return split(x @ W_q), (B, H, T, d_head), for x (B, T, d_model)."""
        return split_heads(self.q(x), self.n_heads)

    def keys_and_values(self, states: Tensor) -> tuple[Tensor, Tensor]:
        """Return split(states @ W_kv), two of (B, n_kv_heads, S, d_head), for states (B, S,
        d_context). A cache stores these.
        """
        k, v = split_heads(self.kv(states), 2 * self.n_kv_heads).chunk(2, dim=1)
        return k, v

    def to_all_heads(self, k: Tensor, v: Tensor) -> tuple[Tensor, Tensor]:
        """Return keys and values (B, H, S, d_head), repeated for the query heads of each group."""
        if self.n_kv_heads == self.n_heads:
            return k, v
        group_size = self.n_heads // self.n_kv_heads
        return k.repeat_interleave(group_size, dim=1), v.repeat_interleave(group_size, dim=1)

    def output(self, heads: Tensor) -> Tensor:
        """Return join(heads) @ W_out, (B, T, d_model), for heads (B, H, T, d_head)."""
        return self.out(self.heads(heads).transpose(1, 2).flatten(2))

    def check_context(self, x: Tensor, context: Context) -> None:
        """Raise ValueError for states that fit neither the projections nor each other."""
        memory = context.memory
        if memory is None and self.d_context != self.d_model:
            raise ValueError(
                f"memory is missing: keys and values are made of other states (B, S, "
                f"{self.d_context}), d_context wide, and x is {self.d_model} wide"
            )
        if memory is not None and context.mask is not None:
            raise ValueError("mask is of x itself; which states of the memory count: memory_mask=")
        if memory is None and context.memory_mask is not None:
            raise ValueError("memory_mask given without a memory; which states of x count: mask=")
        check_states("x", x, "d_model", self.d_model)
        if context.positions is not None:
            cached = 0 if context.slot is None else context.slot.length
            so_far = cached + x.shape[1] if memory is None else cached
            check_positions("positions", context.positions, x, so_far)
        if memory is None:
            return
        check_states("memory", memory, "d_context", self.d_context)
        if memory.shape[0] != x.shape[0]:
            raise ValueError(f"x has a batch of {x.shape[0]}, the memory of {memory.shape[0]}")
        if context.memory_positions is not None:
            check_positions("memory_positions", context.memory_positions, memory)
        if getattr(self.mechanism, "right_aligned", False):
            raise ValueError(
                f"memory: {type(self.mechanism).__name__} takes the queries for the last of the "
                "keys, and a memory has an order of its own: use SoftmaxAttention for it"
            )


def check_states(name: str, states: Tensor, size: str, width: int) -> None:
    """Raise ValueError unless states are (B, T, width), and not empty."""
    if states.ndim != 3 or states.shape[-1] != width:
        raise ValueError(f"{name} must be (B, T, {size}={width}); got {tuple(states.shape)}")
    if 0 in states.shape:
        raise ValueError(
            f"{name} is empty: {tuple(states.shape)}; leave empty batches and sequences out"
        )
