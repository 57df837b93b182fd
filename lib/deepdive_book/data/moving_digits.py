"""Films of handwritten digits that move over an empty ground by a stated rule: the digits are real,
the films are generated.

The rule. A digit of `deepdive.data.images.small_digits` stands somewhere on a square ground, every
place as likely as any other, and moves to the left, to the right, up or down by 2, 3 or 4 pixels a
frame; what leaves at an edge comes in at the other. So one frame says nothing of the motion, and
all frames without their order say as little of left against right: the film run backwards has the
same frames.
"""

from __future__ import annotations

from dataclasses import dataclass, replace

import numpy as np
from numpy.typing import NDArray

from deepdive.data.generated import whole
from deepdive.data.images import Bytes, small_digits

MOTIONS = {"left": (0, -1), "right": (0, 1), "up": (-1, 0), "down": (1, 0)}  # lines, columns
SPEEDS = (2, 3, 4)  # pixels a frame


@dataclass(frozen=True)
class Films:
    """Films of one size, each with its digit and the number of its motion in `MOTIONS`.

    pixels   uint8 (N, F, 1, size, size)
    digits   int64 (N,)
    motions  int64 (N,)
    """

    pixels: Bytes
    digits: NDArray[np.int64]
    motions: NDArray[np.int64]
    source: str

    def __len__(self) -> int:
        return len(self.digits)

    def shuffled(self, seed: int = 0) -> Films:
        """The same films, the frames of each in an order by lot."""
        order = np.random.default_rng(seed).permuted(
            np.tile(np.arange(self.pixels.shape[1]), (len(self), 1)), axis=1
        )
        pixels = self.pixels[np.arange(len(self))[:, None], order]
        return replace(self, pixels=pixels, source=f"{self.source}, frames shuffled")


def moving_digits(
    n: int, part: str = "train", *, frames: int = 4, size: int = 16, seed: int = 0
) -> Films:
    """n films of one digit each; `part` says whose hands wrote them, as for `small_digits`.

    size: 8 pixels at least. Raises ValueError for another part.
    """
    whole("n", n, 1, None)
    whole("frames", frames, 1, None)
    whole("size", size, 8, None)
    digits, rng = small_digits(part), np.random.default_rng(seed)
    which, motion = rng.integers(len(digits), size=n), rng.integers(len(MOTIONS), size=n)
    speed, start = rng.choice(SPEEDS, size=n), rng.integers(size, size=(n, 2))
    way = np.array(list(MOTIONS.values()))[motion] * speed[:, None]  # (N, 2)
    ground = np.zeros((size, size), np.uint8)
    pixels = np.empty((n, frames, 1, size, size), np.uint8)
    for i, digit in enumerate(digits.pixels[which, 0]):
        ground[: digit.shape[0], : digit.shape[1]] = digit
        for f in range(frames):
            line, column = start[i] + f * way[i]
            pixels[i, f, 0] = np.roll(ground, (line, column), (0, 1))
    made = f"moving_digits({n}, {part}, frames={frames}, size={size}, seed={seed})"
    return Films(pixels, digits.labels[which], motion, f"{made}: digits real, films generated")
