"""Class-based TF-IDF: words that are frequent in a topic's texts and rare in the others.

Source: Grootendorst 2022, section 3.3.
"""

import re
from typing import Any

import numpy as np
from numpy.typing import NDArray

Labels = NDArray[np.int64]


def class_tf_idf(counts: Any) -> Any:
    """Return the weight of each word in each topic, W (C, V), sparse.

    W[c, w] = counts[c, w] / sum_v counts[c, v] * log(1 + A / f[w]), where f[w] is the word's count
    in all topics and A the average number of words per topic, rounded down as in the package.
    counts: sparse (C, V), the word counts of each topic's texts together.
    """
    from scipy.sparse import diags

    words = np.asarray(counts.sum(1)).ravel()  # (C,)
    often = np.asarray(counts.sum(0)).ravel()  # (V,)
    rare = np.log1p(int(words.mean()) / np.maximum(often, 1))
    return diags(1 / np.maximum(words, 1)) @ counts @ diags(rare)


def counter(ngrams: tuple[int, int] = (1, 1), min_df: int = 1) -> Any:
    """Return a CountVectorizer of n-grams (`ngrams`: min, max n) without English stop words."""
    from sklearn.feature_extraction.text import CountVectorizer

    return CountVectorizer(stop_words="english", ngram_range=ngrams, min_df=min_df)


def only_words(text: str) -> str:
    """Remove all characters but English letters, digits and spaces, as in the package."""
    return re.sub(r"[^A-Za-z0-9 ]+", "", re.sub(r"[\n\t]", " ", text)) or "emptydoc"


def top_words(weights: Any, vocabulary: Any, n: int = 10) -> list[list[str]]:
    """Return the n words with the largest weight in each row of weights (K, V)."""
    dense = weights.toarray() if hasattr(weights, "toarray") else np.asarray(weights)
    return [[str(vocabulary[i]) for i in np.argsort(-row, kind="stable")[:n]] for row in dense]


def words_of(labels: Labels, counts: Any, vocabulary: Any, n: int = 10) -> list[list[str]]:
    """Return the words of each topic from 0, by `class_tf_idf` of its texts' counts (N, V);
    outliers are counted as one more topic, as in BERTopic.
    """
    from scipy.sparse import csr_matrix

    rows = [np.asarray(counts[labels == t].sum(0)).ravel() for t in np.unique(labels)]
    weights = class_tf_idf(csr_matrix(np.stack(rows)))
    return top_words(weights, vocabulary, n)[int((labels < 0).any()) :]
