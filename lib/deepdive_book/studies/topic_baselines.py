"""Other ways to topics, on the same texts: each gives every text a topic and every topic its words.

LDA (Blei et al. 2003) and NMF (Lee and Seung 1999) start from counts of words, k-means from the
vectors that BERTopic has.
"""

from typing import Any

import numpy as np
from numpy.typing import NDArray

from deepdive.topics.class_tfidf import Labels

Vectors = NDArray[Any]


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
    parts = model.fit_transform(TfidfTransformer().fit_transform(counts))
    return parts.argmax(1), model.components_
