"""ERASER's form of marks, read from a reader's folder."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from deepdive.data.errors import DataError
from deepdive.data.tasks import Span
from deepdive_book.data.rationales import rationales

DOC = "the film begins .\nit is dull and long .\nnobody laughs .\n"


def folder(path: Path, first: int, last: int, kind: str = "NEG") -> Path:
    (path / "docs").mkdir(exist_ok=True)
    (path / "docs" / "negR_1.txt").write_text(DOC)
    mark = {"docid": "negR_1.txt", "start_token": first, "end_token": last}
    told = {"annotation_id": "negR_1.txt", "classification": kind, "evidences": [[mark]]}
    (path / "train.jsonl").write_text(json.dumps(told) + "\n")
    return path


def test_a_mark_inside_a_sentence_and_one_across_two(tmp_path: Path) -> None:
    inside = rationales(folder(tmp_path, 6, 9))
    assert inside == [Span("negative", "it is dull and long .", "dull and long", 6)]
    across = rationales(folder(tmp_path, 8, 12, "POS"))
    assert across == [
        Span("positive", "it is dull and long . nobody laughs .", "long . nobody laughs", 15)
    ]
    assert rationales(folder(tmp_path, 8, 12), longest=5) == []


def test_what_is_not_eraser_s_is_refused(tmp_path: Path) -> None:
    with pytest.raises(DataError, match="unpacked"):
        rationales(tmp_path)
    with pytest.raises(DataError, match="but the text has 13"):
        rationales(folder(tmp_path, 3, 14))
    with pytest.raises(DataError, match="line 1: class 'BAD'"):
        rationales(folder(tmp_path, 3, 4, "BAD"))
    (folder(tmp_path, 3, 4) / "docs" / "negR_1.txt").unlink()
    with pytest.raises(DataError, match="a mark names it"):
        rationales(tmp_path)
