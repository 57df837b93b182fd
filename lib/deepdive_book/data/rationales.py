"""ERASER's film reviews, where people marked the words for which a review is good or bad.

The data are the reader's own: the folder `movies`, unpacked, with `train.jsonl`, `val.jsonl`,
`test.jsonl` and a folder `docs` of texts, a sentence a line. Source: DeYoung et al. 2020; the marks
are those of Zaidan, Eisner and Piatko 2007.
"""

from __future__ import annotations

import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from deepdive.data.errors import DataError
from deepdive.data.tasks import Span
from deepdive_book.data.spans import row_of

QUESTIONS = {"NEG": "negative", "POS": "positive"}


def rationales(folder: str | Path, part: str = "train", longest: int = 48) -> list[Span]:
    """A row for each mark: the question is the review's class, the context are the sentences that
    hold the mark, at most `longest` words.

    Raises DataError where a file is missing, a class is neither, or a mark lies outside its text.
    """
    folder = Path(folder)
    file = folder / f"{part}.jsonl"
    if not file.is_file():
        raise DataError(f"folder: {file} is not a file; expected ERASER's `movies`, unpacked")
    rows: list[Span] = []
    for number, line in enumerate(file.read_text(encoding="utf-8").splitlines(), start=1):
        told: dict[str, Any] = json.loads(line)
        question = QUESTIONS.get(told["classification"])
        if question is None:
            raise DataError(f"{file}, line {number}: class {told['classification']!r}, expected "
                            f"one of {list(QUESTIONS)}")  # fmt: skip
        for mark in (mark for group in told["evidences"] for mark in group):
            rows += _rows(folder, question, mark, longest)
    return rows


def _rows(folder: Path, question: str, mark: dict[str, Any], longest: int) -> Iterator[Span]:
    file = folder / "docs" / mark["docid"]
    if not file.is_file():
        raise DataError(f"folder: {file} is not a file, but a mark names it")
    lines = [line.split() for line in file.read_text(encoding="utf-8").splitlines()]
    first, last = mark["start_token"], mark["end_token"]  # of all words of the text
    ends, total = [], 0
    for words in lines:
        total += len(words)
        ends.append(total)
    if not 0 <= first < last <= total:
        raise DataError(f"{file}: a mark from word {first} to {last}, but the text has {total}")
    begin = next(i for i, end in enumerate(ends) if end > first)
    stop = next(i for i, end in enumerate(ends) if end >= last)
    before = ends[begin] - len(lines[begin])
    words = [word for sentence in lines[begin : stop + 1] for word in sentence]
    if len(words) <= longest:
        yield row_of(question, words, range(first - before, last - before))
