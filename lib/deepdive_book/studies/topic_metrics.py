"""How good are topics? Do their words belong together, are they different, do they come again?

A topic is its words, best first; a document is its words, in their order. Of several topics each
gets its own number: a mean over topics hides the bad ones.
"""

import random
from collections.abc import Iterable, Sequence
from itertools import chain
from typing import Any, NamedTuple

import numpy as np

from deepdive.evaluate.classification_metrics import Real, Whole
from deepdive.evaluate.confidence_intervals import Interval

Words = Sequence[str]
EPSILON = 1e-12  # of C_v: so that a pair that is never together has a logarithm


class Intrusion(NamedTuple):
    """Six words in a drawn order; that at place `answer` does not belong to the topic."""

    words: list[str]
    answer: int
    topic: int


def npmi(topics: Sequence[Words], documents: Iterable[Words]) -> Real:
    """One number a topic (topics,), from -1 to 1: do its words stand in the same documents?

        value[t] = mean over pairs a, b of topics[t] of
            log(p(a, b) / (p(a) p(b))) / -log p(a, b)

    p is the share of the documents that hold the word, or both. 1: always together; 0: as often
    as by chance; -1: never. A word that stands in every document says nothing of any other: its
    pairs count 0, also with another such word, where the formula is 0 / 0.

    Raises ValueError for a word that stands in no document: then nothing is known of its pairs.
    Source: Bouma 2009; as the score of a topic: Lau, Newman and Baldwin 2014.
    """
    together, total, places = _counted(topics, documents, None)
    values = _normalized(together / total)
    upper = [(values[np.ix_(at, at)], np.triu_indices(len(at), 1)) for at in places]
    return np.array([square[pairs].mean() for square, pairs in upper])


def c_v(topics: Sequence[Words], documents: Iterable[Words], window: int = 110) -> Real:
    """One number a topic (topics,), at most 1: do its words keep the same company?

        vector[a] = (npmi(a, b) for b in topics[t])          npmi(a, a) = 1
        value[t]  = mean over a of cos(vector[a], sum over b of vector[b])

    p is the share of windows: every run of `window` words of a document, and a shorter document
    as a whole. To p(a, b) 1e-12 is added, as the authors do, so that a pair that is never together
    is near -1 only where its words are common; see `npmi` for a word that stands in every window.

    Read it beside `npmi`: words that never meet keep the same company, none. Ten words, each in its
    own tenth of the windows, have 0.76, and NPMI -1.

    Source: Röder, Both and Hinneburg 2015, section 3: P_sw(110), S_one-set, m_cos(nlr), mean.
    gensim's `c_v` differs where a word stands twice in one window: when the first leaves, gensim
    takes the word for gone although the second is there.
    """
    if window < 1:
        raise ValueError(f"window: got {window}, expected 1 word or more; the paper has 110")
    together, total, places = _counted(topics, documents, window)
    values = _normalized(together / total, EPSILON)
    return np.array([_cosines_with_sum(values[np.ix_(at, at)]).mean() for at in places])


def diversity(topics: Sequence[Words], first: int = 10) -> float:
    """The share of different words among the first words of all topics; 1: no word stands twice.

        diversity = |union over t of topics[t][:first]| / sum over t of |topics[t][:first]|

    Source: Dieng, Ruiz and Blei 2020, with 25 words.
    """
    _listed("topics", topics)
    if first < 1 or not topics:
        raise ValueError(f"topics, first: got {len(topics)} and {first}, expected 1 or more")
    taken = list(chain.from_iterable(topic[:first] for topic in topics))
    return len(set(taken)) / len(taken)


def best_overlap(a: Any, b: Any) -> Real:
    """For each topic of run `a` (topics of a,): does run `b` of the same documents have it too?

        value[t] = max over u of |a = t and b = u| / |a = t or b = u|

    a, b: (documents,) whole numbers, -1 where a document is in no topic; the values are in the
    order of a's numbers. It is not symmetric: `best_overlap(b, a)` asks what b's topics became.
    Source: the cluster-wise Jaccard coefficient of Hennig 2007.
    """
    one, two = _labels_of("a", a), _labels_of("b", b)
    _as_many("a, b", one, two)
    ours, theirs = (np.unique(labels[labels >= 0]) for labels in (one, two))
    inside = one[:, None] == ours  # (documents, topics of a)
    within = two[:, None] == theirs  # (documents, topics of b)
    both = inside.T.astype(np.int64) @ within  # (topics of a, topics of b)
    either = inside.sum(0)[:, None] + within.sum(0) - both
    return (both / either).max(1, initial=0.0)


def agreement(labels: Any, truth: Any, n: int = 1000, seed: int = 0) -> Interval:
    """Do topics tell of documents what their true labels tell? Adjusted mutual information, with
    the interval of `n` bootstrap samples of the documents.

        value = (MI - E[MI]) / (mean of the two entropies - E[MI])

    1: one to one; 0: as by chance. labels, truth: (documents,), numbers or names. Those in no topic
    (-1) count as one more topic; take them out of both to ask of the others.

    A sample holds documents twice, and these agree with themselves: its value is too high by what
    chance gives. So the interval is that of the samples, moved down by as much as their mean is
    above the value. A hundred samples of 4,000 documents take about a second.
    Source: Vinh, Epps and Bailey 2010; Efron and Tibshirani 1993, section 10.2, on that bias.
    """
    try:
        from sklearn.metrics import adjusted_mutual_info_score as score
    except ModuleNotFoundError as error:
        raise ImportError("scikit-learn is not installed; pip install scikit-learn") from error
    one, two = _numbered(labels), _numbered(truth)
    _as_many("labels, truth", one, two)
    if n < 2 or len(one) < 2:
        raise ValueError(f"n, labels: got {n} and {len(one)}, expected 2 or more")
    value = float(score(two, one))
    draw = np.random.default_rng(seed)
    chosen = (draw.integers(len(one), size=len(one)) for _ in range(n))
    drawn = np.array([score(two[sample], one[sample]) for sample in chosen])
    low, high = np.quantile(drawn, (0.025, 0.975)) - (drawn.mean() - value)
    return Interval(value, float(low), float(high))


def intrusions(topics: Sequence[Words], common: int, rng: random.Random) -> list[Intrusion]:
    """A question for a reader on each topic: which of these six words does not belong?

    Five are the topic's first. The sixth, the intruder, does not stand in the topic's list at all,
    yet is among the first `common` of another: improbable here, but no rare word, which would be
    found by its rareness. So give long lists, of 50 words say; five alone would let a topic's
    sixth word intrude.

    Raises ValueError where no other topic has such a word.
    Source: Chang, Gerrish, Wang, Boyd-Graber and Blei 2009, section 3.1.
    """
    _listed("topics", topics)
    found = []
    for t, topic in enumerate(topics):
        others = (other[:common] for u, other in enumerate(topics) if u != t)
        pool = sorted(set(chain.from_iterable(others)) - set(topic))
        if len(topic) < 5 or not pool:
            raise ValueError(
                f"topics: topic {t} has {len(topic)} words and {len(pool)} intruders, expected 5 "
                f"and 1 or more; give shorter lists, or a larger common (got {common})"
            )
        intruder = rng.choice(pool)
        words = rng.sample([*topic[:5], intruder], 6)
        found.append(Intrusion(words, words.index(intruder), t))
    return found


def _counted(
    topics: Sequence[Words], documents: Iterable[Words], window: int | None
) -> tuple[Real, int, list[Whole]]:
    """How many windows hold both of two words (V, V), how many windows there are, and where each
    topic's words stand in V. Without `window` a document is one.
    """
    _listed("topics", topics)
    for t, topic in enumerate(topics):
        if len(topic) < 2 or len(set(topic)) < len(topic):
            raise ValueError(f"topics: topic {t} is {list(topic)}, expected 2 different words")
    number = {word: i for i, word in enumerate(dict.fromkeys(chain.from_iterable(topics)))}
    together, total = np.zeros((len(number), len(number))), 0
    for document in documents:
        _listed("documents", [document])
        # Of a document only what a topic names is counted: a few of its words, not all of V.
        at = [(place, number[word]) for place, word in enumerate(document) if word in number]
        count = 1 if window is None else max(1, len(document) - window + 1)
        total += count
        if at:
            here, held = _windows(at, len(document), count)
            together[np.ix_(here, here)] += held.T @ held
    if absent := [word for word, i in number.items() if not together[i, i]]:
        raise ValueError(
            f"topics: {absent[:5]} stand in no document; leave them out, or give documents as "
            "lists of words, made in the same way as the topics' words"
        )
    return together, total, [np.array([number[word] for word in topic]) for topic in topics]


def _windows(at: list[tuple[int, int]], length: int, count: int) -> tuple[Whole, Real]:
    """The different words (W,) of `at` (place, word), and which windows hold each (count, W)."""
    places, words = np.array(at).T
    here, column = np.unique(words, return_inverse=True)
    if count == 1:
        return here, np.ones((1, len(here)))
    reach = length - count + 1
    seen = np.zeros((length + 1, len(here)), dtype=np.int32)
    seen[places + 1, column] = 1
    seen = seen.cumsum(0)  # how often a word stands before this place
    return here, (seen[reach:] > seen[:-reach]).astype(np.float64)


def _normalized(joint: Real, epsilon: float = 0.0) -> Real:
    """NPMI (V, V) of p(a, b) (V, V), which has p(a) on its diagonal."""
    single = joint.diagonal()
    with np.errstate(divide="ignore", invalid="ignore"):
        information = np.log(joint + epsilon) - np.log(np.outer(single, single))
        values = information / -np.log(joint + epsilon)
    if not epsilon:
        values[joint == 0] = -1.0  # the limit of p(a, b) towards 0
    always = single == 1
    values[always, :] = values[:, always] = 0.0
    return values


def _cosines_with_sum(vectors: Real) -> Real:
    """cos(row, sum of all rows) of vectors (W, W): (W,). Where one is 0 so is the cosine."""
    whole = vectors.sum(0)
    norms = np.linalg.norm(vectors, axis=1) * np.linalg.norm(whole)
    return np.divide(vectors @ whole, norms, out=np.zeros(len(vectors)), where=norms > 0)


def _listed(name: str, lists: Sequence[Words]) -> None:
    for words in lists:
        if isinstance(words, str):
            raise ValueError(f"{name}: holds the text {words[:40]!r}, expected lists of words")


def _labels_of(name: str, labels: Any) -> Whole:
    found = np.asarray(labels)
    if found.ndim != 1 or not len(found) or not np.issubdtype(found.dtype, np.integer):
        raise ValueError(
            f"{name}: got {found.dtype} of shape {found.shape}, expected the topic's number "
            "of each document (N,), -1 for none"
        )
    return found.astype(np.int64)


def _numbered(labels: Any) -> Whole:
    return np.unique(np.asarray(labels), return_inverse=True)[1]


def _as_many(names: str, one: Whole, two: Whole) -> None:
    if one.shape != two.shape or one.ndim != 1:
        raise ValueError(
            f"{names}: got shapes {one.shape} and {two.shape}, expected one label each for "
            "the same documents"
        )
