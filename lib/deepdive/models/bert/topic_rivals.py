"""Other ways to topics, on the same texts: each gives every text a topic and every topic its words.

LDA (Blei et al. 2003) and NMF (Lee and Seung 1999) start from counts of words, k-means from the
vectors that BERTopic has. `forced` gives BERTopic's texts without a topic to the nearest one, so
that all methods answer for all texts; `given_back` does so only where they are near enough.
"""

from typing import Any

import numpy as np
from numpy.typing import NDArray

from deepdive.models.bert.topics import Labels, class_tf_idf

Vectors = NDArray[Any]


def top_words(weights: Any, vocabulary: Vectors, n: int = 10) -> list[list[str]]:
    """Return the n words of the greatest weight in each row of weights (K, V)."""
    dense = weights.toarray() if hasattr(weights, "toarray") else np.asarray(weights)
    return [[str(vocabulary[i]) for i in np.argsort(-row, kind="stable")[:n]] for row in dense]


def words_of(labels: Labels, counts: Any, vocabulary: Vectors, n: int = 10) -> list[list[str]]:
    """Return the words of each topic from 0, by `class_tf_idf` of the counts (N, V) of its texts;
    texts in none are counted as one topic more, as BERTopic does.
    """
    rows = [np.asarray(counts[labels == t].sum(0)).ravel() for t in np.unique(labels)]
    from scipy.sparse import csr_matrix

    weights = class_tf_idf(csr_matrix(np.stack(rows)))
    return top_words(weights, vocabulary, n)[int((labels < 0).any()) :]


def k_means(vectors: Vectors, k: int, seed: int = 0) -> Labels:
    """Return the nearest of k means for each vector: least sum of squared distances, ten starts."""
    from sklearn.cluster import KMeans

    return np.asarray(KMeans(k, n_init=10, random_state=seed).fit_predict(vectors), dtype=np.int64)


def lda(counts: Any, k: int, seed: int = 0, starts: int = 3) -> tuple[Labels, Vectors]:
    """Return each text's likeliest topic of latent Dirichlet allocation (variational Bayes, 20
    passes), and the weights of words in each topic (k, V). It can end with two topics in one, so of
    several starts the one of the least perplexity is kept.
    """
    from sklearn.decomposition import LatentDirichletAllocation

    models = [
        LatentDirichletAllocation(k, max_iter=20, random_state=starts * seed + start).fit(counts)
        for start in range(starts)
    ]
    best = min(models, key=lambda model: model.bound_)
    return best.transform(counts).argmax(1), best.components_


def nmf(counts: Any, k: int, seed: int = 0) -> tuple[Labels, Vectors]:
    """Return each text's greatest part in X = W H, W, H >= 0, of its TF-IDF, and H (k, V)."""
    from sklearn.decomposition import NMF
    from sklearn.feature_extraction.text import TfidfTransformer

    model = NMF(k, init="nndsvda", max_iter=400, random_state=seed)
    return model.fit_transform(TfidfTransformer().fit_transform(counts)).argmax(
        1
    ), model.components_


def similarities(labels: Labels, vectors: Vectors) -> Vectors:
    """Return the cosine of each text with the mean vector of each topic from 0, (N, K)."""
    means = np.stack([vectors[labels == t].mean(0) for t in range(labels.max() + 1)])
    units = vectors / np.linalg.norm(vectors, axis=1, keepdims=True)
    return units @ (means / np.linalg.norm(means, axis=1, keepdims=True)).T


def given_back(labels: Labels, vectors: Vectors, least: float) -> Labels:
    """Return the labels with those texts of none, whose cosine with the nearest topic's mean is
    `least` or more, in that topic.
    """
    near = similarities(labels, vectors)
    return np.where((labels < 0) & (near.max(1) >= least), near.argmax(1), labels)


def forced(labels: Labels, vectors: Vectors) -> Labels:
    """Return the labels with every text in a topic: those of none go to the nearest mean."""
    return given_back(labels, vectors, -1.0)
