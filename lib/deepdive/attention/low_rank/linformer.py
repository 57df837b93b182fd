"""Linformer: keys and values are summed up into a fixed number of rows before anybody meets them.
Wang et al. 2020, "Linformer: Self-Attention with Linear Complexity".
"""

from __future__ import annotations

import torch
from torch import Tensor, nn

from deepdive.attention.multi_head import MultiHeadAttention
from deepdive.attention.softmax import SoftmaxAttention, mechanism_case
from deepdive.attention.structure import StructuredAttention
from deepdive.checks import positive
from deepdive.laws import (
    Case,
    Fails,
    NotApplicable,
    Refuses,
    case,
    padding_of,
    random_rows,
    set_weights,
)
from deepdive.masks import Padding


class LengthProjection(nn.Module):
    """y = weight[:, :, :S] @ rows: from S rows, at most `max_length`, to `d_projected`.

    `n_heads` = 1 serves all heads with one matrix. A sequence shorter than `max_length` counts as
    if rows of 0 followed it.
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

    def forward(self, rows: Tensor, real: Tensor | None = None) -> Tensor:
        """Return (B, H, d_projected, d) for rows (B, H, S, d); those that are not `real` (B or 1,
        S) count as 0.

        Raises ValueError when S is above max_length, or for another number of heads.
        """
        n_heads, _, max_length = self.weight.shape
        S = rows.shape[2]
        if max_length < S:
            raise ValueError(
                f"{S} rows, but this projection was made for max_length={max_length}: build it "
                "longer, or cut the text"
            )
        if n_heads not in (1, rows.shape[1]):
            raise ValueError(
                f"rows have {rows.shape[1]} heads, this projection {n_heads}: 1 serves any number"
            )
        weight = self.weight[None, :, :, :S]
        if real is not None:
            weight = weight * real[:, None, None, :]  # the same as rows of 0, and smaller
        if n_heads == 1:  # one product of rows that hold all heads, where the batch has H of them
            together = weight[:, 0] @ rows.transpose(1, 2).flatten(2)  # (B, d_projected, H * d)
            return together.unflatten(2, (rows.shape[1], rows.shape[3])).transpose(1, 2)
        return weight @ rows


class LinformerAttention(StructuredAttention, SoftmaxAttention):
    """Softmax attention to d_projected weighted sums of the keys and values.

        scores  = scale * q @ (E @ k).transpose(-2, -1)         # (B, H, T, d_projected)
        weights = softmax(scores), output = weights @ (F @ v)   # (B, H, T, d_v)

    `E` and `F` are `LengthProjection`s; what is shared is one object in two places:

        one a head          LinformerAttention(LengthProjection(n_heads, ...), the same again)
        shared by heads     LinformerAttention(LengthProjection(1, ...), LengthProjection(1, ...))
        keys and values     LinformerAttention(E), E = LengthProjection(1, ...): F is E
        all layers          the same E given to the mechanism of each layer

    Honours `Padding`: rows under it enter the sums as 0. A row with no real key meets sums that
    are all 0, and is 0. Refuses `Causal` and every other mask: a sum holds all positions; refuses
    a bias. Longer inputs than max_length are refused. Hook points: `scores`, `weights`.

    Source: Wang et al. 2020, section 4, equation 7; sharing: the same section.

    System: linformer
    Parent: transformer
    Place: head
    What differs:
    - keys and values are summed up into d_projected rows by matrices over positions
      (`LengthProjection`), so a query meets d_projected rows instead of S
    - the matrices are trained, have a greatest length, and may be shared by heads, by keys and
      values, and by layers (one object in several places)
    - a sum mixes all positions: there is no causal form (`honours`)
    Time: O(d_projected d_model)
    Memory: O(n_heads d_projected)
    Source: Wang et al. 2020, section 4.
    Book: 5.2.7.1
    Page: 05_efficient/04_low_rank_and_features#linformer-fewer-keys
    Checkpoints: none
    """

    honours = (Padding,)

    def __init__(
        self, E: LengthProjection, F: LengthProjection | None = None, *, dropout: float = 0.0
    ) -> None:
        super().__init__(dropout)
        self.E, self.F = E, E if F is None else F

    def structured(
        self, q: Tensor, k: Tensor, v: Tensor, real: Tensor | None, causal: bool, scale: float
    ) -> Tensor:
        """Return the mixed values (B, H, T, d_v), for S up to max_length."""
        return self.steps(q, self.E(k, real), self.F(v, real), None, None, scale)


def _mechanism(n_heads: int = 4, max_length: int = 8) -> LinformerAttention:
    return LinformerAttention(*(LengthProjection(n_heads, max_length, 3) for _ in range(2)))


@case(LengthProjection)
def _() -> Case:
    x = random_rows(2, 1, 5, 4)

    def identity() -> tuple[Tensor, Tensor]:
        part = LengthProjection(1, 5, 5)
        set_weights(part, weight=torch.eye(5))
        return part(x), x

    def shorter() -> tuple[Tensor, Tensor]:
        part = LengthProjection(1, 7, 3).double()
        return part(x), part(torch.cat([x, torch.zeros(2, 1, 2, 4)], dim=2))

    sums = NotApplicable("what comes out has other rows than what went in")
    return Case(
        make=lambda: LengthProjection(1, 8, 8),
        run=lambda part, x, mask=None, state=None: part(x[:, None], padding_of(mask))[:, 0],
        parity="none: one matrix product, compared with the sum in the parity of the mechanism",
        limits={"the identity matrix: the rows": identity, "shorter: rows of 0": shorter},
        refusals={
            "longer": lambda: LengthProjection(1, 4, 3)(x),
            "other heads": lambda: LengthProjection(3, 5, 3)(random_rows(2, 2, 5, 4)),
            "no rows": lambda: LengthProjection(1, 0, 3),
        },
        laws={
            "no_leak": sums,
            "padding": sums,
            "cache": sums,
            "order": sums,
            "hooks": NotApplicable("it has no weights of attention"),
        },
    )


@case(LinformerAttention)
def _() -> Case:
    q, k, v = (random_rows(2, 2, 5, 4, seed=seed) for seed in range(3))

    def identity() -> tuple[Tensor, Tensor]:
        E = LengthProjection(1, 5, 5)
        set_weights(E, weight=torch.eye(5))
        return LinformerAttention(E)(q, k, v), SoftmaxAttention()(q, k, v)

    def copied() -> tuple[Tensor, Tensor]:
        """One matrix for all heads, keys and values = copies of it."""
        E, each = LengthProjection(1, 5, 3).double(), _mechanism(2, 5)
        set_weights(each, E__weight=E.weight, F__weight=E.weight)
        return LinformerAttention(E)(q, k, v), each(q, k, v)

    def layers() -> tuple[Tensor, Tensor]:
        """One object in two layers is one set of weights."""
        E = LengthProjection(1, 5, 3)
        both = nn.ModuleList(
            MultiHeadAttention(8, 2, mechanism=LinformerAttention(E)) for _ in "12"
        )
        apart = nn.ModuleList(MultiHeadAttention(8, 2, mechanism=_mechanism(1, 5)) for _ in "12")
        more = [sum(p.numel() for p in each.parameters()) for each in (apart, both)]
        return torch.tensor(more[0] - more[1]), torch.tensor(3 * E.weight.numel())

    zeros = [torch.zeros(1, 2, 3, 4)] * 3
    mixed = "a sum of all keys holds what comes later"
    return mechanism_case(
        _mechanism,
        parity="the sums over positions written out, in float64",
        limits={"the identity matrix: SoftmaxAttention": identity, "copies": copied, "2": layers},
        laws={
            "no_leak": Refuses(mixed),
            "cache": Refuses(mixed),
            "order": Fails("a row's place decides what it weighs in a sum"),
        },
        refusals={"longer than it was made for": lambda: _mechanism(2, 2)(*zeros)},
    )
