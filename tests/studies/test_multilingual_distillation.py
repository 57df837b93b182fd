"""A student is placed where its teacher places translations; what readers say is kept as said."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
import pytest
import torch
from torch import Tensor

from deepdive.data.reviews import POLARITY, Labeled
from deepdive.tokenizers.xlmr import XLMRTokenizer
from deepdive_book.studies.runs import multilingual_distillation, zero_shot
from deepdive_book.studies.runs.translate_test import into_english

SPECIALS = ["<pad>", "<s>", "</s>", "<unk>"]
WORDS = [
    "\u2581" + word for word in ("red", "blue", "cat", "dog", "rouge", "bleu", "chat", "chien")
]
TOKENIZER = XLMRTokenizer([*SPECIALS, *WORDS], [0.0] * 4 + [-1.0] * len(WORDS), SPECIALS)
PAIRS = [("red cat", "chat rouge"), ("blue cat", "chat bleu"), ("red dog", "chien rouge"),
         ("blue dog", "chien bleu")]  # fmt: skip
TEACHER = torch.tensor([[0.8, 0.6, 0.0], [0.8, -0.6, 0.0], [-0.8, 0.6, 0.0], [-0.8, -0.6, 0.0]])


def lessons() -> tuple[multilingual_distillation.TrainingPairs, Tensor]:
    """Lessons, and the teacher's vectors in the order of their English sentences."""
    found = multilingual_distillation.lessons_of({"fra": PAIRS}, TOKENIZER)
    order = {"red cat": 0, "blue cat": 1, "red dog": 2, "blue dog": 3}
    return found, TEACHER[[order[text] for text in found.english]]


def test_lessons_have_both_sides_of_each_pair() -> None:
    found, _ = lessons()
    assert found.english == sorted(left for left, _ in PAIRS)
    assert len(found.of) == len(found.pieces) == 8
    assert [found.english[i] for i in found.of[:4]] == [left for left, _ in PAIRS]
    assert sorted(found.rows.values()) == list(range(1, 9))


def test_the_bag_is_its_equation() -> None:
    net = multilingual_distillation.WeighedBag(9, 3).eval()
    torch.nn.init.normal_(net.weight.weight)
    tokens = torch.tensor([[1, 4, 5], [2, 0, 0]])
    real = torch.tensor([[True, True, True], [True, False, False]])
    a = net.weight.weight[[1, 4, 5], 0].softmax(0)
    expected = sum(a[t] * net.table.weight[i] for t, i in enumerate((1, 4, 5)))
    found = net(tokens, real)
    assert torch.allclose(found[0], expected, atol=1e-6)
    assert torch.allclose(found[1], net.table.weight[2], atol=1e-6)


def test_no_sentence_loses_all_its_pieces_in_training() -> None:
    net = multilingual_distillation.WeighedBag(9, 3).train()
    tokens = torch.ones(2000, 1, dtype=torch.long)
    assert net(tokens, torch.ones(2000, 1, dtype=torch.bool)).isfinite().all()


@pytest.fixture(scope="module")
def student() -> multilingual_distillation.Student:
    made, history = multilingual_distillation.fit_student(
        *lessons(), TOKENIZER, epochs=300, progress=False
    )
    assert history.losses[-1] < 0.1 < history.losses[0]
    return made


def test_a_student_places_both_languages_as_its_teacher(
    student: multilingual_distillation.Student,
) -> None:
    found, theirs = lessons()
    for texts in (found.english, [dict(PAIRS)[text] for text in found.english]):
        cosines = student.vectors(texts) @ theirs.T
        assert cosines.argmax(1).tolist() == [0, 1, 2, 3]


def test_what_it_does_not_know_is_nowhere(student: multilingual_distillation.Student) -> None:
    assert not student.vectors(["\u732b", "red cat"])[0].any()


def test_words_add_up(student: multilingual_distillation.Student) -> None:
    direction = torch.tensor([0.3, -1.0, 2.0])
    words, added = student.parts("red \u732b cat", direction)
    assert words == ["red", "\u732b", "cat"]
    assert added[1] == 0
    whole = student.vectors(["red cat"])[0] @ direction
    assert torch.isclose(added.sum(), whole, atol=1e-5)


def test_the_mean_costs_what_the_page_says() -> None:
    u = torch.nn.functional.normalize(torch.randn(100, 384), dim=-1)
    average = u.mean(0)
    loss = multilingual_distillation.squared(average.expand(100, -1), u)
    assert torch.isclose(loss, (1 - average @ average) / 384, rtol=1e-4)


def test_each_epoch_has_each_lesson_once() -> None:
    batches = multilingual_distillation.sampled(10, 3, seed=0, size=4)
    assert [len(some) for some in batches] == [4, 4, 2] * 3
    assert sorted(i for some in batches[3:6] for i in some) == list(range(10))
    assert batches[:3] != batches[3:6]


def test_a_watched_student_says_how_it_is() -> None:
    found, theirs = lessons()
    many = multilingual_distillation.TrainingPairs(
        found.english, found.pieces * 30, found.of * 30, found.rows
    )
    cosine = multilingual_distillation.cosine
    rows = multilingual_distillation.watched(
        many, theirs, loss=cosine, steps=4, every=2, held=40, size=8, progress=False
    )
    assert [row["step"] for row in rows] == [2, 4]
    assert all(0 <= row["found"] <= 100 and -1 <= row["alike"] <= 1 for row in rows)


def reader(texts: Sequence[str]) -> np.ndarray:
    """Where a text's number points, whatever its language."""
    return np.array([[float(text.split()[-1]) % 7 - 3, 1.0] for text in texts])


def numbered(language: str, n: int = 100) -> Labeled:
    texts = tuple(f"{language} {k}" for k in range(n))
    return Labeled(texts, tuple(int(k % 7 > 3) for k in range(n)), POLARITY, "made")


def test_topics_ask_each_sentence_once_of_a_head_that_has_not_met_it() -> None:
    english, other = numbered("en"), numbered("fr")
    row = zero_shot.topics(zero_shot.Vectors(reader), english, {"fr": other})
    assert [*map(int, row["said"]["fr"])] == [*other.labels]


def test_a_fold_leaves_out_what_it_asks() -> None:
    """A reader that knows a text by heart, and nothing else, is right no more often than chance."""
    learned_by_heart: list[set[str]] = []

    class Spy(zero_shot.Letters):
        def fitted(self, texts: Sequence[str]) -> zero_shot.Read:
            learned_by_heart.append(set(texts))
            return super().fitted(texts)

    some = numbered("en", 60)
    place = zero_shot.fold_of(60)
    zero_shot.by_folds(Spy(), some, 1.0)
    for fold, met in enumerate(learned_by_heart):
        assert not met & {some.texts[i] for i in np.flatnonzero(place == fold)}
        assert len(met) == 48


def test_feelings_are_learned_in_english_and_kept_by_line() -> None:
    row = zero_shot.feelings(zero_shot.Vectors(reader), numbered("en"), {"fr": numbered("fr")})
    assert zero_shot.describe(row, "fr").tolist() == [*numbered("fr").labels]
    assert len(row["zero"]["fr"]) == 2 * 100
    assert len(row["own"]["fr"]) == 100


def test_percents_are_read_as_they_were_written() -> None:
    shares = np.array([[0.999, 0.001], [0.5, 0.5], [0.0, 1.0]])
    assert zero_shot.percents(shares) == "005099"
    assert np.allclose(zero_shot.chances("005099"), [0.005, 0.505, 0.995])


def test_few_labels_beside_english() -> None:
    row = zero_shot.few_labels(
        zero_shot.Vectors(reader), numbered("en"), numbered("fr"), sizes=(8, 32, 64)
    )
    assert [*row["labels"]] == ["8", "32"]  # no more than half of the lines
    assert len(row["labels"]["8"]) == zero_shot.DRAWS
    assert row["zero"] == 1.0
    assert np.median(row["labels"]["8"]) <= np.median(row["labels"]["32"])


def test_two_readers_stand_side_by_side() -> None:
    vectors, letters = zero_shot.Vectors(reader), zero_shot.Letters()
    texts = ["en 1", "en 2", "en 3"]
    rows = zero_shot.Joined(vectors, letters).fitted(texts)(texts).toarray()
    assert np.array_equal(rows[:, :2], reader(texts))
    assert np.array_equal(rows[:, 2:], letters.fitted(texts)(texts).toarray())


def test_vectors_read_each_text_once() -> None:
    asked: list[str] = []

    def read(texts: list[str]) -> np.ndarray:
        asked.extend(texts)
        return reader(texts)

    rows = zero_shot.Vectors(read).fitted([])
    assert np.array_equal(rows(["a 1", "a 2", "a 1"])[0], rows(["a 1"])[0])
    assert asked == ["a 1", "a 2"]


def test_a_translator_into_english_learns_its_pairs() -> None:
    pairs = [(f"{a} {b}", f"{y} {x}") for a, x in (("red", "rouge"), ("blue", "bleu"))
             for b, y in (("cat", "chat"), ("dog", "chien"))] * 40  # fmt: skip
    said = into_english(pairs, ["chat bleu"], steps=120, width=32, size=60, held=8, progress=False)
    assert said == ["blue cat"]
