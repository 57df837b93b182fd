"""Sanity checks: an explanation that reads no weights does not move, and is found out."""

from __future__ import annotations

import pytest
import torch
from parity_registry import perturb
from torch import Tensor, nn

from deepdive.core.hooks import record
from deepdive.explain.evaluation.sanity import cascade, rank_correlation, shuffle
from deepdive.explain.gradients import gradient_sum, gradient_x_input
from deepdive.layers.heads import Classifier
from deepdive.models.bert import bert

EMBEDDED = "encoder.embeddings.embedded"
TOKENS = torch.randint(3, 30, (1, 24), generator=torch.Generator().manual_seed(0))
PARTS = ["out", "pooler", "encoder.stack.blocks.1", "encoder.stack.blocks.0"]


@pytest.fixture
def model() -> Classifier:
    torch.manual_seed(0)
    encoder = bert.bert(bert.TINY, vocab_size=30)
    return perturb(Classifier(encoder, 32, 3).double().eval())  # type: ignore[return-value]


def by_gradient(model: nn.Module) -> Tensor:
    return gradient_sum(model, EMBEDDED, lambda: model(TOKENS)[0])


def by_input(model: nn.Module) -> Tensor:
    """The length of each row: it looks like an explanation, and reads no layer above."""
    with record(model, EMBEDDED) as seen, torch.no_grad():
        model(TOKENS)
    return seen[EMBEDDED][0][0].norm(dim=-1)


def test_what_reads_the_weights_forgets_and_what_does_not_is_found_out(model: Classifier) -> None:
    before = {name: p.clone() for name, p in model.named_parameters()}
    steps = cascade(model, PARTS, by_gradient)
    assert [step.part for step in steps] == ["", *PARTS]
    assert steps[0].correlation == pytest.approx(1)
    assert abs(steps[-1].correlation) < 0.3
    for step in steps:
        expected = rank_correlation(steps[0].explanation, step.explanation)
        assert step.correlation == pytest.approx(expected)
    assert torch.equal(steps[0].explanation, by_gradient(model))
    stays = cascade(model, PARTS, by_input)
    assert [step.correlation for step in stays] == pytest.approx([1] * 5)
    assert all(torch.equal(p, before[name]) for name, p in model.named_parameters())


def test_one_part_alone_already_moves_gradient_x_input(model: Classifier) -> None:
    steps = cascade(
        model, ["out"], lambda m: gradient_x_input(m, EMBEDDED, lambda: m(TOKENS)[0]), seed=3
    )
    assert steps[1].correlation < 0.9


def test_the_cascade_goes_on_from_what_was_randomised(model: Classifier) -> None:
    both = cascade(model, ["out", "pooler"], by_gradient, seed=1)[-1].explanation
    alone = cascade(model, ["pooler"], by_gradient, seed=1)[-1].explanation
    assert not torch.allclose(both, alone)
    again = cascade(model, ["out", "pooler"], by_gradient, seed=1)[-1].explanation
    assert torch.equal(both, again)
    other = cascade(model, ["out", "pooler"], by_gradient, seed=2)[-1].explanation
    assert not torch.allclose(both, other)


def test_shuffling_keeps_the_numbers() -> None:
    layer = nn.Linear(5, 4)
    before = [p.detach().clone() for p in layer.parameters()]
    shuffle(layer, torch.Generator().manual_seed(0))
    for p, old in zip(layer.parameters(), before, strict=True):
        assert not torch.equal(p, old)
        assert torch.equal(p.flatten().sort().values, old.flatten().sort().values)


def test_rank_correlation_is_the_mean_over_rows() -> None:
    a = torch.tensor([[1.0, 2.0, 3.0], [1.0, 2.0, 3.0]])
    assert rank_correlation(a, a.exp()) == pytest.approx(1)
    assert rank_correlation(a, torch.stack([a[0], -a[1]])) == pytest.approx(0)
    assert rank_correlation(a[0], -a[0]) == pytest.approx(-1)
    with pytest.raises(ValueError, match=r"\(3,\) and \(2, 3\)"):
        rank_correlation(a[0], a)
    with pytest.raises(AttributeError, match="head"):
        cascade(nn.Linear(2, 2), ["head"], lambda m: next(m.parameters())[0])
