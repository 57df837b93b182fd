"""A reader's own file, changed and run again, is trained on anew, whatever lies there already."""

import os
import re
import subprocess
import sys
from pathlib import Path

import pytest
from checkout import ROOT

import deepdive
from deepdive.data import number_translation


def run(folder: Path, pairs: Path) -> str:
    source = (ROOT / "casestudies" / "02_translation.py").read_text(encoding="utf-8")
    assert "ci=1.5e11" in source
    page = folder / "page.py"
    # Up to the scores: what comes after trains once more on parts of the data.
    source = source.replace("ci=1.5e11", "ci=1e10").split("# ## Where does it hurt?")[0]
    page.write_text(source, encoding="utf-8")
    env = os.environ | {
        "DEEPDIVE_PROFILE": "ci",
        "DEEPDIVE_OUT": str(folder / "out"),
        "DEEPDIVE_PAIRS": str(pairs),
        "PYTHONPATH": str(Path(deepdive.__file__).parents[1]),
        "TQDM_DISABLE": "1",
    }
    done = subprocess.run(
        [sys.executable, str(page)], cwd=folder, env=env, capture_output=True, text=True
    )
    assert done.returncode == 0, done.stderr[-3000:]
    return done.stdout


@pytest.mark.slow_fault
def test_a_file_that_was_changed_is_trained_on_anew(tmp_path: Path) -> None:
    file = tmp_path / "own.tsv"
    pairs = number_translation("de", "es", 300, seed=3)
    file.write_text("".join(f"{left}\t{right}\n" for left, right in pairs), encoding="utf-8")
    first = run(tmp_path, file)
    again = run(tmp_path, file)
    assert "finished already" not in first
    assert again.count("finished already") == 3
    scores = re.findall(r"BLEU .*", first)
    assert scores
    assert scores == re.findall(r"BLEU .*", again)
    backwards = [(left, " ".join(right.split()[::-1])) for left, right in pairs]
    file.write_text("".join(f"{left}\t{right}\n" for left, right in backwards), encoding="utf-8")
    assert "finished already" not in run(tmp_path, file)
    assert len(list(tmp_path.glob("out/translation/*/*/checkpoint-*"))) == 2 * 3 * 2
