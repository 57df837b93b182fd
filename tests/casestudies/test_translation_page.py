"""The translation study runs on what a reader names: a file of pairs, or the other direction."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest
from checkout import ROOT

import deepdive
from deepdive.data import number_translation

PAGE = ROOT / "casestudies" / "02_translation.py"


def run(folder: Path, source: str, **settings: str) -> str:
    """Run the page as a plain script from `folder`; return what it printed."""
    page = folder / "page.py"
    page.write_text(source, encoding="utf-8")
    env = os.environ | {
        "DEEPDIVE_PROFILE": "ci",
        "DEEPDIVE_OUT": str(folder / "out"),
        "PYTHONPATH": str(Path(deepdive.__file__).parents[1]),
        "TQDM_DISABLE": "1",
        **settings,
    }
    done = subprocess.run(
        [sys.executable, str(page)], cwd=folder, env=env, capture_output=True, text=True
    )
    assert done.returncode == 0, done.stderr[-3000:]
    return done.stdout


@pytest.fixture
def source() -> str:
    """The page with a quarter of its operations: here it has to run, not to learn."""
    text = PAGE.read_text(encoding="utf-8")
    assert "ci=3e10" in text
    return text.replace("ci=3e10", "ci=1.5e10")


def test_on_a_file_of_pairs_in_the_other_direction(tmp_path: Path, source: str) -> None:
    """Both that a reader can name, in one run; the page as it is, is run as a page."""
    pairs = number_translation("de", "es", 400, seed=3)
    file = tmp_path / "zahlen.tsv"
    file.write_text("".join(f"{left}\t{right}\n" for left, right in pairs), encoding="utf-8")
    assert "\nSWAP = False" in source
    swapped = source.replace("\nSWAP = False", "\nSWAP = True")
    printed = run(tmp_path, swapped, DEEPDIVE_PAIRS=str(file))
    assert "zahlen.tsv (your file)" in printed
    assert "400 pairs" in printed
    assert "Transformer" in printed
    assert not list(tmp_path.glob("out/results/*.json")), "a reader's file is no result of ours"


@pytest.mark.parametrize(
    ("count", "told"),
    [(12, "12 different source sentences, expected 80"), (100, r"\d\d pairs to train on")],
)
def test_too_few_pairs_are_named_before_training(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, count: int, told: str
) -> None:
    """Not an hour later, where a 64th of them is asked for."""
    pairs = [*number_translation("de", "es", count, seed=3)]
    pairs[62:] = [(left + " und eins" * 40, right) for left, right in pairs[62:]]
    file = tmp_path / "few.tsv"
    file.write_text("".join(f"{left}\t{right}\n" for left, right in pairs), encoding="utf-8")
    monkeypatch.setenv("DEEPDIVE_PAIRS", str(file))
    page = PAGE.read_text(encoding="utf-8").partition("# A file of your own")[2]
    before = page.partition("budget = pick(")[0]  # nothing is trained up to there
    with pytest.raises(ValueError, match=rf"few\.tsv \(your file\): {told}"):
        exec(f"# {before}", {"__name__": "page"})
