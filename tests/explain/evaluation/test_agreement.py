"""Agreement: scipy's correlations, overlap by hand, recovery, and what rank correlation hides."""

from __future__ import annotations

import pytest
import torch
from scipy.stats import kendalltau, spearmanr
from sklearn.metrics import roc_auc_score

from deepdive.core.hooks import record
from deepdive.explain.evaluation.agreement import kendall, overlap, recovery, spearman, table
from deepdive.explain.games.perturbation import occlusion
from deepdive.explain.games.removal import masked
from deepdive.explain.games.shapley import shapley
from deepdive_book.ch07.toys.planted import Keyword, SignedWords, ids
from deepdive_book.ch07.toys.planted_attention import decoy


@pytest.mark.parametrize("values", [3, 8, 1000])  # many ties, some, none
def test_correlations_are_scipy_s(values: int) -> None:
    for _ in range(5):
        a, b = (torch.randint(values, (12,)).float() for _ in range(2))
        assert kendall(a, b) == pytest.approx(kendalltau(a, b).statistic)
        assert spearman(a, b) == pytest.approx(spearmanr(a, b).statistic)


def test_an_order_its_reverse_and_none() -> None:
    a = torch.tensor([3.0, 1.0, 2.0, 5.0])
    for measure in (kendall, spearman):
        assert measure(a, a.exp()) == pytest.approx(1)
        assert measure(a, -a) == pytest.approx(-1)
        assert measure(a, torch.ones(4)) == 0


def test_overlap_by_hand_and_by_chance() -> None:
    a, b = torch.tensor([9.0, 8, 7, 1, 0, 2]), torch.tensor([0.0, 8, 9, 7, 1, 2])
    assert overlap(a, b, 1) == 0
    assert overlap(a, b, 2) == 0.5
    assert overlap(a, b, 3) == pytest.approx(2 / 3)
    assert overlap(a, b, 6) == 1
    chance = [overlap(torch.rand(20), torch.rand(20), 5) for _ in range(400)]
    assert sum(chance) / 400 == pytest.approx(5 / 20, abs=0.03)
    with pytest.raises(ValueError, match="k: got 7, expected at most 6"):
        overlap(a, b, 7)


def test_recovery_is_the_area_under_the_roc_curve() -> None:
    for values in (4, 1000):
        attribution, cause = torch.randint(values, (15,)), torch.arange(15) % 3 == 0
        assert recovery(attribution, cause) == pytest.approx(roc_auc_score(cause, attribution))
    cause = torch.tensor([True, False, True])
    assert recovery(torch.tensor([2, 1, 3]), cause) == 1
    assert recovery(torch.ones(3), cause) == 0.5
    with pytest.raises(ValueError, match="not all and not none"):
        recovery(torch.ones(3), torch.ones(3, dtype=torch.bool))


def test_rank_correlation_is_ruled_by_words_that_count_nothing() -> None:
    """Two explanations name the same three words of forty in the same order; the rest is noise."""
    taus = []
    for _ in range(20):
        a, b = 0.01 * torch.rand(40), 0.01 * torch.rand(40)
        a[:3] = b[:3] = torch.tensor([3.0, 2.0, 1.0])
        assert overlap(a, b, 3) == 1
        taus.append(kendall(a, b))
    assert abs(sum(taus) / 20 - 0.15) < 0.08


def test_agreement_with_a_method_that_errs_is_no_virtue() -> None:
    """Attention on a decoy: it agrees with nothing that is true, though another head would agree
    with it. Leave-one-out misses a keyword that stands twice, and the truth disagrees with it.
    """
    text, model = ids("the film was great and awful"), decoy()
    with record(model, "weights") as seen:
        model(text[None])
    attention = seen["weights"][0][0, 0, 0].detach()
    truth = shapley(masked(model, text, 0)).abs()
    assert recovery(attention, model.cause(text)) < 0.5
    assert recovery(truth, model.cause(text)) == 1
    assert kendall(attention, truth) < 0
    text, keyword = ids("awful film and awful cast"), Keyword()
    game = masked(keyword, text, 0)
    assert kendall(shapley(game), occlusion(game)) == 0
    assert recovery(shapley(game), keyword.cause(text)) == 1
    assert recovery(occlusion(game), keyword.cause(text)) == 0.5


def test_a_table_of_methods() -> None:
    text, model = ids("the great film was awful and good"), SignedWords()
    rows = [model.shapley(text), occlusion(masked(model, text, 0)), -model.shapley(text)]
    found = table(rows, kendall)
    expected = torch.tensor([[1.0, 1, -1], [1, 1, -1], [-1, -1, 1]])
    torch.testing.assert_close(found, expected)
    assert table(rows, lambda a, b: overlap(a, b, 2)).shape == (3, 3)
