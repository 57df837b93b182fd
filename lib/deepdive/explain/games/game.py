"""Games: a model seen only through what it says when parts of its input are gone.

    game = masked(score, tokens, mask_id)     # score: tokens (B, S) -> numbers (B,)
    game(kept)                                # bool (N, S), what stays -> numbers (N,)

Whoever removes parts (occlusion, LIME, Anchors, Shapley values, deletion curves) takes a game and
nothing else. What *gone* means is decided where the game is made (`removal`).

Source: Covert, Lundberg and Lee 2021, for removal as the first of three choices
(how parts are removed, what is said of the model, how it is summed up).
"""

from collections.abc import Callable

import torch
from torch import Tensor

from deepdive.core.checks import positive


class Game:
    """What a model says of each set of parts: game(kept), bool (..., S) -> float64 (...).

    size     S, the number of parts that may stay or go
    value    the model: kept (N, S) -> numbers (N,), a function (the same set, the same number)
    batch    how many sets `value` gets at once

    A set that is asked for several times in one call is computed once. No gradients are kept.
    Raises ValueError for sets of another size, and for numbers that are not finite or not (N,).
    """

    def __init__(self, size: int, value: Callable[[Tensor], Tensor], batch: int = 64) -> None:
        positive(size=size, batch=batch)
        self.size, self.value, self.batch = size, value, batch

    def __call__(self, kept: Tensor) -> Tensor:
        from tqdm import tqdm

        if kept.dtype != torch.bool or kept.shape[-1:] != (self.size,):
            raise ValueError(
                f"kept must be bool (..., {self.size}), one column for each part; got "
                f"{kept.dtype} {tuple(kept.shape)}"
            )
        sets, place = kept.reshape(-1, self.size).unique(dim=0, return_inverse=True)
        groups = sets.split(self.batch)
        with torch.no_grad():
            bar = tqdm(groups, desc="sets", unit="batch", leave=False, delay=3)
            numbers = torch.cat([self._checked(group) for group in bar])
        return numbers[place].reshape(kept.shape[:-1])

    def _checked(self, kept: Tensor) -> Tensor:
        numbers = self.value(kept)
        if numbers.shape != (len(kept),):
            raise ValueError(
                f"the score must give one number a text, ({len(kept)},); got "
                f"{tuple(numbers.shape)}: select the class, as `margin` does"
            )
        if not numbers.isfinite().all():
            left = int(kept[~numbers.isfinite()][0].sum())
            raise ValueError(
                f"the score of a text of which {left} parts are left is not finite: keep the marks "
                "(`grouped` with -1), and score margins or log-probabilities"
            )
        return numbers.double().cpu()

    def everything(self) -> Tensor:
        """The number () when all parts stay."""
        return self(torch.ones(self.size, dtype=torch.bool))

    def nothing(self) -> Tensor:
        """The number () when no part stays."""
        return self(torch.zeros(self.size, dtype=torch.bool))


def margin(logits: Tensor, label: int) -> Tensor:
    """Return logits[label] - the largest other logit, (B,): above 0 where `label` is decided."""
    others = torch.cat([logits[:, :label], logits[:, label + 1 :]], dim=1)
    return logits[:, label] - others.amax(1)


def all_coalitions(size: int) -> Tensor:
    """Return every set of `size` parts, bool (2^size, size); row r keeps i where r has bit i."""
    positive(size=size)
    if size > 20:
        raise ValueError(f"size={size}: 2^{size} sets are too many to write out; draw some instead")
    return torch.arange(2**size)[:, None].bitwise_right_shift(torch.arange(size)).bitwise_and(1) > 0


def grouped(game: Game, owner: Tensor) -> Game:
    """The game of words, for a game of their pieces: the pieces of a word stay or go together.

    owner (S,) names the word of each piece, 0 .. W - 1; -1 for what always stays, such as [CLS].
    Raises ValueError when owner does not fit, or leaves out a word.
    """
    words = int(owner.max()) + 1
    if owner.shape != (game.size,) or set(owner.tolist()) - {-1} != set(range(words)) or not words:
        raise ValueError(
            f"owner must name the word of each of {game.size} pieces, 0 .. W - 1 without gaps, -1 "
            f"for what always stays; got {owner.tolist()}"
        )
    always = torch.ones(1, dtype=torch.bool)
    return Game(
        words,
        lambda kept: game(torch.cat([kept, always.expand(len(kept), 1)], 1)[:, owner]),
        game.batch,
    )
