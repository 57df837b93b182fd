"""Skip-gram with negative sampling (word2vec): observed context words against noise words."""

import torch
import torch.nn.functional as F
from torch import Tensor

from deepdive.core.masks import describe


def negative_sampling_loss(true: Tensor, drawn: Tensor) -> Tensor:
    """Mean over pairs of  -log sigmoid(true) - sum_j log sigmoid(-drawn[j])

    true: (B,) scores of words with observed context words; drawn: (B, k) scores with negative
    samples from the noise. Raises ValueError unless there are k drawn scores for each true one.
    Source: Mikolov et al. 2013, Distributed Representations, section 2.2, equation 4.
    """
    if true.ndim != 1 or drawn.ndim != 2 or len(true) != len(drawn):
        raise ValueError(
            f"true: got shape {tuple(true.shape)}, drawn {tuple(drawn.shape)}, expected "
            "(B,) and (B, k): one positive word per pair, and k negatives"
        )
    return -(F.logsigmoid(true) + F.logsigmoid(-drawn).sum(1)).mean()


def noise(counts: Tensor, power: float = 0.75) -> Tensor:
    """Return the noise distribution (V,): counts ** power, normalized.

    power 1 is the unigram distribution, 0 is uniform. Words without a count are never
    sampled. Raises ValueError when no count is above 0, or one is below.
    Source: Mikolov et al. 2013, Distributed Representations, section 2.2.
    """
    _check_counts(counts)
    raised = torch.where(counts > 0, counts.double() ** power, 0.0)
    return (raised / raised.sum()).float()


def keep_probability(counts: Tensor, threshold: float = 1e-5) -> Tensor:
    """Return each word's probability (V,) of being kept: min(1, sqrt(threshold / share)).

    share is the word's relative frequency. The authors take 1e-5 for billions of words; a small
    text needs a larger threshold. Raises ValueError as `noise`, and for a threshold below 0.
    Source: Mikolov et al. 2013, Distributed Representations, section 2.3, equation 5.
    """
    _check_counts(counts)
    if threshold <= 0:
        raise ValueError(f"threshold: got {threshold}, expected a frequency above 0, such as 1e-4")
    share = counts.double() / counts.sum()
    return (threshold / share).sqrt().clamp(max=1.0).float()  # no count: 1


def skip_gram_pairs(
    tokens: Tensor,
    window: int,
    sentences: Tensor | None = None,
    generator: torch.Generator | None = None,
) -> Tensor:
    """Return pairs (N, 2), (word, context), of tokens (T,) at most `window` apart.

    With a generator each word samples its own window, 1 to `window`, so that near words are more
    frequent; without one all use `window`. `sentences` (T,) gives the sentence of each token: no
    pair crosses. Subsample frequent words before, which effectively widens the window.
    Source: Mikolov et al. 2013, Efficient Estimation, section 3.2.
    """
    if tokens.ndim != 1 or window < 1:
        raise ValueError(
            f"tokens {tuple(tokens.shape)} and window={window}: expected ids (T,) of one text, and "
            "a window of 1 or more"
        )
    T, found = len(tokens), []
    reach = torch.full((T,), window)
    if generator is not None:
        reach = torch.randint(1, window + 1, (T,), generator=generator)
    for distance in range(1, min(window, T - 1) + 1):
        left, right = torch.arange(T - distance), torch.arange(distance, T)
        same = torch.ones(T - distance, dtype=torch.bool)
        if sentences is not None:
            same = sentences[left] == sentences[right]
        for word, near in ((left, right), (right, left)):
            kept = same & (reach[word] >= distance)
            found.append(torch.stack([tokens[word[kept]], tokens[near[kept]]], dim=1))
    return torch.cat(found) if found else tokens.new_zeros(0, 2)


def _check_counts(counts: Tensor) -> None:
    if counts.ndim != 1 or bool((counts < 0).any()) or not bool((counts > 0).any()):
        raise ValueError(
            f"counts: got {describe(counts)}; expected (V,) counts of 0 or more, not all 0"
        )
