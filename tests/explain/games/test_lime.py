"""LIME: captum's with the same samples, scikit-learn's fits; linear games, its width."""

from __future__ import annotations

from functools import partial

import pytest
import torch
from captum._utils.models.linear_model import SkLearnRidge
from captum.attr import Lime
from captum.attr._core.lime import get_exp_kernel_similarity_function
from sklearn.linear_model import Lasso, Ridge
from torch import Tensor

from deepdive.explain.games.game import Game, all_coalitions
from deepdive.explain.games.lime import (
    kernel_weights,
    lime,
    perturb,
    weighted_lasso,
    weighted_ridge,
)
from deepdive.explain.games.removal import masked
from deepdive.explain.games.shapley import set_weight, shapley
from deepdive_book.ch07.toys.planted import Conjunction, Keyword, Negation, SignedWords, ids


def curved(size: int) -> Game:
    w = torch.randn(size, size, dtype=torch.float64)
    return Game(size, lambda kept: (kept.double() @ w).tanh().sum(1))


@pytest.mark.parametrize(("width", "penalty"), [(0.35, 1.0), (0.8, 0.1)])
def test_it_is_captum_s_with_the_same_samples(width: float, penalty: float) -> None:
    game, kept = curved(6), perturb(6, 60)
    kept = kept[kept.any(1)]  # captum has no cosine with a text of nothing
    rows = iter(kept.double()[:, None])
    theirs = Lime(
        lambda z: game(z > 0.5),
        SkLearnRidge(alpha=penalty),
        get_exp_kernel_similarity_function("cosine", kernel_width=width / 2**0.5),
        lambda _x, **_: next(rows),
    ).attribute(torch.ones(1, 6).double(), n_samples=len(kept))
    ours, _ = lime(game, kept, width, partial(weighted_ridge, penalty=penalty))
    torch.testing.assert_close(ours, theirs[0].double(), rtol=0, atol=1e-5)


def problem() -> tuple[Tensor, Tensor, Tensor]:
    z = (torch.rand(40, 6) < 0.5).double()
    return z, torch.randn(40, dtype=torch.float64), torch.rand(40, dtype=torch.float64)


@pytest.mark.parametrize("penalty", [0.01, 3.0])
def test_ridge_is_scikit_learn_s(penalty: float) -> None:
    z, y, weight = problem()
    w, b = weighted_ridge(z, y, weight, penalty)
    theirs = Ridge(alpha=penalty).fit(z, y, sample_weight=weight)
    torch.testing.assert_close(w, torch.from_numpy(theirs.coef_), rtol=0, atol=1e-10)
    assert b.item() == pytest.approx(theirs.intercept_)


@pytest.mark.parametrize("penalty", [0.01, 0.05, 1.0])
def test_lasso_is_scikit_learn_s(penalty: float) -> None:
    z, y, weight = problem()
    w, b = weighted_lasso(z, y, weight, penalty)
    theirs = Lasso(alpha=penalty, tol=1e-12).fit(z, y, sample_weight=weight)
    torch.testing.assert_close(w, torch.from_numpy(theirs.coef_), rtol=0, atol=1e-7)
    assert b.item() == pytest.approx(theirs.intercept_)


def test_on_words_that_add_up_it_is_exact_and_says_so() -> None:
    text, model = ids("the great film was awful and good"), SignedWords()
    game, kept = masked(model, text, 0), perturb(7, 200)
    shares, r2 = lime(game, kept, fit=partial(weighted_ridge, penalty=0))
    torch.testing.assert_close(shares, model.shapley(text), rtol=0, atol=1e-9)
    assert r2.item() == pytest.approx(1)
    few, _ = lime(game, kept, fit=partial(weighted_lasso, penalty=0.05))
    assert torch.equal(few != 0, model.cause(text))


def test_a_conjunction_is_seen_and_its_poor_fit_too() -> None:
    text, model = ids("the cast was great"), Conjunction()
    shares, r2 = lime(masked(model, text, 0), all_coalitions(4), width=10.0)
    assert shares[1].item() == pytest.approx(shares[3].item())
    assert shares[[1, 3]].min() > 5 * shares[[0, 2]].abs().max()
    assert 0.5 < r2 < 0.8


def test_the_width_decides_whether_a_keyword_that_stands_twice_is_seen() -> None:
    """Near the text one of two is always left; only texts with much gone show what they do."""
    game, kept = masked(Keyword(), ids("awful film and awful cast"), 0), perturb(5, 800)
    fit = partial(weighted_ridge, penalty=0.01)
    near, wide = (lime(game, kept, width, fit)[0][0] for width in (0.07, 10.0))
    assert near < 0.1
    assert wide > 0.3


def test_a_negated_word_counts_nothing_here_too() -> None:
    game = masked(Negation(), ids("the film was not good"), 0)
    shares, _ = lime(game, all_coalitions(5), width=100.0, fit=partial(weighted_ridge, penalty=0))
    expected = torch.tensor([0, 0, 0, -1, 0.0]).double()
    torch.testing.assert_close(shares, expected, rtol=0, atol=1e-4)


def test_with_the_weights_of_shapley_it_is_kernel_shap() -> None:
    game, kept = curved(5), all_coalitions(5)
    weight = set_weight(5, kept.sum(1))
    weight[[0, -1]] = 1e9
    w, _ = weighted_ridge(kept.double(), game(kept), weight, 0.0)
    torch.testing.assert_close(w, shapley(game), rtol=0, atol=1e-6)


def test_around_draws_each_number_alike() -> None:
    kept = perturb(5, 5001)
    assert kept[0].all()
    gone = (~kept[1:]).sum(1)
    assert torch.bincount(gone).tolist() == pytest.approx([0, *[1000] * 5], abs=120)
    assert (~kept[1:]).float().mean(0).tolist() == pytest.approx([0.6] * 5, abs=0.03)
    assert not torch.equal(perturb(5, 50, seed=1), perturb(5, 50))


def test_nearness_and_a_game_that_does_not_vary() -> None:
    kept = torch.tensor([[True] * 4, [True, False, False, False], [False] * 4])
    expected = torch.tensor([0, -0.25 / 0.35**2, -1 / 0.35**2]).double().exp()
    torch.testing.assert_close(kernel_weights(kept), expected)
    for constant in (0.0, 0.1, 1.0):
        said = torch.full((8,), constant).double()
        game = Game(3, lambda kept: said[: len(kept)])  # noqa: B023
        shares, r2 = lime(game, all_coalitions(3))
        assert shares.abs().max() < 1e-12
        assert r2 == 1
    with pytest.raises(ValueError, match="width must be above 0"):
        kernel_weights(kept, 0)
