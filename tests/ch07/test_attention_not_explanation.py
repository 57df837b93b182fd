"""Page 7.8: adversarial attention in log-odds, the baseline, and the tables."""

from __future__ import annotations

import pytest
import torch

from deepdive.explain.attention_weights.alternatives import adversarial, tvd
from deepdive.models.interpretable.attention_classifier import no_rnn
from deepdive_book.ch07.runs import attention_not_explanation as page
from deepdive_book.ch07.runs.attention_debate import Part, from_states, run_model
from deepdive_book.ch07.runs.attention_debate_results import (
    farthest,
    log_odds,
    logit_tests,
    unpacked,
)


def test_log_odds_are_the_logits_of_the_predicted_class() -> None:
    torch.manual_seed(0)
    model = no_rnn(20, 2, 8, 8).eval()
    tokens = torch.randint(1, 20, (4, 6))
    seen = run_model(model, Part(tokens, torch.zeros(4, dtype=torch.long)))
    answer, predicted = from_states(model, seen.states), seen.shares.argmax(1)
    odds = log_odds(answer, predicted)
    z = model(tokens).diff(dim=1)[:, 0]
    assert torch.allclose(odds(seen.weights)[:, 0], torch.where(predicted == 1, z, -z), atol=1e-5)
    uniform = torch.full_like(seen.weights, 1 / 6)
    moved = (odds(uniform) - odds(seen.weights))[:, 0].abs()
    assert torch.allclose(tvd(odds(uniform), odds(seen.weights)), moved, atol=1e-5)


def test_the_search_is_never_nearer_than_a_single_one_and_stays_within_its_limit() -> None:
    torch.manual_seed(0)
    model = no_rnn(20, 2, 8, 8).eval()
    tokens = torch.randint(1, 20, (4, 12))
    seen = run_model(model, Part(tokens, torch.zeros(4, dtype=torch.long)))
    odds = log_odds(from_states(model, seen.states), seen.shares.argmax(1))
    one = adversarial(odds, seen.weights, tokens != 0, close=0.1, steps=60)
    best = farthest(odds, seen.weights, tokens != 0, 0.1, steps=60)
    assert (best.apart >= one.apart).all()
    assert (best.apart > one.apart).any()
    assert float(tvd(odds(best.weights), odds(seen.weights)).max()) <= 0.1 + 1e-5


def test_a_row_has_both_searches() -> None:
    row = logit_tests("generated", 0, train=40, epochs=1, count=3, steps=5)
    assert len(unpacked(row["divergence"])) == len(unpacked(row["log-odds moved"])) == 3
    assert 0 <= row["same top"] <= 1


def test_class_association_is_a_naive_bayes_weight() -> None:
    part = Part(torch.tensor([[1, 2, 0], [1, 3, 3]]), torch.tensor([0, 1]))
    found = page.class_association(part, 4)
    # class 0: counts + 1 = 1, 2, 2, 1 of 6; class 1: 1, 2, 1, 3 of 7
    expected = torch.tensor([6 / 7, 6 / 7, (1 / 7) / (2 / 6), (3 / 7) / (1 / 6)]).log().abs()
    assert torch.allclose(found, expected, atol=1e-6)


def test_tables_have_a_line_for_each_setting(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("DEEPDIVE_PROFILE", "ci")
    tests, logits = page.results()
    assert [row["data, classifier"] for row in page.summary(tests, page.AGREEMENT)] == [
        "generated texts, BiLSTM", "generated texts, embeddings only",
    ]  # fmt: skip
    for table, columns in ((page.replaced_weights, 6), (page.adversarial_weights, 5)):
        assert [len(row) for row in table(tests, logits)] == [columns, columns]
    (row,) = page.rank_correlation(tests)
    assert 0 < row["top 3 shared: by chance"] < 1


def test_a_gain_over_attention_is_paired_and_has_a_sign() -> None:
    attention, other = page.METHODS["attention"], "leave-one-out"
    found = [{"seed": seed, "AUC": {attention: 0.7 + seed / 100, other: 0.9}} for seed in (2, 1)]
    assert page.more_than_attention(found, other) == pytest.approx([0.19, 0.18])  # seeds 1, 2
    first, second = page.ground_truth_table(found)
    assert "difference from attention × 100" not in first
    assert second["difference from attention × 100"].value == pytest.approx(18.5)


def test_classifiers_have_their_largest_and_their_uniform_weight(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setenv("DEEPDIVE_PROFILE", "ci")
    lstm, words = page.classifiers(page.results()[0])
    assert lstm["uniform weight"] == pytest.approx(words["uniform weight"])
    for row in (lstm, words):
        assert row["uniform weight"] <= row["largest weight"] + 1e-3 < 1 + 1e-3
