"""The experiments of page 5.10: tasks, splits, tables; and the page's code for Flan-T5."""

from __future__ import annotations

import re
from itertools import islice
from pathlib import Path
from typing import Any

import pytest
import torch
import transformers
from checkout import ROOT
from small_t5 import a_t5

from deepdive.evaluate import t_interval
from deepdive_book.ch05.figures.t5_architecture import t5_architecture
from deepdive_book.ch05.runs import t5 as runs
from deepdive_book.site.pages import drawings, find


def test_splits_are_disjoint_and_of_their_sizes() -> None:
    first, second = runs.split(1, 100), runs.split(2, 100)
    assert len(first.train) == 100
    assert len(first.test) == 200
    assert set(first.train) < set(first.unlabeled)
    assert sorted(first.unlabeled + first.test) == list(range(1000))
    assert first.test != second.test


def test_a_batch_has_as_many_examples_of_each_task_with_their_words() -> None:
    batches = runs.labeled(runs.TASKS, [347, 8], torch.Generator().manual_seed(0))
    inputs, target = next(batches)
    pairs = [(runs.BYTES.decode(a.tolist()), runs.BYTES.decode(b.tolist()))
             for a, b in zip(inputs, target, strict=True)]  # fmt: skip
    assert set(pairs) == {
        ("English: 347", "three hundred and forty-seven"), ("English: 8", "eight"),
        ("French: 347", "trois cent quarante-sept"), ("French: 8", "huit"),
    }  # fmt: skip
    assert sum(text.startswith("French") for text, _ in pairs) == runs.BATCH // 2
    inputs, _ = next(runs.labeled(runs.TASKS, [347], torch.Generator(), prefix=False))
    assert {runs.BYTES.decode(x.tolist()) for x in inputs} == {"347"}


def test_unlabeled_text_has_no_test_number_and_no_digit() -> None:
    numbers = runs.split(3, 100)
    lines = set(runs.number_text(numbers.unlabeled).split("\n"))
    assert len(lines) in (1599, 1600)  # 6 is "six" in both languages
    tested = {runs.words(task)[n] for task in runs.TASKS for n in numbers.test}
    assert not tested & lines
    assert not re.search(r"\d", "".join(lines))


def test_sentinels_of_a_corrupted_window_are_bytes_that_utf8_never_uses() -> None:
    text = "three hundred and forty-seven\n" * 20
    for inputs, target in islice(runs.unlabeled(text, torch.Generator().manual_seed(0)), 3):
        assert inputs.shape == (runs.BATCH, 48 - 7 + 2)
        assert target.shape == (runs.BATCH, 7 + 2 + 1)
        assert (target[:, 0] == 258).all()
        assert (target[:, -1] == 256).all()


def test_exact_match_counts_outputs_correct_in_every_character(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(runs, "outputs", lambda *_: ["one", "two ", "Three", "four"])
    assert runs.exact_match(runs.new_model(0), "English", [1, 2, 3, 4]) == 0.5


def test_training_lowers_the_loss_and_adafactor_stores_little() -> None:
    model, random = runs.new_model(0), torch.Generator().manual_seed(0)
    batch = next(runs.labeled(runs.TASKS, [1, 2, 3], random))
    before = float(runs.loss_of(model, batch).detach())
    runs.train(model, iter([batch] * 12), 12)
    assert float(runs.loss_of(model, batch).detach()) < before - 0.5
    row = runs.measure_tasks(**runs.task_point("English only", 1))
    assert row["examples_per_task"] == runs.BATCH
    assert row["state_per_parameter"] < 0.1
    row = runs.measure_tasks(**{**runs.task_point("English only", 1), "optimizer": "AdamW"})
    assert row["state_per_parameter"] == 2


def row(arm: str, steps: int, seed: int, english: float, french: float) -> dict[str, Any]:
    """A row of `measure_tasks`, with the tasks of its arm."""
    both = {"English": english, "French": french}
    tasks = runs.ARMS[arm][0]
    return {"arm": arm, "steps": steps, "seed": seed, "rate": runs.RATE, "parameters": 231_000,
            "examples_per_task": steps * 32 // len(tasks),
            "exact_match": {task: both[task] for task in tasks}}  # fmt: skip


def test_the_table_of_tasks_pairs_seeds_and_leaves_out_the_tuning() -> None:
    found = [
        row("both tasks", 800, 1, 0.9, 0.8), row("both tasks", 800, 2, 0.9, 0.9),
        row("English only", 400, 1, 0.8, 0), row("French only", 400, 1, 0, 0.8),
        row("English only", 400, 2, 0.9, 0), row("French only", 400, 2, 0, 0.7),
        row("both tasks", 800, runs.TUNING, 0.1, 0.1),
    ]  # fmt: skip
    one, two = runs.task_table(found)
    assert one["English"].value == pytest.approx(0.9)
    assert one["gain over two models (points)"] == pytest.approx(tuple(t_interval([5.0, 10.0])))
    assert one["seeds with a gain"] == "2 of 2"
    assert two["French"].value == pytest.approx(0.75)
    assert two["French"].high == 1
    assert (one["examples per task"], two["examples per task"]) == (12_800, 12_800)


def test_the_table_of_pretraining_compares_with_both_controls() -> None:
    found = [{**runs.pretraining_point(*arm, seed=seed),
              "exact_match": {"English": value * seed, "French": 3 * value * seed}}
             for arm, value in ((("none", 0, 600), 0.1), (("none", 0, 200), 0.0),
                                (("number words", 400, 200), 0.2))
             for seed in (2, 1, runs.TUNING)]  # fmt: skip
    first, second, third = runs.pretraining_table(found)
    assert first["exact match"].value == pytest.approx(0.3)
    assert first["lowest to highest seed"] == "20% to 40%"
    assert second["lowest to highest seed"] == "0% to 0%"
    assert first["gain over none, 600 steps (points)"] is None
    expected = tuple(t_interval([20.0, 40.0], 1 - 0.05 / 4))
    assert third["gain over none, 600 steps (points)"] == pytest.approx(expected)
    assert third["gain over none, 200 steps (points)"].value == pytest.approx(60)


def test_the_diagram_has_the_parts_of_its_alternative_text() -> None:
    drawn = t5_architecture()
    ((_, alt),) = drawings.shown(find("5.10", ROOT))
    for part in ("self-attention", "cross-attention", "feed-forward", "embedding", "softmax"):
        assert part in drawn
        assert part in alt


def blocks() -> list[str]:
    """The Python blocks in the page's text: prompts for Flan-T5, and one step of fine-tuning."""
    page = (ROOT / "chapters/05_efficient/10_t5.py").read_text("utf-8")
    found = re.findall(r"^# ```python\n(.*?)^# ```", page, re.S | re.M)
    return [re.sub(r"^# ?", "", block, flags=re.M) for block in found]


def test_the_code_for_the_original_t5_runs_on_a_small_stand_in(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    prompting, tuning = blocks()
    folder = a_t5(tmp_path / "t5", re.findall(r'"([^"]+)"', prompting + tuning))
    loaded: list[str] = []
    for auto in (transformers.AutoTokenizer, transformers.AutoModelForSeq2SeqLM):
        original = auto.from_pretrained

        def local(name: str, *, original: Any = original, **more: Any) -> Any:
            loaded.append(name)
            return original(str(folder), **more)

        monkeypatch.setattr(auto, "from_pretrained", local)
    names: dict[str, Any] = {}
    exec(prompting, names)
    assert loaded == ["google-t5/t5-small"] * 2
    assert len(names["outputs"]) == 3
    assert capsys.readouterr().out.startswith("[")
    before = names["model"].shared.weight.detach().clone()
    exec(tuning, names)
    assert (names["model"].shared.weight != before).any()
