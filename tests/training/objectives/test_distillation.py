"""Distillation: each of the three losses against torch and against a sum that is written out."""

import math

import pytest
import torch
import torch.nn.functional as F
from torch import nn

from deepdive.training.objectives import (
    cross_entropy,
    distillation_loss,
    hidden_cosine,
    soft_cross_entropy,
)

B, T, V, D = 3, 4, 7, 5


def example(seed=0):
    g = torch.Generator().manual_seed(seed)

    def draw(*shape):
        return 2 * torch.randn(*shape, generator=g, dtype=torch.float64)

    student, teacher = draw(B, T, V).requires_grad_(), draw(B, T, V).requires_grad_()
    states, teaching = draw(B, T, D).requires_grad_(), draw(B, T, D).requires_grad_()
    targets = torch.randint(1, V, (B, T), generator=g)
    targets[:, ::2] = 0
    mask = torch.arange(T) < torch.tensor([4, 2, 3])[:, None]
    return student, teacher, targets, states, teaching, mask


@pytest.mark.parametrize("temperature", [1.0, 2.0, 5.0])
def test_soft_targets_equal_torch_and_their_gradient_a_direct_sum(temperature):
    student, teacher, *_, mask = example()
    loss = soft_cross_entropy(student, teacher, temperature, mask)
    kl = nn.KLDivLoss(reduction="batchmean")
    p, q = (x[mask].div(temperature).softmax(-1) for x in (teacher, student))
    torch.testing.assert_close(loss, temperature**2 * kl(q.log(), p), rtol=1e-12, atol=1e-12)
    (grad,) = torch.autograd.grad(loss, student)
    by_hand = torch.zeros(B, T, V, dtype=torch.float64)
    for b in range(B):
        for t in range(T):
            if mask[b, t]:
                up = [math.exp(x / temperature) for x in student[b, t].tolist()]
                right = [math.exp(x / temperature) for x in teacher[b, t].tolist()]
                for v in range(V):
                    difference = up[v] / sum(up) - right[v] / sum(right)
                    by_hand[b, t, v] = temperature * difference / int(mask.sum())
    torch.testing.assert_close(grad, by_hand, rtol=1e-10, atol=1e-12)


def test_the_square_of_the_temperature_keeps_the_gradients_size():
    """Without it a temperature of 50 would divide the gradient by 2,500 (Hinton et al.: for high
    temperatures it is the difference of the centred logits, over V)."""
    student, teacher, *_ = example(1)
    (grad,) = torch.autograd.grad(soft_cross_entropy(student, teacher, 1e4), student)
    a, b = (x - x.mean(-1, keepdim=True) for x in (student, teacher))
    torch.testing.assert_close(grad, (a - b).detach() / V / (B * T), rtol=2e-3, atol=1e-5)


def test_agreement_is_zero_and_the_teacher_learns_nothing():
    student, teacher, _, states, teaching, _ = example()
    assert soft_cross_entropy(student, student.detach()).abs() < 1e-12
    assert hidden_cosine(3 * states, states.detach()).abs() < 1e-12  # a direction, not a size
    assert hidden_cosine(-states, states.detach()).item() == pytest.approx(2)
    total = soft_cross_entropy(student, teacher) + hidden_cosine(states, teaching)
    given = torch.autograd.grad(total, [teacher, teaching], allow_unused=True)
    assert given == (None, None)


def test_cosine_equals_torch_with_gradients():
    *_, states, teaching, mask = example()
    ours = hidden_cosine(states, teaching, mask)
    ones = torch.ones(int(mask.sum()), dtype=torch.float64)
    theirs = nn.CosineEmbeddingLoss()(states[mask], teaching.detach()[mask], ones)
    torch.testing.assert_close(ours, theirs, rtol=1e-9, atol=1e-9)  # theirs adds 1e-12 to a norm
    (a,), (b,) = (torch.autograd.grad(loss, states) for loss in (ours, theirs))
    torch.testing.assert_close(a, b, rtol=1e-8, atol=1e-10)


def test_the_triple_loss_is_the_weighted_sum():
    student, teacher, targets, states, teaching, mask = example()
    loss = distillation_loss(
        student,
        teacher,
        targets,
        states,
        teaching,
        pad=0,
        mask=mask,
        temperature=3.0,
        weights=(0.5, 0.25, 4.0),
    )
    parts = (
        0.5 * soft_cross_entropy(student, teacher, 3.0, mask),
        0.25 * F.cross_entropy(student.flatten(0, 1), targets.flatten(), ignore_index=0),
        4.0 * hidden_cosine(states, teaching, mask),
    )
    torch.testing.assert_close(loss, sum(parts), rtol=1e-12, atol=1e-12)
    default = distillation_loss(student, teacher, targets, states, teaching, pad=0)
    expected = (
        5 * soft_cross_entropy(student, teacher, 2.0)
        + 2 * cross_entropy(student, targets)
        + hidden_cosine(states, teaching)
    )
    torch.testing.assert_close(default, expected, rtol=1e-12, atol=1e-12)


def test_what_lies_under_padding_does_not_matter():
    student, teacher, _, states, teaching, mask = example()
    losses = []
    for filler in (0.0, 1e3):
        under = [
            x.detach().masked_fill(~mask[..., None], filler)
            for x in (student, teacher, states, teaching)
        ]
        losses.append(
            soft_cross_entropy(under[0], under[1], 2.0, mask)
            + hidden_cosine(under[2], under[3] + 1, mask)
        )
    assert torch.equal(*losses)


@pytest.mark.parametrize(
    ("call", "words"),
    [
        (lambda x, m: soft_cross_entropy(x, x, 0.0), "temperature: got 0.0"),
        (lambda x, m: soft_cross_entropy(x, x[..., 1:]), r"student, teacher: .*\(3, 4, 6\)"),
        (lambda x, m: hidden_cosine(x, x[:1]), "student_states, teacher_states: "),
        (lambda x, m: hidden_cosine(x, x, m.long()), "mask: got torch.int64"),
        (lambda x, m: soft_cross_entropy(x, x, mask=m[:1]), r"mask: .*\(1, 4\)"),
        (lambda x, m: soft_cross_entropy(x, x, mask=m & False), "mask: no token is real"),
    ],
)
def test_bad_arguments_are_named(call, words):
    student, *_, mask = example()
    with pytest.raises(ValueError, match=words):
        call(student, mask)
