"""Rotary positions: queries and keys are turned by their place, so that only offsets remain."""

from dataclasses import dataclass
from functools import lru_cache
from math import pi

import torch
from torch import Tensor

from deepdive.core.checks import above_zero, positive
from deepdive.core.position import Position


@dataclass(frozen=True)
class RopeScaling:
    """Slower rotary angles, so that a model trained on short texts can be tuned on longer ones.

    Let a pair of entries take w = 2 pi / rate positions for a full turn. The rate is kept where
    w < original / high, divided by `factor` where w > original / low, and between the two it is
    the mean of both, weighted by (original / w - low) / (high - low).

    original: the longest training text before. With low = high = None each rate is divided by
    `factor`: position interpolation.

    Source: Grattafiori et al. 2024 (Llama 3), in the released code; Chen et al. 2023 for `factor`
    alone. Raises ValueError for numbers that are not above 0, or low that is not below high.
    """

    factor: float
    low: float | None = None
    high: float | None = None
    original: int | None = None

    def __post_init__(self) -> None:
        above_zero(factor=self.factor)
        given = (self.low, self.high, self.original)
        if given == (None, None, None):
            return
        if self.low is None or self.high is None or self.original is None:
            raise ValueError(f"low, high, original: came as {given}; give all three or none")
        above_zero(low=self.low, high=self.high)
        positive(original=self.original)
        if not self.low < self.high:
            raise ValueError(f"low={self.low}, high={self.high}: expected low below high")

    def __call__(self, rates: Tensor) -> Tensor:
        """Return the rates (d_head / 2,), slowed."""
        if self.low is None or self.high is None or self.original is None:
            return rates / self.factor
        turns = self.original * rates / (2 * pi)  # full turns in the longest text
        kept = ((turns - self.low) / (self.high - self.low)).clamp(0, 1)
        return rates * (kept + (1 - kept) / self.factor)


@lru_cache(maxsize=16)
def _rates(
    d_head: int, base: float, device: torch.device, scaling: RopeScaling | None = None
) -> Tensor:
    """The angles of place 1, (d_head / 2,), in float64."""
    with torch.inference_mode(False):  # another call may need them for its gradients
        exponents = torch.arange(0, d_head, 2, dtype=torch.float64, device=device)
        rates = base ** (-exponents / d_head)
        return rates if scaling is None else scaling(rates)


class RotaryPosition(Position):
    """Each pair of neighbouring entries of q and k is a point in a plane, turned by its place.

        angle[i]    = position * base ** (-2i / d_head),   i = 0 ... d_head / 2 - 1
        row[2i]     = x[2i] cos(angle[i]) - x[2i + 1] sin(angle[i])
        row[2i + 1] = x[2i] sin(angle[i]) + x[2i + 1] cos(angle[i])

    A turned query times a turned key is the product with the key turned by the offset alone: the
    score knows s - t, and neither s nor t. Lengths stay what they are; nothing is trained, and no
    position is too far. Many checkpoints pair entry i with entry i + d_head / 2 instead: that is
    another order of the rows of W_q and W_k. `scaling` slows the angles for longer texts.
    Raises ValueError for an odd d_head.

    System: rope
    Parent: self_attention
    What differs:
    - queries and keys are turned by their place before they meet (`rotate`); values are not
    - the score knows the offset alone, with no table and no weights
    - every layer turns them again, where sinusoidal positions enter once, below
    Source: Su et al. 2024 (RoFormer), section 3.2.2 and, for the code, 3.4.2.
    Book: table 1.3
    """

    d_head: int

    def __init__(
        self, d_head: int, base: float = 10_000.0, scaling: RopeScaling | None = None
    ) -> None:
        super().__init__()
        positive(d_head=d_head)
        above_zero(base=base)
        if d_head % 2:
            raise ValueError(f"d_head={d_head} is odd: entries are turned in pairs")
        self.d_head, self.base, self.scaling = d_head, base, scaling

    def extra_repr(self) -> str:
        scaled = "" if self.scaling is None else f", {self.scaling}"
        return f"{self.d_head}, base={self.base:g}{scaled}"

    def angles(self, positions: Tensor) -> Tensor:
        """Return the angles (..., d_head / 2) of integer `positions` (...), in float64."""
        rates = _rates(self.d_head, self.base, positions.device, self.scaling)
        return positions.double().unsqueeze(-1) * rates

    def rotate(self, rows: Tensor, positions: Tensor) -> Tensor:
        """Return rows (B, H, T, d_head) turned by positions (T,) or (B, T)."""
        self.check_rows(rows, positions, d_head=rows.shape[-1])
        angles = self.angles(positions if positions.ndim == 1 else positions.unsqueeze(1))
        cos, sin = angles.cos().to(rows.dtype), angles.sin().to(rows.dtype)  # (..., T, d_head / 2)
        x, y = rows.unflatten(-1, (-1, 2)).unbind(-1)
        return torch.stack((x * cos - y * sin, x * sin + y * cos), dim=-1).flatten(-2)


class TailRotaryPosition(RotaryPosition):
    """`RotaryPosition` of the last d_head entries of each row; those before them stay as they are.

    So content and place can have entries of their own: in scores the two are added up.
    Source: DeepSeek-AI 2024, section 2.1.3 (there called decoupled).
    """

    def rotate(self, rows: Tensor, positions: Tensor) -> Tensor:
        """Return rows (B, H, T, d_head or more), the last d_head entries of each turned."""
        before = rows.shape[-1] - self.d_head
        if before < 0:
            raise ValueError(
                f"TailRotaryPosition was built for d_head={self.d_head}, but the rows are "
                f"{rows.shape[-1]} wide: build it with d_head={rows.shape[-1]} or less"
            )
        turned = super().rotate(rows[..., before:], positions)
        return torch.cat([rows[..., :before], turned], dim=-1)
