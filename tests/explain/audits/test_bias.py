"""The bias audit: rates are those of confusion matrices, weights make groups and labels part."""

from __future__ import annotations

import random

import pytest
import torch
from sklearn.metrics import confusion_matrix

from deepdive.explain.audits.bias import (
    Rates,
    balanced,
    demographic_parity,
    equal_opportunity,
    equalized_odds,
    pairs,
    rates,
    swapped,
    threshold,
)

DRAW = random.Random(0)
GROUPS = [DRAW.randrange(3) for _ in range(400)]
TRUE = [int(DRAW.random() < 0.3 + 0.2 * g) for g in GROUPS]
SAID = [int(DRAW.random() < 0.2 + 0.4 * t + 0.1 * g) for t, g in zip(TRUE, GROUPS, strict=True)]
TWINS = {"anna": "otto", "north": "south"}


def test_rates_are_those_of_a_confusion_matrix() -> None:
    counts = rates(SAID, TRUE, GROUPS)
    chosen, hits, false = [], [], []
    for group in range(3):
        members = [i for i, g in enumerate(GROUPS) if g == group]
        (tn, fp), (fn, tp) = confusion_matrix(
            [TRUE[i] for i in members], [SAID[i] for i in members]
        )
        expected = Rates((tp + fp) / len(members), tp / (tp + fn), fp / (fp + tn))
        assert tuple(counts[group]) == pytest.approx(tuple(expected))
        for values, each in zip((chosen, hits, false), expected, strict=True):
            values.append(each)
    assert demographic_parity(counts) == pytest.approx(max(chosen) - min(chosen))
    assert equal_opportunity(counts) == pytest.approx(max(hits) - min(hits))
    worst = max(max(hits) - min(hits), max(false) - min(false))  # fairlearn's definition
    assert equalized_odds(counts) == pytest.approx(worst)


def test_the_larger_of_both_differences_is_taken() -> None:
    counts = {0: Rates(0.5, 0.9, 0.1), 1: Rates(0.5, 0.8, 0.5)}
    assert demographic_parity(counts) == 0
    assert equal_opportunity(counts) == pytest.approx(0.1)
    assert equalized_odds(counts) == pytest.approx(0.4)


def test_weights_make_label_and_group_independent() -> None:
    weights = balanced(TRUE, GROUPS)
    assert float(weights.mean()) == pytest.approx(1)
    group, true = torch.tensor(GROUPS), torch.tensor(TRUE)
    whole = float(true.float().mean())
    for g in range(3):
        some = group == g
        share = float((weights * true)[some].sum() / weights[some].sum())
        assert share == pytest.approx(whole)
        assert float(weights[some].sum()) == pytest.approx(float(some.sum()))  # no group grows
    assert balanced([1, 1, 0, 1], [0, 0, 1, 1]).tolist() == pytest.approx([0.75, 0.75, 0.5, 1.5])


def test_a_threshold_gives_a_group_the_rate_and_is_the_highest() -> None:
    scores = torch.tensor([8.0, 5, 5, 3, 5, 1])
    able = torch.tensor([1, 1, 1, 1, 0, 0])
    assert [threshold(scores, able, rate) for rate in (0.25, 0.26, 0.75, 1)] == [8, 5, 5, 3]
    for rate in (0.1, 0.35, 0.5, 0.99):
        draw = torch.rand(200, generator=torch.Generator().manual_seed(1))
        some = torch.tensor(TRUE[:200])
        at = threshold(draw, some, rate)
        own = draw[some.bool()]
        assert float((own >= at).float().mean()) >= rate
        assert float((own > at).float().mean()) < rate


def test_pairs_differ_in_the_word_alone() -> None:
    found = pairs(["{} was quick .", "they say {} is late ."], {"anna": "otto", "ida": "ben"})
    assert len(found) == 4
    assert found[3] == ("they say ida is late .", "they say ben is late .")
    for own, other in found:
        differ = [(a, b) for a, b in zip(own.split(), other.split(), strict=True) if a != b]
        assert differ in ([("anna", "otto")], [("ida", "ben")])


def test_swapping_twice_is_nothing_and_goes_both_ways() -> None:
    text = "anna met otto in the north office ."
    assert swapped(text, TWINS) == "otto met anna in the south office ."
    assert swapped(swapped(text, TWINS), TWINS) == text


def test_what_does_not_fit_is_refused() -> None:
    with pytest.raises(ValueError, match="in place of the name"):
        pairs(["anna was quick ."], TWINS)
    with pytest.raises(ValueError, match="2, 1 and 2 values"):
        rates([1, 0], [1], [0, 0])
    with pytest.raises(ValueError, match="group 1: expected labels of both"):
        rates([1, 0, 1], [1, 0, 0], [0, 0, 1])
    with pytest.raises(ValueError, match="1 labels and 2 groups"):
        balanced([1], [0, 1])
    with pytest.raises(ValueError, match="0 positives"):
        threshold(torch.ones(2), torch.zeros(2), 0.5)
    with pytest.raises(ValueError, match="rate=0"):
        threshold(torch.ones(2), torch.ones(2), 0)
