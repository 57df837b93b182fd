"""The study on spans runs on what a reader brings; its kept rows are of these texts."""

from __future__ import annotations

import json
import os
import re
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest
from checkout import ROOT
from small_t5 import a_t5

import deepdive
from deepdive_book.data.spans import format_example, two_sentiment_sentences
from deepdive_book.studies.runs.span_results import POINTS
from deepdive_book.studies.runs.spans import generated

PAGE = ROOT / "casestudies" / "05_spans.py"


def kept() -> list[dict[str, Any]]:
    path = ROOT / "chapters/05_efficient/results/spans.json"
    return list(json.loads(path.read_text("utf-8"))["rows"])


def test_kept_rows_are_of_points_of_the_experiment() -> None:
    rows = kept()
    assert [row["seed"] for row in rows if row["data"] == "generated"] == [0, 1, 2]
    for row in rows:
        assert any(point.items() <= row.items() for point in POINTS)
        assert len(row["hits"]) == 2 * row["texts"]
        assert len(row["right without"]) == 10


def test_kept_hits_are_those_of_the_texts() -> None:
    work = generated(3000)
    there = [bool(row.answer) for row in work.test]
    for row in kept():
        if row["data"] == "generated":
            hits = [int(hit) for hit in row["hits"]]
            of_spans = [hit for hit, yes in zip(hits, there, strict=True) if yes]
            assert row["exact"][0] == pytest.approx(sum(of_spans) / len(of_spans), abs=1e-4)
            assert (row["texts"], row["pairs"]) == (300, len(work.pairs))


def test_kept_answers_are_told_of_the_texts_that_are_drawn() -> None:
    for row in kept():
        for shown in row["picture"]:
            assert shown["text"][shown["start"] :].startswith(shown["answer"])
            assert len(shown["says"]) == 256
            assert len(shown["looks"]) == 8
            words = len(shown["text"].split())
            assert all(len(look) == words and sum(look) < 1.01 for look in shown["looks"])


def eraser(folder: Path) -> Path:
    """Marks as ERASER has them, on generated sentences."""
    (folder / "docs").mkdir(parents=True)
    for part in ("train", "test"):
        lines = []
        for k, row in enumerate(
            row for row in two_sentiment_sentences(12, len(part)) if row.answer
        ):
            name = f"{part}{k}.txt"
            (folder / "docs" / name).write_text(row.context + "\n", encoding="utf-8")
            first = len(row.context[: row.start].split())
            mark = {"docid": name, "start_token": first,
                    "end_token": first + len(row.answer.split())}  # fmt: skip
            lines.append(json.dumps({"classification": row.question[:3].upper(),
                                     "evidences": [[mark]]}))  # fmt: skip
        (folder / f"{part}.jsonl").write_text("\n".join(lines) + "\n", encoding="utf-8")
    return folder


def test_on_a_reader_s_marks_and_a_public_t5_in_a_folder(tmp_path: Path) -> None:
    texts = [" ".join(format_example(row)) for row in two_sentiment_sentences(360)]
    env = os.environ | {
        "DEEPDIVE_PROFILE": "ci",
        "DEEPDIVE_OUT": str(tmp_path / "out"),
        "DEEPDIVE_T5": str(a_t5(tmp_path / "t5", texts)),
        "DEEPDIVE_RATIONALES": str(eraser(tmp_path / "movies")),
        "PYTHONPATH": str(Path(deepdive.__file__).parents[1]),
        "TQDM_DISABLE": "1",
    }
    done = subprocess.run(
        [sys.executable, str(PAGE)], cwd=tmp_path, env=env, capture_output=True, text=True
    )
    assert done.returncode == 0, done.stderr[-3000:]
    assert re.search(r"people's marks, \d+ to learn from: exact match 0\.\d+ \[", done.stdout)
    assert re.search(r"\nthe head that looks most: \d+ % \[", done.stdout)
