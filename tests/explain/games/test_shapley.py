"""Shapley values: their axioms, captum, closed forms, and the rates of what is drawn."""

from __future__ import annotations

from collections.abc import Callable

import pytest
import torch
from captum._utils.models.linear_model import SkLearnLinearRegression
from captum.attr import KernelShap, LimeBase, ShapleyValues
from torch import Tensor

from deepdive.explain.games.game import Game, all_coalitions
from deepdive.explain.games.perturbation import occlusion
from deepdive.explain.games.removal import masked
from deepdive.explain.games.shapley import (
    efficiency_gap,
    kernel_shap,
    sampled_shapley,
    set_weight,
    shapley,
    weighted_sets,
)
from deepdive_book.ch07.toys.planted import Conjunction, Keyword, Negation, Placed, SignedWords, ids
from deepdive_book.ch07.toys.planted_attention import copying, decoy

MODELS = [SignedWords, Placed, Keyword, Conjunction, Negation, copying, decoy]


def table(size: int, seed: int = 0) -> Game:
    draw = torch.Generator().manual_seed(seed)
    numbers = torch.randn(2**size, generator=draw, dtype=torch.float64)
    return Game(size, lambda kept: numbers[kept.long() @ 2 ** torch.arange(size)])


def both(one: Game, other: Game) -> Game:
    return Game(one.size, lambda kept: 2 * one(kept) - 3 * other(kept))


@pytest.mark.parametrize("method", [shapley, kernel_shap])
def test_the_four_axioms(method: Callable[[Game], Tensor]) -> None:
    one, other = table(5), table(5, 1)
    values = method(one)
    # completeness
    torch.testing.assert_close(values.sum(), one.everything() - one.nothing())
    assert abs(efficiency_gap(one, values).item()) < 1e-12
    assert efficiency_gap(one, values + 0.25).item() == pytest.approx(-1.25)
    with pytest.raises(ValueError, match=r"values: got .*, expected"):
        efficiency_gap(one, values[:4])
    # linearity
    torch.testing.assert_close(method(both(one, other)), 2 * values - 3 * method(other))
    # dummy: part 0 adds 0.7 to every set, and nothing else
    adds = Game(
        5, lambda kept: one(kept.clone().index_fill(1, torch.tensor(0), True)) + 0.7 * kept[:, 0]
    )
    assert method(adds)[0].item() == pytest.approx(0.7)

    # symmetry: a game of how many of parts 1 and 2 stay, and of the rest
    def alike(kept: Tensor) -> Tensor:
        swapped = kept[:, [0, 2, 1, 3, 4]]
        return one(kept) + one(swapped)

    values = method(Game(5, alike))
    assert values[1].item() == pytest.approx(values[2].item())


def test_exact_values_are_captum_s() -> None:
    x, w = torch.randn(1, 5, dtype=torch.float64), torch.randn(5, 5, dtype=torch.float64)

    def model(rows: Tensor) -> Tensor:
        return ((rows @ w).tanh() * rows.roll(1, 1)).sum(1)

    game = Game(5, lambda kept: model(x * kept))
    theirs = ShapleyValues(model).attribute(x, baselines=0)[0].double()  # float32
    torch.testing.assert_close(shapley(game), theirs, rtol=0, atol=1e-6)
    torch.testing.assert_close(kernel_shap(game), theirs, rtol=0, atol=1e-6)
    drawn = KernelShap(model).attribute(x, baselines=0, n_samples=400)[0].double()
    torch.testing.assert_close(shapley(game), drawn, rtol=0, atol=0.2)


def test_the_fit_is_captum_s_linear_model_over_all_sets() -> None:
    """LimeBase, given all sets and the weights of Shapley: it has no constraint, so none and all
    get a weight that no other has.
    """
    game, rows = table(4), iter(all_coalitions(4).double()[:, None])

    def weight(_x: Tensor, _y: Tensor, z: Tensor, **_: object) -> Tensor:
        k = z.sum().long()
        return torch.tensor(1e6) if k in (0, 4) else set_weight(4, k)

    theirs = LimeBase(
        lambda z: game(z > 0.5),
        SkLearnLinearRegression(),
        weight,
        lambda _x, **_: next(rows),
        True,
        lambda z, _x, **_: z,
        None,
    ).attribute(torch.ones(1, 4).double(), n_samples=16)
    torch.testing.assert_close(kernel_shap(game), theirs[0].double(), rtol=0, atol=1e-4)


@pytest.mark.parametrize("make", MODELS)
def test_all_sets_give_the_closed_forms(make: type[SignedWords]) -> None:
    model, text = make(), ids("not great film and great cast not awful")
    game = masked(model, text, 0)
    torch.testing.assert_close(shapley(game), model.shapley(text))
    torch.testing.assert_close(kernel_shap(game), model.shapley(text), rtol=0, atol=1e-8)


def test_twelve_words_are_counted_and_seventeen_refused() -> None:
    text = ids("not great film and great cast not awful plot but good .")
    game = masked(Negation(), text, 0, batch=4096)
    torch.testing.assert_close(shapley(game), Negation().shapley(text))
    with pytest.raises(ValueError, match="use sampled_shapley"):
        shapley(Game(17, lambda kept: kept.sum(1)))


def error(method: Callable[..., Tensor], game: Game, n: int, seeds: int = 24) -> float:
    exact = shapley(game)
    gaps = [method(game, n, seed) - exact for seed in range(seeds)]
    return float(torch.stack(gaps).square().mean().sqrt())


def test_the_error_of_drawn_orders_falls_like_one_over_the_root() -> None:
    game = table(6)

    def values(game: Game, n: int, seed: int) -> Tensor:
        return sampled_shapley(game, n, seed)[0]

    few, many = error(values, game, 20), error(values, game, 320)
    assert few / many == pytest.approx(4, rel=0.25)


def test_the_error_of_drawn_sets_falls_like_one_over_the_root() -> None:
    game = table(6)
    few, many = error(kernel_shap, game, 200), error(kernel_shap, game, 3200)
    assert few / many == pytest.approx(4, rel=0.25)


def test_the_stated_error_is_the_error_and_each_order_is_complete() -> None:
    game, exact = table(6), shapley(table(6))
    gaps, stated = [], []
    for seed in range(40):
        values, errors = sampled_shapley(game, 50, seed)
        assert values.sum().item() == pytest.approx(float(game.everything() - game.nothing()))
        gaps.append(values - exact)
        stated.append(errors)
    spread = torch.stack(gaps).std(0)
    torch.testing.assert_close(spread, torch.stack(stated).mean(0), rtol=0.3, atol=0)
    assert sampled_shapley(game, 1)[1].abs().max() == 0


def test_where_parts_add_up_one_order_and_a_few_sets_are_exact() -> None:
    text, model = ids("the great film was awful and good"), SignedWords()
    game = masked(model, text, 0)
    torch.testing.assert_close(sampled_shapley(game, 1)[0], model.shapley(text))
    torch.testing.assert_close(kernel_shap(game, 24), model.shapley(text), rtol=0, atol=1e-9)
    torch.testing.assert_close(occlusion(game), model.shapley(text))


def test_sets_come_as_often_as_their_weight_says() -> None:
    kept = weighted_sets(5, 20_000)
    weight = set_weight(5, all_coalitions(5).sum(1))
    often = torch.bincount(kept.long() @ 2 ** torch.arange(5), minlength=32) / 20_000
    torch.testing.assert_close(often.double(), weight / weight.sum(), rtol=0, atol=0.008)
    assert (kept[::2] == ~kept[1::2]).all()
    assert weighted_sets(5, 7).shape == (7, 5)


def test_one_part_and_too_few_sets() -> None:
    one = Game(1, lambda kept: 3.0 * kept[:, 0])
    for method in (shapley, kernel_shap):
        assert method(one).tolist() == [3]
    with pytest.raises(ValueError, match="samples=4: no unique solution for 9 features"):
        kernel_shap(table(9), 4)


def test_the_shares_are_float64s_own() -> None:
    """Thirds and sixths are rounded once, to float64: 1.00000003 would be float32's."""
    game = Game(3, lambda kept: kept[:, 0] + 2.0 * (kept[:, 1] & kept[:, 2]).double())
    expected = torch.ones(3, dtype=torch.float64)
    torch.testing.assert_close(shapley(game), expected, rtol=0, atol=1e-15)
