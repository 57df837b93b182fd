"""Linformer: keys and values are projected along the sequence to a fixed length.
Wang et al. 2020, "Linformer: Self-Attention with Linear Complexity".
"""

import torch
from torch import Tensor, nn

from deepdive.attention.structure import StructuredAttention
from deepdive.core.checks import positive
from deepdive.core.masks import Padding
from deepdive.core.softmax import SoftmaxAttention


class LengthProjection(nn.Module):
    """y = weight[:, :, :S] @ x: from S positions, at most `max_length`, to `d_projected`.

    `n_heads` = 1 serves all heads with one matrix. A sequence shorter than `max_length` counts as
    if padded by 0.
    Raises ValueError when a size is below 1.
    Source: Wang et al. 2020, section 4, the matrices E and F.
    """

    def __init__(self, n_heads: int, max_length: int, d_projected: int) -> None:
        super().__init__()
        positive(n_heads=n_heads, max_length=max_length, d_projected=d_projected)
        self.weight = nn.Parameter(torch.empty(n_heads, d_projected, max_length))
        nn.init.normal_(self.weight, std=d_projected**-0.5)  # keeps lengths of columns, on average

    def extra_repr(self) -> str:
        return "n_heads={}, d_projected={}, max_length={}".format(*self.weight.shape)

    def forward(self, x: Tensor, real: Tensor | None = None) -> Tensor:
        """Return (B, H, d_projected, d) for x (B, H, S, d); positions that are not `real` (B or 1,
        S) count as 0.

        Raises ValueError when S is above max_length, or for another number of heads.
        """
        n_heads, _, max_length = self.weight.shape
        S = x.shape[2]
        if max_length < S:
            raise ValueError(
                f"{S} positions, but this projection was made for max_length={max_length}: build "
                "it with a larger max_length, or truncate the text"
            )
        if n_heads not in (1, x.shape[1]):
            raise ValueError(
                f"x has {x.shape[1]} heads, this projection {n_heads}; n_heads=1 fits any number"
            )
        weight = self.weight[None, :, :, :S]
        if real is not None:
            weight = weight * real[:, None, None, :]  # the same as masking x, and smaller
        if n_heads == 1:  # one product for all heads, instead of H
            product = weight[:, 0] @ x.transpose(1, 2).flatten(2)  # (B, d_projected, H * d)
            return product.unflatten(2, (x.shape[1], x.shape[3])).transpose(1, 2)
        return weight @ x


class LinformerAttention(StructuredAttention, SoftmaxAttention):
    """Softmax attention to d_projected weighted sums of the keys and values.

        scores  = scale * q @ (E @ k).transpose(-2, -1)         # (B, H, T, d_projected)
        weights = softmax(scores), output = weights @ (F @ v)   # (B, H, T, d_v)

    `E` and `F` are `LengthProjection`s; to share one, pass the same object twice:

        one a head          LinformerAttention(LengthProjection(n_heads, ...), the same again)
        shared by heads     LinformerAttention(LengthProjection(1, ...), LengthProjection(1, ...))
        keys and values     LinformerAttention(E), E = LengthProjection(1, ...): F is E
        all layers          the same E given to the mechanism of each layer

    Honours `Padding`: it enters the sums as 0. A query with no real key attends to sums that are
    all 0, and has output 0. Refuses `Causal` and every other mask: a sum mixes all positions;
    refuses a bias. Longer inputs than max_length are refused. Hook points: `scores`, `weights`.

    Source: Wang et al. 2020, section 4, equation 7; sharing: the same section.

    System: linformer
    Parent: transformer
    What differs:
    - keys and values are projected to length d_projected by matrices over positions
      (`LengthProjection`), so a query attends to d_projected keys instead of S
    - the matrices are trained, have a maximum length, and may be shared by heads, by keys and
      values, and by layers (one object in several places)
    - a sum mixes all positions: there is no causal form (`honors`)
    Source: Wang et al. 2020, section 4.
    Book: 5.2.7.1
    """

    honors = (Padding,)

    def __init__(
        self, E: LengthProjection, F: LengthProjection | None = None, *, dropout: float = 0.0
    ) -> None:
        super().__init__(dropout)
        self.E, self.F = E, E if F is None else F

    def structured(
        self, q: Tensor, k: Tensor, v: Tensor, real: Tensor | None, causal: bool, scale: float
    ) -> Tensor:
        """Return the output (B, H, T, d_v), for S up to max_length."""
        return self.steps(q, self.E(k, real), self.F(v, real), None, None, scale)
