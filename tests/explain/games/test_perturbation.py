"""Perturbation: captum's occlusion, brute force over sets, exact corners, and what is not seen."""

from __future__ import annotations

import math
from itertools import combinations

import pytest
import torch
from captum.attr import Occlusion
from torch import Tensor

from deepdive.explain.games.game import Game, all_coalitions
from deepdive.explain.games.perturbation import (
    meaningful_perturbation,
    occlusion,
    prediction_difference,
    smallest_erasure,
    windows,
)
from deepdive.explain.games.removal import masked, resampled
from deepdive.explain.games.samplers import background
from deepdive_book.ch07.toys.planted import (
    WORDS,
    Conjunction,
    Keyword,
    Negation,
    Placed,
    SignedWords,
    ids,
)
from deepdive_book.ch07.toys.planted_attention import decoy


def table(size: int, seed: int = 0) -> Game:
    """A game with a random number for each set."""
    draw = torch.Generator().manual_seed(seed)
    numbers = torch.randn(2**size, generator=draw, dtype=torch.float64)
    return Game(size, lambda kept: numbers[kept.long() @ 2 ** torch.arange(size)])


@pytest.mark.parametrize("window", [1, 2, 3, 6])
def test_occlusion_is_captum_s(window: int) -> None:
    x, w = torch.randn(1, 6, dtype=torch.float64), torch.randn(6, 6, dtype=torch.float64)

    def model(rows: Tensor) -> Tensor:
        return ((rows @ w).tanh() * rows.roll(1, 1)).sum(1)

    theirs = Occlusion(model).attribute(x, sliding_window_shapes=(window,), baselines=0)
    ours = occlusion(Game(6, lambda kept: model(x * kept)), window)
    torch.testing.assert_close(ours, theirs[0].double(), rtol=0, atol=1e-6)  # theirs: float32


def test_leave_one_out_is_exact_where_words_add_up() -> None:
    text = ids("the great film was awful and good")
    for model in (SignedWords(), Placed(), decoy()):
        torch.testing.assert_close(occlusion(masked(model, text, 0)), model.shapley(text))


def test_leave_one_out_does_not_see_a_keyword_that_stands_twice() -> None:
    text, model = ids("awful film and awful cast"), Keyword()
    assert model.cause(text).sum() == 2
    assert occlusion(masked(model, text, 0)).abs().max() == 0
    found = smallest_erasure(masked(model, text, 0))
    assert found is not None
    assert torch.equal(found, model.cause(text))


def test_leave_one_out_gives_each_half_of_a_conjunction_the_whole() -> None:
    """The shares add up to 2, though the margin falls by 1: no completeness."""
    text, model = ids("the cast was great"), Conjunction()
    assert occlusion(masked(model, text, 0)).tolist() == [0, 1, 0, 1]


def test_a_window_sees_neighbours_that_stand_in_for_each_other() -> None:
    text = ids("the awful awful film was good")
    shares = occlusion(masked(Keyword(), text, 0), window=2)
    assert shares.tolist() == [0, 0.5, 0.5, 0, 0, 0]


def brute_force(game: Game, threshold: float) -> int | None:
    decided = bool(game.everything() > threshold)
    for size in range(1, game.size + 1):
        for chosen in combinations(range(game.size), size):
            kept = torch.ones(game.size, dtype=torch.bool)
            kept[list(chosen)] = False
            if bool(game(kept) > threshold) != decided:
                return size
    return None


@pytest.mark.parametrize("seed", range(8))
@pytest.mark.parametrize("threshold", [-1.5, 0.0, 2.2])
def test_the_smallest_erasure_is_that_of_brute_force(seed: int, threshold: float) -> None:
    game = table(6, seed)
    expected = brute_force(game, threshold)
    found = smallest_erasure(game, threshold)
    if found is None:
        assert expected is None
        return
    assert found.sum() == expected
    decided = game.everything() > threshold
    assert (game(~found) > threshold) != decided
    same = all_coalitions(6)[all_coalitions(6).sum(1) == expected]
    numbers = game(~same)
    turned = numbers[(numbers > threshold) != decided]
    assert game(~found) == (turned.min() if decided else turned.max())


def test_on_planted_models_the_erasure_is_the_cause_or_half_of_it() -> None:
    text = ids("great film and the great cast")
    found = smallest_erasure(masked(Conjunction(), text, 0))
    assert found is not None
    assert found.nonzero().flatten().tolist() == [5]  # the one *cast*, not the two *great*
    text = ids("the film was not good")
    found = smallest_erasure(masked(Negation(), text, 0))
    assert found is not None
    assert found.tolist() == [False, False, False, True, False]


def test_a_narrow_beam_may_miss_what_must_go_together() -> None:
    """Two *awful* make a yes; to take *good* away is a step nearer, and leads nowhere."""

    def score(tokens: Tensor) -> Tensor:
        return Keyword()(tokens) + 0.1 * (tokens == WORDS.index("good")).sum(1)

    game = masked(score, ids("awful good awful good"), 0)
    exact, narrow = smallest_erasure(game), smallest_erasure(game, beam=1)
    assert exact is not None
    assert exact.tolist() == [True, False, True, False]
    assert narrow is not None
    assert narrow.sum() == 4
    assert smallest_erasure(game, most=1) is None


def test_prediction_difference_by_hand() -> None:
    """A word that lifts p from 1/2 to 4/5 has log2 4 = 2 bits; windows share."""
    p = {0b11: 0.8, 0b10: 0.5, 0b01: 0.2, 0b00: 0.5}
    numbers = torch.tensor([p[i] for i in range(4)], dtype=torch.float64)
    game = Game(2, lambda kept: numbers[kept.long() @ torch.tensor([1, 2])])
    assert prediction_difference(game).tolist() == pytest.approx([2, 4])
    assert prediction_difference(game, window=2).tolist() == pytest.approx([2, 2])
    corrected = math.log2((10 * 0.8 + 1) / (10 * 0.2 + 1)) - math.log2((5 + 1) / (5 + 1))
    assert prediction_difference(game, counted=10)[0].item() == pytest.approx(corrected)


def test_the_word_drawn_anew_is_the_sum_over_words() -> None:
    """Zintgraf et al. 2017: the sum over words of p(word) p(class | text with it)."""
    text, model = ids("the film was not good"), Negation()
    vocabulary = torch.arange(len(WORDS))

    def probability(tokens: Tensor) -> Tensor:
        return model(tokens).sigmoid()

    every = vocabulary[:, None].expand(-1, len(text))  # a word, the same in all places
    found = prediction_difference(resampled(probability, text, background(every)))
    for place in range(len(text)):
        total = 0.0
        for word in vocabulary:
            other = text.clone()
            other[place] = word
            total += probability(other[None]).item() / len(WORDS)
        whole = probability(text[None]).item()
        bits = math.log2(whole / (1 - whole)) - math.log2(total / (1 - total))
        assert found[place].item() == pytest.approx(bits)
    # A word that counts nothing is no dummy: what is drawn in its place may be good or bad.
    assert found[0] == pytest.approx(found[1])
    assert found[0] < -0.1


@pytest.mark.parametrize("penalty", [0.1, 0.7, 1.5])
def test_a_learned_mask_is_exact_on_a_linear_model(penalty: float) -> None:
    """A word is taken away exactly when it adds more than the penalty."""
    text = ids("the great film was awful and good fine")
    model = SignedWords()
    found = meaningful_perturbation(
        model, "embedded", lambda: model(text[None]), penalty=penalty, steps=60
    )
    assert found.shape == (1, 8)
    torch.testing.assert_close(found[0], (model.w[text] > penalty).double())


def test_a_learned_mask_takes_away_the_smallest_set() -> None:
    """Of a conjunction one half is enough, and the penalty sees to it that only one goes."""
    text, model = ids("the cast was great and great"), Conjunction()
    (found,) = meaningful_perturbation(model, "embedded", lambda: model(text[None]))
    assert found.tolist() == [0, 1, 0, 0, 0, 0]


def test_a_smooth_mask_spreads_and_a_baseline_is_where_rows_go() -> None:
    text, model = ids("the film was great and the plot"), SignedWords()
    sharp, even = (
        meaningful_perturbation(
            model, "embedded", lambda: model(text[None]), smooth=smooth, steps=200
        )[0]
        for smooth in (0.0, 2.0)
    )
    assert sharp.diff().abs().max() == 1
    assert even.diff().abs().max() < 0.7
    assert even.argmax() == 3
    good = model.rows[WORDS.index("great")].detach()
    (kept,) = meaningful_perturbation(model, "embedded", lambda: model(text[None]), good, steps=60)
    assert kept.tolist() == [0] * 7  # every word would become *great*, and no drop is to be had


def test_several_numbers_are_explained_each_by_its_own_mask() -> None:
    text, model = ids("great film awful"), SignedWords()

    def output() -> Tensor:
        (margin,) = model(text[None])
        return torch.stack([margin, -margin])

    found = meaningful_perturbation(model, "embedded", output, steps=60)
    assert found.tolist() == [[1, 0, 0], [0, 0, 1]]


def test_windows_and_errors() -> None:
    assert windows(4, 3).long().tolist() == [[1, 1, 1, 0], [0, 1, 1, 1]]
    with pytest.raises(ValueError, match="window=5 is longer"):
        windows(4, 5)
    with pytest.raises(ValueError, match="expected probabilities"):
        prediction_difference(table(3))
    with pytest.raises(ValueError, match="give `counted`"):
        prediction_difference(Game(2, lambda kept: kept.all(1).double()))
    model, text = SignedWords(), ids("good film")
    with pytest.raises(ValueError, match="one input at a time"):
        meaningful_perturbation(model, "embedded", lambda: model(text.expand(2, 2))[:1])
