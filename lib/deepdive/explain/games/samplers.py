"""Words drawn for those that are gone: from other texts, or from a masked language model.

    game = drawn(score, tokens, background(texts))
    game = drawn(score, tokens, masked_lm(model, tokens, mask_id, count=20, never=special))

A sampler is a function, kept bool (N, S) -> tokens (N, J, S): for each set J texts, of which the
game (`deepdive.explain.games.removal.resampled`) uses the places that are gone. A blank is no word,
and another text's word may not fit: on both the model is asked about texts that it never saw. What
a masked language model fills in fits what stays.

Source: Zintgraf et al. 2017 (for images); Kim et al. 2020, "Interpretation of NLP models through
input marginalization", and Harbecke and Alt 2020 (a masked language model draws words).
"""

from collections.abc import Callable, Sequence

import torch
from torch import Tensor

from deepdive.core.checks import as_int, positive

Sampler = Callable[[Tensor], Tensor]


def background(texts: Tensor) -> Sampler:
    """The sampler whose draws are the same J texts (J, S) for every set: the data, or a part."""
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
    """The sampler whose draws fill the gaps, one after the other from the left:

        word[s] ~ softmax over v of  logits(text)[s, v]
        text = what stays, what is filled by now, and mask_id in the gaps behind

    logits    the model, tokens (B, S) -> (B, S, V): a `BertForMaskedLM` in evaluation mode
    tokens    the text (S,)
    count     J, how many texts are drawn for a set; the model gets N x J at once, once a gap
    never     words that are not drawn, such as the marks and `mask_id`

    The same J numbers decide at a place for every set: the answer for a set is always the same,
    and two sets differ by what stays, not by luck. Of J numbers one lies in each J-th part of
    [0, 1), so that one gap's word comes as often as its probability says, but for 2 / J.
    Raises ValueError for a text that is no (S,), and for logits of another shape.
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
    """The first word (B,) up to which the probabilities of (B, V) add up to more than u (B,)."""
    closed = torch.tensor(never, dtype=torch.long, device=logits.device)
    sums = logits.index_fill(1, closed, -torch.inf).double().softmax(-1).cumsum(-1)
    return torch.searchsorted(sums, u.to(sums)[:, None] * sums[:, -1:], right=True)[:, 0]


def _checked(logits: Callable[[Tensor], Tensor], tokens: Tensor) -> Tensor:
    scores = logits(tokens)
    if scores.ndim != 3 or scores.shape[:2] != tokens.shape:
        raise ValueError(
            f"logits must be (B, S, V) for tokens {tuple(tokens.shape)}; got "
            f"{tuple(scores.shape)}: give a model that scores every word at each place"
        )
    return scores
