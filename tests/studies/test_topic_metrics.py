"""Scores of topics: by hand, against gensim and scikit-learn, at their limits, by simulation."""

from __future__ import annotations

import math
import random
from itertools import combinations

import numpy as np
import pytest
from gensim.corpora import Dictionary
from gensim.models import CoherenceModel
from sklearn.metrics import adjusted_mutual_info_score

from deepdive_book.studies.topic_metrics import (
    agreement,
    best_overlap,
    c_v,
    diversity,
    intrusions,
    npmi,
)

WORDS = [f"w{i}" for i in range(60)]
FOUR = [["a", "b"], ["a", "b", "x"], ["a", "c"], ["x", "c"]]  # by hand: p(a) = 3/4, p(b) = 1/2 ...


def drawn(seed: int = 0, n: int = 300) -> tuple[list[list[str]], list[list[str]]]:
    """Six topics of eight words, and documents of 1 to 60 words, none of which repeats a word."""
    draw = random.Random(seed)
    documents = [draw.sample(WORDS, draw.randint(1, 60)) for _ in range(n)]
    return [draw.sample(WORDS, 8) for _ in range(6)], documents


def gensim(
    topics: list[list[str]], documents: list[list[str]], kind: str, window: int
) -> np.ndarray:
    model = CoherenceModel(
        topics=topics, texts=documents, dictionary=Dictionary(documents), coherence=kind,
        window_size=window, processes=1, topn=len(topics[0]),
    )  # fmt: skip
    return np.array(model.get_coherence_per_topic())


def by_windows(topic: list[str], documents: list[list[str]], window: int) -> float:
    """C_v of one topic as its equation stands, window by window."""
    runs = [
        set(document[i : i + window])
        for document in documents
        for i in range(max(1, len(document) - window + 1))
    ]

    def p(*words: str) -> float:
        return sum(run.issuperset(words) for run in runs) / len(runs)

    def one(a: str, b: str) -> float:
        return math.log((p(a, b) + 1e-12) / (p(a) * p(b))) / -math.log(p(a, b) + 1e-12)

    vectors = np.array([[one(a, b) for b in topic] for a in topic])
    whole = vectors.sum(0)
    norms = np.linalg.norm(vectors, axis=1) * np.linalg.norm(whole)
    return float((vectors @ whole / norms).mean())


# -- npmi


def test_npmi_by_hand() -> None:
    # p(a) = 3/4, p(b) = 1/2, p(a, b) = 1/2: log((1/2) / (3/8)) / -log(1/2)
    ab = math.log(4 / 3) / math.log(2)
    # p(a, c) = 1/4 of 3/4 and 1/2: log((1/4) / (3/8)) / -log(1/4); b and c never meet
    ac = math.log(2 / 3) / math.log(4)
    found = npmi([["a", "b"], ["a", "b", "c"], ["b", "c"]], FOUR)
    np.testing.assert_allclose(found, [ab, (ab + ac - 1) / 3, -1.0], rtol=0, atol=1e-15)


def test_npmi_at_its_limits() -> None:
    always = [["a", "b"], ["a", "b"], ["c"]]
    assert npmi([["a", "b"]], always) == pytest.approx([1.0], abs=1e-15)
    assert npmi([["a", "c"]], always) == [-1.0]
    apart = [["a", "b"], ["a"], ["b"], []]  # p(a) p(b) = p(a, b)
    assert npmi([["a", "b"]], apart) == pytest.approx([0.0], abs=1e-15)


def test_a_word_of_every_document_says_nothing() -> None:
    documents = [["the", "of", "a"], ["of", "the"], ["the", "of", "b"]]
    assert npmi([["the", "a"], ["the", "of"]], documents).tolist() == [0.0, 0.0]
    # ... nor does it hide what the others say: a and b never meet.
    assert npmi([["the", "a", "b"]], documents) == pytest.approx([-1 / 3])


def test_npmi_counts_documents_not_words() -> None:
    twice = [document * 3 for document in FOUR]
    topics = [["a", "b", "c"]]
    assert npmi(topics, twice) == npmi(topics, FOUR) == npmi(topics, iter(FOUR))
    assert npmi(topics, FOUR * 7) == pytest.approx(npmi(topics, FOUR), abs=1e-12)


def test_npmi_is_gensims_where_pairs_meet() -> None:
    topics, documents = drawn()
    # Windows as long as the longest document are documents; gensim adds 1e-12 to p(a, b).
    expected = gensim(topics, documents, "c_npmi", 60)
    np.testing.assert_allclose(npmi(topics, documents), expected, rtol=0, atol=1e-10)


# -- c_v


@pytest.mark.parametrize("window", [1, 2, 5, 30, 59, 60, 110])
def test_c_v_is_gensims_where_no_word_stands_twice(window: int) -> None:
    topics, documents = drawn()
    expected = gensim(topics, documents, "c_v", window)
    np.testing.assert_allclose(c_v(topics, documents, window), expected, rtol=0, atol=1e-12)


@pytest.mark.parametrize("window", [1, 3, 7, 50])
def test_c_v_is_its_equation_where_words_stand_twice(window: int) -> None:
    draw = random.Random(1)
    documents = [draw.choices(WORDS[:12], k=draw.randint(0, 40)) for _ in range(60)]
    topics = [draw.sample(WORDS[:12], 5) for _ in range(4)]
    expected = [by_windows(topic, documents, window) for topic in topics]
    np.testing.assert_allclose(c_v(topics, documents, window), expected, rtol=0, atol=1e-12)


REPEATED = [["a", "a", "b"], ["b", "x"], ["x", "x"]]  # windows of 2: {a}, {a, b}, {b, x}, {x}


def test_c_v_by_hand_where_a_word_stands_twice() -> None:
    # p(a) = p(b) = 2/4, p(a, b) = 1/4: independent, so the vectors are (1, 0) and (0, 1), and
    # their sum (1, 1) is 45 degrees from both.
    assert c_v([["a", "b"]], REPEATED, window=2) == pytest.approx([math.sqrt(1 / 2)], abs=1e-9)


def test_gensim_forgets_the_second_copy() -> None:
    # Its second window of "a a b" has lost a with the first copy: p(a) = 1/4, and a never meets b.
    a = math.log((1e-12) / (1 / 8)) / -math.log(1e-12)
    vectors = np.array([[1.0, a], [a, 1.0]])
    cosine = (
        vectors[0] @ vectors.sum(0) / np.linalg.norm(vectors[0]) / np.linalg.norm(vectors.sum(0))
    )
    assert gensim([["a", "b"]], REPEATED, "c_v", 2) == pytest.approx([cosine], abs=1e-9)
    assert abs(cosine - math.sqrt(1 / 2)) > 0.5


def test_a_document_shorter_than_the_window_is_one() -> None:
    topics = [["a", "b", "c"]]
    longest = max(map(len, FOUR))
    for window in (longest, 110):
        assert c_v(topics, FOUR, window) == pytest.approx([by_windows(topics[0], FOUR, 99)])
    # An empty document is a window too: without it a and b are in every one, and say nothing.
    both = [["a", "b"], ["b", "a"]]
    assert c_v([["a", "b"]], both).tolist() == [0.0]
    assert c_v([["a", "b"]], [*both, []]) == pytest.approx([1.0])


def test_c_v_praises_words_that_never_meet() -> None:
    """Each vector has 1 at its own word and the same `apart` at all others; so has their sum."""
    ten = [[word] for word in WORDS[:10]]
    apart = math.log(1e-12 / 0.01) / -math.log(1e-12)  # -0.83
    cosine = -(1 + 9 * apart) / math.sqrt(10 * (1 + 9 * apart**2))
    assert c_v([WORDS[:10]], ten) == pytest.approx([cosine], abs=1e-9)
    assert round(cosine, 2) == 0.76
    assert npmi([WORDS[:10]], ten) == [-1.0]


def test_words_of_one_subject_cohere_more_than_words_of_all() -> None:
    from deepdive.data.subjects import WORDS as SUBJECTS
    from deepdive.data.subjects import generated_subjects

    documents = [text.split() for text in generated_subjects(400).texts]
    own = [words.split()[:8] for words in SUBJECTS.values()]
    mixed = [list(row) for row in zip(*own, strict=True)]
    for score in (npmi, c_v):
        assert score(own, documents).min() > score(mixed, documents).max() + 0.1


# -- the others


def test_diversity_by_hand() -> None:
    topics = [["a", "b", "c"], ["a", "d", "e"], ["f", "b"]]
    assert diversity(topics) == 6 / 8
    assert diversity(topics, first=1) == 2 / 3
    assert diversity([["a", "b"]] * 4) == 1 / 4
    assert diversity([["a"], ["b"]]) == 1.0


def test_best_overlap_by_hand() -> None:
    a = [0, 0, 0, 1, 1, 4, -1, -1]
    b = [7, 7, 2, 2, 2, -1, 2, -1]
    # topic 0: {0, 1, 2} with 7 = {0, 1}: 2/3. 1: {3, 4} with 2 = {2, 3, 4, 6}: 2/4. 4: nowhere.
    assert best_overlap(a, b).tolist() == [2 / 3, 2 / 4, 0.0]
    assert best_overlap(b, a).tolist() == [2 / 4, 2 / 3]
    assert best_overlap(np.array(a), [-1] * 8).tolist() == [0.0, 0.0, 0.0]
    assert best_overlap([-1, -1], [0, 1]).tolist() == []


def test_best_overlap_does_not_see_the_numbers_of_topics() -> None:
    labels = np.random.default_rng(0).integers(-1, 6, size=200)
    renamed = np.where(labels < 0, -1, 10 - labels)
    assert best_overlap(labels, renamed).tolist() == [1.0] * 6


def test_agreement_is_scikit_learns_and_its_interval_holds_it() -> None:
    draw = np.random.default_rng(0)
    truth = draw.integers(4, size=300)
    labels = np.where(draw.random(300) < 0.7, truth, draw.integers(-1, 6, size=300))
    found = agreement(labels, [f"subject {t}" for t in truth], n=100)
    assert found.value == pytest.approx(adjusted_mutual_info_score(truth, labels), abs=1e-12)
    assert found.low < found.value < found.high
    assert found == agreement(labels.tolist(), truth, n=100)
    assert found != agreement(labels, truth, n=100, seed=1)


def test_agreement_at_its_limits() -> None:
    truth = np.arange(120) % 3
    assert agreement(5 - truth, truth, n=50) == pytest.approx((1.0, 1.0, 1.0), abs=1e-12)
    assert abs(agreement(np.arange(120) // 40, truth, n=50).value) < 0.02


def test_the_interval_of_agreement_holds_chance_about_as_often_as_it_says() -> None:
    """Without the move down hardly any would: a sample's doubles agree with themselves."""
    held = 0
    for seed in range(15):
        draw = np.random.default_rng(seed)
        labels, truth = draw.integers(8, size=150), draw.integers(6, size=150)
        found = agreement(labels, truth, n=30, seed=seed)
        held += found.low <= 0 <= found.high
    assert held >= 12


def test_intrusions_ask_for_a_word_that_is_common_elsewhere() -> None:
    topics = [[f"{name}{i}" for i in range(20)] for name in "abc"]
    topics[0][12] = "b0"  # first in the second topic, yet also in this one: no intruder here
    asked = intrusions(topics, 3, random.Random(0))
    assert [question.topic for question in asked] == [0, 1, 2]
    places = set()
    for seed in range(40):
        for question in intrusions(topics, 3, random.Random(seed)):
            topic, intruder = topics[question.topic], question.words[question.answer]
            assert len(set(question.words)) == 6
            assert set(question.words) - {intruder} == set(topic[:5])
            assert intruder not in topic
            assert any(intruder in other[:3] for other in topics)
            places.add(question.answer)
    assert places == set(range(6))
    assert intrusions(topics, 3, random.Random(0)) == asked


def test_every_pair_counts_once() -> None:
    """The mean over a topic's pairs is that over topics of two."""
    topics, documents = drawn(2, 80)
    pairs = [list(pair) for pair in combinations(topics[0], 2)]
    mean = npmi(pairs, documents).mean()
    assert npmi(topics[:1], documents) == pytest.approx([mean], abs=1e-12)


def test_what_does_not_fit_is_refused() -> None:
    with pytest.raises(ValueError, match=r"topics: \['z'\] stand in no document; leave them out"):
        npmi([["a", "z"]], FOUR)
    with pytest.raises(ValueError, match="documents: holds the text 'a b', expected lists of"):
        c_v([["a", "b"]], ["a b"])
    with pytest.raises(ValueError, match="topics: holds the text 'a b'"):
        npmi(["a b"], FOUR)
    with pytest.raises(ValueError, match=r"topic 1 is \['a', 'a'\], expected 2 different words"):
        npmi([["a", "b"], ["a", "a"]], FOUR)
    with pytest.raises(ValueError, match="topic 0 is"):
        c_v([["a"]], FOUR)
    with pytest.raises(ValueError, match="window: got 0"):
        c_v([["a", "b"]], FOUR, 0)
    with pytest.raises(ValueError, match="got 0 and 10, expected 1 or more"):
        diversity([])
    with pytest.raises(ValueError, match=r"b: got <U1.*-1 for none"):
        best_overlap([0, 1], ["x", "y"])
    with pytest.raises(ValueError, match=r"shapes \(2,\) and \(3,\), expected one label each"):
        best_overlap([0, 1], [0, 1, 2])
    with pytest.raises(ValueError, match="expected one label each"):
        agreement([0, 1], ["a"])
    with pytest.raises(ValueError, match="got 1 and 2, expected 2 or more"):
        agreement([0, 1], ["a", "b"], n=1)
    with pytest.raises(ValueError, match="topic 0 has 3 words and 1 intruders"):
        intrusions([["a", "b", "c"], ["d"]], 1, random.Random(0))
    with pytest.raises(ValueError, match="a larger common"):
        intrusions([list("abcde"), list("edcba")], 5, random.Random(0))
