"""What it means that a part of a text is gone: five ways to make a game of a classifier.

    game = masked(score, tokens, mask_id)     # a blank in the word's place
    zeroed, left_out, deleted, drawn          # a row of zeros; no key; cut out; drawn anew

Explanations differ by it more than by their own names. The score is a plain function; give it a
model in evaluation mode:

    def score(tokens):
        return margin(model(tokens), label)

Source: Covert, Lundberg and Lee 2021.
"""

from collections.abc import Callable

import torch
from torch import Tensor, nn

from deepdive.core.hooks import replace
from deepdive.explain.games.game import Game
from deepdive.explain.games.samplers import Sampler

Score = Callable[[Tensor], Tensor]
MaskedScore = Callable[[Tensor, Tensor], Tensor]


def masked(score: Score, tokens: Tensor, mask_id: int, batch: int = 64) -> Game:
    """A part that is gone is the token `mask_id` in its place. `tokens` (S,) are the text."""

    def value(kept: Tensor) -> Tensor:
        return score(tokens.where(kept.to(tokens.device), mask_id))

    return Game(_length(tokens), value, batch)


def zero_embedding(
    model: nn.Module, point: str, score: Score, tokens: Tensor, batch: int = 64
) -> Game:
    """A part that is gone is a row of zeros: rows (N, S, d) at the hook point `point` of `model`,
    which `score` runs.
    """

    def value(kept: Tensor) -> Tensor:
        with replace(model, point, lambda rows: rows * kept.to(rows.device)[:, :, None]):
            return score(tokens.expand(len(kept), -1))

    return Game(_length(tokens), value, batch)


def no_attend(score: MaskedScore, tokens: Tensor, batch: int = 64) -> Game:
    """A part that is gone keeps its place, but is no key: score(tokens, real), both (N, S), with
    real = kept for the model's mask of real tokens (transformers: `attention_mask`).

    Let the marks stay (`grouped` with -1): where no key is left, what attention says is a matter of
    how it is computed, and transformers' own forms differ.
    """

    def value(kept: Tensor) -> Tensor:
        return score(tokens.expand(len(kept), -1), kept.to(tokens.device))

    return Game(_length(tokens), value, batch)


def deleted(score: MaskedScore, tokens: Tensor, pad: int = 0, batch: int = 64) -> Game:
    """A part that is gone is cut out: what stays moves up, so the places of later words change.

    score(tokens, real), both (N, S): the shorter texts, `pad` behind them, and what is no padding.
    """

    def value(kept: Tensor) -> Tensor:
        order = (~kept).long().argsort(dim=1, stable=True).to(tokens.device)  # (N, S) kept first
        real = torch.arange(kept.shape[1], device=tokens.device) < kept.sum(1).to(order)[:, None]
        return score(tokens[order].where(real, pad), real)

    return Game(_length(tokens), value, batch)


def resampled(score: Score, tokens: Tensor, sampler: Sampler, batch: int = 64) -> Game:
    """A part that is gone is drawn anew: the mean score over J texts that agree on what stays.

        game(K) = mean over j of score(tokens on K, draw_j elsewhere)

    sampler    kept (N, S) -> tokens (N, J, S), of which those that stay are not used; the score
               gets batch x J texts at once. `samplers.background` draws whole texts, whatever
               stays (the marginal), `samplers.masked_lm` what fits it (the conditional). A
               function: seed it, if it is random.
    """

    def value(kept: Tensor) -> Tensor:
        draws = sampler(kept).to(tokens.device)  # (N, J, S)
        texts = tokens.where(kept.to(tokens.device)[:, None], draws)
        return score(texts.flatten(0, 1)).unflatten(0, draws.shape[:2]).mean(1)

    return Game(_length(tokens), value, batch)


def _length(tokens: Tensor) -> int:
    if tokens.ndim != 1:
        raise ValueError(f"tokens must be one text (S,); got {tuple(tokens.shape)}")
    return len(tokens)
