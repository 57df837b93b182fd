"""BERTopic: topics are dense places among sentence vectors, named by the words that are frequent
there and rare elsewhere. Grootendorst 2022, "BERTopic: Neural topic modeling with a class-based
TF-IDF procedure".

The steps are others' (UMAP, HDBSCAN, a counter of words); how they are joined, and what names a
topic, stands here. The package `bertopic` is the oracle.

Long because it also assigns new texts, and says what is wrong with texts that have no topics.

System: bertopic
Parent: sbert
What differs:
- vectors of whole texts are made small by UMAP, which keeps neighbours together (`steps`)
- HDBSCAN finds the dense places; a text in none of them has no topic, -1 (`TopicModel.labels`)
- all texts of a topic are counted as one, and a word counts more the fewer topics share it
  (`class_tf_idf`)
- nothing is trained but the place of the points: BERT's weights stay as they are
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
    """Return UMAP (to 5 dimensions, 15 neighbours, by cosine) and HDBSCAN, with the package's
    settings and a seed. min_cluster_size: texts that make a topic; min_samples: neighbours that a
    text needs near it, None: as many.
    """
    from hdbscan import HDBSCAN
    from umap import UMAP

    small = UMAP(
        n_neighbors=15, n_components=5, min_dist=0.0, metric="cosine", random_state=seed, n_jobs=1
    )
    return small, HDBSCAN(min_cluster_size, min_samples=min_samples, prediction_data=True)


def by_size(labels: Labels) -> Labels:
    """Number the topics anew: 0 is the largest; -1 stays. Equal sizes keep their order."""
    found, sizes = np.unique(labels[labels >= 0], return_counts=True)
    rank = {old: new for new, old in enumerate(found[np.argsort(-sizes, kind="stable")])}
    return np.array([rank.get(label, -1) for label in labels], dtype=np.int64)


FEW = 60  # texts, with the sizes of clusters used here: measured, not a law


class TopicModel:
    """texts, vectors (N, d) -> labels (N,): by_size(cluster(reduce(vectors))), -1 = in no topic.

    reduce has `fit_transform` and `transform`, cluster `fit_predict` (-1: in none), count is a
    CountVectorizer. After `fit`: `labels`, `points` (N, r), `topics` (those that there are, -1 too
    where a text is in none), `counts` and `weights` (a row a topic), `vocabulary` (V,).
    """

    def __init__(self, reduce: Any, cluster: Any, count: Any = None) -> None:
        self.reduce, self.cluster = reduce, cluster
        self.count = counter() if count is None else count

    def fit(self, texts: Sequence[str], vectors: NDArray[Any]) -> Self:
        """Find the topics. Raises ValueError for texts that cannot have any, saying why."""
        check_texts(texts, vectors)
        self.points = self.reduce.fit_transform(vectors)
        self.raw: Labels = np.asarray(self.cluster.fit_predict(self.points))
        if (self.raw < 0).all():
            raise ValueError(
                f"texts: no topics were found in {len(texts)} texts, each is in none; give at "
                f"least {FEW} (of arXiv's abstracts 20 to 50 had none, 60 had two), or cut long "
                "ones into paragraphs"
            )
        return self.name(texts, by_size(self.raw))

    def name(self, texts: Sequence[str], labels: Labels) -> Self:
        """Give `texts` these labels, and find the words of each topic."""
        self.labels, self.topics = labels, np.unique(labels)
        of_topic = [np.flatnonzero(labels == t).tolist() for t in self.topics]
        joined = [" ".join(texts[i] for i in rows) for rows in of_topic]
        self.counts = self.count.fit_transform([only_words(text) for text in joined])
        self.vocabulary = self.count.get_feature_names_out()
        self.weights = class_tf_idf(self.counts)
        return self

    def words(self, topic: int, n: int = 10) -> list[str]:
        """Return the n words of the greatest weight in a topic (-1: in the texts of none)."""
        row = self.weights.tocsr()[int(np.flatnonzero(self.topics == topic)[0])].toarray().ravel()
        best = np.argsort(-row, kind="stable")[:n]
        return [str(self.vocabulary[i]) for i in best if row[i] > 0]

    def predict(self, vectors: NDArray[Any]) -> Labels:
        """Return the topics of new texts, (M,): where their points fall among the old ones."""
        from hdbscan import approximate_predict

        found, _ = approximate_predict(self.cluster, self.reduce.transform(vectors))
        new = dict(zip(self.raw, self.labels, strict=True))
        return np.array([new.get(label, -1) for label in found], dtype=np.int64)


def check_texts(texts: Sequence[str], vectors: NDArray[Any], fewest: int = 20) -> None:
    """Raise ValueError for texts that have no topics: too few, all the same, empty, no vectors."""
    if isinstance(texts, str) or len(texts) != len(vectors):
        many = 1 if isinstance(texts, str) else len(texts)
        raise ValueError(f"texts: {many} with {len(vectors)} vectors; give one vector a text")
    if empty := [i for i, text in enumerate(texts) if not text.strip()]:
        raise ValueError(f"texts: {len(empty)} are empty, the first at {empty[0]}: leave them out")
    if (different := len(set(texts))) < fewest:
        raise ValueError(
            f"texts: {len(texts)} came, {different} of them different; a topic is a dense place "
            f"among many, so give {fewest} different ones or more, or cut long ones into paragraphs"
        )
