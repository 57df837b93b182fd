"""One long text as rows: places drawn from it to learn from, all of it in order to be judged by."""

import torch
from torch import Tensor

from deepdive.core.checks import positive
from deepdive.data.errors import DataError


def random_windows(
    tokens: Tensor, length: int, *, rows: int, steps: int, seed: int = 0
) -> list[Tensor]:
    """Return `steps` batches (rows, length + 1) of stretches of `tokens` (N,), each from a place
    that `seed` draws: a model reads `length` tokens, and is asked for the one behind each.

    Raises DataError for a text that is no longer than a stretch.
    """
    positive(length=length, rows=rows, steps=steps)
    _check(tokens, length)
    draw = torch.Generator().manual_seed(seed)
    starts = torch.randint(len(tokens) - length, (steps, rows, 1), generator=draw)
    return [tokens[start + torch.arange(length + 1)] for start in starts]


def sequential_windows(tokens: Tensor, length: int) -> Tensor:
    """Return all of `tokens` (N,) as rows (n, length + 1): each begins with the token that the last
    one ended with, so that every token but the first is asked for once. What is left over at the
    end, less than a row, is left out.

    Raises DataError for a text that is no longer than a row.
    """
    positive(length=length)
    _check(tokens, length)
    return tokens.unfold(0, length + 1, length)


def _check(tokens: Tensor, length: int) -> None:
    if tokens.ndim != 1 or len(tokens) <= length:
        raise DataError(
            f"tokens have shape {tuple(tokens.shape)}; expected one text (N,), N > length={length}"
        )
