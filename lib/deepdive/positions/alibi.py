"""ALiBi, attention with linear biases: a penalty proportional to the distance."""

import torch
from torch import Tensor

from deepdive.positions.relative import RelativePosition


def slopes(n_heads: int) -> list[float]:
    """Return the slope of each head: for a power of two, 2 ** (-8 h / n_heads), h = 1 ... n_heads.

    For another number, those of the next lower power of two, then every second one of twice that
    power, as many as are missing. Raises ValueError for less than one head.
    """
    if n_heads < 1:
        raise ValueError(f"n_heads: got {n_heads}, expected 1 or more")
    lower = 1 << (n_heads.bit_length() - 1)
    first = [2.0 ** (-8 * h / lower) for h in range(1, lower + 1)]
    return first + [2.0 ** (-4 * h / lower) for h in range(1, 2 * (n_heads - lower), 2)]


class ALiBi(RelativePosition):
    """Attention with linear biases: a fixed penalty proportional to the distance.

        bias[h, t, s] = -slope[h] * |s - t|

    The paper's attention is causal, where |s - t| is t - s. Each head has another slope: with 8
    heads they run from 1/2 to 1/256.
    Source: Press, Smith and Lewis 2022, section 3; other numbers of heads as in their code.
    """

    def __init__(self, n_heads: int) -> None:
        super().__init__()
        self.slopes = slopes(n_heads)
        self.n_heads = n_heads

    def extra_repr(self) -> str:
        return f"n_heads={len(self.slopes)}"

    def worth(self, q: Tensor, offsets: Tensor) -> Tensor:
        """Return -slope * |offset|, (1, H, 1, L)."""
        slope = torch.tensor(self.slopes, dtype=torch.float64, device=q.device)
        return (-slope[:, None] * offsets.abs()).to(q.dtype)[None, :, None]
