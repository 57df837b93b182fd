"""Study 4's kept answers are of the texts that stand there, and an encoder of one's own is read."""

from __future__ import annotations

import json
import os
import re
import subprocess
import sys
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from checkout import ROOT
from sklearn.metrics import f1_score

import deepdive
from deepdive.evaluate import macro_f1_interval
from deepdive.models.multilingual import labse
from deepdive.published import sentences
from deepdive.tokenizers.wordpiece import BERT_SPECIALS, CasedWordPieceTokenizer
from deepdive_book.data.grammar import grammar_pairs
from deepdive_book.studies.runs import zero_shot

PAGE = ROOT / "casestudies" / "04_zero_shot.py"


def kept(name: str) -> list[dict[str, Any]]:
    path = ROOT / f"chapters/04_multilingual/results/{name}.json"
    return list(json.loads(path.read_text("utf-8"))["rows"])


ROWS = kept("zero_shot")


def test_each_reader_answers_in_all_languages() -> None:
    asked = [(row["reader_of"], row["seed"]) for row in ROWS]
    assert {("student", 0), ("student", 1), ("student", 2), ("e5", 0), ("letters", 0)} <= {*asked}
    for row in ROWS:
        assert row["topics"]["said"].keys() == zero_shot.SIB.keys()
        assert {len(said) for said in row["topics"]["said"].values()} == {1004}
        assert row["feelings"]["zero"].keys() == zero_shot.XED.keys()


@pytest.mark.data("sib200")
def test_topics_are_of_one_text_in_twelve_languages() -> None:
    english = zero_shot.whole_sib200("eng_Latn")
    for code in zero_shot.SIB:
        assert zero_shot.whole_sib200(code).labels == english.labels


@pytest.mark.data("xed")
def test_feelings_are_of_the_lines_of_these_files() -> None:
    met = {*zero_shot.english_lines().texts}
    for code in zero_shot.XED:
        lines = zero_shot.lines_of(code)
        assert not met & {*lines.texts} or code != "en"
        for row in ROWS:
            assert len(row["feelings"]["zero"][code]) == 2 * len(lines)
            assert len(row["feelings"]["own"][code]) == len(lines)


@pytest.mark.data("xed")
def test_macro_f1_of_kept_answers_is_scikit_learn_s() -> None:
    said = zero_shot.describe(ROWS[0]["feelings"], "fi_annotated")
    truth = np.array(zero_shot.lines_of("fi_annotated").labels)
    ours = macro_f1_interval(said, truth, 2).value
    assert ours == pytest.approx(f1_score(truth, said, average="macro"))


def test_an_encoder_of_a_reader_in_a_folder(tmp_path: Path) -> None:
    texts = [english for english, _ in grammar_pairs(200)]
    tokenizer = CasedWordPieceTokenizer.train(texts, 200, specials=BERT_SPECIALS)
    folder = tmp_path / "encoder"
    sentences.save(labse.labse(labse.TINY.but(vocab_size=len(tokenizer), max_length=256)), folder)
    (folder / "vocab.txt").write_text("\n".join(tokenizer.vocab) + "\n", encoding="utf-8")
    env = os.environ | {
        "DEEPDIVE_PROFILE": "ci",
        "DEEPDIVE_OUT": str(tmp_path / "out"),
        "DEEPDIVE_ENCODER": str(folder),
        "PYTHONPATH": str(Path(deepdive.__file__).parents[1]),
        "TQDM_DISABLE": "1",
    }
    done = subprocess.run(
        [sys.executable, str(PAGE)], cwd=PAGE.parent, env=env, capture_output=True, text=True
    )
    assert done.returncode == 0, done.stderr[-3000:]
    assert re.search(rf"{re.escape(str(folder))} .*'fr': '[01]\.\d", done.stdout)
