"""The book's table of faults is what the tests say, and says what a reader needs."""

from __future__ import annotations

from pathlib import Path

import faults_table
import pytest


def written(folder: Path, marks: str) -> Path:
    (folder / "test_it.py").write_text(f"{marks}\ndef test_it() -> None: ...\n", encoding="utf-8")
    return folder


def test_the_table_in_the_book_is_what_the_tests_say() -> None:
    """`python tools/faults_table.py` writes it."""
    assert faults_table.PAGE.read_text(encoding="utf-8") == faults_table.page()


def test_no_fault_ends_in_a_traceback_and_none_stands_twice() -> None:
    rows = faults_table.rows()
    assert rows
    assert not [row for row in rows if "traceback" in " ".join(row[:-1]).lower()]
    assert len({row[:2] for row in rows}) == len(rows)


def test_a_test_may_have_several_rows(tmp_path: Path) -> None:
    one = '@fault("A {0}", made="m", happens="h", kept="long\\n   text")\n'
    found = faults_table.rows(written(tmp_path, one.format("kill") + one.format("full disk")))
    assert [row.fault for row in found] == ["A kill", "A full disk"]
    assert found[0] == ("A kill", "m", "h", "long text", "test_it.py::test_it")


@pytest.mark.parametrize(
    "mark",
    [
        '@fault("A kill", made="m", happens="h")',
        '@fault("A kill", made="m", happens="h", kept=" ")',
        '@fault("A kill", made="m", happens="h", kept=KEPT)',
        '@fault("A kill", made="m", happens="h", kept="k", more="x")',
        "@fault()",
    ],
)
def test_a_mark_that_is_no_row_is_named(tmp_path: Path, mark: str) -> None:
    with pytest.raises(faults_table.RowError, match=r"test_it\.py::test_it: expected"):
        faults_table.rows(written(tmp_path, mark))
