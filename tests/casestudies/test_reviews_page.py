"""The study on reviews runs on what a reader names: a table, its columns, a larger model."""

from __future__ import annotations

import csv
import os
import re
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

import pytest
from checkout import ROOT
from model_hub import NAME, serving
from parity_registry import perturb
from small_bert import SIZES, a_bert
from tokenizers import ByteLevelBPETokenizer
from transformers import RobertaConfig, RobertaForMaskedLM

import deepdive
from deepdive.tokenizers.published import ROBERTA_SPECIALS
from deepdive_book.data.synthetic_reviews import generated_reviews

PAGE = ROOT / "casestudies" / "03b_reviews.py"
APPS = generated_reviews(240, classes=3, seed=5)
# The page as a script, with another folder in the place of MiniLM's.
SCRIPT = """
import runpy, sys
from pathlib import Path
from deepdive.published import pretrained
pretrained.minilm = lambda: Path(sys.argv[1])
runpy.run_path(sys.argv[2])
"""

Run = Callable[..., "subprocess.CompletedProcess[str]"]


def a_roberta(folder: Path) -> dict[str, bytes]:
    """The files of a small RoBERTa, as the hub has those of roberta-base."""
    library = ByteLevelBPETokenizer()
    specials = ["<s>", "<pad>", "</s>", "<unk>", "<mask>"]
    assert {*specials} == {*ROBERTA_SPECIALS}
    library.train_from_iterator(APPS.texts, 320, special_tokens=specials)
    config = RobertaConfig(
        vocab_size=library.get_vocab_size(), intermediate_size=96, max_position_embeddings=130,
        type_vocab_size=1, layer_norm_eps=1e-5, **SIZES,
    )  # fmt: skip
    perturb(RobertaForMaskedLM(config), size=0.02).save_pretrained(folder)
    library.save(str(folder / "tokenizer.json"))
    files = ("config.json", "model.safetensors", "tokenizer.json")
    return {name: (folder / name).read_bytes() for name in files}


@pytest.fixture
def run(tmp_path: Path) -> Run:
    """Run the page on apps.csv, whose columns are `review` and `stars`; what came of it."""
    with (tmp_path / "apps.csv").open("w", encoding="utf-8", newline="") as file:
        rows = csv.writer(file)
        rows.writerow(["app", "review", "stars"])
        rows.writerows(
            ["chess", x, 2 * y + 1] for x, y in zip(APPS.texts, APPS.labels, strict=True)
        )

    def started(text: str, label: str, **settings: str) -> subprocess.CompletedProcess[str]:
        source = PAGE.read_text(encoding="utf-8")
        for name, old, new in (("TEXT", "text", text), ("LABEL", "label", label)):
            assert f'\n{name}_COLUMN = "{old}"' in source
            source = source.replace(f'\n{name}_COLUMN = "{old}"', f'\n{name}_COLUMN = "{new}"')
        page = tmp_path / "page.py"
        page.write_text(source, encoding="utf-8")
        env = os.environ | {
            "DEEPDIVE_PROFILE": "ci",
            "DEEPDIVE_OUT": str(tmp_path / "out"),
            "DEEPDIVE_REVIEWS": str(tmp_path / "apps.csv"),
            "PYTHONPATH": str(Path(deepdive.__file__).parents[1]),
            "TQDM_DISABLE": "1",
            **settings,
        }
        command = [
            sys.executable,
            "-c",
            SCRIPT,
            str(a_bert(tmp_path / "bert", APPS.texts)),
            str(page),
        ]
        return subprocess.run(command, cwd=tmp_path, env=env, capture_output=True, text=True)

    return started


def test_on_a_table_in_three_classes_with_a_roberta_of_the_hub(run: Run, tmp_path: Path) -> None:
    with serving(a_roberta(tmp_path / "roberta"), tmp_path / "hf") as hub:
        done = run("review", "stars", DEEPDIVE_LARGER=NAME, **hub)
    assert done.returncode == 0, done.stderr[-3000:]
    printed = done.stdout
    assert "data apps.csv (your file)" in printed
    assert "train 168, valid 24, test 48: {'1': " in printed
    assert re.search(r"\n +1 +3 +5\n +1 ", printed), "a table of confusion with the reader's names"
    assert "apps.csv (your file): 48 to test" in printed, "long texts are the reader's own"
    assert re.search(rf"\n{NAME}: 0\.\d+ \[", printed)
    assert not list(tmp_path.glob("out/results/*.json")), "a reader's file is no result of ours"


def test_a_column_that_is_not_there_ends_the_run_with_the_mend(run: Run) -> None:
    done = run("review", "rating")
    assert done.returncode == 1
    assert "no column 'rating'; it reads 'app,review,stars'. Name the columns" in done.stderr
    assert "linear" not in done.stdout
