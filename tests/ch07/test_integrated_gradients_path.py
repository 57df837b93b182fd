"""The way from a baseline: areas that add up, the same told by Python and script, its size."""

from __future__ import annotations

import re
from dataclasses import replace

import numpy as np
import pytest
from browser import PAINTED, PLACED, Reader

from deepdive_book.ch07.figures.integrated_gradients_path import Way, integrated_gradients_path
from deepdive_book.kit.markup import Html

WORDS = ("the", "<b>", "is", "cold")


def way(name: str, seed: int) -> Way:
    """Four words with smooth slopes, their areas exact, and the answer that these make."""
    draw, a = np.random.default_rng(seed), np.linspace(0, 1, 11)[:, None]
    slope, bend = draw.normal(0, 2, (2, 4))
    sums = slope * a + bend * a**2 / 2
    return Way(name, 0.3 + sums.sum(1), slope + bend * a, sums)


WAYS = [way("[MASK] rows", 0), way("zero rows", 1)]


def picture() -> Html:
    return integrated_gradients_path(WORDS, WAYS)


def told(page: object) -> str:
    return str(page.locator("[role=status]").inner_text())  # type: ignore[attr-defined]


def test_at_each_place_the_areas_are_the_change_of_the_answer(reader: Reader) -> None:
    page = reader.open(picture().html)
    slider = page.locator("input")
    for k, one in enumerate(WAYS):
        page.locator("select").select_option(index=k)
        slider.focus()
        page.keyboard.press("Home")
        for at in range(11):
            assert slider.input_value() == str(at)
            words = told(page).replace("−", "-")
            area, answer, first = (
                float(x) for x in re.findall(r"-?\d+\.\d\d", words.split("so far")[1])[:3]
            )
            assert area == pytest.approx(answer - first, abs=0.011)
            assert answer == pytest.approx(one.answers[at], abs=0.006)
            for w, word in enumerate(WORDS):
                part = float(words.split(f"{word} ")[-1].split(",")[0].rstrip("."))
                assert part == pytest.approx(one.sums[at, w], abs=0.006)
            page.keyboard.press("ArrowRight")
    assert not reader.complaints


def test_the_filled_field_is_the_area(reader: Reader) -> None:
    """The two fields of the drawing, measured in its own units, differ by the area that is told."""
    page = reader.open(picture().html)
    page.locator("input").focus()
    for _ in range(4):
        page.keyboard.press("ArrowLeft")
    fields = []
    for kind in ("for", "against"):
        d = page.locator(f".path-{kind}").get_attribute("d")
        x, y = np.array(re.findall(r"(-?[\d.]+) (-?[\d.]+)", str(d)), float).T
        fields.append(abs(np.dot(x, np.roll(y, 1)) - np.dot(y, np.roll(x, 1))) / 2)
    slopes = np.concatenate([one.slopes.sum(1) for one in WAYS])
    by = 96 / (max(slopes.max(), 0) - min(slopes.min(), 0))
    expected = WAYS[0].sums[6].sum()
    assert (fields[0] - fields[1]) / by / 344 == pytest.approx(expected, abs=0.02)


def test_colours_follow_the_point_and_end_as_python_drew_them(reader: Reader) -> None:
    page = reader.open(picture().html)
    look = f"""all => all.map(x => [({PAINTED})(x),
        ({PLACED})(x.querySelector('.ex-bar span'))])"""
    rows = [page.locator(f".{row} .ex-word") for row in ("path-here", "path-so-far")]
    before, words = [row.evaluate_all(look) for row in rows], told(page)
    page.locator("input").focus()
    page.keyboard.press("Home")
    assert [row.evaluate_all(look) for row in rows] != before
    page.keyboard.press("End")
    assert [row.evaluate_all(look) for row in rows] == before
    assert told(page) == words


def test_the_words_with_most_of_the_area_are_named_first(reader: Reader) -> None:
    page = reader.open(picture().html)
    named = re.findall(r"(\S+) −?\d\.\d\d", told(page).split("Most of it: ")[1])
    assert named == [WORDS[k] for k in np.argsort(-np.abs(WAYS[0].sums[-1]))]


def test_the_point_follows_the_finger(reader: Reader) -> None:
    page = reader.open(picture().html)
    box = page.locator("svg").bounding_box()
    assert box
    page.mouse.click(box["x"] + box["width"] * (44 + 172) / 398, box["y"] + 60)
    assert page.locator("input").input_value() == "5"


def test_what_does_not_fit_is_refused() -> None:
    one = WAYS[0]
    with pytest.raises(ValueError, match="0 words and 1 ways"):
        integrated_gradients_path([], [one])
    with pytest.raises(ValueError, match=r"\[MASK\] rows: got .* expected"):
        integrated_gradients_path(WORDS[:2], [one])
    with pytest.raises(ValueError, match=r"areas miss the change of the answer by 0\.5"):
        integrated_gradients_path(
            WORDS, [replace(one, answers=one.answers + 0.5 * (np.arange(11) > 4))]
        )
    with pytest.raises(ValueError, match="not finite"):
        integrated_gradients_path(WORDS, [replace(one, slopes=one.slopes * np.nan)])
