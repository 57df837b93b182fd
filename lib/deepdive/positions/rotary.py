"""Rotary position embedding (RoPE): queries and keys are rotated by their positions."""

from dataclasses import dataclass
from functools import lru_cache
from math import pi

import torch
from torch import Tensor

from deepdive.core.checks import above_zero, positive
from deepdive.core.position import Position


@dataclass(frozen=True)
class RopeScaling:
    """Lower rotary frequencies, so that a model trained on short texts can be tuned on longer ones.

    A pair of entries has the wavelength w = 2 pi / rate. The rate is unchanged where
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
        bounds = (self.low, self.high, self.original)
        if bounds == (None, None, None):
            return
        if self.low is None or self.high is None or self.original is None:
            raise ValueError(f"low, high, original: got {bounds}; give all three or none")
        above_zero(low=self.low, high=self.high)
        positive(original=self.original)
        if not self.low < self.high:
            raise ValueError(f"low={self.low}, high={self.high}: expected low below high")

    def __call__(self, rates: Tensor) -> Tensor:
        """Return the scaled rates (d_head / 2,)."""
        if self.low is None or self.high is None or self.original is None:
            return rates / self.factor
        turns = self.original * rates / (2 * pi)  # full turns in the longest text
        smooth = ((turns - self.low) / (self.high - self.low)).clamp(0, 1)
        return rates * (smooth + (1 - smooth) / self.factor)


@lru_cache(maxsize=16)
def _rates(
    d_head: int, base: float, device: torch.device, scaling: RopeScaling | None = None
) -> Tensor:
    """Return the angles of position 1, (d_head / 2,), in float64."""
    with torch.inference_mode(False):  # another call may need them for its gradients
        exponents = torch.arange(0, d_head, 2, dtype=torch.float64, device=device)
        rates = base ** (-exponents / d_head)
        return rates if scaling is None else scaling(rates)


class RotaryPosition(Position):
    """Each pair of neighboring entries of q and k is a point in a plane, rotated by its position.

        angle[i]    = position * base ** (-2i / d_head),   i = 0 ... d_head / 2 - 1
        out[2i]     = x[2i] cos(angle[i]) - x[2i + 1] sin(angle[i])
        out[2i + 1] = x[2i] sin(angle[i]) + x[2i + 1] cos(angle[i])

    A rotated query times a rotated key is the query times the key rotated by the offset: the score
    depends on s - t, and not on s and t. Norms are unchanged; nothing is trained, and positions are
    unlimited. Many checkpoints pair entry i with entry i + d_head / 2 instead: that is another
    order of the rows of W_q and W_k. `scaling` lowers the frequencies for longer texts.
    Raises ValueError for an odd d_head.

    System: rope
    Parent: self_attention
    What differs:
    - queries and keys are rotated by their positions (`rotate`); values are not
    - the score depends only on the offset, with no table and no weights
    - every layer rotates them, where sinusoidal positions are added once, to the embeddings
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
            raise ValueError(f"d_head={d_head} is odd: entries are rotated in pairs")
        self.d_head, self.base, self.scaling = d_head, base, scaling

    def extra_repr(self) -> str:
        scaled = "" if self.scaling is None else f", {self.scaling}"
        return f"{self.d_head}, base={self.base:g}{scaled}"

    def angles(self, positions: Tensor) -> Tensor:
        """Return the angles (..., d_head / 2) of integer `positions` (...), in float64."""
        rates = _rates(self.d_head, self.base, positions.device, self.scaling)
        return positions.double().unsqueeze(-1) * rates

    def rotate(self, x: Tensor, positions: Tensor) -> Tensor:
        """Return x (B, H, T, d_head) rotated by positions (T,) or (B, T)."""
        self.check_rows(x, positions, d_head=x.shape[-1])
        angles = self.angles(positions if positions.ndim == 1 else positions.unsqueeze(1))
        cos, sin = angles.cos().to(x.dtype), angles.sin().to(x.dtype)  # (..., T, d_head / 2)
        even, odd = x.unflatten(-1, (-1, 2)).unbind(-1)
        return torch.stack((even * cos - odd * sin, even * sin + odd * cos), dim=-1).flatten(-2)


class TailRotaryPosition(RotaryPosition):
    """`RotaryPosition` of the last d_head entries of each vector; the others are unchanged.

    So content and position can have separate entries, whose products add up in the scores.
    Source: DeepSeek-AI 2024, section 2.1.3 (there called decoupled).
    """

    def rotate(self, x: Tensor, positions: Tensor) -> Tensor:
        """Return x (B, H, T, d_head or more), the last d_head entries of each vector rotated."""
        start = x.shape[-1] - self.d_head
        if start < 0:
            raise ValueError(
                f"TailRotaryPosition was built for d_head={self.d_head}, but the vectors are "
                f"{x.shape[-1]} wide: build it with d_head={x.shape[-1]} or less"
            )
        rotated = super().rotate(x[..., start:], positions)
        return torch.cat([x[..., :start], rotated], dim=-1)
