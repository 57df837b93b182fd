"""Sparse Sinkhorn attention: to the query's block and to one block from learned sorting."""

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
    depends on a later one, and ends a turn with the rows. The more turns, the more weight each row
    has on the last of the earlier blocks.
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
    """Softmax attention to the query's block and to a sorted one, in O(T * block * d).

        x[i]    = sum of the keys of block i                    # causal: down to its first key
        R       = (relu(x @ W_in + b_in) @ W_out + noise) / temperature      # (blocks, blocks)
        S       = balance(R)                                    # block i takes S[i, j] of block j
        k', v'  = S @ k, S @ v, block by block                  # position p from positions p
        output  = softmax(scale * q @ (k', k of the same block)^T) @ (v', v of the same block)

    Gumbel noise is added in training. `max_blocks` is how many blocks W_out has a column for: a
    text is at most max_blocks * block long. In the causal form a block takes of earlier ones only.
    Honours `Causal` and `Padding`; T = S. Hook points: `scores`, `weights` (B, H, T, 2 * block),
    the sorted block first.

    Raises ValueError when a number is out of range, and for a text that is too long.

    System: sinkhorn
    Parent: transformer
    What differs:
    - besides its own block a query attends to one more, a mixture of blocks (`balance`)
    - which blocks are mixed is learned by a network on the sum of each (`inner`, `outer`)
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
        """Raise ValueError for more keys than `max_blocks` blocks hold."""
        if k.shape[2] > self.max_blocks * self.block:
            raise ValueError(
                f"SinkhornAttention has positions for max_blocks * block = {self.max_blocks} * "
                f"{self.block} keys; got {k.shape[2]}. Build it longer, or use SoftmaxAttention"
            )

    def grouped(
        self, q: Tensor, k: Tensor, v: Tensor, real: Tensor | None, causal: bool
    ) -> tuple[Tensor, Tensor, Tensor, Tensor | None]:
        """Return the blocks, each with the keys and values of the sorted one and its own."""
        m = self.block
        fill = -q.shape[2] % m
        real = F.pad(all_real(real, k), (0, fill), value=False).unflatten(1, (-1, m))[:, None]
        q, k, v = (F.pad(x, (0, 0, 0, fill)).unflatten(2, (-1, m)) for x in (q, k, v))
        k, v = (x * real.unsqueeze(-1) for x in (k, v))  # (B, H, blocks, block, d)
        sort = self.sort(k, real, causal)
        k, v = (torch.cat([mixed(sort, x), x], dim=3) for x in (k, v))
        sorted_real = mixed(sort, real.unsqueeze(-1).to(sort.dtype).expand(*k.shape[:3], m, 1)) > 0
        inside = real.unsqueeze(-2).expand(*q.shape[:4], m)
        if causal:
            inside = inside & torch.ones(m, m, dtype=torch.bool, device=q.device).tril()
        allowed = torch.cat([sorted_real.transpose(-2, -1).expand(*inside.shape), inside], dim=-1)
        return q, k, v, allowed

    def sort(self, k: Tensor, real: Tensor, causal: bool) -> Tensor:
        """Return S (B, H, blocks, blocks) for the keys (B, H, blocks, block, d), padding at 0."""
        blocks = k.shape[2]
        x = k.sum(3)
        if causal:  # all keys before the block, and its first
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


def mixed(sort: Tensor, x: Tensor) -> Tensor:
    """Return sum_j S[i, j] x[j], (B, H, blocks, block, d)."""
    return (sort @ x.flatten(3)).unflatten(3, x.shape[3:])
