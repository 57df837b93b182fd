"""BERTopic from its steps: the same topics and weights as the package's, and what is refused."""

import numpy as np
import pytest
from scipy.sparse import csr_matrix

from deepdive.topics.bertopic import TopicModel, by_size, steps
from deepdive.topics.class_tfidf import class_tf_idf, counter, only_words, words_of

THINGS = ("river boat water bank", "bread soup oven flour", "violin piano choir song")


def texts_and_vectors(n: int = 150) -> tuple[list[str], np.ndarray]:
    """Three sorts of texts, and for each sort vectors about one direction; a tenth anywhere."""
    rng = np.random.default_rng(0)
    sort = rng.integers(0, 3, n)
    texts = [
        " ".join(rng.choice(THINGS[s].split(), 4)) + f", text {i}!" for i, s in enumerate(sort)
    ]
    vectors = np.eye(3, 16)[sort] * 4 + rng.normal(size=(n, 16)) * 0.4
    vectors[:: n // 10] = rng.normal(size=(len(vectors[:: n // 10]), 16)) * 3
    return texts, vectors.astype(np.float32)


@pytest.fixture(scope="module")
def fitted() -> tuple[TopicModel, list[str], np.ndarray]:
    texts, vectors = texts_and_vectors()
    return TopicModel(*steps(3)).fit(texts, vectors), texts, vectors


def test_topics_words_and_weights_are_the_packages(fitted) -> None:
    from bertopic import BERTopic

    ours, texts, vectors = fitted
    small, dense = steps(3)
    theirs = BERTopic(umap_model=small, hdbscan_model=dense, vectorizer_model=counter())
    labels, _ = theirs.fit_transform(texts, vectors)
    assert len(set(labels)) >= 3
    assert (labels == ours.labels).all()
    difference = abs(theirs.c_tf_idf_ - ours.weights)
    assert difference.max() < 1e-6
    assert list(theirs.vectorizer_model.get_feature_names_out()) == list(ours.vocabulary)
    for topic in range(ours.labels.max() + 1):
        own = dict(theirs.get_topic(topic))
        assert set(ours.words(topic, 4)) == set(list(own)[:4])


def test_class_tf_idf_by_hand() -> None:
    # two topics of 4 and 2 words: A = 3; the first word comes 4 times in all, the second twice
    weights = class_tf_idf(csr_matrix(np.array([[4, 0], [0, 2]]))).toarray()
    assert weights == pytest.approx(np.diag([np.log(1 + 3 / 4), np.log(1 + 3 / 2)]))


def test_a_word_of_all_topics_counts_less_than_one_of_its_own() -> None:
    shared, own = class_tf_idf(csr_matrix(np.array([[3, 3, 0], [3, 0, 3]]))).toarray()[0, :2]
    assert shared < own


def test_topics_are_numbered_by_size() -> None:
    assert by_size(np.array([7, -1, 2, 2, 7, 2])).tolist() == [1, -1, 0, 0, 1, 0]


def test_new_texts_go_where_their_like_are(fitted) -> None:
    ours, _, vectors = fitted
    again = ours.predict(vectors)
    assert (again == ours.labels).mean() > 0.9


def test_old_texts_keep_their_numbers_where_the_clusterer_counts_otherwise() -> None:
    texts, vectors = texts_and_vectors()
    model = TopicModel(*steps(3)).fit(texts, vectors)
    raw_of = {}
    for raw, label in zip(model.raw, model.labels, strict=True):
        assert raw_of.setdefault(label, raw) == raw


def test_punctuation_is_left_out_and_nothing_is_a_word() -> None:
    assert only_words("a-b\tc.\n") == "ab c "
    assert only_words("!?") == "emptydoc"


@pytest.mark.parametrize(
    ("texts", "said"),
    [
        (["one text"], "or split long ones"),
        (["the same"] * 60, "1 of them different"),
        ([f"text {i}" for i in range(59)] + ["  "], "the first at 59"),
        ("a text that is no list", "texts: 1 with"),
    ],
)
def test_texts_without_topics_are_refused(texts, said: str) -> None:
    with pytest.raises(ValueError, match=said):
        TopicModel(*steps()).fit(texts, np.zeros((len(texts), 8)))


def test_words_of_labels_are_those_of_the_model(fitted) -> None:
    ours, texts, _ = fitted
    count = counter().fit([only_words(text) for text in texts])
    rows = count.transform([only_words(text) for text in texts])
    words = words_of(ours.labels, rows, count.get_feature_names_out(), 4)
    assert [set(one) for one in words] == [
        set(ours.words(topic, 4)) for topic in range(ours.labels.max() + 1)
    ]


def test_texts_without_a_topic_say_how_many_are_needed() -> None:
    class Alone:
        """Finds no cluster, as HDBSCAN does among few texts."""

        def fit_predict(self, points: np.ndarray) -> np.ndarray:
            return np.full(len(points), -1)

    class Same:
        def fit_transform(self, vectors: np.ndarray) -> np.ndarray:
            return vectors

    texts = [f"text number {i}" for i in range(30)]
    with pytest.raises(ValueError, match=r"no topics were found in 30 texts.* at least 60"):
        TopicModel(Same(), Alone()).fit(texts, np.eye(30))
