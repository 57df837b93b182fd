"""Samplers of replacement tokens: from other texts, or from a masked language model.

    game = resampled(score, tokens, background(texts))
    game = resampled(score, tokens, masked_lm(model, tokens, mask_id, count=20, never=special))

A sampler is a function, kept bool (N, S) -> tokens (N, J, S): J texts for each coalition, of which
the game (`deepdive.explain.games.removal.resampled`) uses the removed positions. Mask tokens and
words of other texts may give inputs out of the training distribution; a masked language model's
predictions fit the kept tokens.

Source: Zintgraf et al. 2017 (for images); Kim et al. 2020, "Interpretation of NLP models through
input marginalization", and Harbecke and Alt 2020 (a masked language model samples words).
"""

from collections.abc import Callable, Sequence

import torch
from torch import Tensor

from deepdive.core.checks import as_int, positive

Sampler = Callable[[Tensor], Tensor]


def background(texts: Tensor) -> Sampler:
    """A sampler that returns the same J texts (J, S) for every coalition: the data, or a subset."""
    return lambda kept: texts.expand(len(kept), *texts.shape)


def masked_lm(
    logits: Callable[[Tensor], Tensor],
    tokens: Tensor,
    mask_id: int,
    count: int,
    *,
    never: Sequence[int] = (),
    seed: int = 0,
) -> Sampler:
    """A sampler that fills masked positions with a masked language model, from left to right:

        word[s] ~ softmax over v of  logits(text)[s, v]
        text = kept tokens, tokens sampled so far, and mask_id at later masked positions

    logits    the model, tokens (B, S) -> (B, S, V): a `BertForMaskedLM` in evaluation mode
    tokens    the text (S,)
    count     J, samples per coalition; the model runs N x J texts once per masked position
    never     tokens that are not sampled, such as special tokens and `mask_id`

    All coalitions share the same J random numbers per position (common random numbers), so the
    sampler is deterministic and coalitions differ by their kept tokens only. The numbers are
    stratified, one in each J-th of [0, 1): frequencies match probabilities within 2 / J.
    Raises ValueError for a text that is not (S,), and for logits of another shape.
    """
    positive(count=count)
    if tokens.ndim != 1:
        raise ValueError(f"tokens must be one text (S,); got {tuple(tokens.shape)}")
    draw = torch.Generator().manual_seed(as_int("seed", seed))
    parts = torch.rand(len(tokens), count, generator=draw).argsort(1)
    u = (parts + torch.rand(parts.shape, generator=draw, dtype=torch.float64)) / count  # (S, J)

    def fill(kept: Tensor) -> Tensor:
        gone = ~kept.to(tokens.device)
        texts = tokens.where(~gone, mask_id)[:, None].repeat(1, count, 1)  # (N, J, S)
        for s in gone.any(0).nonzero().flatten().tolist():
            here = gone[:, s]
            scores = _checked(logits, texts[here].flatten(0, 1))[:, s]
            words = _drawn(scores, u[s].repeat(int(here.sum())), never)
            texts[:, :, s][here] = words.unflatten(0, (-1, count))
        return texts

    return fill


def _drawn(logits: Tensor, u: Tensor, never: Sequence[int]) -> Tensor:
    """Inverse transform sampling of words (B,) from logits (B, V) with uniform numbers u (B,)."""
    closed = torch.tensor(never, dtype=torch.long, device=logits.device)
    sums = logits.index_fill(1, closed, -torch.inf).double().softmax(-1).cumsum(-1)
    return torch.searchsorted(sums, u.to(sums)[:, None] * sums[:, -1:], right=True)[:, 0]


def _checked(logits: Callable[[Tensor], Tensor], tokens: Tensor) -> Tensor:
    scores = logits(tokens)
    if scores.ndim != 3 or scores.shape[:2] != tokens.shape:
        raise ValueError(
            f"logits: got {tuple(scores.shape)}, expected (B, S, V) for tokens "
            f"{tuple(tokens.shape)}; give a masked language model"
        )
    return scores
