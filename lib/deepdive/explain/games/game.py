"""Games: the model's output as a set function of the features kept in the input.

    game = masked(score, tokens, mask_id)     # score: tokens (B, S) -> scores (B,)
    game(kept)                                # bool (N, S), the kept features -> scores (N,)

All removal-based explanations (occlusion, LIME, Anchors, Shapley values, deletion curves) take only
a game. How features are removed is decided where the game is made (`removal`).

Source: Covert, Lundberg and Lee 2021, for removal as the first of three choices
(feature removal, model behavior, summary technique).
"""

from collections.abc import Callable

import torch
from torch import Tensor

from deepdive.core.checks import positive


class Game:
    """The model's score for each coalition of features: game(kept), bool (..., S) -> float64 (...).

    size     S, the number of features (players)
    value    the value function: kept (N, S) -> scores (N,); it must be deterministic
    batch    how many coalitions `value` gets at once

    Duplicate coalitions in one call are computed once. Gradients are disabled.
    Raises ValueError for coalitions of another size, and for scores not finite or not (N,).
    """

    def __init__(self, size: int, value: Callable[[Tensor], Tensor], batch: int = 64) -> None:
        positive(size=size, batch=batch)
        self.size, self.value, self.batch = size, value, batch

    def __call__(self, kept: Tensor) -> Tensor:
        from tqdm import tqdm

        if kept.dtype != torch.bool or kept.shape[-1:] != (self.size,):
            raise ValueError(
                f"kept: got {kept.dtype} {tuple(kept.shape)}, expected bool (..., {self.size}), "
                "one column per feature"
            )
        sets, inverse = kept.reshape(-1, self.size).unique(dim=0, return_inverse=True)
        groups = sets.split(self.batch)
        with torch.no_grad():
            bar = tqdm(groups, desc="sets", unit="batch", leave=False, delay=3)
            scores = torch.cat([self._checked(group) for group in bar])
        return scores[inverse].reshape(kept.shape[:-1])

    def _checked(self, kept: Tensor) -> Tensor:
        scores = self.value(kept)
        if scores.shape != (len(kept),):
            raise ValueError(
                f"score: got shape {tuple(scores.shape)}, expected ({len(kept)},), one number per "
                "text; select the class, as `margin` does"
            )
        if not scores.isfinite().all():
            left = int(kept[~scores.isfinite()][0].sum())
            raise ValueError(
                f"score: not finite for a text with {left} features left; keep the special tokens "
                "(`grouped` with -1), and score margins or log-probabilities"
            )
        return scores.double().cpu()

    def everything(self) -> Tensor:
        """The score () with all features kept."""
        return self(torch.ones(self.size, dtype=torch.bool))

    def nothing(self) -> Tensor:
        """The score () with all features removed."""
        return self(torch.zeros(self.size, dtype=torch.bool))


def margin(logits: Tensor, label: int) -> Tensor:
    """Return logits[label] - the largest other logit, (B,): above 0 if `label` is predicted."""
    others = torch.cat([logits[:, :label], logits[:, label + 1 :]], dim=1)
    return logits[:, label] - others.amax(1)


def all_coalitions(size: int) -> Tensor:
    """Return all subsets of `size` features, bool (2^size, size); row r keeps i if r has bit i."""
    positive(size=size)
    if size > 20:
        raise ValueError(f"size={size}: 2^{size} subsets are too many to enumerate; sample some")
    return torch.arange(2**size)[:, None].bitwise_right_shift(torch.arange(size)).bitwise_and(1) > 0


def grouped(game: Game, owner: Tensor) -> Game:
    """The word-level game for a token-level game: a word's tokens are kept or removed together.

    owner (S,) is the word of each token, 0 .. W - 1; -1 for tokens always kept, such as [CLS].
    Raises ValueError when owner does not fit, or skips a word.
    """
    words = int(owner.max()) + 1
    if owner.shape != (game.size,) or set(owner.tolist()) - {-1} != set(range(words)) or not words:
        raise ValueError(
            f"owner: got {owner.tolist()}, expected the word of each of {game.size} tokens, all of "
            "0 .. W - 1, or -1 for tokens that are always kept"
        )
    always = torch.ones(1, dtype=torch.bool)
    return Game(
        words,
        lambda kept: game(torch.cat([kept, always.expand(len(kept), 1)], 1)[:, owner]),
        game.batch,
    )
