"""The trust score: brute force, scikit-learn's neighbours and area, planted clusters."""

from __future__ import annotations

import math

import numpy as np
import pytest
import torch
from sklearn.metrics import roc_auc_score
from sklearn.neighbors import NearestNeighbors

from deepdive.evaluate.trust import auroc, dense, trust_score


def points(n: int, seed: int = 0) -> tuple[torch.Tensor, torch.Tensor]:
    draw = torch.Generator().manual_seed(seed)
    labels = torch.randint(3, (n,), generator=draw)
    return torch.randn(n, 4, generator=draw) + labels[:, None], labels


@pytest.mark.parametrize(("keep", "k"), [(1.0, 1), (0.8, 3), (0.5, 10)])
def test_dense_and_score_are_those_of_scikit_learn_s_neighbours(keep: float, k: int) -> None:
    vectors, labels = points(120)
    asked, said = points(30, seed=1)
    near, sets = dense(vectors, labels, keep, k), []
    for label in range(3):
        own = vectors[labels == label].numpy()
        radii = NearestNeighbors(n_neighbors=k).fit(own).kneighbors(own)[0][:, -1]
        sets.append(own[radii <= np.quantile(radii, keep) + 1e-6])
        assert np.allclose(near[label].numpy(), sets[-1])
    found = trust_score(near, asked, said)
    far = np.stack([NearestNeighbors(n_neighbors=1).fit(own).kneighbors(asked.numpy())[0][:, 0]
                    for own in sets], 1)  # fmt: skip
    for i, label in enumerate(said.tolist()):
        other = min(far[i, c] for c in range(3) if c != label)
        assert float(found[i]) == pytest.approx(other / far[i, label], rel=1e-4)


def test_by_hand_with_whole_numbers() -> None:
    """Class 0 at 0, 1, 2 and far off at 9; class 1 at 12, 13, 14. Asked at 6, the model says 1."""
    vectors = torch.tensor([[0.0], [1], [2], [9], [12], [13], [14]])
    labels = [0, 0, 0, 0, 1, 1, 1]
    asked, said = torch.tensor([[6.0], [12.0], [4.0]]), [1, 1, 1]
    assert trust_score(dense(vectors, labels, k=2), asked, said).tolist() == [0.5, math.inf, 0.25]
    filtered = dense(vectors, labels, keep=0.75, k=2)
    assert [own[:, 0].tolist() for own in filtered] == [[0, 1, 2], [12, 13, 14]]
    found = trust_score(filtered, asked, said).tolist()
    assert found == [pytest.approx(4 / 6), math.inf, 0.25]
    same = dense(torch.zeros(4, 1), [0, 0, 1, 1], k=2)
    assert trust_score(same, torch.zeros(1, 1), [0]).tolist() == [1.0]


def test_auroc_is_scikit_learn_s_with_ties_and_infinite_scores() -> None:
    draw = np.random.default_rng(0)
    for _ in range(5):
        scores, right = draw.integers(6, size=50), draw.integers(2, size=50)
        assert auroc(scores, right) == pytest.approx(roc_auc_score(right, scores))
    assert auroc([1.0, math.inf, 0.5], [0, 1, 0]) == 1.0
    assert auroc([1.0, 1.0], [0, 1]) == 0.5


def test_errors_name_the_fix() -> None:
    vectors, labels = points(20)
    with pytest.raises(ValueError, match="expected at least k=15"):
        dense(vectors, labels, k=15)
    with pytest.raises(ValueError, match="keep=0"):
        dense(vectors, labels, keep=0)
    with pytest.raises(ValueError, match="two or more"):
        trust_score([vectors], vectors, labels)
    with pytest.raises(ValueError, match="some correct and some wrong"):
        auroc([1, 2], [1, 1])
