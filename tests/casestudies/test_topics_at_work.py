"""What the page "topics at work" says of odd inputs holds for texts that are quick to make."""

import numpy as np

from deepdive.topics.bertopic import TopicModel, steps


def test_two_languages_give_topics_of_one_language_each_and_no_error() -> None:
    """Vectors in which the language is far and the subject near, as MiniLM's are for French."""
    rng = np.random.default_rng(0)
    subject, language = np.tile(range(2), 60), np.repeat(range(2), 60)
    vectors = 4 * np.eye(12)[language] + np.eye(12)[2 + subject] + 0.05 * rng.normal(size=(120, 12))
    words = (("river boat", "bread oven"), ("fleuve bateau", "pain four"))
    texts = [
        f"{words[tongue][about]} text{i}"
        for i, (tongue, about) in enumerate(zip(language, subject, strict=True))
    ]
    found = TopicModel(*steps(0)).fit(texts, vectors).labels
    assert found.max() >= 1
    for topic in range(found.max() + 1):
        assert len(set(language[found == topic])) == 1


def test_wishes_move_the_vectors_that_the_package_is_given() -> None:
    """The page gives a copy; when the package leaves them alone, it need not say so."""
    from bertopic import BERTopic

    class Encoder:
        def encode(self, texts, **_):
            return np.eye(12)[: len(texts)]

    package = BERTopic(seed_topic_list=[["river"], ["bread"]], embedding_model=Encoder())
    package._extract_embeddings = lambda texts, **_: np.eye(12)[: len(texts)]
    given = np.eye(12)[[0, 0, 1, 5]] * 2
    before = given.copy()
    package._guided_topic_modeling(given)
    assert np.allclose(given[:2], 0.75 * before[:2] + 0.25 * np.eye(12)[0])
    assert not np.allclose(given, before)
