"""Vectors that are kept: computed once, gone on with after a stop, known by texts and name."""

import numpy as np
import pytest

from deepdive.page.vectors import kept_vectors


@pytest.fixture(autouse=True)
def folder(tmp_path, monkeypatch):
    monkeypatch.setenv("DEEPDIVE_OUT", str(tmp_path))
    return tmp_path / "vectors"


class Lengths:
    """Encodes a text as its length and 1, and counts the texts that it was asked for."""

    def __init__(self, stop_after: int = 1000) -> None:
        self.asked, self.stop_after = 0, stop_after

    def __call__(self, texts):
        if self.asked >= self.stop_after:
            raise KeyboardInterrupt
        self.asked += len(texts)
        return [[len(text), 1.0] for text in texts]


TEXTS = ["a" * n for n in range(1, 11)]


def test_vectors_stand_in_the_order_of_the_texts() -> None:
    vectors = kept_vectors(Lengths(), TEXTS, "lengths", part=3)
    assert vectors.dtype == np.float32
    assert vectors[:, 0].tolist() == list(range(1, 11))


def test_the_second_time_nothing_is_computed() -> None:
    first = kept_vectors(Lengths(), TEXTS, "lengths", part=3)
    again = Lengths()
    assert (kept_vectors(again, TEXTS, "lengths", part=3) == first).all()
    assert again.asked == 0


def test_what_was_computed_before_a_stop_is_not_computed_again() -> None:
    with pytest.raises(KeyboardInterrupt):
        kept_vectors(Lengths(stop_after=6), TEXTS, "lengths", part=3)
    rest = Lengths()
    kept_vectors(rest, TEXTS, "lengths", part=3)
    assert rest.asked == 4


def test_another_model_or_text_is_computed() -> None:
    kept_vectors(Lengths(), TEXTS, "lengths")
    for texts, name in ((TEXTS, "other"), ([*TEXTS[:-1], "b"], "lengths")):
        new = Lengths()
        kept_vectors(new, texts, name)
        assert new.asked == 10


def test_a_damaged_part_is_made_again(folder) -> None:
    first = kept_vectors(Lengths(), TEXTS, "lengths")
    (file,) = folder.iterdir()
    file.write_bytes(file.read_bytes()[:50])
    assert (kept_vectors(Lengths(), TEXTS, "lengths") == first).all()
    assert (kept_vectors(Lengths(stop_after=0), TEXTS, "lengths") == first).all()


def test_wrong_shapes_and_no_texts_are_refused() -> None:
    with pytest.raises(ValueError, match="one row a text"):
        kept_vectors(lambda texts: np.zeros(3), TEXTS, "flat")
    for texts in ([], "one text"):
        with pytest.raises(ValueError, match="pass \\[text\\]"):
            kept_vectors(Lengths(), texts, "none")
