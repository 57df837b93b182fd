"""CTC decoding against a search among all texts, each with its exact probability."""

from __future__ import annotations

import itertools
import math

import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st
from torch import Tensor

from deepdive.decoding.ctc import WordScores, greedy, prefix_beam, words_of
from deepdive.decoding.ngram import END, UNKNOWN, NGram
from deepdive.training.objectives import ctc_loss

LETTERS = ["-", "a", "b", " "]
SENTENCES = ["a b", "ab", "ab a", "b b ab", "a"]
ALL = 10_000


def logits(T: int, seed: int, V: int = 4, wide: float = 1.5) -> Tensor:
    g = torch.Generator().manual_seed(seed)
    return wide * torch.randn(T, V, generator=g, dtype=torch.float64)


def every_text(scores: Tensor, blank: int = 0) -> dict[tuple[int, ...], float]:
    """log p_ctc of each text that the frames could say."""
    T, V = scores.shape
    symbols = [v for v in range(V) if v != blank]
    found = {}
    for n in range(T + 1):
        for text in itertools.product(symbols, repeat=n):
            if n + sum(a == b for a, b in itertools.pairwise(text)) <= T:
                target = torch.tensor([text], dtype=torch.int64)
                loss = ctc_loss(scores[None], torch.tensor([T]), target, torch.tensor([n]), blank)
                found[text] = -float(loss)
    return found


def model_of(opened: bool) -> NGram:
    words = {"a", "b", UNKNOWN} if opened else None
    return NGram([line.split() for line in SENTENCES], 2, words)


@settings(max_examples=15, deadline=None)
@given(st.integers(0, 4), st.integers(0, 999), st.integers(0, 3))
def test_a_wide_beam_finds_every_text_with_its_probability(T, seed, blank):
    scores = logits(T, seed)
    expected = every_text(scores, blank)
    found = prefix_beam(scores.log_softmax(-1), beams=ALL, blank=blank, min_prob=0)
    assert {tuple(one.symbols): one.log_prob for one in found} == pytest.approx(expected, abs=1e-10)
    assert [one.score for one in found] == sorted((one.log_prob for one in found), reverse=True)


@settings(max_examples=10, deadline=None)
@given(st.integers(0, 4), st.integers(0, 999), st.booleans(), st.floats(0, 2), st.floats(-2, 3))
def test_with_words_the_best_of_all_texts(T, seed, opened, alpha, beta):
    scores, model = logits(T, seed), model_of(opened)
    expected = {}
    for text, log_p in every_text(scores).items():
        words = words_of(text, LETTERS)
        lm = model.sentence(words)
        if lm > -math.inf:
            expected[text] = log_p + alpha * lm + beta * len(words)
    fused = WordScores(model, LETTERS, alpha, beta)
    found = prefix_beam(scores.log_softmax(-1), beams=ALL, language_model=fused, min_prob=0)
    assert {tuple(one.symbols): one.score for one in found} == pytest.approx(expected, abs=1e-10)
    assert found[0].score == pytest.approx(max(expected.values()), abs=1e-10)


def test_the_best_text_need_not_have_the_best_path():
    """Two frames that say blank with 0.6 and "a" with 0.4: the path of two blanks has 0.36, the
    three paths of "a" have 0.24 + 0.24 + 0.16 = 0.64."""
    p = torch.tensor([[0.6, 0.4], [0.6, 0.4]], dtype=torch.float64)
    assert greedy(p[None], torch.tensor([2])) == [[]]
    first, second = prefix_beam(p.log())
    assert (first.symbols, math.exp(first.log_prob)) == ([1], pytest.approx(0.64))
    assert (second.symbols, math.exp(second.log_prob)) == ([], pytest.approx(0.36))


def test_a_narrow_beam_keeps_the_paths_that_meet_in_one_text():
    """It finds the text that the search among nearly all finds, and loses a few of its paths."""
    for seed in range(5):
        scores = logits(12, seed, wide=4.0)
        exact = prefix_beam(scores.log_softmax(-1), beams=3000, min_prob=0)[0]
        quick = prefix_beam(scores.log_softmax(-1), beams=16)[0]
        assert quick.symbols == exact.symbols
        assert exact.log_prob - 0.1 < quick.log_prob <= exact.log_prob + 1e-9


def test_a_word_is_scored_when_it_ends():
    model, alpha, beta = model_of(False), 0.7, 0.3
    scores = WordScores(model, LETTERS, alpha, beta)
    added, state = scores.follow(scores.begin(), 1)
    assert added == 0
    assert scores.follow(state, 1)[0] == -math.inf  # no word begins with "aa"
    assert scores.follow(state, 2)[0] == 0  # "ab"
    added, after = scores.follow(state, 3)
    assert added == pytest.approx(alpha * model.log_prob("a", model.begin) + beta)
    assert scores.follow(after, 3) == (0.0, after)  # one more space ends nothing
    context = model.after(model.begin, "a")
    assert scores.end(after) == pytest.approx(alpha * model.log_prob(END, context))
    assert scores.end(state) == pytest.approx(added + scores.end(after))


def test_in_an_open_vocabulary_any_letters_are_the_unknown_word():
    model = model_of(True)
    scores = WordScores(model, LETTERS, 1.0, 0.0)
    state = scores.begin()
    for symbol in (2, 2, 1):
        added, state = scores.follow(state, symbol)
        assert added == 0
    assert scores.follow(state, 3)[0] == pytest.approx(model.log_prob(UNKNOWN, model.begin))


def test_a_language_model_changes_what_is_found():
    """Frames that cannot tell "bb" from "ab": only one of them is a word."""
    p = torch.full((3, 4), 1e-6, dtype=torch.float64)
    p[0, 1], p[0, 2], p[1, 0], p[2, 2] = 0.4, 0.6, 0.9, 0.9
    log_p = p.log().log_softmax(-1)
    assert prefix_beam(log_p)[0].symbols == [2, 2]
    assert prefix_beam(log_p, language_model=WordScores(model_of(False), LETTERS))[0].symbols == [
        1,
        2,
    ]


def test_a_narrow_beam_is_ranked_with_the_language_model():
    """After the space "a" is the likelier word, though the frames lean to "b": a search of width 1
    must have counted that before it drops one of them."""
    p = torch.full((4, 4), 1e-6, dtype=torch.float64)
    p[0, 1], p[0, 2], p[1, 3], p[2, 2], p[3, 3] = 0.45, 0.55, 0.9, 0.9, 0.9
    model = NGram([["a", "b"]] * 9 + [["b", "b"]], 2)
    scores = WordScores(model, LETTERS, alpha=1.0, beta=0.0)
    found = prefix_beam(p.log().log_softmax(-1), beams=2, language_model=scores)
    assert [one.symbols for one in found] == [[1, 3, 2, 3], [2, 3, 2, 3]]
    (first,) = prefix_beam(p[1:].log().log_softmax(-1), beams=1, language_model=scores)
    assert first.symbols == [3, 2, 3]
    assert WordScores(model, LETTERS, alpha=-9.0).follow(((), "a"), 3)[0] > 1


def test_nothing_is_found_where_the_model_allows_nothing():
    p = torch.full((1, 4), 1e-9, dtype=torch.float64)
    p[0, 2] = 1
    only = NGram([["ba"]], 1)
    found = prefix_beam(p.log().log_softmax(-1), beams=1, language_model=WordScores(only, LETTERS))
    assert found == []


def test_greedy_reads_no_padding():
    scores = torch.eye(3)[torch.tensor([[1, 1, 0, 1], [2, 1, 1, 1]])]
    assert greedy(scores, torch.tensor([4, 1])) == [[1, 1], [2]]
    assert greedy(scores, torch.tensor([2, 0])) == [[1], []]
    assert greedy(scores, torch.tensor([4, 4]), blank=1) == [[0], [2]]


def test_rows_without_frames_and_symbols_that_cannot_be():
    assert prefix_beam(torch.zeros(0, 3)) == [([], 0.0, 0.0)]
    certain = torch.tensor([[0.0, 1.0], [1.0, 0.0], [0.0, 1.0]]).log()
    assert prefix_beam(certain, min_prob=0.0) == [([1, 1], 0.0, 0.0)]


@pytest.mark.parametrize(
    ("call", "words"),
    [
        (lambda p: prefix_beam(p[None]), r"log_probs: got float64 \(1, 3, 4\)"),
        (lambda p: prefix_beam(p, blank=4), r"log_probs: .* V > 4"),
        (lambda p: prefix_beam(p.exp() + 1), "above 0 or NaN"),
        (lambda p: prefix_beam(p * math.nan), "above 0 or NaN"),
        (lambda p: prefix_beam(p, beams=0), "beams=0"),
        (lambda p: prefix_beam(p, min_prob=1.0), "min_prob=1.0"),
        (lambda p: greedy(p, torch.tensor([3])), r"logits: got float64 \(3, 4\)"),
    ],
)
def test_bad_arguments_are_named(call, words):
    with pytest.raises(ValueError, match=words):
        call(logits(3, 0).log_softmax(-1))
