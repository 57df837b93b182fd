"""The study of topics runs on a table that a reader names, with an encoder that a reader names."""

from __future__ import annotations

import csv
import os
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

import pytest
from checkout import ROOT

import deepdive
from deepdive.data.subjects import generated_subjects

PAGE = ROOT / "casestudies" / "03a_topics.py"
TEXTS = generated_subjects(160, seed=4)

Run = Callable[..., "subprocess.CompletedProcess[str]"]


def an_encoder(folder: Path) -> Path:
    """A small encoder in the form in which sentence-transformers keeps one."""
    from sentence_transformers import SentenceTransformer
    from sentence_transformers.models import Pooling, Transformer
    from transformers import BertConfig, BertModel, BertTokenizerFast

    words = sorted({word for text in TEXTS.texts for word in text.split()})
    vocabulary = ["[PAD]", "[UNK]", "[CLS]", "[SEP]", "[MASK]", *words]
    plain = folder / "plain"
    plain.mkdir(parents=True)
    (plain / "vocab.txt").write_text("\n".join(vocabulary) + "\n", encoding="utf-8")
    BertTokenizerFast(str(plain / "vocab.txt")).save_pretrained(plain)
    BertModel(
        BertConfig(
            vocab_size=len(vocabulary),
            hidden_size=32,
            num_hidden_layers=1,
            num_attention_heads=2,
            intermediate_size=32,
            max_position_embeddings=64,
        )
    ).save_pretrained(plain)
    body = Transformer(str(plain), max_seq_length=64)
    SentenceTransformer(modules=[body, Pooling(32)]).save(str(folder / "encoder"))
    return folder / "encoder"


@pytest.fixture
def run(tmp_path: Path) -> Run:
    """Run the page on own.csv, whose texts are in the column `text`; what came of it."""
    with (tmp_path / "own.csv").open("w", encoding="utf-8", newline="") as file:
        rows = csv.writer(file)
        rows.writerow(["id", "text"])
        rows.writerows(enumerate(TEXTS.texts))

    def started(column: str = "text", **settings: str) -> subprocess.CompletedProcess[str]:
        source = PAGE.read_text(encoding="utf-8")
        assert '\nTEXT_COLUMN = "text"' in source
        page = tmp_path / "page.py"
        page.write_text(
            source.replace('\nTEXT_COLUMN = "text"', f'\nTEXT_COLUMN = "{column}"'), "utf-8"
        )
        env = os.environ | {
            "DEEPDIVE_PROFILE": "ci",
            "DEEPDIVE_OUT": str(tmp_path / "out"),
            "DEEPDIVE_TEXTS": str(tmp_path / "own.csv"),
            "PYTHONPATH": str(Path(deepdive.__file__).parents[1]),
            "TQDM_DISABLE": "1",
            **settings,
        }
        command = [sys.executable, str(page)]
        return subprocess.run(command, cwd=tmp_path, env=env, capture_output=True, text=True)

    return started


def test_on_a_table_of_ones_own_with_an_encoder_of_ones_own(run: Run, tmp_path: Path) -> None:
    done = run(DEEPDIVE_ENCODER=str(an_encoder(tmp_path)))
    assert done.returncode == 0, done.stderr[-3000:]
    assert "data own.csv (your file)" in done.stdout
    assert "160 texts, " in done.stdout
    assert "160 vectors of 32 numbers" in done.stdout
    assert "agreement" not in done.stdout, "nobody said what the reader's texts are about"
    assert not list(tmp_path.glob("out/results/*.json")), "a reader's file is no result of ours"


def test_a_column_that_is_not_there_ends_the_run_with_the_fix(run: Run) -> None:
    done = run("words")
    assert done.returncode == 1
    assert "no column 'words'" in done.stderr
    assert "it reads 'id,text'" in done.stderr
    assert "vectors" not in done.stdout
