"""Reviews: the two real sets, generated ones, a reader's table, and how they are split."""

from __future__ import annotations

import csv
import gzip
import random
from collections import Counter
from pathlib import Path

import pytest

from deepdive.data import DataError, Labeled, movie_reviews, read_labeled, rt_polarity
from deepdive.data.reviews import _rank
from deepdive_book.data.synthetic_reviews import generated_long_reviews, generated_reviews

TABLE = 'id,text,label\n1,"good, really",positive\n2,"bad\nand long",negative\n3,so so,neutral\n'
TABLE += "4,fine,positive\n5,poor,negative\n6,meh,neutral\n"


@pytest.fixture
def table(tmp_path: Path) -> Path:
    file = tmp_path / "apps.csv"
    file.write_text(TABLE, encoding="utf-8")
    return file


@pytest.mark.data("rt_polarity")
def test_rt_polarity_is_whole() -> None:
    reviews = rt_polarity()
    assert reviews.counts() == {"negative": 5331, "positive": 5331}
    assert reviews.texts[0].startswith("the rock is destined")
    assert reviews.labels[0] == 1
    assert all(text == text.strip() and "\n" not in text for text in reviews.texts)


@pytest.mark.data("movie_reviews")
def test_movie_reviews_by_the_authors_folds() -> None:
    train, test = movie_reviews(range(8)), movie_reviews([8, 9])
    assert train.counts() == {"negative": 800, "positive": 800}
    assert test.counts() == {"negative": 200, "positive": 200}
    assert not set(train.texts) & set(test.texts)
    assert 600 < sum(len(text.split()) for text in test.texts) / 400 < 900


@pytest.mark.data("rt_polarity")
def test_no_sentence_of_rt_polarity_is_in_two_parts() -> None:
    parts = rt_polarity().split((0.7, 0.1, 0.2))
    sets = [set(part.texts) for part in parts]
    assert not sets[0] & sets[1] | sets[0] & sets[2] | sets[1] & sets[2]
    assert sum(map(len, parts)) == 10_662
    for n in (250, 1000):  # the first n are a sample, not the positive half
        assert 0.4 < sum(parts[0].labels[:n]) / n < 0.6


def test_a_split_depends_on_the_seed_and_not_on_the_order() -> None:
    reviews = generated_reviews(200)
    backwards = reviews.take(reversed(range(200)))
    assert reviews.split(seed=3)[0] == backwards.split(seed=3)[0]
    assert reviews.split(seed=3)[0] != reviews.split(seed=4)[0]


def test_equal_texts_share_a_part() -> None:
    texts = tuple(f"text {i % 20}" for i in range(100))
    reviews = Labeled(texts, tuple(i % 2 for i in range(100)), ("a", "b"), "here")
    parts = reviews.split((0.5, 0.5))
    assert not set(parts[0].texts) & set(parts[1].texts)
    assert Counter(parts[0].texts + parts[1].texts) == Counter(texts)


@pytest.mark.parametrize("classes", [2, 3])
def test_generated_reviews_are_different_and_balanced(classes: int) -> None:
    reviews = generated_reviews(600, classes=classes)
    assert len(set(reviews.texts)) == 600
    assert all(count > 0.7 * 600 / classes for count in reviews.counts().values())
    assert reviews.source.endswith("(generated)")
    assert generated_reviews(600, classes=classes) == reviews


def test_a_generated_denial_has_the_class_of_what_it_denies() -> None:
    reviews = generated_reviews(500)
    denied = [y for x, y in zip(reviews.texts, reviews.labels, strict=True) if " not dull" in x]
    assert denied
    assert all(denied)


def test_a_long_generated_review_has_its_verdict_at_the_end() -> None:
    long = generated_long_reviews(20, sentences=12)
    assert all(len(text.split("\n")) == 12 for text in long.texts)
    assert not any(" is " in line for text in long.texts for line in text.split("\n")[:-2])


def test_a_table_is_read_whatever_its_form(table: Path) -> None:
    whole = read_labeled(table)
    assert whole.names == ("negative", "neutral", "positive")
    assert whole.texts[:2] == ("good, really", "bad\nand long")
    assert whole.labels == (2, 0, 1, 2, 0, 1)
    assert whole.source == "apps.csv (your file)"
    rows = list(csv.reader(table.open(encoding="utf-8", newline="")))
    for mark, name in ((";", "apps.csv"), ("\t", "apps.tsv")):
        with (table.parent / name).open("w", encoding="utf-8-sig", newline="") as file:
            csv.writer(file, delimiter=mark, lineterminator="\r\n").writerows(rows)
        assert read_labeled(table.parent / name).texts == whole.texts
    packed = table.parent / "apps.csv.gz"
    packed.write_bytes(gzip.compress(TABLE.encode()))
    assert read_labeled(packed).labels == whole.labels


def test_classes_that_are_numbers_are_in_their_order(tmp_path: Path) -> None:
    file = tmp_path / "stars.csv"
    rows = [f"{stars},text {i}" for i, stars in enumerate([10, 2, 1, 10, 2, 1])]
    file.write_text("stars,review\n" + "\n".join(rows), encoding="utf-8")
    assert read_labeled(file, text="review", label="stars").names == ("1", "2", "10")


@pytest.mark.parametrize("odd", ["nan", "NaN", "inf", "-inf"])
def test_classes_do_not_depend_on_the_order_of_a_set(tmp_path: Path, odd: str) -> None:
    """A label that reads as a number but has no place among them is a word."""
    file = tmp_path / "odd.csv"
    names = ["2", odd, "1", "other"]
    rows = [f"text {i},{name}" for i, name in enumerate(names * 3)]
    file.write_text("text,label\n" + "\n".join(rows), encoding="utf-8")
    assert read_labeled(file).names == ("1", "2", *sorted([odd, "other"]))


def test_classes_are_the_same_in_every_process(tmp_path: Path) -> None:
    """Sets of strings have another order under another PYTHONHASHSEED."""
    names = ["nan", "3", "NaN", "1", "inf", "2", "x", "1e3", "-1"]
    drawn = (random.sample(names, len(names)) for _ in range(200))
    orders = {tuple(sorted(each, key=_rank)) for each in drawn}
    assert orders == {("-1", "1", "2", "3", "1e3", "NaN", "inf", "nan", "x")}


def test_lines_that_end_in_cr_alone_are_lines(table: Path) -> None:
    plain = table.parent / "plain.csv"
    plain.write_bytes(b"text,label\ngood,1\nbad,0\nfine,1\nso so,0\n")
    old = table.parent / "old.csv"
    old.write_bytes(plain.read_bytes().replace(b"\n", b"\r"))
    assert read_labeled(old).texts == read_labeled(plain).texts
    assert read_labeled(old).labels == (1, 0, 1, 0)


def test_a_long_cell_is_read(tmp_path: Path) -> None:
    file = tmp_path / "long.csv"
    notes = "a note, " * 50_000
    rows = [f'text {i},"{notes}",{i % 2}' for i in range(4)]
    file.write_text("text,notes,label\n" + "\n".join(rows), encoding="utf-8")
    before = csv.field_size_limit()
    assert read_labeled(file).labels == (0, 1, 0, 1)
    assert csv.field_size_limit() == before


@pytest.mark.parametrize("columns", ["text,label", "label,text"])
def test_a_quotation_mark_left_open_is_found_wherever_it_stands(
    tmp_path: Path, columns: str
) -> None:
    file = tmp_path / "open.csv"
    file.write_text(f'{columns}\na,1\nb,0\n1,"c\n0,d\n' + "x,y\n" * 9, encoding="utf-8")
    with pytest.raises(DataError, match=r"line 4: .*quotation mark never closed\?"):
        read_labeled(file)


@pytest.mark.parametrize(
    ("content", "told"),
    [
        ("review,stars\nfine,1\n", r"no column 'text' and no 'label'.*'review,stars'"),
        ("text,stars\nfine,1\n", r"no column 'label'"),
        ("text,label\nfine,1\nbad\n", r"line 3: 1 cells, expected 2"),
        ("text,label\nfine, really,1\n", r"line 2: 3 cells, expected 2"),
        (
            "text,label\nfine,1\n,0\n",
            r"line 3: column 'text' is empty; fill it, or drop the row",
        ),
        ("text,label\nfine,1\nbad,\n", r"line 3: column 'label' is empty"),
        ("text,label\nfine,1\nbad,1\n", r"holds \['1'\], expected 2 classes.*Name it: label="),
        ('text,label\nfine,1\n"bad,0\n' + 40_000 * "and\n", r"quotation mark never closed\?"),
        ("text,label\n", r"holds nothing, expected 2 classes"),
        ("label,text\n" + "".join(f"{i % 2},a text {i}\n" for i in range(8)), None),
        ("text,label\n" + "".join(f"{i % 2},a text {i}\n" for i in range(8)), "swapped"),
    ],
)
def test_a_table_that_does_not_fit_is_refused(
    tmp_path: Path, content: str, told: str | None
) -> None:
    file = tmp_path / "table.csv"
    file.write_text(content, encoding="utf-8")
    if told is None:
        assert len(read_labeled(file)) == 8
        return
    with pytest.raises(DataError, match=told):
        read_labeled(file)


def test_rows_without_content_are_passed_over(table: Path) -> None:
    whole = read_labeled(table)
    table.write_text(TABLE.replace("\n3,", "\n,,\n\n , ,\n3,") + ",,\n,,\n", encoding="utf-8")
    assert read_labeled(table) == whole


def test_parts_are_held_out_by_number_and_at_most_by_share() -> None:
    many, few = generated_reviews(1000), generated_reviews(100, classes=3)
    assert list(map(len, many.held_out(test=50, valid=30))) == [920, 30, 50]
    assert list(map(len, few.held_out())) == [70, 10, 20]
    assert few.held_out(seed=3) != few.held_out(seed=4)


def test_a_class_too_rare_to_be_held_out_is_named() -> None:
    reviews = generated_reviews(100)
    rare = Labeled(reviews.texts, (*reviews.labels[:-1], 2), (*reviews.names, "mixed"), "here")
    with pytest.raises(DataError, match=r"'mixed' has 1 of 100 texts, none of.*give more texts"):
        rare.held_out()


def test_sizes_are_those_whose_first_texts_hold_every_class() -> None:
    reviews = Labeled(tuple("abcdefgh"), (0, 0, 0, 1, 0, 1, 0, 1), ("no", "yes"), "here")
    assert reviews.sizes((2, 3, 4, 8, 9)) == (4, 8)
    assert reviews.sizes((2, 30)) == (8,)


def test_what_is_no_table_is_refused(tmp_path: Path) -> None:
    with pytest.raises(DataError, match="is not a file"):
        read_labeled(tmp_path / "none.csv")
    latin = tmp_path / "latin.csv"
    latin.write_bytes("text,label\ngut,1\nschön,0\n".encode("latin-1"))
    with pytest.raises(DataError, match=r"line 3: not UTF-8.*save it as UTF-8"):
        read_labeled(latin)
    torn = tmp_path / "torn.csv.gz"
    torn.write_bytes(gzip.compress(TABLE.encode())[:-9])
    with pytest.raises(DataError, match="does not decompress"):
        read_labeled(torn)
    with pytest.raises(DataError, match="2 for 1 texts"):
        Labeled(("a",), (0, 1), ("no", "yes"), "here")
    with pytest.raises(DataError, match=r"got \[2\], expected 0 to 1"):
        Labeled(("a",), (2,), ("no", "yes"), "here")
    with pytest.raises(DataError, match="some of 0 to 9"):
        movie_reviews([10])
