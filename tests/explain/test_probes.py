"""Probes: planted maps are recovered, control labels cannot be guessed for unseen words."""

from __future__ import annotations

import pytest
import torch
from torch import Tensor

from deepdive.explain.probes import (
    control_labels,
    depths,
    distances,
    ridge,
    spanning_tree,
    spearman,
    structural,
    tag_accuracy,
)
from deepdive_book.data.tree_grammar import tree_sentences


def test_ridge_recovers_a_planted_map() -> None:
    x = torch.randn(60, 5, dtype=torch.float64)
    w, b = torch.randn(5, 3, dtype=torch.float64), torch.randn(3, dtype=torch.float64)
    found, constant = ridge(x, x @ w + b, penalty=0.0)
    assert torch.allclose(found, w, atol=1e-10)
    assert torch.allclose(constant, b, atol=1e-10)


def test_ridge_is_least_squares_and_its_penalty_the_one_that_is_stated() -> None:
    x, y = torch.randn(40, 6, dtype=torch.float64), torch.randn(40, 2, dtype=torch.float64)
    wide = torch.cat([x, torch.ones(40, 1, dtype=torch.float64)], 1)
    expected = torch.linalg.lstsq(wide, y).solution
    w, b = ridge(x, y, penalty=0.0)
    assert torch.allclose(torch.cat([w, b[None]]), expected, atol=1e-9)
    w, b = ridge(x, y, penalty=3.0)
    w.requires_grad_(), b.requires_grad_()
    loss = (x @ w + b - y).square().sum() + 3.0 * w.square().sum()
    for gradient in torch.autograd.grad(loss, (w, b)):
        assert gradient.abs().max() < 1e-9


def test_a_linear_probe_reads_planted_tags() -> None:
    directions = torch.randn(4, 8)
    labels = [i % 4 for i in range(200)]
    x = directions[labels] * 3 + 0.1 * torch.randn(200, 8)
    hits = tag_accuracy((x[:150], labels[:150]), (x[150:], [*labels[150:199], 9]), 1.0)
    assert hits[:-1].all()
    assert not hits[-1]  # a label that training lacks


def test_control_labels_are_fixed_for_a_type_and_have_the_frequencies_of_the_task() -> None:
    words = [f"w{i % 500}" for i in range(3000)]
    tags = ["NOUN" if i % 4 else "VERB" for i in range(3000)]
    train, test = control_labels(words, tags, ["w7", "new", "w7"])
    assert all(train[i] == train[i % 500] for i in range(3000))
    assert test[0] == test[2] == train[7]
    assert abs(train.count("NOUN") / 3000 - 0.75) < 0.07
    assert control_labels(words, tags, ["w7"], seed=1)[0] != train
    with pytest.raises(ValueError, match="expected equal lengths"):
        control_labels(words, tags[1:], [])


def test_control_labels_cannot_be_guessed_for_unseen_types() -> None:
    """A probe that learns 300 types by heart is at chance on 2,000 that it never saw."""
    types = torch.randn(2300, 400)
    train = [f"w{i}" for i in range(300)]
    unseen = [f"w{i}" for i in range(300, 2300)]
    labels = [i % 4 for i in range(300)]
    control, wanted = control_labels(train, labels, unseen)
    learned = tag_accuracy((types[:300], control), (types[:300], control), 1e-3)
    new = tag_accuracy((types[:300], control), (types[300:], wanted), 1e-3)
    assert learned.all()
    assert abs(new.double().mean() - 0.25) < 0.05


def planted(n: int, d: int = 12, rank: int = 4) -> tuple[list[Tensor], Tensor]:
    b = torch.randn(rank, d, dtype=torch.float64)
    return [torch.randn(5 + i % 4, d, dtype=torch.float64) for i in range(n)], b


@pytest.mark.parametrize("measure", [depths, distances])
def test_the_structural_probe_recovers_planted_distances(measure: object) -> None:
    sentences, b = planted(60)
    trees = [measure(x, b) for x in sentences]  # type: ignore[operator]
    found = structural(sentences, trees, rank=4, steps=500, batch=32, lr=5e-2)
    assert torch.allclose(found.T @ found, b.T @ b, atol=0.02 * float((b.T @ b).abs().max()))


def test_the_scale_of_a_layer_does_not_matter() -> None:
    sentences, b = planted(50)
    trees = [distances(x, b) for x in sentences]
    once = structural(sentences, trees, rank=4, steps=20)
    again = structural([100 * x for x in sentences], trees, rank=4, steps=20)
    assert torch.allclose(once, 100 * again, atol=1e-8)


def test_padding_does_not_reach_the_loss() -> None:
    from deepdive.explain.probes import _gap

    sentences, b = planted(6)
    for make in (depths, distances):
        trees = [make(x, b) + 1.0 for x in sentences]
        alone = [_gap([x], [t], b) for x, t in zip(sentences, trees, strict=True)]
        assert torch.allclose(_gap(sentences, trees, b), torch.stack(alone).mean())
        assert torch.allclose(alone[0], torch.ones((), dtype=torch.float64))


def test_distances_are_squared_norms_and_depth_is_the_distance_to_zero() -> None:
    x, b = torch.randn(3, 5), torch.randn(2, 5)
    expected = torch.stack([torch.stack([(b @ (p - q)).square().sum() for q in x]) for p in x])
    assert torch.allclose(distances(x, b), expected, atol=1e-5)
    assert torch.allclose(depths(x, b), (b @ x.T).square().sum(0), atol=1e-5)


def test_the_spanning_tree_of_true_distances_is_the_tree() -> None:
    for tree in tree_sentences(30, seed=5):
        edges = {(min(i, h), max(i, h)) for i, h in enumerate(tree.heads) if h >= 0}
        assert spanning_tree(torch.tensor(tree.distances())) == edges


def test_rank_correlation() -> None:
    a = torch.tensor([3.0, 1.0, 2.0, 2.0])
    assert spearman(a, a.exp()) == pytest.approx(1.0)
    assert spearman(a, -a) == pytest.approx(-1.0)
    ranks, other = torch.tensor([4.0, 1.0, 2.5, 2.5]), torch.tensor([1.0, 3.0, 2.0, 4.0])
    expected = torch.corrcoef(torch.stack([ranks, other]))[0, 1]
    assert spearman(a, other) == pytest.approx(float(expected))
    assert spearman(a, torch.ones(4)) == 0.0


def test_shapes_that_do_not_fit_are_refused() -> None:
    with pytest.raises(ValueError, match="one row per word in both"):
        ridge(torch.zeros(3, 2), torch.zeros(4, 1))
    with pytest.raises(ValueError, match="penalty must not be negative"):
        ridge(torch.zeros(3, 2), torch.zeros(3, 1), -1.0)
    with pytest.raises(ValueError, match="a sentence of 3 words has a tree of shape"):
        structural([torch.randn(3, 2)], [torch.zeros(4)])
