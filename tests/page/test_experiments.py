"""Sweeps: stopped, resumed, kept."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from deepdive.page.experiments import checkpoints, kept, sweep

POINTS = [{"depth": depth, "warmup": warmup} for depth in (2, 4) for warmup in (0, 9)]


class Measure:
    """Counts its calls, and dies at one of them."""

    def __init__(self, dies_at: int = 0) -> None:
        self.calls: list[dict[str, Any]] = []
        self.dies_at = dies_at

    def __call__(self, depth: int, warmup: int) -> dict[str, Any]:
        self.calls.append({"depth": depth, "warmup": warmup})
        if len(self.calls) == self.dies_at:
            raise KeyboardInterrupt
        return {"loss": depth + warmup / 10}


def test_a_sweep_measures_each_point_in_order() -> None:
    rows = sweep(Measure(), POINTS)
    assert [row["loss"] for row in rows] == [2.0, 2.9, 4.0, 4.9]
    assert [(row["depth"], row["warmup"]) for row in rows] == [(2, 0), (2, 9), (4, 0), (4, 9)]
    assert all(row["seconds"] >= 0 for row in rows)


def test_a_stopped_sweep_goes_on_where_it_was(tmp_path: Path) -> None:
    path, first, second = tmp_path / "results" / "a.json", Measure(dies_at=3), Measure()
    with pytest.raises(KeyboardInterrupt):
        sweep(first, POINTS, path)
    rows = sweep(second, POINTS, path)
    assert second.calls == POINTS[2:]
    assert [row["loss"] for row in rows] == [2.0, 2.9, 4.0, 4.9]
    document = json.loads(path.read_text())
    assert document["rows"] == rows
    assert {"data", "cores", "threads", "seconds", "commits"} <= set(document)
    assert [child.name for child in path.parent.iterdir()] == ["a.json"]


def test_rows_of_other_points_are_kept_and_not_returned(tmp_path: Path) -> None:
    path = tmp_path / "a.json"
    sweep(Measure(), POINTS[:1], path)
    assert len(sweep(Measure(), POINTS[1:2], path)) == 1
    assert len(json.loads(path.read_text())["rows"]) == 2


def test_a_result_may_not_overwrite_its_point() -> None:
    with pytest.raises(ValueError, match="depth"):
        sweep(lambda depth: {"depth": depth}, [{"depth": 1}])


def test_another_file_is_refused(tmp_path: Path) -> None:
    path = tmp_path / "a.json"
    path.write_text("[]")
    with pytest.raises(ValueError, match="no rows"):
        sweep(Measure(), POINTS, path)


def test_the_file_lies_beside_its_chapter(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "chapters" / "02_a").mkdir(parents=True)
    monkeypatch.chdir(tmp_path / "chapters" / "02_a")
    assert kept("02_a", "grid") is None
    (tmp_path / "pyproject.toml").touch()
    assert kept("02_a", "grid") == tmp_path / "chapters" / "02_a" / "results" / "grid.json"


def test_only_an_experiment_keeps_checkpoints(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("DEEPDIVE_OUT", str(tmp_path))
    monkeypatch.setenv("DEEPDIVE_PROFILE", "laptop")
    assert checkpoints("pretraining", "400-0") is None
    monkeypatch.setenv("DEEPDIVE_PROFILE", "experiment")
    assert checkpoints("pretraining", "400-0") == tmp_path / "pretraining" / "400-0"
