"""Losses: equal to torch's, gradients included; padding never counts; bad arguments are named."""

import math

import pytest
import torch
import torch.nn.functional as F
from hypothesis import given
from hypothesis import strategies as st

from deepdive.training.objectives import cross_entropy, perplexity, token_count


def example(seed, b, t, v, padded):
    g = torch.Generator().manual_seed(seed)
    logits = (3 * torch.randn(b, t, v, generator=g, dtype=torch.float64)).requires_grad_()
    targets = torch.randint(1, v, (b, t), generator=g)
    targets[torch.rand(b, t, generator=g) < padded] = 0
    targets[0, 0] = 1  # at least one token
    return logits, targets


@given(
    seed=st.integers(0, 10**6),
    b=st.integers(1, 3),
    t=st.integers(1, 5),
    v=st.integers(2, 9),
    padded=st.sampled_from([0.0, 0.5]),
    smoothing=st.sampled_from([0.0, 0.1, 0.9]),
)
def test_equals_torch_with_gradients(seed, b, t, v, padded, smoothing):
    logits, targets = example(seed, b, t, v, padded)
    ours = cross_entropy(logits, targets, smoothing=smoothing)
    flat = logits.flatten(0, 1), targets.flatten()
    theirs = F.cross_entropy(*flat, ignore_index=0, label_smoothing=smoothing)
    torch.testing.assert_close(ours, theirs, rtol=1e-12, atol=1e-12)
    (a,) = torch.autograd.grad(ours, logits)
    (b_,) = torch.autograd.grad(theirs, logits)
    torch.testing.assert_close(a, b_, rtol=1e-12, atol=1e-13)


def test_smoothing_is_the_mixture_that_the_paper_states():
    logits, targets = example(0, 2, 3, 5, 0.0)
    q = 0.8 * F.one_hot(targets, 5) + 0.2 / 5
    expected = -(q * logits.log_softmax(-1)).sum(-1).mean()
    torch.testing.assert_close(cross_entropy(logits, targets, smoothing=0.2), expected)


def test_padding_has_no_say():
    logits, targets = example(1, 2, 4, 6, 0.0)
    targets[:, 2:] = 0
    whole = cross_entropy(logits, targets, smoothing=0.1)
    other = logits.detach().clone()
    other[:, 2:] = 1e6
    assert torch.equal(whole, cross_entropy(other, targets, smoothing=0.1))
    (grad,) = torch.autograd.grad(whole, logits)
    assert (grad[:, 2:] == 0).all()
    assert (grad[:, :2] != 0).all()


def test_pad_none_counts_every_position():
    logits, targets = torch.zeros(1, 3, 4), torch.tensor([[0, 1, 0]])
    assert cross_entropy(logits, targets, pad=None).item() == pytest.approx(math.log(4))


def test_half_precision_is_computed_in_float32():
    logits, targets = example(2, 2, 3, 7, 0.0)
    half = logits.detach().bfloat16()
    loss = cross_entropy(half, targets)
    assert loss.dtype == torch.float32
    torch.testing.assert_close(loss, cross_entropy(half.float(), targets))


@pytest.mark.parametrize(
    ("change", "error", "words"),
    [
        (lambda x, y: (x.long(), y), TypeError, "logits: .*int64.*floating"),
        (lambda x, y: (x, y.float()), TypeError, r"targets: .*float32.*int64.*\.long"),
        (lambda x, y: (x, y[:, :1]), ValueError, r"targets: .*\(2, 1\).*\(2, 3\)"),
        (lambda x, y: (x, y * 0), ValueError, "targets: no token.*pad=0"),
        (lambda x, y: (x[:0], y[:0]), ValueError, "targets: no token"),
        (lambda x, y: (x, y + 5), ValueError, "targets: ids run .*0 to 4"),
        (lambda x, y: (x, y - 9), ValueError, "targets: ids run from -"),
    ],
)
def test_bad_arguments_are_named(change, error, words):
    logits, targets = example(3, 2, 3, 5, 0.0)
    with pytest.raises(error, match=words):
        cross_entropy(*change(logits, targets))


@pytest.mark.parametrize("smoothing", [-0.1, 1.0, math.nan])
def test_smoothing_out_of_range(smoothing):
    logits, targets = example(4, 1, 2, 3, 0.0)
    with pytest.raises(ValueError, match="smoothing"):
        cross_entropy(logits, targets, smoothing=smoothing)


def test_perplexity_and_token_count():
    uniform = cross_entropy(torch.zeros(2, 3, 10), torch.ones(2, 3, dtype=torch.int64))
    assert perplexity(uniform) == pytest.approx(10)
    assert perplexity(1e9) == math.inf
    assert token_count(torch.tensor([[4, 0], [0, 0]])) == 1
    with pytest.raises(TypeError, match="targets"):
        token_count(torch.zeros(2))
