"""Batches for two Unicoder objectives: paraphrase classification, and MLM on bilingual texts.
The system's header is that of `deepdive.models.multilingual.unicoder`.
"""

from collections.abc import Sequence
from typing import NamedTuple, TypeVar

import torch
import torch.nn.functional as F
from torch import Tensor

Sentence = TypeVar("Sentence")


def hard_paraphrases(vectors: Tensor, ceiling: float = 1.0) -> Tensor:
    """Return the index of the most similar other sentence for each, int64 (N,): the highest cosine
    of their vectors (N, d) below `ceiling`, so that a paraphrase is not used as a negative. Raises
    ValueError for a sentence that has no such other.

    Source: Huang et al. 2019, section 3.2.2: random negatives are too easy, so a light model
    selects one that is close, and not equal.
    """
    unit = F.normalize(vectors, dim=-1)
    cosines = (unit @ unit.T).fill_diagonal_(-torch.inf)
    cosines = cosines.masked_fill(cosines >= ceiling, -torch.inf)
    best = cosines.max(1)
    if torch.isinf(best.values).any():
        raise ValueError(
            f"vectors: no other sentence is below ceiling={ceiling} of sentence "
            f"{int(torch.isinf(best.values).nonzero()[0])}; give more sentences, or a higher one"
        )
    return best.indices


class Paraphrases(NamedTuple):
    """Pairs to be classified: `labels` int64 (2 N,), 1 = translations of each other."""

    first: list[Sequence[int]]
    second: list[Sequence[int]]
    labels: Tensor


def paraphrase_pairs(
    first: Sequence[Sequence[int]], second: Sequence[Sequence[int]], wrong: Tensor
) -> Paraphrases:
    """Return N translation pairs and as many negatives: sentence i of `second` with sentence
    wrong[i] of `first`, which `hard_paraphrases` chose by the first sentences' vectors.

        (first_i, second_i) -> 1        (first_wrong[i], second_i) -> 0

    A `Classifier` with two classes takes the joined pair. Raises ValueError where
    the numbers differ, or a negative is the positive.

    Source: Huang et al. 2019, section 3.2.2, cross-lingual paraphrase classification.
    """
    n = len(first)
    if len(second) != n or wrong.shape != (n,):
        raise ValueError(f"second, wrong: {len(second)} and {tuple(wrong.shape)} for {n} sentences")
    if (wrong == torch.arange(n, device=wrong.device)).any():
        raise ValueError("wrong: got a sentence as its own hard negative")
    given = [*first, *(first[i] for i in wrong.tolist())]
    return Paraphrases(given, [*second, *second], torch.tensor([1] * n + [0] * n))


def alternate_sentences(
    document: Sequence[Sentence], translation: Sequence[Sentence]
) -> list[Sentence]:
    """Return a text in two languages: every second sentence is replaced by its translation,
    starting with the second. Tokens are then masked as in any text. Raises ValueError unless
    there are as many translations as sentences.

    Source: Huang et al. 2019, section 3.2.3, cross-lingual masked language model.
    """
    if len(document) != len(translation):
        raise ValueError(
            f"translation: {len(translation)} sentences for {len(document)}, expected equal counts"
        )
    both = zip(document, translation, strict=True)
    return [other if i % 2 else own for i, (own, other) in enumerate(both)]
