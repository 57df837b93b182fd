"""Words that name a topic: frequent in its texts, rare in all together (class-based TF-IDF).

Source: Grootendorst 2022, section 3.3.
"""

import re
from typing import Any

import numpy as np
from numpy.typing import NDArray

Labels = NDArray[np.int64]


def class_tf_idf(counts: Any) -> Any:
    """Return the weight of each word in each topic, W (C, V), sparse.

    W[c, w] = counts[c, w] / sum_v counts[c, v] * log(1 + A / f[w]), where f[w] is how often the
    word comes in all topics together and A how many words a topic has on average, rounded down
    as the package does. counts: sparse (C, V), the words of each topic's texts together.
    """
    from scipy.sparse import diags

    words = np.asarray(counts.sum(1)).ravel()  # (C,)
    often = np.asarray(counts.sum(0)).ravel()  # (V,)
    rare = np.log1p(int(words.mean()) / np.maximum(often, 1))
    return diags(1 / np.maximum(words, 1)) @ counts @ diags(rare)


def counter(ngrams: tuple[int, int] = (1, 1), min_df: int = 1) -> Any:
    """Return what counts words: runs of `ngrams` words, English stop words left out."""
    from sklearn.feature_extraction.text import CountVectorizer

    return CountVectorizer(stop_words="english", ngram_range=ngrams, min_df=min_df)


def only_words(text: str) -> str:
    """Return a text without what is no English letter, digit or blank, as the package does."""
    return re.sub(r"[^A-Za-z0-9 ]+", "", re.sub(r"[\n\t]", " ", text)) or "emptydoc"


def top_words(weights: Any, vocabulary: Any, n: int = 10) -> list[list[str]]:
    """Return the n words of the greatest weight in each row of weights (K, V)."""
    dense = weights.toarray() if hasattr(weights, "toarray") else np.asarray(weights)
    return [[str(vocabulary[i]) for i in np.argsort(-row, kind="stable")[:n]] for row in dense]


def words_of(labels: Labels, counts: Any, vocabulary: Any, n: int = 10) -> list[list[str]]:
    """Return the words of each topic from 0, by `class_tf_idf` of the counts (N, V) of its texts;
    texts in none are counted as one topic more, as BERTopic does.
    """
    from scipy.sparse import csr_matrix

    rows = [np.asarray(counts[labels == t].sum(0)).ravel() for t in np.unique(labels)]
    weights = class_tf_idf(csr_matrix(np.stack(rows)))
    return top_words(weights, vocabulary, n)[int((labels < 0).any()) :]
