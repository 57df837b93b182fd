"""Sinusoidal position encodings, added to the embeddings."""

import math

import torch
from torch import Tensor

from deepdive.core.checks import above_zero, positive
from deepdive.core.position import Position


class SinusoidalPosition(Position):
    """Sines and cosines of geometrically growing wavelength, added to the embeddings.

        PE[pos, 2i]     = sin(pos / base ** (2i / d_model))
        PE[pos, 2i + 1] = cos(pos / base ** (2i / d_model))

    A shift by a fixed offset is a rotation of each (sin, cos) pair, the same for all positions.
    There is no table, so the length is unlimited. An odd d_model ends in a single sine.

    System: sinusoidal
    Parent: none
    What differs:
    - order is encoded by vectors added to the embeddings (`embed`), not by recurrence
    Source: Vaswani et al. 2017, section 3.5.
    Book: 2.4.1.2
    """

    d_model: int

    def __init__(self, d_model: int, base: float = 10_000.0) -> None:
        super().__init__()
        positive(d_model=d_model)
        above_zero(base=base)
        self.d_model, self.base = d_model, base

    def table(self, positions: Tensor) -> Tensor:
        """Return the encodings of integer `positions` (...), shape (..., d_model), in float64.

        Computed at each call, not stored: half precision cannot resolve angles at position 10,000.
        """
        exponents = (
            torch.arange(0, self.d_model, 2, dtype=torch.float64, device=positions.device)
            / self.d_model
        )
        angles = (
            positions.double().unsqueeze(-1) * self.base**-exponents
        )  # (..., ceil(d_model / 2))
        return torch.stack((angles.sin(), angles.cos()), dim=-1).flatten(-2)[..., : self.d_model]

    def embed(self, x: Tensor, positions: Tensor) -> Tensor:
        """Return x + PE[positions]."""
        self.check_rows(x, positions, d_model=x.shape[-1])
        return x + self.table(positions).to(x.dtype)


class BlockedSinusoidalPosition(SinusoidalPosition):
    """Sinusoids in two blocks, first all sines, then all cosines; the paper interleaves them.

        PE[pos, i]               = sin((pos + offset) / base ** (i / steps))
        PE[pos, d_model / 2 + i] = cos((pos + offset) / base ** (i / steps))

    `steps` = d_model / 2, the default, gives the paper's wavelengths (Marian); d_model / 2 - 1 ends
    them at 2 pi base exactly (tensor2tensor, fairseq), whose positions start at an `offset`.
    Raises ValueError for an odd d_model, and for steps that are not above 0: d_model / 2 - 1 is 0
    for 2 columns.
    """

    def __init__(
        self, d_model: int, base: float = 10_000.0, steps: float | None = None, offset: int = 0
    ) -> None:
        super().__init__(d_model, base)
        if d_model % 2:
            raise ValueError(f"d_model={d_model} is odd: sines and cosines need an even width")
        self.steps, self.offset = d_model / 2 if steps is None else steps, offset
        if not self.steps > 0:
            raise ValueError(
                f"steps={steps}: expected a number above 0, the number of wavelengths from 2 pi to "
                "2 pi base"
            )

    def table(self, positions: Tensor) -> Tensor:
        """Return the encodings of integer `positions` (...), shape (..., d_model), in float64."""
        waves = torch.arange(self.d_model // 2, dtype=torch.float64, device=positions.device)
        shifted = (positions + self.offset).double().unsqueeze(-1)
        angles = shifted * self.base ** -(waves / self.steps)  # (..., d_model / 2)
        return torch.cat((angles.sin(), angles.cos()), dim=-1)


def plane(lines: int, columns: int, d_model: int) -> Tensor:
    """Return sinusoidal encodings of a grid, (lines * columns, d_model), line by line: half of each
    is `BlockedSinusoidalPosition`'s encoding of the column, half that of the line.

    Raises ValueError unless 4 divides d_model.
    Source: the released code of He et al. 2022 (MAE).
    """
    if d_model % 4:
        raise ValueError(f"d_model={d_model}: expected a multiple of 4, for two axes")
    waves = BlockedSinusoidalPosition(d_model // 2)
    line_waves, column_waves = waves.table(torch.arange(lines)), waves.table(torch.arange(columns))
    halves = column_waves.repeat(lines, 1), line_waves.repeat_interleave(columns, 0)
    return torch.cat(halves, -1).to(torch.get_default_dtype())


def grid_sines(real: Tensor, d_model: int) -> Tensor:
    """Rows (B, h * w, d_model) for the places of a map, real (B, h, w): half of a row are sines of
    the line, half of the column, each counted from 1 and stretched to 2 pi at the last real one.
    """
    waves = SinusoidalPosition(d_model // 2)
    places = [real.double().cumsum(axis) for axis in (1, 2)]
    lines, columns = places[0], places[1]
    ends = lines[:, -1:, :], columns[:, :, -1:]
    turns = [2 * math.pi * place / (end + 1e-6) for place, end in zip(places, ends, strict=True)]
    return torch.cat([waves.table(turn) for turn in turns], -1).flatten(1, 2)
