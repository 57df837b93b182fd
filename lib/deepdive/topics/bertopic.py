"""BERTopic: topics are clusters of sentence embeddings, named by the words that are frequent in
their texts and rare elsewhere. Grootendorst 2022, "BERTopic: Neural topic modeling with a
class-based TF-IDF procedure".

The steps come from other packages (UMAP, HDBSCAN, a CountVectorizer); this module combines them and
names the topics. The package `bertopic` is the reference implementation.

Long because it also assigns topics to new texts, and explains why texts have no topics.

System: bertopic
Parent: sbert
What differs:
- UMAP reduces the dimension of text embeddings, preserving neighborhoods (`steps`)
- HDBSCAN finds the clusters; a text in none of them is an outlier, -1 (`TopicModel.labels`)
- the texts of a topic are treated as one document, and a word shared by fewer topics has a larger
  weight (`class_tf_idf`)
- only the reduced points are fitted: BERT's weights are frozen
Source: Grootendorst 2022, section 3; McInnes et al. 2018; Campello et al. 2013.
Book: 3.3.2
"""

from collections.abc import Sequence
from typing import Any, Self

import numpy as np
from numpy.typing import NDArray

from deepdive.topics.class_tfidf import Labels, class_tf_idf, counter, only_words


def steps(
    seed: int = 0, *, min_cluster_size: int = 10, min_samples: int | None = None
) -> tuple[Any, Any]:
    """Return UMAP (to 5 dimensions, 15 neighbors, cosine) and HDBSCAN with the package's settings
    and a seed. min_cluster_size: the minimum number of texts in a topic; min_samples: the number of
    neighbors that make a region dense, by default the same.
    """
    from hdbscan import HDBSCAN
    from umap import UMAP

    small = UMAP(
        n_neighbors=15, n_components=5, min_dist=0.0, metric="cosine", random_state=seed, n_jobs=1
    )
    return small, HDBSCAN(min_cluster_size, min_samples=min_samples, prediction_data=True)


def by_size(labels: Labels) -> Labels:
    """Renumber the topics by size: 0 is the largest; -1 stays. Equal sizes keep their order."""
    found, sizes = np.unique(labels[labels >= 0], return_counts=True)
    rank = {old: new for new, old in enumerate(found[np.argsort(-sizes, kind="stable")])}
    return np.array([rank.get(label, -1) for label in labels], dtype=np.int64)


FEW = 60  # the suggested minimum of texts for the cluster sizes used here: measured, not a law


class TopicModel:
    """Topic model: texts, vectors (N, d) -> labels (N,) = by_size(cluster(reduce(vectors))).

    reduce has `fit_transform` and `transform`, cluster `fit_predict` (-1: outlier), count is a
    CountVectorizer. After `fit`: `labels`, `points` (N, r), `topics` (sorted, including -1 if there
    are outliers), `counts` and `weights` (one row per topic), `vocabulary` (V,).
    """

    def __init__(self, reduce: Any, cluster: Any, count: Any = None) -> None:
        self.reduce, self.cluster = reduce, cluster
        self.count = counter() if count is None else count

    def fit(self, texts: Sequence[str], vectors: NDArray[Any]) -> Self:
        """Find the topics. Raises ValueError, with the reason, if the texts have none."""
        check_texts(texts, vectors)
        self.points = self.reduce.fit_transform(vectors)
        self.raw: Labels = np.asarray(self.cluster.fit_predict(self.points))
        if (self.raw < 0).all():
            raise ValueError(
                f"texts: no topics were found in {len(texts)} texts, all are outliers; give at "
                f"least {FEW} (of arXiv's abstracts 20 to 50 had none, 60 had two), or split long "
                "ones into paragraphs"
            )
        return self.name(texts, by_size(self.raw))

    def name(self, texts: Sequence[str], labels: Labels) -> Self:
        """Assign `labels` to `texts`, and compute the words of each topic."""
        self.labels, self.topics = labels, np.unique(labels)
        of_topic = [np.flatnonzero(labels == t).tolist() for t in self.topics]
        joined = [" ".join(texts[i] for i in rows) for rows in of_topic]
        self.counts = self.count.fit_transform([only_words(text) for text in joined])
        self.vocabulary = self.count.get_feature_names_out()
        self.weights = class_tf_idf(self.counts)
        return self

    def words(self, topic: int, n: int = 10) -> list[str]:
        """Return the n words with the largest weight in a topic (-1: the outliers)."""
        row = self.weights.tocsr()[int(np.flatnonzero(self.topics == topic)[0])].toarray().ravel()
        best = np.argsort(-row, kind="stable")[:n]
        return [str(self.vocabulary[i]) for i in best if row[i] > 0]

    def predict(self, vectors: NDArray[Any]) -> Labels:
        """Return the topics (M,) of new texts, from their points relative to the fitted ones."""
        from hdbscan import approximate_predict

        found, _ = approximate_predict(self.cluster, self.reduce.transform(vectors))
        new = dict(zip(self.raw, self.labels, strict=True))
        return np.array([new.get(label, -1) for label in found], dtype=np.int64)


def check_texts(texts: Sequence[str], vectors: NDArray[Any], fewest: int = 20) -> None:
    """Raise ValueError if the texts are too few, too similar, empty, or without vectors."""
    if isinstance(texts, str) or len(texts) != len(vectors):
        n = 1 if isinstance(texts, str) else len(texts)
        raise ValueError(f"texts: {n} with {len(vectors)} vectors; give one vector per text")
    if empty := [i for i, text in enumerate(texts) if not text.strip()]:
        raise ValueError(f"texts: {len(empty)} are empty, the first at {empty[0]}: drop them")
    if (n_distinct := len(set(texts))) < fewest:
        raise ValueError(
            f"texts: got {len(texts)}, {n_distinct} of them different; a topic is a dense cluster "
            f"among many, so give at least {fewest} different ones, or split long ones"
        )
