"""One text under several methods: each set of words taken away shows what the functions said."""

from __future__ import annotations

import pytest
import torch
from browser import Reader
from torch import Tensor

from deepdive_book.ch07.figures.attribution_comparison import attribution_comparison, removed_sets
from deepdive_book.kit.markup import Html

WORDS = ["the", "<script>", "is", "cold"]
NAMES = ["bad", "good & fine"]


def drawn(kept: Tensor, salt: int, size: int) -> Tensor:
    """Numbers that only this set has."""
    code = int((kept.long() * 2 ** torch.arange(len(kept))).sum())
    return torch.randn(size, generator=torch.Generator().manual_seed(100 * code + salt))


def says(kept: Tensor) -> Tensor:
    return drawn(kept, 0, 2).softmax(0)


METHODS = {
    "first < last": lambda kept: 3 * drawn(kept, 1, 4),
    "second": lambda kept: drawn(kept, 2, 4).tolist(),
    "none": lambda kept: [0.0] * 4,
}


def picture(**changes: object) -> Html:
    return attribution_comparison(WORDS, says, METHODS, NAMES, **changes)


def holds(page, removed: tuple[int, ...]) -> None:
    """What stands in the page is what the functions say of the words that are left."""
    kept = torch.tensor([i not in removed for i in range(4)])
    for bar, p in zip(page.locator(".view-bar b").all(), says(kept), strict=True):
        assert bar.inner_text() == f"{100 * p:.0f} %"
    for row, explain in zip(page.locator(".ex-row").all(), METHODS.values(), strict=True):
        values = torch.as_tensor(explain(kept)) * kept
        whole = torch.as_tensor(explain(torch.ones(4, dtype=torch.bool)))
        full = max(values.abs().max(), whole.abs().max()) or 1.0
        first = int(values.abs().argmax())
        told = f"{WORDS[first]} {values[first]:+.2f}" if values[first] else "nothing"
        assert row.locator("small").inner_text() == told
        for i, cell in enumerate(row.locator(".ex-word").all()):
            title = cell.get_attribute("title")
            if i in removed:
                assert title == "taken away"
                assert (
                    cell.evaluate("e => getComputedStyle(e).textDecorationLine") == "line-through"
                )
            else:
                assert float(title) == pytest.approx(float(values[i] / full), abs=1e-2)
                high = cell.locator(".ex-bar span").bounding_box()["height"]
                assert high == pytest.approx(9 * abs(float(values[i] / full)), abs=0.15)


def test_every_set_of_two_words_shows_what_the_functions_say(reader: Reader) -> None:
    page = reader.open(picture().html)
    buttons, back = page.locator(".view-words button"), page.locator("[data-control=back]")
    for removed in removed_sets(4, 2):
        for i in removed:
            buttons.nth(i).click()
        pressed = [b.get_attribute("aria-pressed") == "true" for b in buttons.all()]
        assert pressed == [i in removed for i in range(4)]
        holds(page, removed)
        told = page.locator("[role=status]").inner_text()
        assert told.startswith("Without " if removed else "Whole text")
        if removed:
            back.click()
    assert not reader.complaints


def test_keys_bring_a_word_away_and_back_and_a_third_is_refused(reader: Reader) -> None:
    page = reader.open(picture().html)
    told, buttons = page.locator("[role=status]"), page.locator(".view-words button")
    whole = told.inner_text()
    buttons.nth(0).focus()
    page.keyboard.press("ArrowLeft")  # round to the last
    page.keyboard.press("Enter")
    assert told.inner_text().startswith("Without cold:")
    page.keyboard.press("ArrowLeft")
    page.keyboard.press("Space")
    assert told.inner_text().startswith("Without is, cold:")
    page.locator(".ex-row").nth(0).locator(".ex-word").nth(0).click()
    assert told.inner_text().endswith(
        "2 words are gone, which is the most here: first bring one back."
    )
    holds(page, (2, 3))
    buttons.nth(2).focus()
    page.keyboard.press("Enter")
    page.locator(".ex-row").nth(1).locator(".ex-word").nth(3).click()
    assert told.inner_text() == whole


def test_methods_are_chosen_and_counted(reader: Reader) -> None:
    page = reader.open(picture(shown=["second"]).html)
    rows, told = page.locator(".ex-row"), page.locator("[role=status]")
    assert [row.is_visible() for row in rows.all()] == [False, True, False]
    before = told.inner_text()
    assert "by how many of 1" in before
    choice = page.get_by_role("button", name="first < last")
    choice.click()
    assert choice.get_attribute("aria-pressed") == "true"
    assert [row.is_visible() for row in rows.all()] == [True, True, False]
    assert "by how many of 2" in told.inner_text()
    choice.click()
    assert told.inner_text() == before  # Python wrote the first, the script this one


def test_ten_methods_and_fourteen_words_are_small() -> None:
    explain = {f"method {k}": lambda kept, k=k: drawn(kept, k, 14) for k in range(10)}
    for most, limit in ((2, 80_000), (3, 170_000)):
        made = attribution_comparison(["word"] * 14, says, explain, NAMES, most=most)
        assert len(made.html.encode()) < limit


def test_what_does_not_fit_is_refused() -> None:
    with pytest.raises(ValueError, match="most=5"):
        picture(most=5)
    with pytest.raises(ValueError, match="expected some of"):
        picture(shown=["third"])
    with pytest.raises(ValueError, match=r"says: got \(2,\), expected \(3,\)"):
        attribution_comparison(WORDS, says, METHODS, ["a", "b", "c"])
    with pytest.raises(ValueError, match=r"short: got \(2,\), expected \(4,\)"):
        attribution_comparison(WORDS, says, {"short": lambda kept: [1.0, 2.0]}, NAMES)
    with pytest.raises(ValueError, match="smaller most"):
        attribution_comparison(["a"] * 60, says, METHODS, NAMES, most=3)
