"""The relative effective context length of page 5.16, by hand and on a tiny model."""

from __future__ import annotations

import pytest
import torch

from deepdive_book.ch05.runs import effective_context as experiment
from deepdive_book.ch05.runs.recurrence import ARMS, RELATIVE, build, by_windows, stretches
from deepdive_book.ch06a.runs.decoder_ablations import cut

TEXT = cut("the quality of mercy is not strained, it droppeth as the gentle rain. " * 60)


def test_a_gain_counts_the_hardest_positions_and_never_a_worse_prediction() -> None:
    baseline, longer = torch.tensor([1.0, 2.0, 3.0, 4.0]), torch.tensor([9.0, 1.0, 9.0, 3.0])
    assert experiment.hardest(baseline, 0.5).tolist() == [3, 2]
    assert experiment.relative_gain(baseline, longer, 1.0) == pytest.approx(2 / 10)
    assert experiment.relative_gain(baseline, longer, 0.5) == pytest.approx(1 / 7)
    assert experiment.relative_gain(baseline, baseline, 1.0) == 0


def test_the_baseline_is_the_best_of_all_arms_at_each_position() -> None:
    contexts = experiment.CONTEXTS
    low = {c: torch.tensor([2.0, 4.0]) for c in contexts}
    high = {c: torch.tensor([4.0, 2.0]) for c in contexts}
    found = experiment.gains({"a": low, "b": high}, {c: torch.ones(2) for c in contexts}, 1.0)
    assert found["a"] == found["b"] == [0.0] * (len(contexts) - 1)
    assert found[experiment.CONTROL] == [0.5] * (len(contexts) - 1)


@pytest.mark.parametrize(
    ("gains", "length"),
    [([0.2, 0.02, 0.009, 0.5, 0.0], 16), ([0.0] * 5, 4), ([0.1] * 5, 128)],
)
def test_the_length_is_the_first_whose_doubling_gains_too_little(
    gains: list[float], length: int
) -> None:
    assert experiment.effective_length(gains) == length


def test_a_window_s_losses_have_the_mean_of_the_page() -> None:
    torch.manual_seed(0)
    model, rows = build(len(TEXT.letters), relative=True), stretches(TEXT.test)
    for context in (8, 32):
        each = experiment.window_losses(model, rows, context)
        assert float(each.mean()) == pytest.approx(by_windows(model, rows, context), rel=1e-5)


def test_the_rates_are_those_of_the_saved_runs() -> None:
    from deepdive_book.ch05.runs import recurrence

    for name, rate in experiment.RATES.items():
        rates = {row["rate"] for row in recurrence.load()
                 if row["name"] == name and row["seed"] in recurrence.SEEDS}  # fmt: skip
        assert rates == {rate}
    assert set(experiment.RATES) == set(ARMS)
    assert RELATIVE in ARMS
