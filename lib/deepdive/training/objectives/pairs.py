"""Sentence pair objectives: next-sentence prediction (BERT) and sentence order (ALBERT)."""

import itertools
import random
from collections.abc import Sequence
from typing import TypeVar

from deepdive.core.checks import as_int

S = TypeVar("S")  # a sentence: a text, or a list of token ids

IS_NEXT, NOT_NEXT = 0, 1  # as in the released BERT: class 0 means "yes, it follows"
IN_ORDER, SWAPPED = 0, 1


def next_sentence_pairs(
    documents: Sequence[Sequence[S]], seed: int = 0, *, true_share: float = 0.5
) -> list[tuple[S, S, int]]:
    """Return (A, B, label) for each sentence A that has a next one in its document.

    With probability `true_share` B is that next sentence and the label `IS_NEXT` = 0. Otherwise B
    is a random sentence of a random other document, both uniform, and the label `NOT_NEXT` = 1.

    documents: lists of sentences, in order; a sentence is a text or a list of ids, and is not
        inspected. Documents without sentences are skipped.
    seed: random seed; another seed gives other pairs of the same documents.
    Raises ValueError when fewer than two documents have sentences, because random sentences come
    from another document.

    Source: Devlin et al. 2019, section 3.1, task 2.
    """
    filled = _filled(documents, true_share)
    if len(filled) < 2:
        raise ValueError(
            f"documents: {len(filled)} of {len(documents)} have sentences, expected two or more; "
            "a random B comes from another document: split the text where its topics change"
        )
    draw, found = random.Random(as_int("seed", seed)), []
    for i, document in enumerate(filled):
        for a, b in itertools.pairwise(document):
            if draw.random() < true_share:
                found.append((a, b, IS_NEXT))
            else:
                other = draw.randrange(len(filled) - 1)
                found.append((a, draw.choice(filled[other + (other >= i)]), NOT_NEXT))
    return found


def sentence_order_pairs(
    documents: Sequence[Sequence[S]], seed: int = 0, *, true_share: float = 0.5
) -> list[tuple[S, S, int]]:
    """Return (A, B, label) for each two consecutive sentences of a document.

    With probability `true_share` they are in their order and the label is `IN_ORDER` = 0,
    otherwise they are swapped and it is `SWAPPED` = 1. Both sentences are from one document, so
    the topic does not reveal the label. Arguments as for `next_sentence_pairs`; one document
    is enough.

    Source: Lan et al. 2020, "ALBERT", section 3.1.
    """
    draw, found = random.Random(as_int("seed", seed)), []
    for document in _filled(documents, true_share):
        for a, b in itertools.pairwise(document):
            in_order = draw.random() < true_share
            found.append((a, b, IN_ORDER) if in_order else (b, a, SWAPPED))
    return found


def _filled(documents: Sequence[Sequence[S]], true_share: float) -> list[Sequence[S]]:
    """Return the documents that have sentences, after checking the arguments."""
    if not 0.0 <= true_share <= 1.0:
        raise ValueError(f"true_share: got {true_share}, expected a probability from 0 to 1")
    if any(isinstance(document, str) for document in documents):
        raise TypeError(
            "documents: got texts, expected lists of sentences; split each text into sentences"
        )
    return [document for document in documents if len(document) > 0]
