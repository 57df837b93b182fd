"""Sweeps: stopped, resumed, kept."""

from __future__ import annotations

import json
import os
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from disk import full_after
from resume_script import forked

from deepdive.data import dataset_log
from deepdive.training import Keep
from deepdive_book.kit.experiments import checkpoints, results_path, search_rate, sweep

POINTS = [{"depth": depth, "warmup": warmup} for depth in (2, 4) for warmup in (0, 9)]


class Measure:
    """Counts its calls, and dies at one of them."""

    def __init__(self, dies_at: int = 0) -> None:
        self.calls: list[dict[str, Any]] = []
        self.dies_at = dies_at
        self.meanwhile: Callable[[int, int], None] = lambda depth, warmup: None

    def __call__(self, depth: int, warmup: int) -> dict[str, Any]:
        self.calls.append({"depth": depth, "warmup": warmup})
        if len(self.calls) == self.dies_at:
            raise KeyboardInterrupt
        self.meanwhile(depth, warmup)
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
    assert [
        {k: v for k, v in row.items() if k != "measured_by"} for row in document["rows"]
    ] == rows
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
    assert results_path("02_a", "grid") is None
    (tmp_path / "pyproject.toml").touch()
    assert results_path("02_a", "grid") == tmp_path / "chapters" / "02_a" / "results" / "grid.json"


@pytest.mark.parametrize(
    ("text", "names"),
    [
        ('{"rows": [], "data": "generated, xquad, sib200 (real)"}', ["sib200", "xquad"]),
        ('{"rows": [], "data": "generated"}', []),
        ("[1]", []),
        ("{", []),
        (None, []),
    ],
)
def test_what_kept_rows_were_measured_on_counts_as_read(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, text: str | None, names: list[str]
) -> None:
    results = tmp_path / "chapters" / "02_a" / "results"
    results.mkdir(parents=True)
    (tmp_path / "pyproject.toml").touch()
    if text is not None:
        (results / "grid.json").write_text(text)
    monkeypatch.setenv(dataset_log.SETTING, str(tmp_path / "opened"))
    monkeypatch.chdir(tmp_path)
    assert results_path("02_a", "grid") is not None
    assert dataset_log.noted(tmp_path / "opened") == names


def test_only_an_experiment_keeps_checkpoints(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("DEEPDIVE_OUT", str(tmp_path))
    monkeypatch.setenv("DEEPDIVE_PROFILE", "laptop")
    assert checkpoints("pretraining", "400-0") is None
    monkeypatch.setenv("DEEPDIVE_PROFILE", "experiment")
    kept_at = checkpoints("pretraining", "400-0", of="a teacher", version=2)
    assert kept_at == Keep(tmp_path / "pretraining" / "400-0", of="a teacher", version=2)


def test_two_sweeps_on_one_file_lose_no_row(tmp_path: Path) -> None:
    path = tmp_path / "a.json"
    other = [{"depth": depth, "warmup": 1} for depth in range(6)]

    def meanwhile(depth: int, warmup: int) -> None:
        """While this point is measured, another process sweeps over points of its own."""
        if depth == 2 and not warmup:
            child = forked(lambda: sweep(Measure(), [*other, POINTS[1]], path))
            assert os.waitpid(child, 0)[1] == 0

    measure = Measure()
    measure.meanwhile = meanwhile
    rows = sweep(measure, POINTS, path)
    assert [row["loss"] for row in rows] == [2.0, 2.9, 4.0, 4.9]
    kept_rows = json.loads(path.read_text())["rows"]
    assert len(kept_rows) == len(other) + len(POINTS)
    assert [child.name for child in tmp_path.iterdir()] == ["a.json"]


@pytest.mark.parametrize(
    ("content", "told"),
    [
        ('{"rows": [{"dep', r"a\.json is damaged .*restore it .*move it away"),
        ('{"rows": [3]}', r"a\.json, row 1: .*got 3"),
        ('{"rows": [{"depth": 2}]}', r"a\.json, row 1: .*seconds"),
        (
            '{"data": "real", "rows": [{"depth": 2, "warmup": 0, "loss": 1, "seconds": 1}]}',
            r"a\.json has rows of data 'real', these are of 'generated'",
        ),
    ],
)
def test_a_damaged_or_foreign_file_is_named_before_anything_is_measured(
    tmp_path: Path, content: str, told: str
) -> None:
    path, measure = tmp_path / "a.json", Measure()
    path.write_text(content)
    with pytest.raises(ValueError, match=told):
        sweep(measure, POINTS, path)
    assert not measure.calls
    assert path.read_text() == content


def test_what_json_does_not_have_is_named(tmp_path: Path) -> None:
    path = tmp_path / "a.json"
    with pytest.raises(ValueError, match=r"'depth': 2, 'warmup': 0.*'loss' is inf"):
        sweep(lambda depth, warmup: {"loss": float("inf")}, POINTS, path)
    with pytest.raises(TypeError, match=r"point: 'depth' is \{2\}"):
        sweep(Measure(), [{"depth": {2}, "warmup": 0}], path)
    with pytest.raises(ValueError, match="minutes: got inf"):
        sweep(Measure(), POINTS, path, minutes=float("inf"))
    assert not path.exists()


def test_what_is_not_measured_for_want_of_minutes_is_said(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    path, second = tmp_path / "a.json", Measure()
    sweep(Measure(), POINTS[:2], path)
    document = json.loads(path.read_text())
    document["rows"][0]["seconds"] = 100.0
    path.write_text(json.dumps(document))
    assert len(sweep(second, POINTS, path, minutes=1)) == 2
    assert not second.calls
    said = capsys.readouterr().out
    assert "2 of 4 points not measured: 1 minutes are spent, raise it" in said


def test_numbers_of_numpy_are_numbers(tmp_path: Path) -> None:
    path = tmp_path / "a.json"
    point = {"depth": np.int64(2), "warmup": 0}
    calls = []

    def measure(depth: int, warmup: int) -> dict[str, Any]:
        calls.append(depth)
        return {"loss": np.float32(0.5)}

    rows = sweep(measure, [point], path)
    (kept_row,) = json.loads(path.read_text())["rows"]
    kept_row.pop("measured_by")
    assert rows == [kept_row]
    assert sweep(measure, [point], path) == rows
    assert calls == [2]


def test_a_file_that_cannot_be_written_is_named(tmp_path: Path) -> None:
    measure, path = Measure(), tmp_path / "a.json"
    path.touch()
    with pytest.raises(OSError, match=r"folder: .*a\.json cannot be written"):
        sweep(measure, POINTS, path / "b.json")
    assert not measure.calls
    path.unlink()
    sweep(measure, POINTS[:2], path)
    before = path.read_bytes()
    with full_after(len(before)), pytest.raises(OSError, match=r"a\.json cannot .*rows in it are"):
        sweep(measure, POINTS, path)
    assert path.read_bytes() == before
    assert [child.name for child in tmp_path.iterdir()] == ["a.json"]


def test_a_changed_measurement_does_not_take_rows_of_before(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    path = tmp_path / "kept.json"
    points = [{"n": 1}, {"n": 2}]
    assert [row["y"] for row in sweep(lambda n: {"y": n}, points, path)] == [1, 2]
    assert [row["y"] for row in sweep(lambda n: {"y": n}, points, path)] == [1, 2]
    assert capsys.readouterr().out == ""
    told = r"row of \{'n': 1\} that other code measured \(.*<lambda>, version 1; now .*version 2"
    with pytest.raises(ValueError, match=told):
        sweep(lambda n: {"y": 100 * n}, [*points, {"n": 3}], path, version=2)
    assert [row["n"] for row in json.loads(path.read_text())["rows"]] == [1, 2]
    rows = sweep(lambda n: {"y": 100 * n}, [{"n": 3}], path, version=2)
    assert [row["y"] for row in rows] == [300]


def test_rows_without_a_code_are_taken_as_those_of_version_1(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    path = tmp_path / "kept.json"
    sweep(lambda n: {"y": n}, [{"n": 1}, {"n": 2}], path)
    document = json.loads(path.read_text())
    for row in document["rows"]:
        del row["measured_by"]
    path.write_text(json.dumps(document))
    rows = sweep(lambda n: {"y": -n}, [{"n": 1}, {"n": 2}], path)
    assert [row["y"] for row in rows] == [1, 2]
    assert not any("measured_by" in row for row in rows)
    assert capsys.readouterr().out == ""
    with pytest.raises(ValueError, match="other code measured"):
        sweep(lambda n: {"y": -n}, [{"n": 1}], path, version=2)


def test_true_is_not_one(tmp_path: Path) -> None:
    path = tmp_path / "kept.json"
    rows = sweep(lambda n: {"kind": type(n).__name__}, [{"n": 1}, {"n": True}], path)
    assert [row["kind"] for row in rows] == ["int", "bool"]
    again = sweep(lambda n: {"kind": type(n).__name__}, [{"n": True}, {"n": 1.0}], path)
    assert [row["kind"] for row in again] == ["bool", "int"]


def test_a_file_nested_too_deep_is_damaged(tmp_path: Path) -> None:
    path = tmp_path / "kept.json"
    path.write_text('{"rows": ' + "[" * 100_000 + "]" * 100_000 + "}")
    with pytest.raises(ValueError, match="is damaged"):
        sweep(lambda n: {"y": n}, [{"n": 1}], path)


@pytest.mark.parametrize(
    ("best", "tried"),
    [(3, {2, 3, 4}), (5, {2, 3, 4, 5, 6}), (1, {1, 2, 3, 4}), (7, {2, 3, 4, 5, 6, 7})],
)
def test_a_search_goes_on_while_the_best_rate_is_at_an_edge(best: int, tried: set[int]) -> None:
    seen = []

    def loss(rate: float) -> float:
        seen.append(rate)
        return abs(rate - best)

    assert search_rate(loss, (1, 2, 3, 4, 5, 6, 7), (2, 3, 4)) == best
    assert set(seen) == tried
    assert len(seen) == len(tried), "no rate is measured twice"
