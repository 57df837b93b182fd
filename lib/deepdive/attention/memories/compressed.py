"""Memory-compressed attention: a strided convolution makes `rate` neighboring keys one."""

import torch
import torch.nn.functional as F
from torch import Tensor, nn

from deepdive.attention.structure import StructuredAttention
from deepdive.core.checks import positive
from deepdive.core.softmax import SoftmaxAttention


class MemoryCompressedAttention(StructuredAttention, SoftmaxAttention):
    """Softmax attention to keys and values shortened `rate` times by a strided convolution.

        k'[j] = sum over i < rate of k[j * rate + i] @ W_k[i]         # (B, H, ceil(S / rate), d)
        v'[j] = sum over i < rate of v[j * rate + i] @ W_v[i] + b_v
        output = softmax(scale * q @ k'^T) @ v'                        # (B, H, T, d)

    Kernel and stride are both `rate` (3 in the paper), so groups of keys do not overlap; each head
    has its own matrices. Scores are T x S / rate: the cost is still quadratic.

    Honours `Padding`: padded keys count as 0 in their group, and a group of padding is no key.
    Honours `Causal`: a query attends to the groups that end at or before it, so the first rate - 1
    queries have none and return 0; alternate with local layers, as the paper does.
    Refuses other masks and a bias. Hook points: `scores`, `weights` (B, H, T, ceil(S / rate)).

    Raises ValueError when a size is not positive.

    System: memory_compressed
    Parent: transformer
    What differs:
    - `rate` neighboring keys, and their values, become one by a learned convolution (`k`, `v`)
    - under a causal mask a group counts once it is complete, so the newest tokens are not attended
    Source: Liu et al. 2018, "memory-compressed attention".
    Book: table 1.2
    """

    def __init__(self, n_heads: int, d_head: int, rate: int = 3, dropout: float = 0.0) -> None:
        super().__init__(dropout)
        positive(n_heads=n_heads, d_head=d_head, rate=rate)
        self.n_heads, self.d_head, self.rate = n_heads, d_head, rate
        self.k_weight, self.v_weight = (
            nn.Parameter(torch.empty(n_heads, rate * d_head, d_head)) for _ in range(2)
        )
        self.v_bias = nn.Parameter(torch.zeros(n_heads, 1, d_head))
        with torch.no_grad():
            bound = (rate * d_head) ** -0.5
            self.k_weight.uniform_(-bound, bound)
            self.v_weight.uniform_(-bound, bound)

    def extra_repr(self) -> str:
        return f"rate={self.rate}"

    def structured(
        self, q: Tensor, k: Tensor, v: Tensor, real: Tensor | None, causal: bool, scale: float
    ) -> Tensor:
        """Return the output (B, H, T, d)."""
        T, S = q.shape[2], k.shape[2]
        fill = -S % self.rate
        allowed: Tensor | None = None
        if real is not None:
            k, v = (x * real[:, None, :, None] for x in (k, v))
            groups = F.pad(real, (0, fill)).unflatten(1, (-1, self.rate)).any(2)
            allowed = groups[:, None, None]  # (B, 1, 1, groups)
        if causal:
            ends = torch.arange(1, (S + fill) // self.rate + 1, device=q.device) * self.rate
            complete = ends <= torch.arange(S - T + 1, S + 1, device=q.device).unsqueeze(1)
            allowed = complete[None, None] if allowed is None else allowed & complete
        k = self._melt(k, fill, self.k_weight)
        v = self._melt(v, fill, self.v_weight) + self.v_bias
        return self.steps(q, k, v, allowed, None, scale)

    def check(self, q: Tensor, k: Tensor, v: Tensor) -> None:
        """Raise ValueError unless the values have the keys' width."""
        if v.shape[3] != self.d_head:
            raise ValueError(
                f"v is {v.shape[3]} wide, but this MemoryCompressedAttention was built with "
                f"d_head={self.d_head} for keys and values: use that width for both"
            )

    def _melt(self, x: Tensor, fill: int, weight: Tensor) -> Tensor:
        """(B, H, S, d) -> (B, H, ceil(S / rate), d)."""
        groups = F.pad(x, (0, 0, 0, fill)).unflatten(2, (-1, self.rate)).flatten(3)
        return groups @ weight
