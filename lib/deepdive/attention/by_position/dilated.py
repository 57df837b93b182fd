"""Dilated sliding-window attention: the same number of keys, from further away."""

from torch import Tensor

from deepdive._fast.dilated import by_dilation
from deepdive._fast.tiled_attention import attend, block_of, window_tiles
from deepdive.attention.patterns import PatternAttention, PerHead, one_each
from deepdive.core.checks import each_at_least, not_negative, positive
from deepdive.core.masks import Mask, Window


class DilatedAttention(PatternAttention):
    """Softmax attention under the masks `Window(left, right, dilation)`, one dilation for each
    head, in O(T * window * d).

        keys of query t = t + dilation * (-left ... right)

    Positions of one remainder modulo the dilation form a separate text, in which the window has no
    gaps: in `fast`, each group of heads splits its sequences into such texts. Honours `Causal`
    (right is then 0) and `Padding`.

    Raises ValueError when left, right or a dilation is out of range, or when there are neither one
    nor as many dilations as heads.
    Source: Beltagy et al. 2020, section 3.1 (dilated sliding window).
    """

    def __init__(
        self,
        left: int,
        right: int = 0,
        dilations: tuple[int, ...] = (1,),
        *,
        block: int | None = None,
        dropout: float = 0.0,
    ) -> None:
        super().__init__(dropout)
        not_negative(left=left, right=right)
        block = block_of(left, right) if block is None else block
        positive(block=block)
        each_at_least(1, "dilations", dilations)
        self.left, self.right, self.dilations, self.block = left, right, tuple(dilations), block

    def extra_repr(self) -> str:
        return f"left={self.left}, right={self.right}, dilations={self.dilations}"

    def pattern(self, heads: int) -> Mask:
        gaps = one_each(self.dilations, heads, "dilations")
        return PerHead(tuple(Window(self.left, self.right, gap) for gap in gaps))

    def fast(
        self, q: Tensor, k: Tensor, v: Tensor, real: Tensor | None, causal: bool, scale: float
    ) -> Tensor:
        gaps = one_each(self.dilations, q.shape[1], "dilations")

        def without_gaps(q: Tensor, k: Tensor, v: Tensor, real: Tensor | None) -> Tensor:
            right = 0 if causal else self.right
            tiles = window_tiles(q.shape[2], k.shape[2], self.left, right, self.block, q)
            return attend(q, k, v, tiles, scale, real=real, dropout=self.dropped)

        return by_dilation(without_gaps, q, k, v, real, gaps)
