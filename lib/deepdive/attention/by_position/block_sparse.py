"""Block sparse attention: neighbors, global blocks, and random blocks. BigBird's pattern."""

from collections.abc import Callable
from dataclasses import dataclass
from functools import lru_cache

import torch
import torch.nn.functional as F
from torch import Tensor

from deepdive._fast.block_sparse import block_tiles
from deepdive._fast.tiled_attention import attend
from deepdive.attention.patterns import PatternAttention
from deepdive.attention.structure import all_real
from deepdive.core.checks import as_int, not_negative, positive
from deepdive.core.masks import Mask, Padding, of_queries

Draw = Callable[[int, int], Tensor]


@dataclass(frozen=True)
class DrawnBlocks:
    """n_random random blocks per head and query block: never a neighbor, an end, or one twice.

    The seed fixes them: the pattern is sampled once, and is the same in training and afterwards.
    """

    n_random: int
    seed: int = 0

    def __post_init__(self) -> None:
        not_negative(n_random=self.n_random)

    def __call__(self, n_blocks: int, n_heads: int) -> Tensor:
        """Return int64 (n_heads, n_blocks - 2, n_random): row i belongs to block i + 1."""
        return _drawn(n_blocks, n_heads, self.n_random, self.seed)


@lru_cache(maxsize=64)
def _drawn(n_blocks: int, n_heads: int, n_random: int, seed: int) -> Tensor:
    generator = torch.Generator().manual_seed(as_int("seed", seed))
    priority = torch.rand(n_heads, n_blocks, n_blocks, generator=generator)
    excluded = (torch.arange(n_blocks) - torch.arange(n_blocks).unsqueeze(1)).abs() <= 1
    excluded[:, [0, -1]] = True
    return priority.masked_fill_(excluded, -1.0).topk(n_random).indices[:, 1:-1].contiguous()


@dataclass(frozen=True)
class FirstBlock:
    """No random blocks: the first block replaces each, so it counts 1 + n_random times.

    As in the released PyTorch code in evaluation (transformers' BigBirdModel).
    """

    n_random: int

    def __call__(self, n_blocks: int, n_heads: int) -> Tensor:
        """Return zeros (n_heads, n_blocks - 2, n_random)."""
        return torch.zeros(n_heads, n_blocks - 2, self.n_random, dtype=torch.int64)


class BlockSparseAttention(PatternAttention):
    """Softmax attention between blocks of `block` positions, in O(T * (5 + n_random) * block * d).

        query block i attends to the blocks i - 1, i, i + 1, the first, the last, and
        draw(n_blocks, H)[h, i - 1]                               # n_random blocks, by head
        the first and the last query block attend to every key

    all in one softmax; a block that `draw` returns twice, or that is attended already, counts as
    often. A text of up to (5 + 2 n_random) blocks is attended in full, as in the released code,
    because little is left out. A last block that is not full is padded.

    Honours `Padding`; there is no causal form, and no cache.
    Raises ValueError when block or n_random is out of range.
    Source: Zaheer et al. 2020, section 2, and its appendix on blocks.
    """

    honors = (Padding,)
    queries = "all"

    def __init__(
        self, block: int = 64, n_random: int = 3, draw: Draw | None = None, *, dropout: float = 0.0
    ) -> None:
        super().__init__(dropout)
        positive(block=block)
        not_negative(n_random=n_random)
        self.block, self.n_random = block, n_random
        self.draw = DrawnBlocks(n_random) if draw is None else draw

    def extra_repr(self) -> str:
        return f"block={self.block}, n_random={self.n_random}, draw={self.draw}"

    def counts(self, n_blocks: int, heads: int) -> Tensor:
        """Return how often each query block attends to each key block, (H, n_blocks, n_blocks)."""
        if self.in_full(n_blocks):
            return torch.ones(heads, n_blocks, n_blocks, dtype=torch.int64)
        at = torch.arange(n_blocks)
        fixed = (at - at.unsqueeze(1)).abs() <= 1
        fixed[[0, -1]] = fixed[:, [0, -1]] = True
        random = F.one_hot(self.draw(n_blocks, heads), n_blocks).sum(2)
        return fixed + F.pad(random, (0, 0, 1, 1))

    def in_full(self, n_blocks: int) -> bool:
        """Whether so short a text is attended in full."""
        return n_blocks <= 5 + 2 * self.n_random

    def pattern(self, heads: int) -> Mask:
        return Blocks(self, heads)

    def score(self, q: Tensor, k: Tensor, scale: float) -> Tensor:
        """Return the scores, those of a block that counts n times raised by log n."""
        counts = self.of_positions(q.shape[2], q.shape[1]).to(q)
        return super().score(q, k, scale) + counts.clamp(min=1).log()

    def fast(
        self, q: Tensor, k: Tensor, v: Tensor, real: Tensor | None, causal: bool, scale: float
    ) -> Tensor:
        B, H, T = q.shape[:3]
        n = -(-T // self.block)
        if self.in_full(n):
            allowed = None if real is None else real[:, None, None]
            return F.scaled_dot_product_attention(q, k, v, allowed, self.dropped, scale=scale)
        if fill := n * self.block - T:
            real = F.pad(all_real(real, k), (0, fill), value=False)
            q, k, v = (F.pad(x, (0, 0, 0, fill)) for x in (q, k, v))
        tiles = block_tiles(n, self.block, self.draw(n, H).to(q.device).repeat(B, 1, 1))
        mixed = attend(q, k, v, tiles, scale, real=real, dropout=self.dropped, unit=self.block)
        return mixed[:, :, :T]

    def of_positions(self, T: int, heads: int) -> Tensor:
        """Return the counts (H, T, T), one for each query and key."""
        counts = self.counts(-(-T // self.block), heads)
        by_position = counts.repeat_interleave(self.block, 1).repeat_interleave(self.block, 2)
        return by_position[:, :T, :T]


@dataclass(frozen=True, eq=False)
class Blocks(Mask):
    """The mask of `BlockSparseAttention`: pairs of positions in connected blocks."""

    attention: BlockSparseAttention
    heads: int

    def allowed(self, T: int, S: int, device: torch.device | None) -> Tensor | None:
        allowed = self.attention.of_positions(S, self.heads) > 0  # (H, S, S)
        return of_queries(allowed.mT, T, "Blocks").mT.unsqueeze(0).to(device)
