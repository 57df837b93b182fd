"""CTC: the loss against torch's and against a sum over all paths, the alignment against a search
among all paths.
"""

from __future__ import annotations

import itertools
import math

import pytest
import torch
import torch.nn.functional as F
from hypothesis import given, settings
from hypothesis import strategies as st
from torch import Tensor

from deepdive.training.objectives import align, collapse, ctc_loss, frames_needed
from deepdive.training.objectives.ctc import NEVER, forward, lattice

Batch = tuple[Tensor, Tensor, Tensor, Tensor]


def batch(frames: list[int], texts: list[list[int]], V: int, seed: int = 0, wide: float = 2.0):
    """Logits of two frames more than any row has, and texts padded with a symbol that is none."""
    g = torch.Generator().manual_seed(seed)
    logits = wide * torch.randn(len(frames), max(frames) + 2, V, generator=g, dtype=torch.float64)
    targets = torch.full((len(texts), max(len(text) for text in texts) + 1), -100)
    for b, text in enumerate(texts):
        targets[b, : len(text)] = torch.tensor(text, dtype=torch.int64)
    lengths = torch.tensor(frames), torch.tensor([len(text) for text in texts])
    return logits.requires_grad_(), lengths[0], targets, lengths[1]


def torchs(logits: Tensor, lengths: Tensor, targets: Tensor, target_lengths: Tensor, blank: int):
    log_p = F.log_softmax(logits, -1).transpose(0, 1)
    return F.ctc_loss(log_p, targets, lengths, target_lengths, blank, reduction="none")


def paths_of(text: list[int], T: int, V: int, blank: int) -> list[tuple[int, ...]]:
    every = itertools.product(range(V), repeat=T)
    return [path for path in every if collapse(path, blank) == text]


def log_of(path: tuple[int, ...], logits: Tensor) -> float:
    log_p = F.log_softmax(logits.detach(), -1)
    return sum(float(log_p[t, symbol]) for t, symbol in enumerate(path))


@st.composite
def small(draw: st.DrawFn, most_frames: int = 5, V: int = 3) -> tuple[Batch, int]:
    """A few rows, of which each can be said: texts with repeats and empty ones, any blank."""
    blank = draw(st.integers(0, V - 1))
    letters = st.sampled_from([v for v in range(V) if v != blank])
    texts = draw(st.lists(st.lists(letters, max_size=3), min_size=1, max_size=3))
    frames = []
    for text in texts:
        least = len(text) + sum(a == b for a, b in itertools.pairwise(text))
        frames.append(draw(st.integers(least, max(least, most_frames))))
    return batch(frames, texts, V, draw(st.integers(0, 999))), blank


@pytest.mark.parametrize("blank", [0, 4, 6])
def test_the_loss_equals_torchs_with_gradients(blank):
    a, b = [v for v in range(7) if v != blank][:2]
    texts = [[a, b, a], [a, a, a, b, b], [], [b], [a, b] * 5, [a] * 5]
    values = batch([9, 8, 6, 1, 10, 30], texts, 7)
    ours, theirs = ctc_loss(*values, blank), torchs(*values, blank)
    torch.testing.assert_close(ours, theirs, rtol=1e-12, atol=1e-12)
    weights = torch.linspace(0.5, 2, len(texts), dtype=torch.float64)
    (x,), (y,) = (torch.autograd.grad((loss * weights).sum(), values[0]) for loss in (ours, theirs))
    torch.testing.assert_close(x, y, rtol=1e-10, atol=1e-12)


@settings(max_examples=40, deadline=None)
@given(small())
def test_the_loss_is_the_sum_over_all_paths(case):
    (logits, lengths, targets, sizes), blank = case
    losses = ctc_loss(logits, lengths, targets, sizes, blank)
    torch.testing.assert_close(losses, torchs(logits, lengths, targets, sizes, blank))
    for b, (T, U) in enumerate(zip(lengths.tolist(), sizes.tolist(), strict=True)):
        paths = paths_of(targets[b, :U].tolist(), T, logits.shape[-1], blank)
        total = sum(math.exp(log_of(path, logits[b])) for path in paths)
        assert losses[b].item() == pytest.approx(-math.log(total), abs=1e-10)


def test_all_texts_together_have_a_probability_of_one():
    """Every path is the path of one text."""
    T, V = 4, 3
    texts = {tuple(collapse(path)) for path in itertools.product(range(V), repeat=T)}
    logits = batch([T], [[]], V)[0][:, :T].expand(len(texts), -1, -1)
    targets = torch.zeros(len(texts), T, dtype=torch.int64)
    for b, text in enumerate(texts):
        targets[b, : len(text)] = torch.tensor(text, dtype=torch.int64)
    sizes = torch.tensor([len(text) for text in texts])
    loss = ctc_loss(logits, torch.full_like(sizes, T), targets, sizes)
    assert float((-loss).exp().sum()) == pytest.approx(1, abs=1e-12)


def test_the_gradient_is_what_is_said_less_what_the_paths_say():
    """d loss / d logit = p(symbol) - the share of the paths, weighed by their probability, that say
    it there: equation 16 of the paper, by listing paths."""
    T, V, text = 4, 3, [1, 1]
    logits, *rest = batch([T], [text], V, 3)
    (grad,) = torch.autograd.grad(ctc_loss(logits, *rest).sum(), logits)
    weights = {path: math.exp(log_of(path, logits[0])) for path in paths_of(text, T, V, 0)}
    shares = torch.zeros(T, V, dtype=torch.float64)
    for path, weight in weights.items():
        shares[range(T), path] += weight / sum(weights.values())
    expected = logits.softmax(-1)[0, :T] - shares
    torch.testing.assert_close(grad[0, :T], expected, rtol=1e-10, atol=1e-12)
    assert not grad[0, T:].any()


@settings(max_examples=40, deadline=None)
@given(small())
def test_an_alignment_is_the_best_of_all_paths(case):
    (logits, lengths, targets, sizes), blank = case
    found = align(logits, lengths, targets, sizes, blank)
    for b, (T, U) in enumerate(zip(lengths.tolist(), sizes.tolist(), strict=True)):
        text = targets[b, :U].tolist()
        best = max(log_of(p, logits[b]) for p in paths_of(text, T, logits.shape[-1], blank))
        path, spans, log_prob = found[b]
        assert log_prob == pytest.approx(best, abs=1e-10)
        assert log_of(tuple(path), logits[b]) == pytest.approx(best, abs=1e-10)
        assert collapse(path, blank) == text
        assert len(path) == T
        said = [{path[t] for t in range(first, after)} for first, after in spans]
        assert said == [{symbol} for symbol in text]
        covered = sum(after - first for first, after in spans)
        assert covered == sum(symbol != blank for symbol in path)


def test_long_and_certain_rows_do_not_overflow():
    """A thousand frames, and logits that are certain of the wrong symbol: in float32 the loss is
    torch's, and finite where exp of it would be 0."""
    logits, *rest = batch([1000, 3], [[1, 2] * 100, [1, 1]], 4, wide=50.0)
    single = logits.detach().float().requires_grad_()
    ours = ctc_loss(single, *rest)
    torch.testing.assert_close(ours.double(), torchs(logits, *rest, 0), rtol=1e-5, atol=1e-5)
    (grad,) = torch.autograd.grad(ours.sum(), single)
    assert grad.isfinite().all()
    assert ctc_loss(logits.detach().bfloat16(), *rest).dtype == torch.float32


def test_a_symbol_that_cannot_be_leaves_the_others_their_gradient():
    logits, *rest = batch([6], [[1, 2]], 4)
    impossible = logits.detach().clone()
    impossible[0, 2, 1] = impossible[0, :, 3] = -math.inf
    impossible.requires_grad_()
    ours, theirs = ctc_loss(impossible, *rest), torchs(impossible, *rest, 0)
    torch.testing.assert_close(ours, theirs)
    (grad,) = torch.autograd.grad(ours.sum(), impossible)
    assert grad.isfinite().all()
    assert grad[0, 0].any()


def test_what_lies_under_padding_does_not_matter():
    logits, lengths, targets, sizes = batch([6, 3], [[1, 1], [2]], 3)
    filled = logits.detach().clone()
    filled[1, 3:], filled[0, 6:] = 1e3, -1e3
    others = targets.clone()
    others[1, 1:], others[0, 2:] = 2, 77
    a, b = ctc_loss(logits, lengths, targets, sizes), ctc_loss(filled, lengths, others, sizes)
    assert torch.equal(a, b)
    assert align(logits, lengths, targets, sizes) == align(filled, lengths, others, sizes)


def test_an_empty_text_and_a_row_without_frames():
    logits, lengths, targets, sizes = batch([0, 2], [[], []], 3)
    loss = ctc_loss(logits, lengths, targets, sizes)
    assert float(loss[0]) == 0
    assert float(loss[1]) == pytest.approx(-log_of((0, 0), logits[1]))
    assert align(logits, lengths, targets, sizes)[0] == ([], [], 0.0)
    nothing = ctc_loss(logits, lengths, targets[:, :0], sizes)  # U = 0
    assert torch.equal(nothing, loss)


def test_paths_are_counted_by_the_same_lattice():
    """With all probabilities alike, p(text) V^T is the number of its paths: 28 say "cat" in 5
    frames, C(T + U, 2 U) without repeats."""
    for T, text in ((3, [1, 2, 3]), (5, [1, 2, 3]), (7, [1, 2, 3]), (5, [1, 1]), (4, [])):
        logits = torch.zeros(1, T, 4, dtype=torch.float64)
        sizes = (
            torch.tensor([T]),
            torch.tensor([text], dtype=torch.int64),
            torch.tensor([len(text)]),
        )
        number = round(math.exp(-float(ctc_loss(logits, *sizes))) * 4**T)
        assert number == len(paths_of(text, T, 4, 0))
    assert len(paths_of([1, 2, 3], 5, 4, 0)) == math.comb(5 + 3, 6) == 28


def test_forward_values_and_states():
    logits, *rest = batch([4], [[2, 2]], 3)
    log_p, states, moves = lattice(logits, *rest)
    assert states[0, :5].tolist() == [0, 2, 0, 2, 0]
    assert (moves[0, 2:, 0] == NEVER).all()  # equal ones need a blank between them
    assert not moves[0, :, 1:].any()
    alpha = forward(logits, *rest)
    torch.testing.assert_close(alpha[1, 0, :2], log_p[0, 0, :2])
    assert (alpha[1, 0, 2:] < NEVER / 2).all()


def test_frames_needed_counts_repeats():
    targets = torch.tensor([[1, 1, 1, 2], [1, 2, 1, 2], [3, 3, 3, 3]])
    assert frames_needed(targets, torch.tensor([4, 4, 0])).tolist() == [6, 4, 0]
    assert frames_needed(targets, torch.tensor([2, 1, 3])).tolist() == [3, 1, 5]


@pytest.mark.parametrize("loss", [ctc_loss, align])
def test_a_text_that_needs_more_frames_is_named(loss):
    exact = batch([9, 3], [[1], [1, 1]], 3)
    loss(*exact)
    logits, _, *rest = exact
    with pytest.raises(ValueError, match=r"targets\[1\] needs 3 frames, 2 symbols .* is 2\."):
        loss(logits, torch.tensor([9, 2]), *rest)


@pytest.mark.parametrize(
    ("change", "words"),
    [
        ({"logits": torch.zeros(2, 3)}, r"logits: got float32 \(2, 3\)"),
        ({"blank": 3}, "blank=3: expected one of the 3 symbols"),
        ({"targets": torch.ones(2, 2)}, r"targets: got float32 \(2, 2\), expected int64"),
        ({"targets": torch.ones(1, 2).long()}, r"targets: got int64 \(1, 2\)"),
        ({"targets": torch.tensor([[1, 0], [2, 2]])}, r"targets\[0, 1\]=0: .* not the blank, 0"),
        ({"targets": torch.tensor([[1, 1], [3, 2]])}, r"targets\[1, 0\]=3: .* below 3"),
        ({"lengths": torch.tensor([5, 6])}, r"lengths=\[5, 6\]: expected 0 to 5"),
        ({"lengths": torch.tensor([[5, 5]])}, r"lengths: got int64 \(1, 2\)"),
        ({"target_lengths": torch.tensor([2, -1])}, r"target_lengths=\[2, -1\]: expected 0 to 2"),
    ],
)
def test_bad_arguments_are_named(change, words):
    good = {
        "logits": torch.zeros(2, 5, 3),
        "lengths": torch.tensor([5, 4]),
        "targets": torch.tensor([[1, 2], [2, 2]]),
        "target_lengths": torch.tensor([2, 2]),
    }
    with pytest.raises(ValueError, match=words):
        ctc_loss(**{**good, **change})


@pytest.mark.parametrize(
    ("path", "text"), [([], []), ([0, 0], []), ([1, 1, 0, 1, 2, 2], [1, 1, 2]), ([2, 0, 1], [2, 1])]
)
def test_collapse(path, text):
    assert collapse(path) == text
    assert collapse([9 if s == 0 else s for s in path], blank=9) == text
