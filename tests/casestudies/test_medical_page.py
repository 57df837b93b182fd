"""The study on medical abstracts runs on your own data; its saved results are of these texts."""

from __future__ import annotations

import csv
import json
import os
import re
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from checkout import ROOT
from sklearn.metrics import f1_score
from small_bert import a_bert

import deepdive
from deepdive.evaluate import macro_f1_interval
from deepdive.explain.side_by_side import METHODS
from deepdive_book.data.medical import abstracts, dialogues, with_one_label
from deepdive_book.data.synthetic_reviews import generated_reviews
from deepdive_book.studies.runs.medical import folds

PAGE = ROOT / "casestudies" / "07_medical.py"
NOTES = generated_reviews(200, classes=3, seed=5)
Run = Callable[..., "subprocess.CompletedProcess[str]"]


def saved(name: str) -> dict[str, Any]:
    path = ROOT / f"chapters/07_explain/results/{name}.json"
    return dict(json.loads(path.read_text("utf-8")))


ROWS = saved("medical_tuning")["rows"]


def classes(letters: str) -> list[int]:
    return [ord(letter) - ord("a") for letter in letters]


@pytest.mark.data("medical_abstracts")
def test_saved_labels_are_those_of_the_folds() -> None:
    every = with_one_label(abstracts())
    parts = folds(every.labels)
    rows = [row for row in ROWS if row["data"] == "abstracts"]
    for row in rows:
        assert classes(row["labels"]) == [every.labels[i] for i in parts[row["fold"]].test]
    for arm in ("published", "medical", "films"):
        mine = [(r["fold"], r["seed"]) for r in rows if r["arm"] == arm and r["rate"] == 1e-4
                and r["length"] == 128 and not r["weighted"]]  # fmt: skip
        assert sorted(mine) == [(fold, seed) for fold in range(5) for seed in range(3)]


@pytest.mark.data("mts_dialog")
def test_dialogues_are_tested_on_the_published_test_parts() -> None:
    truth = [*dialogues(["test1", "test2"]).labels]
    rows = [row for row in ROWS if row["data"] == "dialogues"]
    assert len(rows) == 9
    assert all(classes(row["labels"]) == truth for row in rows)


def test_macro_f1_of_saved_runs_is_scikit_learns() -> None:
    rows = [r for r in ROWS if (r["data"], r["arm"], r["seed"]) == ("abstracts", "medical", 1)]
    predicted, true = ("".join(r[field] for r in rows) for field in ("predicted", "labels"))
    ours = macro_f1_interval(classes(predicted), classes(true), 5).value
    assert ours == pytest.approx(f1_score(classes(true), classes(predicted), average="macro"))


def test_saved_top_words_are_words_of_the_text() -> None:
    found = saved("medical_reasons")
    assert found["methods"] == list(METHODS)  # the order that the tables assume
    for row in found["rows"]:
        for first in row["top_words"]:
            places = [int(place) for place in first.split()]
            assert len(set(places)) == 5
            assert max(places) < row["words"]
        assert np.isfinite(row["comprehensiveness"] + row["sufficiency"]).all()


@pytest.fixture
def run(tmp_path: Path) -> Run:
    """Run the page on notes.csv, whose columns are `note` and `ward`; what came of it."""
    with (tmp_path / "notes.csv").open("w", encoding="utf-8", newline="") as file:
        rows = csv.writer(file)
        rows.writerow(["id", "note", "ward"])
        pairs = zip(NOTES.texts, NOTES.labels, strict=True)
        rows.writerows([k, x, "abc"[y]] for k, (x, y) in enumerate(pairs))
        rows.writerow([999, NOTES.texts[0], "abc"[(NOTES.labels[0] + 1) % 3]])

    def started(text: str, label: str) -> subprocess.CompletedProcess[str]:
        source = PAGE.read_text(encoding="utf-8")
        for name, old, new in (("TEXT", "text", text), ("LABEL", "label", label)):
            assert f'\n{name}_COLUMN = "{old}"' in source
            source = source.replace(f'\n{name}_COLUMN = "{old}"', f'\n{name}_COLUMN = "{new}"')
        page = tmp_path / "page.py"
        page.write_text(source, encoding="utf-8")
        env = os.environ | {
            "DEEPDIVE_PROFILE": "ci",
            "DEEPDIVE_OUT": str(tmp_path / "out"),
            "DEEPDIVE_MEDICAL": str(tmp_path / "notes.csv"),
            "DEEPDIVE_ENCODER": str(a_bert(tmp_path / "bert", NOTES.texts)),
            "PYTHONPATH": str(Path(deepdive.__file__).parents[1]),
            "TQDM_DISABLE": "1",
        }
        return subprocess.run(
            [sys.executable, str(page)], cwd=tmp_path, env=env, capture_output=True, text=True
        )

    return started


def test_on_a_table_and_an_encoder_of_a_reader(run: Run, tmp_path: Path) -> None:
    done = run("note", "ward")
    assert done.returncode == 0, done.stderr[-3000:]
    assert "notes.csv (your file): 201 lines; 1 texts have several labels;" in done.stdout
    assert "199 texts have one label" in done.stdout
    assert re.search(r"steps, macro-F1 \d+\.\d%", done.stdout)
    assert "equal: True" in done.stdout, "captum on the encoder of your own"


def test_a_missing_column_ends_the_run_and_says_what_to_do(run: Run) -> None:
    done = run("note", "unit")
    assert done.returncode == 1
    assert "no column 'unit'; it reads 'id,note,ward'. Name the columns" in done.stderr
