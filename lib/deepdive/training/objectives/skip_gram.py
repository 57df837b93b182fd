"""Skip-gram with negative sampling, word2vec's: which words meet, and which are drawn at random."""

import torch
import torch.nn.functional as F
from torch import Tensor

from deepdive.core.masks import describe


def negative_sampling_loss(true: Tensor, drawn: Tensor) -> Tensor:
    """Mean over pairs of  -log sigmoid(true) - sum_j log sigmoid(-drawn[j])

    true: (B,) scores of words with words that stood near them; drawn: (B, k) scores with words
    drawn from the noise. Raises ValueError unless there are k drawn scores for each true one.
    Source: Mikolov et al. 2013, Distributed Representations, section 2.2, equation 4.
    """
    if true.ndim != 1 or drawn.ndim != 2 or len(true) != len(drawn):
        raise ValueError(
            f"true: came with shape {tuple(true.shape)}, drawn {tuple(drawn.shape)}, expected "
            "(B,) and (B, k): one true word a pair, and k drawn ones"
        )
    return -(F.logsigmoid(true) + F.logsigmoid(-drawn).sum(1)).mean()


def noise(counts: Tensor, power: float = 0.75) -> Tensor:
    """Return the distribution (V,) of drawn words: counts ** power, divided by the sum.

    power 1 draws a word as often as it is used, 0 draws all alike. Words without a count are never
    drawn. Raises ValueError when no count is above 0, or one is below.
    Source: Mikolov et al. 2013, Distributed Representations, section 2.2.
    """
    _check_counts(counts)
    raised = torch.where(counts > 0, counts.double() ** power, 0.0)
    return (raised / raised.sum()).float()


def keep_probability(counts: Tensor, threshold: float = 1e-5) -> Tensor:
    """Return with which probability (V,) a word stays: min(1, sqrt(threshold / share)).

    share is the word's part of all words. The authors take 1e-5 for billions of words; a small
    text needs a larger threshold. Raises ValueError as `noise`, and for a threshold below 0.
    Source: Mikolov et al. 2013, Distributed Representations, section 2.3, equation 5.
    """
    _check_counts(counts)
    if threshold <= 0:
        raise ValueError(f"threshold: came as {threshold}, expected a share above 0, such as 1e-4")
    share = counts.double() / counts.sum()
    return (threshold / share).sqrt().clamp(max=1.0).float()  # no count: 1


def skip_gram_pairs(
    tokens: Tensor,
    window: int,
    sentences: Tensor | None = None,
    generator: torch.Generator | None = None,
) -> Tensor:
    """Return pairs (N, 2), (word, context), of tokens (T,) at most `window` apart.

    With a generator each word draws its own reach, 1 to `window`, so that near words come more
    often; without one all reach `window`. `sentences` (T,) names the sentence of each token: no
    pair crosses. Leave frequent words out before, so that the reach grows over them.
    Source: Mikolov et al. 2013, Efficient Estimation, section 3.2.
    """
    if tokens.ndim != 1 or window < 1:
        raise ValueError(
            f"tokens {tuple(tokens.shape)} and window={window}: expected ids (T,) in one row, and "
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
            f"counts: came as {describe(counts)}; expected (V,) counts of 0 or more, not all 0"
        )
