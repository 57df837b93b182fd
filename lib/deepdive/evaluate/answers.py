"""Metrics for entity recognition (F1) and question answering (exact match and F1)."""

import re
import string
from collections import Counter
from collections.abc import Sequence
from typing import NamedTuple

Entity = tuple[str, int, int]


class F1(NamedTuple):
    """precision = hits / predicted, recall = hits / ground truth, f1 = their harmonic mean."""

    precision: float
    recall: float
    f1: float


def entities(tags: Sequence[str]) -> list[Entity]:
    """Return the entities (type, first word, last word) of a sentence from BIO tags.

    As in the evaluation of CoNLL-2003, an I- tag that does not continue an entity begins one, so
    any sequence of tags is valid.

    >>> entities(["B-person", "I-person", "O", "I-group", "I-person"])
    [('person', 0, 1), ('group', 3, 3), ('person', 4, 4)]
    """
    found: list[Entity] = []
    before = "O"
    for at, tag in enumerate(tags):
        prefix, _, kind = tag.partition("-")
        if tag != "O" and (prefix not in ("B", "I") or not kind):
            raise ValueError(f"tags[{at}]: got {tag!r}, expected O, B-type or I-type")
        if prefix == "I" and before.partition("-")[2] == kind:
            found[-1] = (kind, found[-1][1], at)
        elif prefix != "O":
            found.append((kind, at, at))
        before = tag
    return found


def entity_f1(predicted: Sequence[Sequence[str]], right: Sequence[Sequence[str]]) -> F1:
    """Return F1 over the entities of all sentences: type, first and last word must all match.

        precision = hits / predicted entities,  recall = hits / ground-truth entities

    Source: Tjong Kim Sang and De Meulder 2003, section 2.3; Derczynski et al. 2017, "F1 (entity)".
    """
    _check(predicted, right)
    hits = n_predicted = n_right = 0
    for i, (tags, gold) in enumerate(zip(predicted, right, strict=True)):
        if len(tags) != len(gold):
            raise ValueError(f"predicted[{i}]: got {len(tags)} tags, expected {len(gold)}")
        predicted_set, gold_set = set(entities(tags)), set(entities(gold))
        hits += len(predicted_set & gold_set)
        n_predicted, n_right = n_predicted + len(predicted_set), n_right + len(gold_set)
    return _f1(hits, n_predicted, n_right)


def normalized(answer: str) -> str:
    """Return the answer in lower case, without ASCII punctuation and articles, spaces collapsed.

    >>> normalised("The  U.S. Army")
    'us army'
    """
    kept = "".join(c for c in answer.lower() if c not in string.punctuation)
    return " ".join(re.sub(r"\b(a|an|the)\b", " ", kept).split())


def exact_match(answer: str, right: str) -> float:
    """Return 1 if both are equal after `normalized`, else 0; "" is "no answer".

    Source: Rajpurkar et al. 2016, section 6.1, and the evaluation script of SQuAD 2.0.
    """
    return float(normalized(answer) == normalized(right))


def answer_f1(answer: str, right: str) -> float:
    """Return F1 between the bags of words of answer and reference, after `normalized`.

    If either is empty, it is 1 if both are, else 0, because "no answer" is correct or not.

    >>> answer_f1("the blue car", "car")
    0.6666666666666666
    """
    predicted, expected = normalized(answer).split(), normalized(right).split()
    if not predicted or not expected:
        return float(predicted == expected)
    return _f1((Counter(predicted) & Counter(expected)).total(), len(predicted), len(expected)).f1


def _f1(hits: int, n_predicted: int, n_right: int) -> F1:
    precision, recall = hits / max(1, n_predicted), hits / max(1, n_right)
    return F1(precision, recall, 2 * hits / max(1, n_predicted + n_right))


def _check(predicted: Sequence[object], right: Sequence[object]) -> None:
    if len(predicted) != len(right) or not right:
        raise ValueError(
            f"predicted, right: got lengths {len(predicted)} and {len(right)}, "
            "expected the same, at least 1"
        )
