"""Scaling-law runs: corpus, losses of one run, search for a rate, and what the page shows."""

from __future__ import annotations

from math import log
from pathlib import Path
from statistics import fmean
from typing import Any

import pytest
import torch

from deepdive.evaluate.scaling import Chinchilla
from deepdive_book.ch06a.runs import scaling
from deepdive_book.ch06a.runs.scaling import (
    CONTEXT,
    END,
    GRID,
    STEP,
    VOCABULARY,
    Corpus,
    Experiment,
    Shape,
    encoded,
    train,
)
from deepdive_book.kit.experiments import results_path

DOCUMENTS = [f"the cat number {i} sat on the mat of house {i * i}. " * 8 for i in range(120)]


def test_documents_are_encoded_and_none_is_on_both_sides() -> None:
    corpus = encoded(["Ab’s  C\nd é☃", "second", "third"], held_out=4)
    texts = ["".join(VOCABULARY[i] for i in part) for part in corpus[::-1]]
    assert texts == [f"ab's c d e{END}", f"second{END}third{END}"]
    corpus = encoded(DOCUMENTS, held_out=500)
    assert 500 <= len(corpus.test) < 500 + len(DOCUMENTS[1]) + 1
    ends = [int((part == VOCABULARY.index(END)).sum()) for part in corpus]
    assert sum(ends) == len(DOCUMENTS)
    assert all(int(part[-1]) == VOCABULARY.index(END) for part in corpus)


def test_flops_are_six_per_parameter_and_more_in_small_models() -> None:
    ratio = [(counts := Shape(layers, d_model).counts())["flops_per_token"] / counts["parameters"]
             for layers, d_model in ((2, 12), (2, 32), (3, 64), (5, 128))]  # fmt: skip
    assert ratio == sorted(ratio, reverse=True)
    assert 6 < ratio[-1] < 7


def test_each_character_is_read_once_and_each_amount_has_its_own_decay(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    draw = torch.Generator().manual_seed(0)
    corpus = Corpus(*(torch.randint(70, (n,), generator=draw) for n in (30_000, 500)))
    read, rates = [], []
    real = scaling.fit

    def watched(model, batches, *args, schedule, steps, **more):  # type: ignore[no-untyped-def]
        read.append(torch.cat(batches))
        rates.append([schedule(step) for step in range(1, steps + 1)])
        return real(model, batches, *args, schedule=schedule, steps=steps, **more)

    monkeypatch.setattr(scaling, "fit", watched)
    monkeypatch.setattr(scaling, "WARMUP", 2)
    row = train(corpus, Shape(1, 8), seed=0, tokens=[10 * STEP, 20 * STEP], rate=0.01)
    assert len(row["loss"]) == 2
    assert [len(part) for part in rates] == [8, 2, 8, 4]
    trunk = torch.cat([read[0], read[2]])
    assert len(torch.unique(torch.cat([trunk, read[3]]), dim=0)) == 20 * STEP // CONTEXT
    assert torch.equal(read[1], read[2][: len(read[1])])  # the copy reads what the model reads next
    assert rates[0][:3] == pytest.approx([0.005, 0.01, 0.01])
    assert rates[2] == pytest.approx([0.01] * 8)
    assert rates[3] == pytest.approx([0.008, 0.006, 0.004, 0.002])


def test_a_copy_leaves_the_model_unchanged() -> None:
    corpus = encoded(DOCUMENTS, 500)
    both = train(corpus, Shape(1, 8), seed=1, tokens=[5 * STEP, 10 * STEP], rate=0.01)
    alone = train(corpus, Shape(1, 8), seed=1, tokens=[10 * STEP], rate=0.01)
    assert both["loss"][1] == alone["loss"][0] < both["loss"][0]
    assert both["undecayed"][1] == alone["undecayed"][0] > alone["loss"][0]


def test_a_text_that_is_too_short_is_refused() -> None:
    with pytest.raises(ValueError, match="tokens: got 1,000,000"):
        train(encoded(DOCUMENTS, 500), Shape(1, 8), seed=0, tokens=[10**6], rate=0.01)


@pytest.mark.parametrize("best", [0.003, 0.024, 0.0011])
def test_the_search_for_a_rate_ends_between_two_worse_ones(
    best: float, monkeypatch: pytest.MonkeyPatch
) -> None:
    def rows(self: Experiment, *args: Any) -> list[dict[str, Any]]:
        tried.append(args[-1])
        return [{"loss": [(log(args[-1]) - log(best)) ** 2]}]

    tried: list[float] = []
    monkeypatch.setattr(Experiment, "rows", rows)
    experiment = Experiment(Corpus(torch.empty(0), torch.empty(0)), None)
    found = experiment.tuned(Shape(2, 12), 0.006, 2**19)
    assert abs(log(found / best)) <= log(2) / 2 + 1e-9
    assert {found / 2, found, found * 2} <= set(tried)
    assert len(tried) == len(set(tried))


def planted(law: Chinchilla) -> list[dict[str, Any]]:
    return [{"parameters": (n := shape.counts()["parameters"]), "seed": 0,
             "tokens": [*scaling.TOKENS], "loss": [law(n, d) for d in scaling.TOKENS]}
            for shape in GRID]  # fmt: skip


@pytest.mark.parametrize(("alpha", "beta"), [(0.4, 0.4), (0.3, 0.5)])
def test_isoflop_parabolas_find_a_planted_exponent(alpha: float, beta: float) -> None:
    law = Chinchilla(1.0, 20.0, 20.0 * (300_000 ** (beta - alpha)) * 4, alpha, beta)
    found = scaling.isoflop_exponent(planted(law))
    assert found == pytest.approx(law.growth, abs=0.06)


def test_the_log_linear_baseline_is_exact_for_a_power_law() -> None:
    rows = [{"parameters": n, "tokens": [d], "loss": [50 * n**-0.1 * d**-0.15]}
            for n in (1e3, 1e4, 1e5) for d in (1e5, 1e6)]  # fmt: skip
    assert scaling.trend(rows, 1e6, 1e7) == pytest.approx(50 * 1e6**-0.1 * 1e7**-0.15)


def test_the_saved_runs_are_complete_and_predicted_before_they_were_made() -> None:
    rows, real = scaling.measured(results_path("06a_text", "scaling"))
    assert real
    assert len(rows["grid"]) == len(GRID) * len(scaling.SEEDS)
    best = {}
    for shape in GRID:
        n = shape.counts()["parameters"]
        losses: dict[float, list[float]] = {}
        for row in rows["rate"]:
            if row["parameters"] == n:
                losses.setdefault(row["rate"], []).append(row["loss"][0])
        best[n] = min(losses, key=lambda rate: fmean(losses[rate]))
        assert min(losses) < best[n] < max(losses), "the best rate is inside of those tried"
    assert all(row["rate"] == best[row["parameters"]] for row in rows["grid"])
    (word,) = rows["prediction"]
    assert max(row["finished"] for row in rows["grid"]) < word["finished"]
    assert all(word["finished"] < rows[name][0]["finished"] for name in word["chosen"])


def test_without_saved_rows_the_losses_are_generated() -> None:
    rows, real = scaling.measured(Path("no_such_file.json"))
    assert not real
    assert len(scaling.exponents(rows["grid"])) == 7
    assert len(scaling.predictions(rows)) == 2
    assert len(scaling.rate_losses(rows["rate"], 0.012)) == len(GRID)
