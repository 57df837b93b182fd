"""Page 3.14's runs: budget, probes, the generator's statistics, and the choice of a rate."""

from __future__ import annotations

from typing import Any

import pytest
import torch
from torch import Tensor, nn

from deepdive_book.ch03.runs import objectives as page


@pytest.fixture(autouse=True)
def _ci(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("DEEPDIVE_PROFILE", "ci")


@pytest.mark.parametrize("objective", page.OBJECTIVES)
def test_training_stays_within_the_budget(objective: str, monkeypatch: pytest.MonkeyPatch) -> None:
    steps = []
    monkeypatch.setattr(page, "fit", lambda *_, **settings: steps.append(settings["steps"]))
    page.pretrain(objective, 1e-3, 1, gigaflops=1.0)
    spent = steps[0] * page.flops_per_step(objective)
    assert spent == pytest.approx(1e9, abs=page.flops_per_step(objective))


def test_encoders_are_equal_at_the_start_whatever_the_objective() -> None:
    shapes = [
        {name: tuple(p.shape) for name, p in page.build(objective, 1)[1].named_parameters()}
        for objective in page.OBJECTIVES
    ]
    assert shapes[0] == shapes[2] == shapes[3]
    assert sum(map(_size, shapes[1].values())) == sum(map(_size, shapes[0].values()))


def _size(shape: tuple[int, ...]) -> int:
    return int(torch.Size(shape).numel())


class Constant(nn.Module):
    """A discriminator with the same logit everywhere, or one that knows the original text."""

    def __init__(self, originals: Tensor | None = None) -> None:
        super().__init__()
        self.originals = originals

    def forward(self, filled: Tensor) -> Tensor:
        if self.originals is None:
            return torch.zeros(filled.shape)
        rows = [(self.originals == row).sum(1).argmax() for row in filled]
        return (filled != self.originals[torch.stack(rows)]).float()


def test_auc_is_a_half_by_chance_and_one_for_an_oracle() -> None:
    model: Any = page.build("replaced tokens", 1)[0].eval()
    model.discriminator = Constant()
    found = page.detection(model, n_batches=3)
    assert found["AUC"] == 0.5
    model.discriminator = Constant(page.corpus().sequences)
    again = page.detection(model, n_batches=3)
    assert again["AUC"] == 1.0
    assert again["replaced"] == found["replaced"]


def test_a_rate_that_diverges_with_the_second_seed_is_not_chosen() -> None:
    accuracies = {0: {1.0: 60, 2.0: 59, 3.0: 30}, 100: {1.0: 20, 2.0: 58}}
    rows = [
        {"objective": objective, "narrower": narrower, "rate": rate, "seed": seed,
         "frozen": {"part of speech": [10, accuracy], "sentiment": [99.0, 99.0]}}
        for objective, narrower in page.ARMS
        for seed, found in accuracies.items() for rate, accuracy in found.items()
    ]  # fmt: skip
    assert set(page.chosen_rates(rows).values()) == {2.0}
    again = page.second_tuning([row for row in rows if row["seed"] == 0])
    assert {point["rate"] for point in again} == {1.0, 2.0}


def test_a_row_has_both_layers_and_both_tasks() -> None:
    row = page.measure("recurring spans", 1, rate=1e-3, gigaflops=0.2)
    assert [len(layers) for layers in row["frozen"].values()] == [2, 2]
    assert set(row["fine-tuned"]) == {"sentiment", "entities"}
    rows = [page.measure("none", 1) | {"objective": "none", "seed": 1}]
    rows += [row | {"objective": objective, "narrower": narrower, "seed": 1}
             for objective, narrower in page.ARMS]  # fmt: skip
    assert len(page.differences(rows)) == 5
    assert len(page.scores(rows)) == 7


def test_word_counts_beat_chance() -> None:
    assert page.most_frequent_tag() > 50
    assert page.bag_of_words() > 50
