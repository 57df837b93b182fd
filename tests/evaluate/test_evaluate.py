"""Scores against scikit-learn and scipy; intervals against what they promise."""

from __future__ import annotations

import numpy as np
import pytest
import torch
from scipy.stats import binomtest, ttest_1samp
from sklearn.calibration import calibration_curve
from sklearn.metrics import accuracy_score, confusion_matrix, f1_score

from deepdive.evaluate import (
    accuracy,
    bootstrap,
    clustered,
    confusion,
    macro_f1,
    mcnemar,
    reliability,
    t_interval,
    temperature,
)


def drawn(n: int = 300, n_classes: int = 3, seed: int = 0) -> tuple[np.ndarray, np.ndarray]:
    """Logits and true classes, drawn from the probabilities that the logits say."""
    generator = np.random.default_rng(seed)
    logits = 2 * generator.normal(size=(n, n_classes))
    sure = np.exp(logits) / np.exp(logits).sum(1, keepdims=True)
    return logits, (generator.random((n, 1)) > sure.cumsum(1)).sum(1)


def softmax(logits: np.ndarray) -> np.ndarray:
    return np.exp(logits) / np.exp(logits).sum(1, keepdims=True)


@pytest.mark.parametrize("n_classes", [2, 3, 5])
def test_counts_equal_scikit_learns(n_classes: int) -> None:
    logits, true = drawn(n_classes=n_classes)
    said = logits.argmax(1)
    assert accuracy(said, true) == pytest.approx(accuracy_score(true, said), abs=1e-12)
    assert (confusion(said, true, n_classes) == confusion_matrix(true, said)).all()
    assert macro_f1(said, true, n_classes) == pytest.approx(
        f1_score(true, said, average="macro"), abs=1e-12
    )
    tensors = torch.tensor(said), torch.tensor(true)
    assert macro_f1(*tensors, n_classes) == macro_f1(said, true, n_classes)


def test_a_class_that_nobody_says_counts_as_zero() -> None:
    assert macro_f1([0, 0], [0, 0], 3) == pytest.approx(1 / 3)
    assert confusion([0, 1], [1, 1], 3).tolist() == [[0, 0, 0], [1, 1, 0], [0, 0, 0]]


def test_reliability_equals_scikit_learns_curve() -> None:
    logits, true = drawn(2000, 2)
    sure = softmax(logits)
    right = (sure.argmax(1) == true).astype(int)
    share, confidence = calibration_curve(right, sure.max(1), n_bins=10)
    found = reliability(sure, true)
    some = found.counts > 0
    np.testing.assert_allclose(found.accuracy[some], share, atol=1e-12)
    np.testing.assert_allclose(found.confidence[some], confidence, atol=1e-12)
    assert found.counts.sum() == 2000
    assert not found.counts[:5].any(), "the class said has at least a half"


def test_calibration_error_by_pencil() -> None:
    # Two texts at 0.9, one right; two at 0.6, both right: 1/2 |0.5 - 0.9| + 1/2 |1 - 0.6| = 0.4
    found = reliability([[0.9, 0.1], [0.1, 0.9], [0.6, 0.4], [0.4, 0.6]], [0, 0, 0, 1])
    assert found.error == pytest.approx(0.4)
    assert reliability([[1.0, 0.0], [0.0, 1.0]], [0, 1]).error == 0.0


def test_true_probabilities_are_calibrated_and_sharpened_ones_are_not() -> None:
    logits, true = drawn(20_000, 3)
    assert reliability(softmax(logits), true).error < 0.015
    assert reliability(softmax(3 * logits), true).error > 0.08


@pytest.mark.parametrize("factor", [0.4, 1.0, 3.0])
def test_the_temperature_undoes_a_factor(factor: float) -> None:
    logits, true = drawn(20_000, 3)
    assert temperature(factor * logits, true) == pytest.approx(factor, rel=0.05)


def test_the_temperature_has_the_lowest_cross_entropy() -> None:
    logits, true = drawn(200, 4, seed=2)
    best = temperature(logits, true)

    def loss(t: float) -> float:
        return float(-np.log(softmax(logits / t)[np.arange(200), true]).mean())

    assert all(loss(best) <= loss(best * other) for other in (0.9, 0.99, 1.01, 1.1))


def test_a_bootstrap_interval_is_the_normal_one_where_both_hold() -> None:
    values = np.random.default_rng(0).random(500) < 0.8
    found = bootstrap(values)
    width = 1.96 * (found.value * (1 - found.value) / 500) ** 0.5
    assert found.value == values.mean()
    assert found.low == pytest.approx(found.value - width, abs=0.006)
    assert found.high == pytest.approx(found.value + width, abs=0.006)


def test_a_bootstrap_interval_holds_the_truth_about_as_often_as_it_says() -> None:
    held = 0
    for seed in range(200):
        values = np.random.default_rng(seed).random(200) < 0.7
        _, low, high = bootstrap(values, draws=300, seed=seed)
        held += low <= 0.7 <= high
    assert 180 <= held <= 199


def test_the_t_interval_is_scipy_s_and_holds_the_mean_of_few_values() -> None:
    few = np.random.default_rng(0).normal(size=(1000, 5))
    for values in few[:5]:
        low, high = ttest_1samp(values, 0).confidence_interval(0.9)
        assert t_interval(values, 0.9) == pytest.approx((values.mean(), low, high))
    held = sum(low <= 0 <= high for _, low, high in map(t_interval, few))
    narrow = sum(low <= 0 <= high for _, low, high in (bootstrap(v, draws=200) for v in few))
    assert 930 <= held <= 970
    assert narrow < 880
    assert t_interval([1.0, 1.0]) == (1.0, 1.0, 1.0)


def test_a_paired_interval_is_narrower() -> None:
    generator = np.random.default_rng(0)
    one = (generator.random(1000) < 0.8).astype(int)
    other = np.where(generator.random(1000) < 0.05, 1 - one, one)
    paired = bootstrap(other - one)
    alone = bootstrap(one)
    assert paired.high - paired.low < 0.7 * (alone.high - alone.low)


def test_mcnemar_equals_the_exact_binomial_test() -> None:
    for seed in range(20):
        generator = np.random.default_rng(seed)
        one, two = (generator.random(60) < p for p in (0.8, 0.6))
        b, c = int((one & ~two).sum()), int((~one & two).sum())
        found = mcnemar(one.astype(int), two.astype(int))
        assert found == pytest.approx(binomtest(b, b + c).pvalue, abs=1e-12)
    assert mcnemar([1, 0, 1], [1, 0, 1]) == 1.0
    assert mcnemar([1] * 5000, [0] * 5000) == 0.0


def test_what_does_not_fit_is_refused() -> None:
    with pytest.raises(ValueError, match=r"predicted: got float64.*argmax"):
        accuracy([0.2, 0.8], [0, 1])
    with pytest.raises(ValueError, match="got 2 and 3, expected equal counts"):
        accuracy([0, 1], [0, 1, 1])
    with pytest.raises(ValueError, match="true: got -1"):
        accuracy([0, 1], [0, -1])
    with pytest.raises(ValueError, match="got 2, but class 2 occurs"):
        confusion([0, 2], [0, 1], 2)
    with pytest.raises(ValueError, match=r"give softmax\(logits\), not logits"):
        reliability([[2.0, -1.0]], [0])
    with pytest.raises(ValueError, match=r"logits: got shape \(1, 2\)"):
        temperature([[2.0, -1.0]], [2])
    with pytest.raises(ValueError, match="N >= 2, all finite"):
        bootstrap([1.0])
    with pytest.raises(ValueError, match="correct"):
        mcnemar([2, 1], [0, 1])


def test_an_interval_over_groups() -> None:
    """Groups of one are `bootstrap`'s samples; values that repeat in a group add no sureness."""
    values = np.random.default_rng(1).normal(size=60)
    alone, plain = clustered(values, np.arange(60)), bootstrap(values)
    assert alone.value == pytest.approx(plain.value)
    assert (alone.low, alone.high) == pytest.approx((plain.low, plain.high), abs=0.03)
    many = clustered(np.repeat(values, 9), np.repeat(np.arange(60), 9))
    assert many == pytest.approx(alone)
    naive = bootstrap(np.repeat(values, 9))
    assert many.high - many.low > 2 * (naive.high - naive.low)
    sizes = clustered(
        [1, 1, 1, 0], ["a", "a", "a", "b"]
    )  # a group counts as often as it has values
    assert sizes == (0.75, 0, 1)
    with pytest.raises(ValueError, match="at least two groups"):
        clustered([1, 2], ["a", "a"])
