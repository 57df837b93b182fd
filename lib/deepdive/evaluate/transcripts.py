"""Word and character error rate (WER, CER): edit distance of transcripts to their references.

    d[i, j] = min(d[i-1, j-1] + (r_i != h_j),  d[i-1, j] + 1,  d[i, j-1] + 1)

for the first i tokens of the reference r and the first j of the hypothesis h: a substitution (or a
match, if the tokens are equal), a deletion, an insertion. The rate is d[n, m], summed over all
utterances, divided by the number of tokens of all references; it may be above 1.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from deepdive.core.checks import positive, texts
from deepdive.evaluate.confidence_intervals import Interval


class Change(NamedTuple):
    """A reference token (`said`) and the aligned hypothesis token (`written`), or None."""

    said: str | None
    written: str | None


@dataclass(frozen=True)
class Alignment:
    """A reference and a hypothesis, aligned token by token, as in `changes`."""

    changes: tuple[Change, ...]

    @property
    def hits(self) -> int:
        return sum(said == written for said, written in self.changes)

    @property
    def substitutions(self) -> int:
        return len(self.changes) - self.hits - self.deletions - self.insertions

    @property
    def deletions(self) -> int:
        """The number of reference tokens without a hypothesis token."""
        return sum(change.written is None for change in self.changes)

    @property
    def insertions(self) -> int:
        """The number of hypothesis tokens without a reference token."""
        return sum(change.said is None for change in self.changes)

    @property
    def errors(self) -> int:
        """The edit distance."""
        return len(self.changes) - self.hits

    @property
    def length(self) -> int:
        """The number of reference tokens."""
        return len(self.changes) - self.insertions

    def __str__(self) -> str:
        """Return three lines: reference, hypothesis, and S, D or I below each error."""
        columns = []
        for said, written in self.changes:
            kind = (
                " " if said == written else "D" if written is None else "I" if said is None else "S"
            )
            cells = (said or "*", written or "*", kind)
            columns.append([cell.ljust(max(map(len, cells))) for cell in cells])
        return "\n".join(" ".join(row).rstrip() for row in zip(*columns, strict=True))


def alignment(reference: Sequence[str] | str, hypothesis: Sequence[str] | str) -> Alignment:
    """Return the alignment with the minimum edit distance; strings are split into words.

    Of several minimal alignments, it prefers, from the end, a match or substitution to a deletion
    or insertion. Source: Levenshtein 1966; Wagner and Fischer 1974.
    """
    said = reference.split() if isinstance(reference, str) else [*reference]
    written = hypothesis.split() if isinstance(hypothesis, str) else [*hypothesis]
    d = _distances(said, written)
    i, j = len(said), len(written)
    found: list[Change] = []
    while i or j:
        if i and j and d[i, j] == d[i - 1, j - 1] + (said[i - 1] != written[j - 1]):
            i, j = i - 1, j - 1
            found.append(Change(said[i], written[j]))
        elif i and d[i, j] == d[i - 1, j] + 1:
            i -= 1
            found.append(Change(said[i], None))
        else:
            j -= 1
            found.append(Change(None, written[j]))
    return Alignment(tuple(reversed(found)))


def _distances(said: Sequence[str], written: Sequence[str]) -> NDArray[np.int64]:
    """Return d (n + 1, m + 1), computed row by row. With insertions a row is
    min over k <= j of (best[k] + j - k).
    """
    place = np.arange(len(written) + 1)
    numbers = {token: k for k, token in enumerate({*said, *written})}
    columns = np.array([numbers[token] for token in written], np.int64)
    d = np.empty((len(said) + 1, len(written) + 1), np.int64)
    d[0] = place
    for i, token in enumerate(said, 1):
        best = d[i - 1] + 1
        best[1:] = np.minimum(best[1:], d[i - 1, :-1] + (columns != numbers[token]))
        d[i] = np.minimum.accumulate(best - place) + place
    return d


def align_all(
    references: Sequence[str], hypotheses: Sequence[str], *, letters: bool = False
) -> list[Alignment]:
    """Return the alignment of each pair, by words or by characters (including spaces).

    Raises ValueError if the two differ in number, or if all references are empty.
    """
    texts("references", references)
    texts("hypotheses", hypotheses)
    if len(references) != len(hypotheses):
        raise ValueError(
            f"references, hypotheses: got {len(references)} and {len(hypotheses)} texts, expected "
            "equal counts"
        )
    cut = [*zip(references, hypotheses, strict=True)]
    if letters:
        found = [alignment([*said.strip()], [*written.strip()]) for said, written in cut]
    else:
        found = [alignment(said, written) for said, written in cut]
    if not sum(each.length for each in found):
        raise ValueError("references: got no tokens, but the rate is errors / reference tokens")
    return found


def _rate(found: Iterable[Alignment]) -> float:
    errors, length = np.sum([(each.errors, each.length) for each in found], 0)
    return float(errors / length)


def word_error_rate(references: Sequence[str], hypotheses: Sequence[str]) -> float:
    """Return WER: word errors of all texts / words of all references; 0 without errors.

    Raises ValueError as `align_all` does.
    """
    return _rate(align_all(references, hypotheses))


def character_error_rate(references: Sequence[str], hypotheses: Sequence[str]) -> float:
    """Return CER, the character error rate; otherwise as `word_error_rate`."""
    return _rate(align_all(references, hypotheses, letters=True))


def rate_interval(
    alignments: Sequence[Alignment], groups: Sequence[str] | None = None, *,
    less: Sequence[Alignment] | None = None, draws: int = 2000, seed: int = 0,
) -> Interval:  # fmt: skip
    """Return the error rate with its 95 % bootstrap interval over groups.

    groups  the group of each utterance, such as its speaker, whose utterances are resampled
            together because their difficulty is correlated. None: utterances are resampled singly
    less    alignments of another recognizer's output for the same utterances: the interval is then
            for the rate minus the other's, with the same groups in each sample (paired)
    It covers variation over similar speakers (or utterances), not over training seeds.
    Raises ValueError for fewer than two groups. Source: Bisani and Ney 2004.
    """
    positive(draws=draws)
    labels = [*range(len(alignments))] if groups is None else [*groups]
    if len(labels) != len(alignments) or len({*labels}) < 2:
        raise ValueError(
            f"groups: {len({*labels})} for {len(alignments)} texts, expected 2 or more"
        )
    if less is not None and [each.length for each in less] != [each.length for each in alignments]:
        raise ValueError("less: got other utterances, expected alignments of the same ones")
    numbers = {label: k for k, label in enumerate(dict.fromkeys(labels))}
    totals = np.zeros((len(numbers), 2))
    others = [0] * len(labels) if less is None else [each.errors for each in less]
    for label, each, other in zip(labels, alignments, others, strict=True):
        totals[numbers[label]] += each.errors - other, each.length
    rng = np.random.default_rng(seed)
    sums = totals[rng.integers(len(totals), size=(draws, len(totals)))].sum(1)
    sums = sums[sums[:, 1] > 0]
    low, high = np.quantile(sums[:, 0] / sums[:, 1], (0.025, 0.975))
    rate = _rate(alignments) - (0.0 if less is None else _rate(less))
    return Interval(rate, float(low), float(high))


def confusions(
    alignments: Iterable[Alignment], most: int | None = None
) -> list[tuple[Change, int]]:
    """Return each error with its count, most frequent first; None marks a deletion or insertion."""
    counts = Counter(c for each in alignments for c in each.changes if c.said != c.written)
    ordered = sorted(counts.items(), key=lambda item: (-item[1], str(item[0])))
    return ordered[:most]
