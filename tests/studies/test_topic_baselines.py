"""Topics found otherwise than by BERTopic; texts in none given to the nearest topic."""

import numpy as np
import pytest
from scipy.sparse import csr_matrix

from deepdive.topics.class_tfidf import top_words
from deepdive_book.studies import topic_baselines as rivals
from deepdive_book.studies import topic_outliers as outliers


def test_forced_leaves_nobody_out_and_moves_only_those_in_none() -> None:
    labels = np.array([0, 0, 1, 1, -1, -1])
    vectors = np.array([[1, 0], [1, 0], [0, 1], [0, 1], [3, 1], [-1, -2.0]])
    assert outliers.reassign_all(labels, vectors).tolist() == [0, 0, 1, 1, 0, 0]
    assert outliers.reassign_to_nearest(labels, vectors, 0.9).tolist() == [0, 0, 1, 1, 0, -1]
    assert outliers.reassign_to_nearest(labels, vectors, 1.1).tolist() == labels.tolist()


@pytest.mark.parametrize("method", ["lda", "nmf", "k_means"])
def test_rivals_find_topics_that_share_no_word(method: str) -> None:
    rng = np.random.default_rng(1)
    counts = np.zeros((90, 12))
    for row, sort in enumerate(np.repeat(range(3), 30)):
        counts[row, sort * 4 : sort * 4 + 4] = rng.integers(1, 4, 4)
    if method == "k_means":
        labels = rivals.k_means(counts, 3)
    else:
        labels, weights = getattr(rivals, method)(csr_matrix(counts), 3)
        words = top_words(weights, np.arange(12), 4)
        assert sorted(sorted(map(int, one)) for one in words) == [
            list(range(start, start + 4)) for start in (0, 4, 8)
        ]
    assert [len(set(labels[start : start + 30])) for start in (0, 30, 60)] == [1, 1, 1]
    assert len(set(labels)) == 3
