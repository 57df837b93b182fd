"""The experiment on sublayer orders: what is held equal, and the statistics of its tables."""

from __future__ import annotations

from itertools import combinations
from statistics import mean

import numpy as np
import pytest
import torch

from deepdive_book.ch05.figures.sublayer_orders import sublayer_orders
from deepdive_book.ch05.runs import block_order as runs
from deepdive_book.ch05.runs import block_order_results as results
from deepdive_book.ch06a.runs.decoder_ablations import cut

TEXT = cut("the quality of mercy is not strained, it droppeth as the gentle rain. " * 120)
KINDS = len(TEXT.letters)


def test_orders_are_all_orders_of_three_and_three() -> None:
    assert len(set(runs.ORDERS)) == 20
    assert all(sorted(order) == sorted("sssfff") for order in runs.ORDERS)
    assert len(set(runs.SPACE)) == 64


def test_all_arms_have_equal_compute_and_the_orders_equal_parameters() -> None:
    models = {arm: runs.decoder(KINDS, arm) for arm in ("sfsfsf", "sssfff", runs.MACARON)}
    sizes = {arm: sum(p.numel() for p in model.parameters()) for arm, model in models.items()}
    assert sizes["sfsfsf"] == sizes["sssfff"]
    norms = 3 * 2 * runs.D_MODEL  # a Macaron block has three norms, a plain one two
    assert sizes[runs.MACARON] - sizes["sfsfsf"] == norms
    assert len({runs.step_flops(model, KINDS) for model in models.values()}) == 1


def test_candidates_have_equally_many_parameters() -> None:
    sizes = {
        name: sum(p.numel() for p in runs.decoder(KINDS, name * 3, runs.SEARCH_FF).parameters())
        for name in "scf"
    }
    assert len(set(sizes.values())) == 1


def test_a_row_of_each_measurement() -> None:
    row = runs.measure_order(TEXT, "fsfsfs", 0.004, 0, 3)
    assert set(row) == {"parameters", "flops", "chosen", "test"}
    again = runs.measure_order(TEXT, "fsfsfs", 0.004, 0, 3)
    assert row == again
    found = runs.measure_search(TEXT, 0.004, 0.05, 0, 3)
    assert found["choice"] in runs.SPACE
    assert all(sum(mixture) == pytest.approx(1) for mixture in found["mixtures"])
    single = runs.measure_candidate(TEXT, "scf", 0.004, 0, 3)
    assert found["flops"] > 2 * single["flops"]


def test_both_halves_of_the_search_move() -> None:
    row = runs.measure_search(TEXT, 0.004, 0.05, 0, 10)
    assert max(abs(w - 0.25) for mixture in row["mixtures"] for w in mixture) > 0.01


def test_variance_parts_and_the_permutation_test() -> None:
    generator = np.random.default_rng(0)
    orders, seeds = generator.normal(0, 3, (40, 1)), generator.normal(0, 2, (1, 30))
    losses = orders + seeds + generator.normal(0, 1, (40, 30))
    parts = results.variance_parts(losses)
    assert parts["order"] == pytest.approx(float(orders.std(ddof=1)), rel=0.1)
    assert parts["seed"] == pytest.approx(float(seeds.std(ddof=1)), rel=0.1)
    assert parts["rest"] == pytest.approx(1, rel=0.1)
    assert results.permutation_p(losses, 99) == 0.01
    assert results.permutation_p(generator.normal(0, 1, (20, 5)), 199) > 0.05
    assert results.rank_correlation(losses)[0] > 0.8


def test_random_search_is_the_mean_over_all_draws() -> None:
    names, generator = runs.SPACE[:6], np.random.default_rng(1)
    rate = runs.SEARCH_RATES[0]
    rows = [
        {"candidate": name, "seed": seed, "rate": rate, "chosen": generator.random(),
         "test": generator.random(), "flops": 1}
        for name in names for seed in (runs.TUNING_SEED, 0, 1)
    ]  # fmt: skip
    first = {r["candidate"]: r["chosen"] for r in rows if r["seed"] == runs.TUNING_SEED}
    losses, place = results.final_losses(rows, "candidate"), results.ranks(rows)
    winners = [min(draw, key=first.__getitem__) for draw in combinations(names, 3)]
    found = results.random_search(rows, 3)
    assert found["test"] == pytest.approx(mean(mean(losses[name]) for name in winners))
    assert found["rank"] == pytest.approx(mean(place[name] for name in winners))


def test_the_drawing_shows_all_four() -> None:
    drawn = sublayer_orders()
    for name in ("Transformer", "Macaron", "Sandwich, k = 1", "DARTS", "identity"):
        assert name in drawn
    assert drawn.count("½ feed-forward") == 6


def test_the_order_of_the_sublayers_is_the_order_of_the_letters() -> None:
    torch.manual_seed(0)
    blocks = runs.decoder(KINDS, "fssfsf").decoder.stack.blocks
    kinds = ["f" if hasattr(block.sublayer, "inner") else "s" for block in blocks]
    assert "".join(kinds) == "fssfsf"
