"""Feature removal: five ways to remove tokens, each of which makes a game of a classifier.

    game = masked(score, tokens, mask_id)              # replaced by a mask token
    zero_embedding, no_attend, deleted, resampled      # the others

Explanations differ more by the removal than by the method. The score is a plain function; use a
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
    """Replace removed tokens by `mask_id`. `tokens` (S,) are the text."""

    def value(kept: Tensor) -> Tensor:
        return score(tokens.where(kept.to(tokens.device), mask_id))

    return Game(_length(tokens), value, batch)


def zero_embedding(
    model: nn.Module, point: str, score: Score, tokens: Tensor, batch: int = 64
) -> Game:
    """Set the embeddings of removed tokens to zero: (N, S, d) at the hook point `point` of `model`,
    which `score` runs.
    """

    def value(kept: Tensor) -> Tensor:
        with replace(model, point, lambda rows: rows * kept.to(rows.device)[:, :, None]):
            return score(tokens.expand(len(kept), -1))

    return Game(_length(tokens), value, batch)


def no_attend(score: MaskedScore, tokens: Tensor, batch: int = 64) -> Game:
    """Exclude removed tokens from the keys, at unchanged positions: score(tokens, real), both
    (N, S), with real = kept as the model's mask of real tokens (transformers: `attention_mask`).

    Keep the special tokens (`grouped` with -1): if no key is left, attention's output depends on
    its implementation, and those of transformers differ.
    """

    def value(kept: Tensor) -> Tensor:
        return score(tokens.expand(len(kept), -1), kept.to(tokens.device))

    return Game(_length(tokens), value, batch)


def deleted(score: MaskedScore, tokens: Tensor, pad: int = 0, batch: int = 64) -> Game:
    """Delete removed tokens from the text, which shifts the positions of later tokens.

    score(tokens, real), both (N, S): the shorter texts, right-padded with `pad`, and their mask.
    """

    def value(kept: Tensor) -> Tensor:
        order = (~kept).long().argsort(dim=1, stable=True).to(tokens.device)  # (N, S) kept first
        real = torch.arange(kept.shape[1], device=tokens.device) < kept.sum(1).to(order)[:, None]
        return score(tokens[order].where(real, pad), real)

    return Game(_length(tokens), value, batch)


def resampled(score: Score, tokens: Tensor, sampler: Sampler, batch: int = 64) -> Game:
    """Resample removed tokens: the mean score over J texts that agree on the kept tokens.

        game(K) = mean over j of score(tokens on K, draw_j elsewhere)

    sampler    kept (N, S) -> tokens (N, J, S), used at removed positions only; the score gets
               batch x J texts at once. `samplers.background` samples independently of the kept
               tokens (marginal), `samplers.masked_lm` given them (conditional). It must be
               deterministic: seed it if it is random.
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
