"""A linear model near one text: dots and words are LIME's, by key and finger; its still form."""

from __future__ import annotations

import itertools
import re

import pytest
import torch
from browser import DESK, PHONE, PLACED, Reader, Size

from deepdive.explain.classifiers.planted import Conjunction, SignedWords, ids
from deepdive.explain.games.game import Game
from deepdive.explain.games.lime import around, lime
from deepdive.explain.games.removal import masked
from deepdive.page.markup import Html
from deepdive.page.near_text import DRAWS, SAMPLES, WIDTHS, Near, near_text


def near(model: SignedWords | Conjunction, text: str) -> Near:
    tokens = ids(text)
    return Near(text.split(), masked(model, tokens, 0), model.shapley(tokens))


JUDGES = {
    "sum": near(SignedWords(), "the great film was bad"),
    "<both>": near(Conjunction(), "great cast and film"),
}


def picture() -> Html:
    return near_text(JUDGES)


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
                lime(near.game, around(near.game.size, SAMPLES[n], seed), WIDTHS[at])
                for seed in range(DRAWS)
            ]
            words = page.locator("[role=status]").inner_text()
            low, high = re.findall(r"R² (\S+) to (\S+) in", words)[0]
            assert float(low) == pytest.approx(min(float(fit) for _, fit in found), abs=6e-3)
            assert float(high) == pytest.approx(max(float(fit) for _, fit in found), abs=6e-3)
            rows = page.locator(".nt-row").all()
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


def test_python_and_the_script_draw_the_same(reader: Reader) -> None:
    dead = re.sub(r"<script>.*?</script>", "", picture().html, flags=re.DOTALL)
    shown = []
    for html in (dead, picture().html):
        page = reader.open(html)
        parts = [page.locator(part).inner_html() for part in (".nt-rows", ".nt-near")]
        shown.append([*parts, page.locator(".nt p").inner_text()])
    assert shown[0] == shown[1]
    assert 'class="nt-choose" hidden' in dead
    assert "&lt;both&gt;" in dead
    assert repr(picture()).startswith("[near one text: Width 0.35, 50 texts: R² ")


def test_a_sum_is_fitted_and_keys_move_it(reader: Reader) -> None:
    page = reader.open(picture().html)
    page.locator("input").nth(1).focus()
    page.keyboard.press("End")
    words = page.locator("[role=status]").inner_text()
    assert words.startswith("Width 0.35, 1,000 texts: R² 1.00 to 1.00 in 5 draws.")
    page.locator("input").first.focus()
    page.keyboard.press("ArrowRight")
    assert page.locator("[role=status]").inner_text().startswith("Width 0.7, 1,000 texts")


@pytest.mark.parametrize("size", [DESK, PHONE])
def test_it_fits(reader: Reader, size: Size) -> None:
    page = reader.open(picture().html, size)
    assert page.evaluate("document.documentElement.scrollWidth <= innerWidth")
    for control in page.locator("select, input").all():
        box = control.bounding_box()
        assert box
        assert box["height"] >= 36


def test_what_does_not_fit_is_refused() -> None:
    with pytest.raises(ValueError, match="no judge"):
        near_text({})
    game = Game(2, lambda kept: kept.sum(1))
    with pytest.raises(ValueError, match="one: came 3 words and 2 values for a game of 2 parts"):
        near_text({"one": Near(["a", "b", "c"], game, torch.zeros(2))})
