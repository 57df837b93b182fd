"""A linear model near one text: dots and words are LIME's, by key and finger; its still form."""

from __future__ import annotations

import itertools
import re

import pytest
import torch
from browser import PLACED, Reader

from deepdive.explain.games.game import Game
from deepdive.explain.games.lime import lime, perturb
from deepdive.explain.games.removal import masked
from deepdive_book.ch07.figures.lime_demo import DRAWS, SAMPLES, WIDTHS, Near, lime_demo
from deepdive_book.ch07.toys.planted import Conjunction, SignedWords, ids
from deepdive_book.kit.markup import Html


def near(model: SignedWords | Conjunction, text: str) -> Near:
    tokens = ids(text)
    return Near(text.split(), masked(model, tokens, 0), model.shapley(tokens))


JUDGES = {
    "sum": near(SignedWords(), "the great film was bad"),
    "<both>": near(Conjunction(), "great cast and film"),
}


def picture() -> Html:
    return lime_demo(JUDGES)


def test_dots_and_words_are_lime_s(reader: Reader) -> None:
    page = reader.open(picture().html)
    width, samples = page.locator("input").all()
    for name, near in JUDGES.items():
        page.locator("select").select_option(label=name)
        points: list[tuple[float, float]] = []
        for at, n in itertools.product((0, 3, 5), (0, 2)):
            width.fill(str(at))
            samples.fill(str(n))
            found = [
                lime(near.game, perturb(near.game.size, SAMPLES[n], seed), WIDTHS[at])
                for seed in range(DRAWS)
            ]
            words = page.locator("[role=status]").inner_text()
            low, high = re.findall(r"R² (\S+) to (\S+) in", words)[0]
            assert float(low) == pytest.approx(min(float(fit) for _, fit in found), abs=6e-3)
            assert float(high) == pytest.approx(max(float(fit) for _, fit in found), abs=6e-3)
            rows = page.locator(".near-row").all()
            assert [row.locator("span").first.inner_text() for row in rows] == list(near.words)
            for k, row in enumerate(rows):
                left = [at[0] for at in row.locator("i").evaluate_all(f"all => all.map({PLACED})")]
                weights = [float(w[k]) for w, _ in found]
                mark = row.locator("b").evaluate(PLACED)[0]
                points.extend(zip(weights, left, strict=True))
                points.append((float(near.value[k]), mark))
        x, y = torch.tensor(points, dtype=torch.float64).T
        most = 48 * (x @ x) / (x @ (y - 50))  # the scale of this judge
        torch.testing.assert_close(y, 50 + 48 * x / most, rtol=0, atol=0.4)
    assert not reader.complaints


def test_a_sum_is_fitted_and_keys_move_it(reader: Reader) -> None:
    page = reader.open(picture().html)
    page.locator("input").nth(1).focus()
    page.keyboard.press("End")
    words = page.locator("[role=status]").inner_text()
    assert words.startswith("Width 0.35, 1,000 texts: R² 1.00 to 1.00 in 5 draws.")
    page.locator("input").first.focus()
    page.keyboard.press("ArrowRight")
    assert page.locator("[role=status]").inner_text().startswith("Width 0.7, 1,000 texts")


def test_what_does_not_fit_is_refused() -> None:
    with pytest.raises(ValueError, match="no judge"):
        lime_demo({})
    game = Game(2, lambda kept: kept.sum(1))
    with pytest.raises(ValueError, match="one: got 3 words and 2 values for a game of 2 parts"):
        lime_demo({"one": Near(["a", "b", "c"], game, torch.zeros(2))})
