"""Texts with subjects: four real sets and the generated one; each text once, in a drawn order."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable

import pytest

from deepdive.data.errors import DataError, DataUnavailable
from deepdive.data.reviews import read_texts
from deepdive.data.subjects import (
    FILLING,
    WORDS,
    Subjects,
    _subjects,
    addresses,
    arxiv_abstracts,
    generated_subjects,
    goemotions,
    medical_abstracts,
    yelp,
)


def test_a_text_comes_once_and_one_with_two_labels_not_at_all() -> None:
    rows = [("a  b", "x"), ("c", "x"), ("a b", "x"), ("d", "x"), ("d\n", "y"), ("e", "y")]
    found = _subjects(rows, None, "here")
    assert found == Subjects(["a b", "c", "e"], ["x", "x", "y"], "here")
    assert Counter(_subjects(rows, 1, "here").texts) == Counter(found.texts)


def test_what_does_not_fit_is_refused() -> None:
    with pytest.raises(DataError, match="labels: 2 for 1 texts, expected one each"):
        Subjects(["a"], ["x", "y"])
    with pytest.raises(DataError, match="labels: 0 for 0 texts"):
        Subjects([], [])
    with pytest.raises(DataError, match="n: 0, expected"):
        generated_subjects(0)
    with pytest.raises(DataError, match="n: 0, expected"):
        generated_subjects(1).first(0)
    with pytest.raises(ValueError, match="part: got 'valid', expected train, dev or test"):
        goemotions("valid")
    with pytest.raises(ValueError, match="label: got 'party', expected year or president"):
        addresses("party")


def test_the_first_n_are_among_the_first_2n() -> None:
    found = generated_subjects(40)
    assert found.first(10).texts == found.first(20).texts[:10]
    assert len(found.first(10)) == 10
    assert found.first(10).source == found.source
    assert found.first(100) == found


def test_generated_subjects_are_different_and_the_same_again() -> None:
    found = generated_subjects(800, seed=3)
    assert found == generated_subjects(800, seed=3)
    assert found.texts != generated_subjects(800, seed=4).texts
    assert found.first(50).texts == generated_subjects(50, seed=3).texts
    assert len(set(found.texts)) == 800
    assert all(70 < count < 130 for count in Counter(found.labels).values())
    assert set(found.labels) == set(WORDS)
    assert found.source == "generated_subjects(800, seed=3) (generated)"
    assert all(12 <= len(text.split()) <= 40 for text in found.texts)


def test_generated_words_follow_zipf_and_their_subject() -> None:
    found = generated_subjects(2000)
    counts = Counter(word for text in found.texts for word in text.split())
    filling = FILLING.split()
    for rank in (2, 4, 8):
        assert counts[filling[0]] / counts[filling[rank - 1]] == pytest.approx(rank, rel=0.15)
    own = {name: set(words.split()) for name, words in WORDS.items()}
    inside = total = 0
    for text, label in zip(found.texts, found.labels, strict=True):
        words = text.split()[1::2]
        total += len(words)
        inside += sum(word in own[label] for word in words)
    assert 0.9 < inside / total < 0.94  # one in ten is of a subject drawn from all, its own too


def test_no_filling_word_is_of_a_subject_and_some_words_are_of_two() -> None:
    words = Counter(word for line in WORDS.values() for word in set(line.split()))
    assert not set(FILLING.split()) & set(words)
    assert {word for word, n in words.items() if n > 1} >= {"court", "pitch", "cell"}
    assert all(len(line.split()) == len(set(line.split())) for line in WORDS.values())


def is_a_sample(found: Subjects) -> None:
    """Its first fifth has lengths and labels as the whole has."""
    n = len(found) // 5
    lengths = [len(text.split()) for text in found.texts]
    assert sum(lengths[:n]) / n == pytest.approx(sum(lengths) / len(found), rel=0.06)
    some, every = Counter(found.labels[:n]), Counter(found.labels)
    name, count = every.most_common(1)[0]
    assert some[name] / n == pytest.approx(count / len(found), abs=0.03)


def is_once(read: Callable[..., Subjects], size: int) -> Subjects:
    found = read()
    assert len(found) == size
    assert len(set(found.texts)) == size
    assert found.source.endswith("(real)")
    assert all(text == " ".join(text.split()) for text in found.texts)
    filed = read(seed=None)
    assert filed.texts != found.texts
    assert Counter(zip(filed.texts, filed.labels, strict=True)) == Counter(
        zip(found.texts, found.labels, strict=True)
    )
    is_a_sample(found)
    return found


@pytest.mark.data("arxiv_abstracts")
def test_arxiv_abstracts() -> None:
    found = is_once(arxiv_abstracts, 3953)
    counts = Counter(found.labels)
    assert len(counts) == 25
    assert counts["astro-ph"] == 734
    assert counts["adap-org"] == 2
    assert arxiv_abstracts(seed=None).texts[0].startswith("A fully differential calculation in")


@pytest.mark.data("medical_abstracts")
def test_medical_abstracts_have_no_text_of_two_labels() -> None:
    found = is_once(medical_abstracts, 2657)
    assert Counter(found.labels) == {
        "general pathological conditions": 876,
        "neoplasms": 599,
        "cardiovascular diseases": 570,
        "nervous system diseases": 347,
        "digestive system diseases": 265,
    }


@pytest.mark.data("goemotions")
def test_comments_have_one_emotion() -> None:
    found = is_once(lambda seed=0: goemotions("dev", seed), 4544)
    assert len(set(found.labels)) == 28
    assert not any("," in label for label in found.labels)
    train = goemotions()
    assert len(train) == 36_110
    # As it was written: the file has the whole between quotation marks, and those inside twice.
    assert 'Three words, no subtlety. "Dude. Stop. Seriously."' in train.texts


@pytest.mark.data("state_union")
def test_addresses_by_year_and_by_president() -> None:
    found = is_once(addresses, 5450)
    assert {int(label) for label in found.labels} == {*range(1945, 2007)} - {1952}
    presidents = addresses("president")
    assert presidents.texts == found.texts
    assert len(set(presidents.labels)) == 11
    in_1963 = [
        who for who, year in zip(presidents.labels, found.labels, strict=True) if year == "1963"
    ]
    assert set(in_1963) == {"Kennedy", "Johnson"}
    text = " ".join(found.texts).lower()
    assert all(len(paragraph.split()) >= 20 for paragraph in found.texts)
    for gone in ("(applause", "[laughter", "eric draper", "web resources"):
        assert gone not in text


def test_yelp_is_read_by_datasets_from_a_folder_of_the_same_form(tmp_path) -> None:
    import pandas

    rows = pandas.DataFrame({"text": ["good food", "bad food", "good food"], "label": [4, 0, 4]})
    rows.to_parquet(tmp_path / "train-00000-of-00001.parquet")
    found = yelp(str(tmp_path))
    assert sorted(zip(found.texts, found.labels, strict=True)) == [
        ("bad food", "1"), ("good food", "5"),
    ]  # fmt: skip


def test_yelp_that_cannot_be_had_names_the_way_out(tmp_path) -> None:
    with pytest.raises(DataUnavailable, match="the profile laptop"):
        yelp(str(tmp_path / "nothing"))


def test_a_table_of_another_form_is_refused(tmp_path) -> None:
    import pandas

    pandas.DataFrame({"review": ["good"]}).to_parquet(tmp_path / "train.parquet")
    with pytest.raises(DataError, match="has no column"):
        yelp(str(tmp_path))


def test_texts_of_ones_own_table_come_once_each(tmp_path) -> None:
    table = tmp_path / "own.csv"
    table.write_text("id;text\n1;one thing\n2;another\n3;one thing\n", encoding="utf-8")
    assert sorted(read_texts(table)) == ["another", "one thing"]
    with pytest.raises(DataError, match="has no column 'words'"):
        read_texts(table, "words")
