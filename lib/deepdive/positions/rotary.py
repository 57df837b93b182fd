"""Rotary positions: queries and keys are turned by their place, so that only offsets remain."""

from __future__ import annotations

import torch
from torch import Tensor

from deepdive.laws import Case, case, random_rows
from deepdive.positions.base import ORDERED, Position, shifted


class RotaryPosition(Position):
    """Each pair of neighbouring entries of q and k is a point in a plane, turned by its place.

        angle[i]    = position * base ** (-2i / d_head),   i = 0 ... d_head / 2 - 1
        row[2i]     = x[2i] cos(angle[i]) - x[2i + 1] sin(angle[i])
        row[2i + 1] = x[2i] sin(angle[i]) + x[2i + 1] cos(angle[i])

    A turned query times a turned key is the product with the key turned by the offset alone: the
    score knows s - t, and neither s nor t. Lengths stay what they are; nothing is trained, and no
    position is too far. Many checkpoints pair entry i with entry i + d_head / 2 instead: that is
    another order of the rows of W_q and W_k.
    Raises ValueError for an odd d_head.

    System: rope
    Parent: self_attention
    What differs:
    - queries and keys are turned by their place before they meet (`rotate`); values are not
    - the score knows the offset alone, with no table and no weights
    - every layer turns them again, where sinusoidal positions enter once, below
    Time: O(T d_model)
    Memory: O(n_heads T)
    Source: Su et al. 2024 (RoFormer), section 3.2.2 and, for the code, 3.4.2.
    Book: table 1.3
    Page: 05_efficient/08_positions#rotary-turn-queries-and-keys
    Oracle: transformers RoFormerModel
    Checkpoints: RoFormerModel, by `deepdive.models.efficient.roformer.load`
    Example: MultiHeadAttention(16, 4, position=RotaryPosition(4))
    """

    d_head: int

    def __init__(self, d_head: int, base: float = 10_000.0) -> None:
        super().__init__()
        if d_head % 2:
            raise ValueError(f"d_head={d_head} is odd: entries are turned in pairs")
        self.d_head, self.base = d_head, base

    def extra_repr(self) -> str:
        return f"{self.d_head}, base={self.base:g}"

    def angles(self, positions: Tensor) -> Tensor:
        """Return the angles (..., d_head / 2) of integer `positions` (...), in float64."""
        exponents = torch.arange(0, self.d_head, 2, dtype=torch.float64, device=positions.device)
        return positions.double().unsqueeze(-1) * self.base ** (-exponents / self.d_head)

    def rotate(self, rows: Tensor, positions: Tensor) -> Tensor:
        """Return rows (B, H, T, d_head) turned by positions (T,) or (B, T)."""
        self.check_rows(rows, positions, d_head=rows.shape[-1])
        angles = self.angles(positions if positions.ndim == 1 else positions.unsqueeze(1))
        cos, sin = angles.cos().to(rows.dtype), angles.sin().to(rows.dtype)  # (..., T, d_head / 2)
        x, y = rows.unflatten(-1, (-1, 2)).unbind(-1)
        return torch.stack((x * cos - y * sin, x * sin + y * cos), dim=-1).flatten(-2)


@case(RotaryPosition)
def _() -> Case:
    def complex_numbers() -> tuple[Tensor, Tensor]:
        rows, at = random_rows(2, 3, 5, 6), torch.arange(7, 12)
        turned = RotaryPosition(6).rotate(rows, at)
        z = torch.view_as_complex(rows.unflatten(-1, (3, 2)))
        z = z * torch.exp(1j * at.double()[:, None] * 10_000.0 ** (-torch.arange(3).double() / 3))
        return turned, torch.view_as_real(z).flatten(-2)

    def at_zero() -> tuple[Tensor, Tensor]:
        rows = random_rows(2, 3, 5, 6)
        return RotaryPosition(6).rotate(rows, torch.zeros(5).long()), rows

    return Case(
        place="position",
        make=lambda: RotaryPosition(4),
        parity="transformers RoFormerModel",
        limits={
            "complex numbers times exp(i angle)": complex_numbers,
            "all at place 0: as they were": at_zero,
            "shifted: the same scores": shifted(lambda: RotaryPosition(4)),
        },
        refusals={"an odd width": lambda: RotaryPosition(5)},
        laws={"order": ORDERED},
    )
