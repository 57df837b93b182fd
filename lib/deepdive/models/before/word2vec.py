"""word2vec: skip-gram with negative sampling. Mikolov et al. 2013 (two papers).

A word's vector is trained to tell the words that stand near it from words drawn at random. No
hidden layer, no softmax over the vocabulary, no order: only which words meet.

Not as in the paper: sentences are shuffled as pairs and trained in batches, by whatever optimizer
the page takes; the paper goes through the text once with a falling rate.

System: word2vec
Parent: mlp
What differs:
- no hidden layer: the score of two words is one dot product (`SkipGram.forward`)
- no softmax over V words: one true word against k drawn ones (`negative_sampling_loss`)
- the drawn words come from counts to the power 3/4 (`noise`)
- it guesses the words on both sides, each alone (`skip_gram_pairs`), not the next from a window
- frequent words are left out at random (`keep_probability`)
Source: Mikolov et al. 2013, Distributed Representations, sections 2.2 and 2.3
Book: 1.1
"""

from __future__ import annotations

import torch
import torch.nn.functional as F
from torch import Tensor, nn

from deepdive.checks import positive
from deepdive.masks import describe


class SkipGram(nn.Module):
    """Two vectors a word: one for when it stands in the centre, one for when it stands nearby.

        score(w, c) = words[w] . contexts[c]

    The table of `words` is what is kept. It starts small and uniform, `contexts` at 0, as in the
    authors' program. Raises ValueError for sizes below 1 and ids outside the vocabulary.
    Source: Mikolov et al. 2013, Distributed Representations, section 2.
    """

    def __init__(self, vocab_size: int, d_model: int) -> None:
        super().__init__()
        positive(vocab_size=vocab_size, d_model=d_model)
        self.vocab_size, self.d_model = vocab_size, d_model
        self.words = nn.Parameter(torch.empty(vocab_size, d_model))
        self.contexts = nn.Parameter(torch.zeros(vocab_size, d_model))
        nn.init.uniform_(self.words, -0.5 / d_model, 0.5 / d_model)

    def forward(self, words: Tensor, contexts: Tensor) -> Tensor:
        """Return scores (..., C) of words (...) with contexts (..., C), both integer ids."""
        if contexts.shape[:-1] != words.shape:
            raise ValueError(
                f"contexts: came with shape {tuple(contexts.shape)}, expected "
                f"{(*words.shape, 'C')}: C ids for each of the words {tuple(words.shape)}"
            )
        w, c = self._rows("words", words), self._rows("contexts", contexts)
        return torch.einsum("...d,...cd->...c", w, c)

    def _rows(self, name: str, ids: Tensor) -> Tensor:
        if ids.dtype not in (torch.int64, torch.int32):
            raise TypeError(f"{name} must be integer ids; got {describe(ids)}")
        try:
            return F.embedding(ids, getattr(self, name))
        except IndexError:
            low, high = int(ids.min()), int(ids.max())
            raise ValueError(
                f"{name} hold ids from {low} to {high}, expected 0 to {self.vocab_size - 1}: "
                "encode with the vocabulary that the model was built for"
            ) from None


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


def nearest(
    table: Tensor, query: Tensor, n: int = 5, without: tuple[int, ...] = ()
) -> tuple[Tensor, Tensor]:
    """Return the ids (n,) of the rows of `table` (V, d) nearest to `query` (d,), and their cosines.

    `without` names rows that do not count, such as the word that is asked for. An analogy
    a : b = c : ? asks with b - a + c of rows of length 1, without a, b and c.
    Source: Mikolov et al. 2013, Efficient Estimation, section 4.
    """
    if query.shape != table.shape[1:]:
        raise ValueError(
            f"query has shape {tuple(query.shape)}, expected a row of table {tuple(table.shape)}"
        )
    cosines = F.cosine_similarity(table, query.unsqueeze(0), dim=1)  # (V,)
    cosines[list(without)] = -2.0  # below any cosine
    values, ids = cosines.topk(min(n, len(table) - len(set(without))))
    return ids, values


def _check_counts(counts: Tensor) -> None:
    if counts.ndim != 1 or bool((counts < 0).any()) or not bool((counts > 0).any()):
        raise ValueError(
            f"counts: came as {describe(counts)}; expected (V,) counts of 0 or more, not all 0"
        )
