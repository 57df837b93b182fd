"""Attention to one's own block and to one block that a small network has sorted there."""

import torch
import torch.nn.functional as F
from torch import Tensor, nn

from deepdive.attention.groups import GroupedAttention
from deepdive.attention.structure import all_real
from deepdive.core.checks import positive

LOWEST = -1e30


def balance(logits: Tensor, allowed: Tensor, iterations: int, *, causal: bool = False) -> Tensor:
    """Return exp(logits) with rows and columns divided by their sums in turn, (..., n, n).

    In the limit rows and columns sum to 1, a mixture of permutations. Entries that are not allowed
    are 0. `causal` divides each entry by the sum of its column down to its own row, so that no row
    depends on a later one, and ends a turn with the rows. The more turns, the more of its weight
    each row puts on the last of the earlier blocks.
    Source: Sinkhorn 1964; Tay et al. 2020, sections 3.1 and 3.3.
    """
    logits = logits.masked_fill(~allowed, LOWEST)
    for turn in range(2 * iterations):
        if (turn % 2 == 0) is not causal:
            sums = logits.logsumexp(-1, keepdim=True)
        else:
            sums = logits.logcumsumexp(-2) if causal else logits.logsumexp(-2, keepdim=True)
        logits = (logits - sums).masked_fill(~allowed, LOWEST)
    return logits.exp() * allowed


class SinkhornAttention(GroupedAttention):
    """Softmax attention among the rows of one's block and those of a sorted one: O(T * block * d).

        x[i]    = sum of the keys of block i                    # causal: down to its first key
        R       = (relu(x @ W_in + b_in) @ W_out + noise) / temperature      # (blocks, blocks)
        S       = balance(R)                                    # block i takes S[i, j] of block j
        k', v'  = S @ k, S @ v, block by block                  # place p from places p
        output  = softmax(scale * q @ (k', k of the own block)^T) @ (v', v of the own block)

    Gumbel noise is added in training. `max_blocks` is how many blocks W_out has a column for: a
    text is at most max_blocks * block long. In the causal form a block takes of earlier ones only.
    Honours `Causal` and `Padding`; T = S. Hook points: `scores`, `weights` (B, H, T, 2 * block),
    the sorted block first.

    Raises ValueError when a number is out of range, and for a text that is too long.

    System: sinkhorn
    Parent: transformer
    What differs:
    - beside its own block a query meets one more, a mixture of blocks (`balance`)
    - which blocks are mixed is learned by a network that sees a sum for each (`inner`, `outer`)
    Source: Tay et al. 2020, section 3.
    Book: references
    """

    queries = "all"

    def __init__(
        self,
        n_heads: int,
        d_head: int,
        block: int,
        max_blocks: int,
        *,
        iterations: int = 8,
        temperature: float = 0.75,
        dropout: float = 0.0,
    ) -> None:
        super().__init__(dropout)
        positive(n_heads=n_heads, d_head=d_head, block=block, max_blocks=max_blocks)
        positive(iterations=iterations)
        if temperature <= 0:
            raise ValueError(f"temperature={temperature}: expected a number above 0")
        self.n_heads, self.d_head = n_heads, d_head
        self.block, self.max_blocks = block, max_blocks
        self.iterations, self.temperature = iterations, temperature
        self.inner = nn.Parameter(torch.randn(n_heads, d_head, d_head) * d_head**-0.5)
        self.inner_bias = nn.Parameter(torch.zeros(n_heads, 1, d_head))
        self.outer = nn.Parameter(torch.randn(n_heads, d_head, max_blocks) * d_head**-0.5)

    def extra_repr(self) -> str:
        return f"block={self.block}, max_blocks={self.max_blocks}, iterations={self.iterations}"

    def check(self, q: Tensor, k: Tensor, v: Tensor) -> None:
        """Raise ValueError for more rows than there are blocks for."""
        if k.shape[2] > self.max_blocks * self.block:
            raise ValueError(
                f"SinkhornAttention has places for max_blocks * block = {self.max_blocks} * "
                f"{self.block} rows; got {k.shape[2]}. Build it longer, or use SoftmaxAttention"
            )

    def grouped(
        self, q: Tensor, k: Tensor, v: Tensor, real: Tensor | None, causal: bool
    ) -> tuple[Tensor, Tensor, Tensor, Tensor | None]:
        """Return the blocks, each with the rows of the sorted one and its own."""
        m = self.block
        fill = -q.shape[2] % m
        real = F.pad(all_real(real, k), (0, fill), value=False).unflatten(1, (-1, m))[:, None]
        q, k, v = (F.pad(rows, (0, 0, 0, fill)).unflatten(2, (-1, m)) for rows in (q, k, v))
        k, v = (rows * real.unsqueeze(-1) for rows in (k, v))  # (B, H, blocks, block, d)
        sort = self.sort(k, real, causal)
        k, v = (torch.cat([mixed(sort, rows), rows], dim=3) for rows in (k, v))
        sorted_real = mixed(sort, real.unsqueeze(-1).to(sort.dtype).expand(*k.shape[:3], m, 1)) > 0
        own = real.unsqueeze(-2).expand(*q.shape[:4], m)
        if causal:
            own = own & torch.ones(m, m, dtype=torch.bool, device=q.device).tril()
        allowed = torch.cat([sorted_real.transpose(-2, -1).expand(*own.shape), own], dim=-1)
        return q, k, v, allowed

    def sort(self, k: Tensor, real: Tensor, causal: bool) -> Tensor:
        """Return S (B, H, blocks, blocks) for the keys (B, H, blocks, block, d), padding at 0."""
        blocks = k.shape[2]
        x = k.sum(3)
        if causal:  # all that came before the block, and its first row
            x = x.cumsum(2) - x + k[:, :, :, 0]
        logits = (x @ self.inner + self.inner_bias).relu() @ self.outer[..., :blocks]
        if self.training:
            noise = torch.rand_like(logits).clamp(min=torch.finfo(torch.float32).tiny)
            logits = logits - (-noise.log()).log()
        has_real = real.any(-1)  # (B, 1, blocks)
        allowed = has_real.unsqueeze(-1) & has_real.unsqueeze(-2)
        if causal:
            earlier = torch.ones(blocks, blocks, dtype=torch.bool, device=k.device).tril(-1)
            allowed = allowed & earlier
        precise = logits.float() if logits.dtype in (torch.float16, torch.bfloat16) else logits
        sort = balance(precise / self.temperature, allowed, self.iterations, causal=causal)
        return sort.to(k.dtype)


def mixed(sort: Tensor, rows: Tensor) -> Tensor:
    """Return sum_j S[i, j] rows[j], (B, H, blocks, block, d)."""
    return (sort @ rows.flatten(3)).unflatten(3, rows.shape[3:])
