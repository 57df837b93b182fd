"""What a prompt says of nothing is taken away: by pencil, and as Zhao et al. write it."""

from __future__ import annotations

import numpy as np
import pytest
from scipy.special import softmax

from deepdive.evaluate import contextual


def test_by_pencil() -> None:
    said = np.log([[0.6, 0.4], [0.9, 0.1]])  # of two questions: yes, yes
    nothing = np.log([[0.8, 0.2], [0.7, 0.3]])  # the mean is 0.75, 0.25: it likes to say yes
    found = contextual(said, nothing)
    assert np.allclose(found, [[0.8 / 2.4, 1.6 / 2.4], [1.2 / 1.6, 0.4 / 1.6]])
    assert found.argmax(1).tolist() == [1, 0]


def test_the_order_is_that_of_equation_1_of_the_paper() -> None:
    draw = np.random.default_rng(0)
    scores, nothing = draw.normal(size=(50, 5)) - 3, draw.normal(size=(3, 5)) - 7
    p, q = softmax(scores, axis=1), softmax(nothing, axis=1).mean(0)
    paper = softmax(p @ np.diag(1 / q), axis=1)  # W = diag(q)^-1, b = 0
    assert (contextual(scores, nothing).argsort(1) == paper.argsort(1)).all()


def test_labels_that_nothing_tells_apart_keep_their_probabilities() -> None:
    scores = np.random.default_rng(1).normal(size=(9, 4))
    assert np.allclose(contextual(scores, np.full((2, 4), -5.0)), softmax(scores, axis=1))


def test_other_numbers_of_labels_are_refused() -> None:
    with pytest.raises(ValueError, match=r"shapes \(2, 3\), \(2, 2\)"):
        contextual(np.zeros((2, 3)), np.zeros((2, 2)))
