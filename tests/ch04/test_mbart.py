"""Page 4.5's experiment: splits without leaks, batches of each objective, corrected p values."""

from __future__ import annotations

import random

import pytest
import torch

from deepdive_book.ch04.figures import pretraining_examples as figure
from deepdive_book.ch04.figures.mbart_diagram import mbart_diagram
from deepdive_book.ch04.runs import mbart as runs


@pytest.fixture
def data(monkeypatch: pytest.MonkeyPatch) -> runs.Corpora:
    monkeypatch.setenv("DEEPDIVE_PROFILE", "ci")
    runs.corpora.cache_clear()
    return runs.corpora()


def test_pairs_that_share_a_sentence_are_one_group() -> None:
    pairs = [("a", "x"), ("b", "y"), ("b", "x"), ("c", "z")]
    groups = runs.group_translations(pairs)
    assert sorted(map(sorted, groups)) == [[("a", "x"), ("b", "x"), ("b", "y")], [("c", "z")]]


def test_no_test_sentence_is_in_training(data: runs.Corpora) -> None:
    assert runs.leaks(data)["groups of translations"] == [0, 0]
    for k in (0, 1):
        tested = {pair[k] for pair in data.test}
        assert not tested & {pair[k] for pair in data.parallel}
        assert not tested & set(data.monolingual[k])
    english = {a for a, b in data.pairs if b in set(data.monolingual[1])}
    assert not english & set(data.monolingual[0])


def test_what_each_objective_predicts(data: runs.Corpora) -> None:
    pad, (en, fr) = data.vocabulary.pad, data.languages
    sizes = {}
    for objective in ("mBART", "copying", "MASS"):
        source, inputs, targets = next(runs.pretraining_batches(data, objective, seed=0, size=8))
        assert inputs[:, 0].tolist() == [en] * 4 + [fr] * 4
        assert (source == en).any(1).tolist() == [True] * 4 + [False] * 4
        sizes[objective] = int((targets != pad).sum())
        if objective == "copying":
            assert not (source == data.mask).any()
            assert torch.equal(source[:, : targets.shape[1]].masked_fill(targets == pad, pad),
                               targets)  # fmt: skip
        else:
            assert (source == data.mask).any()
    assert sizes["mBART"] == sizes["copying"] > 1.5 * sizes["MASS"]


def test_maximum_steps_and_compute(data: runs.Corpora) -> None:
    assert [runs.tuning_steps(one, 800) for one in ("none", runs.LONGER, "mBART")] == [
        1200, 1920, 400,
    ]  # fmt: skip
    none, longer = (runs.compute(data, one, 800, batches=1) for one in ("none", runs.LONGER))
    assert longer == pytest.approx(1.6 * none)
    assert runs.target_tokens(data, "none", 800) == 0


def test_differences_are_paired_and_corrected() -> None:
    rows = [{"objective": one, "steps": 8, "seed": seed, "5 chrF": value}
            for one, values in (("a", (3.0, 9.0)), ("b", (1.0, 2.0, 4.0)))
            for seed, value in enumerate(values)]  # fmt: skip
    assert runs.differences(rows, 5, ("a", "b"), 8) == [2.0, 7.0]
    assert runs.holm([0.04, 0.01, 0.03]) == pytest.approx([0.06, 0.03, 0.06])
    assert runs.holm([0.9, 0.8]) == [1.0, 1.0]


def test_the_figures_corrupt_as_the_page_says() -> None:
    source, inputs, targets = figure.parts()["mBART"]
    assert source == [*figure.ids(["He", "sleeps", "She"]), figure.MASK, figure.END, figure.ENGLISH]
    assert inputs == [figure.ENGLISH, *targets[:-1]]
    rng = random.Random(figure.SEED)
    rng.sample([0, 1], 2)
    assert round(rng.random(), 3) == 0.256
    assert len(figure.examples()) == 7
    assert "bidirectional encoder" in mbart_diagram()


def test_a_small_p_value_is_shown_as_such() -> None:
    found = [{"objective": one, "seed": seed, "steps": 8, **{f"{n} chrF": value + seed / 100
              for n in runs.pair_counts()}}
             for one, value in (("mBART", 30.0), ("none", 10.0)) for seed in (1, 2, 3)]  # fmt: skip
    found[0] |= {f"{n} chrF": 30.02 for n in runs.pair_counts()}
    table = runs.difference_table(found, [(("mBART", "none"), 8)])
    assert {line["p, corrected"] for line in table} == {"< 0.001"}
    assert table[0]["difference in chrF"].value == pytest.approx(20.0, abs=0.01)
