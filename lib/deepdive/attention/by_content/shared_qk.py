"""Shared-QK attention (Reformer): keys are normalized queries."""

import torch
from torch import Tensor, nn

from deepdive.core.checks import positive
from deepdive.core.context import Context, Layer
from deepdive.core.hooks import HookPoint
from deepdive.core.softmax import SoftmaxAttention

EPS = 1e-6  # added to the mean square of a key, as released


def directions(x: Tensor) -> Tensor:
    """Return x (..., d) normalized to length 1; zeros stay zeros."""
    size = x.square().mean(-1, keepdim=True)
    return x * ((size + EPS) * x.shape[-1]).rsqrt()


class SharedQKAttention(SoftmaxAttention):
    """Softmax attention with normalized keys, and a query's own key only if there is no other.

        scores  = scale * q @ (k / |k|)^T                       # (B, H, T, T), scale = 1 by default
        weights = softmax(scores) over the others               # its own key if there is no other

    For layers whose keys are their queries, where a query's own key has the largest score. Honours
    every mask, and a bias, at full cost. Raises ValueError unless there is a key for each query.
    Source: Kitaev et al. 2020, section 2, "Causal masking for shared-QK attention".
    """

    queries = "all"

    @staticmethod
    def default_scale(d_head: int) -> float:
        """Return 1: keys have length 1, and the variance does not grow with d_head."""
        return 1.0

    def score(self, q: Tensor, k: Tensor, scale: float) -> Tensor:
        """Return scale * q @ (k / |k|)^T, (B, H, T, T)."""
        return super().score(q, directions(k), scale)

    def weigh(self, scores: Tensor, allowed: Tensor | None) -> Tensor:
        """Return the softmax over the allowed other keys, else the query's own, else 0."""
        diagonal = torch.eye(scores.shape[-1], dtype=torch.bool, device=scores.device)
        allowed = torch.ones_like(diagonal) if allowed is None else allowed
        no_other_key = ~(allowed & ~diagonal).any(-1, keepdim=True)
        return super().weigh(scores, allowed & (no_other_key | ~diagonal))


class SharedQKMultiHeadAttention(Layer):
    """Multi-head attention whose keys are its queries.

        q = split(x @ W_qk), v = split(x @ W_v)                 # (B, H, T, d_head)
        output = join(mechanism(q, q, v)) @ W_out               # (B, T, d_model)

    The mechanism normalizes the keys: `SharedQKAttention` by default, `LSHAttention`.
    Hook points: `values`, `heads` (B, H, T, d_head), and the mechanism's.
    Raises ValueError when the heads do not divide the width; for a memory; for a cache.
    Source: Kitaev et al. 2020, section 2.
    """

    reads = ("mask", "bias", "positions")
    instead = (
        "keys that are the queries allow no memory and no cache: use MultiHeadAttention, or pass "
        "the full sequence again"
    )

    def __init__(
        self,
        d_model: int,
        n_heads: int,
        *,
        d_head: int | None = None,
        bias: bool = True,
        mechanism: nn.Module | None = None,
    ) -> None:
        super().__init__()
        positive(d_model=d_model, n_heads=n_heads)
        if d_head is None and d_model % n_heads:
            raise ValueError(
                f"n_heads={n_heads} does not divide d_model={d_model}: choose a divisor, or give "
                "d_head yourself"
            )
        self.d_model, self.n_heads = d_model, n_heads
        self.d_head = d_model // n_heads if d_head is None else d_head
        positive(d_head=self.d_head)
        self.qk = nn.Linear(d_model, n_heads * self.d_head, bias=bias)
        self.v = nn.Linear(d_model, n_heads * self.d_head, bias=bias)
        self.out = nn.Linear(n_heads * self.d_head, d_model, bias=bias)
        self.mechanism = SharedQKAttention() if mechanism is None else mechanism
        self.values, self.heads = HookPoint(), HookPoint()
        for layer in (self.qk, self.v, self.out):
            nn.init.xavier_uniform_(layer.weight)
            if layer.bias is not None:
                nn.init.zeros_(layer.bias)

    def forward(self, x: Tensor, context: Context) -> Tensor:
        """Return (B, T, d_model) for x (B, T, d_model); positions are not read."""
        q, v = (
            layer(x).unflatten(-1, (self.n_heads, self.d_head)).transpose(1, 2)
            for layer in (self.qk, self.v)
        )
        heads = self.heads(self.mechanism(q, q, self.values(v), context.mask, context.bias))
        return self.out(heads.transpose(1, 2).flatten(2))
