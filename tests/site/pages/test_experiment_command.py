"""`deepdive run PAGE --profile experiment`: stopped, gone on with, shortened, limited."""

from __future__ import annotations

import json
import os
from pathlib import Path

import pytest
from click.testing import CliRunner, Result

from deepdive_book import cli
from deepdive_book.kit.experiments import share, sweep

PAGE = """\
# %% [markdown]
# # A sweep
#
# Which wins?
#
# 1 min

# %%
import os
from pathlib import Path

from deepdive_book.kit.experiments import results_path, share, sweep
from deepdive_book.kit.profile import pick, profile


def measure(name, steps):
    with Path("calls.txt").open("a") as calls:
        print(name, steps, file=calls)
    if Path("power_cut").exists() and name == "b":
        os._exit(1)  # as if killed
    return {"loss": 1 / steps}


steps = round(pick(ci=1, laptop=1, gpu=1, experiment=100) * share())
points = [{"name": name, "steps": steps} for name in "abc"]
file = results_path("02_transformer", "sweep") if profile() == "experiment" else None
rows = sweep(measure, points, file)
len(rows)
"""


@pytest.fixture
def chapter(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A checkout with one page, as the current folder; returns the page's folder."""
    folder = tmp_path / "chapters" / "02_transformer"
    folder.mkdir(parents=True)
    (folder / "16_sweep.py").write_text(PAGE)
    (tmp_path / "pyproject.toml").touch()
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("DEEPDIVE_SHARE", "")
    return folder


def run(*options: str) -> Result:
    return CliRunner().invoke(cli.main, ["run", "2.16", *options])


def test_a_killed_experiment_goes_on_and_other_profiles_keep_nothing(chapter: Path) -> None:
    results, calls = chapter / "results" / "sweep.json", chapter / "calls.txt"
    assert run("--profile", "ci").exit_code == 0
    assert calls.read_text() == "a 1\nb 1\nc 1\n"
    assert not results.exists()

    calls.unlink()
    (chapter / "power_cut").touch()
    assert run("--profile", "experiment", "--share", "0.5").exit_code == 1
    assert [row["name"] for row in json.loads(results.read_text())["rows"]] == ["a"]

    (chapter / "power_cut").unlink()
    done = run("--profile", "experiment", "--share", "0.5")
    assert done.exit_code == 0, done.output
    assert calls.read_text() == "a 50\nb 50\nb 50\nc 50\n"
    rows = json.loads(results.read_text())["rows"]
    assert [(row["name"], row["steps"], row["loss"]) for row in rows] == [
        ("a", 50, 0.02), ("b", 50, 0.02), ("c", 50, 0.02),
    ]  # fmt: skip


def test_a_share_belongs_to_the_experiment_profile(chapter: Path) -> None:
    refused = run("--profile", "ci", "--share", "0.5")
    assert refused.exit_code == 2
    assert "--share is for --profile experiment" in refused.output
    assert run("--profile", "experiment", "--share", "0").exit_code == 2
    assert not os.environ["DEEPDIVE_SHARE"]


@pytest.mark.parametrize("given", ["0", "-1", "1.5", "half", "nan"])
def test_a_share_is_a_part(monkeypatch: pytest.MonkeyPatch, given: str) -> None:
    monkeypatch.setenv("DEEPDIVE_SHARE", given)
    with pytest.raises(ValueError, match="above 0, at most 1"):
        share()


def test_no_point_is_begun_when_the_minutes_are_over(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    clock = iter(range(0, 10_000, 40))  # every point takes 40 s
    monkeypatch.setattr(
        "deepdive_book.kit.experiments.time.perf_counter", lambda: float(next(clock))
    )
    points, path = [{"name": name} for name in "abcd"], tmp_path / "a.json"
    rows = sweep(lambda name: {"loss": 1.0}, points, path, minutes=1)
    assert [row["name"] for row in rows] == ["a", "b"]
    assert sweep(lambda name: {"loss": 1.0}, points, path, minutes=1) == rows
    assert len(sweep(lambda name: {"loss": 1.0}, points, path, minutes=2)) == 3
