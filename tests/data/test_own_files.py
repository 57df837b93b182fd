"""What readers bring: paths as they paste them, tables that parse and mean something else."""

from __future__ import annotations

from pathlib import Path

import pytest

from deepdive.core.checks import own_file, own_path
from deepdive.data import DataError
from deepdive.data.reviews import read_labeled, read_texts
from deepdive.data.text import read_pairs

TABLE = "text,label\nfine,good\nnice,good\nbad,poor\nworse,poor\n"


@pytest.fixture
def table(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.setenv("HOME", str(tmp_path))
    path = tmp_path / "my table.csv"
    path.write_text(TABLE, encoding="utf-8")
    return path


def test_a_path_is_found_as_people_paste_it(table: Path) -> None:
    for given in (f'"{table}"', f"'{table}'", f"  {table}\n", "~/my table.csv", '"~/my table.csv"'):
        assert own_path(given) == table
        assert read_labeled(given) == read_labeled(table)
        assert read_texts(given) == read_texts(table)
    pairs = table.with_name("pairs.tsv")
    pairs.write_text("a\tb\nc\td\n", encoding="utf-8")
    assert read_pairs("~/pairs.tsv", None) == [("a", "b"), ("c", "d")]


def test_what_is_no_file_is_named_with_what_is_like_it(table: Path) -> None:
    with pytest.raises(DataError, match=r"is not a file; .* did you mean my table\.csv"):
        read_labeled(table.with_name("my tabel.csv"))
    with pytest.raises(ValueError, match="is a folder, not a file"):
        own_file(table.parent)
    with pytest.raises(DataError, match="cannot be a file"):
        read_pairs("a" * 300)


def test_quotes_escaped_by_a_backslash_are_refused_with_their_line(table: Path) -> None:
    table.write_text('text,label\nfine,good\n"he said \\"hi\\" to me",good\nbad,poor\n', "utf-8")
    with pytest.raises(DataError, match="line 3: a quotation mark is escaped as"):
        read_labeled(table)
    table.write_text('text,label\n"in C:\\",good\n"he said ""hi"" to me",good\nbad,poor\nx,poor\n')
    assert read_labeled(table).texts[:2] == ("in C:\\", 'he said "hi" to me')


@pytest.mark.parametrize(("one", "other"), [("Yes", "yes"), ("1", "1.0"), ("a b", "a  b")])
def test_labels_that_differ_in_form_only_are_named(table: Path, one: str, other: str) -> None:
    rows = [f"t{k},{label}" for k, label in enumerate([one, other, "x"] * 3)]
    table.write_text("text,label\n" + "\n".join(rows) + "\n", "utf-8")
    with pytest.warns(UserWarning, match="differ only in form"):
        assert len(read_labeled(table).names) == 3


def test_a_column_of_numbers_is_no_sentence(tmp_path: Path) -> None:
    path = tmp_path / "pairs.tsv"
    path.write_text("1\tGo.\tVa !\n2\tRun!\tCours !\n", "utf-8")
    with pytest.raises(DataError, match=r"only numbers; its first row is read as '1 \| Go\.'"):
        read_pairs(path)
    path.write_text("1984\t1984\nOne.\tUn.\n", "utf-8")
    assert len(read_pairs(path)) == 2


def test_a_header_alone_is_named(table: Path) -> None:
    table.write_text("text,label\n", "utf-8")
    with pytest.raises(DataError, match="got a header without rows"):
        read_texts(table)
