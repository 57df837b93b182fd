"""Words exchanged in two models: what the page computes is what the models say; its size."""

from __future__ import annotations

from functools import cache

import pytest
import torch
from browser import Reader

from deepdive_book.ch07.figures.word_substitution import word_substitution
from deepdive_book.ch07.toys.review_words import ReviewToy, build_review_words, review_words
from deepdive_book.data.labeled_cause_reviews import THINGS
from deepdive_book.data.synthetic_reviews import BAD
from deepdive_book.kit.markup import Html

TEXT = "i find the music cold ."
KINDS = {word: kind for kind in (THINGS, BAD) for word in kind}


@cache
def toy() -> ReviewToy:
    return review_words()


def choices() -> list[list[str]]:
    return [[other for other in KINDS.get(word, ()) if other != word] for word in TEXT.split()]


@cache
def models() -> dict[str, torch.nn.Module]:
    return {"trained": toy().model, "untrained": build_review_words(len(toy().tokenizer)).eval()}


@cache
def picture() -> Html:
    return word_substitution(models(), toy(), TEXT, choices(), 0)


@torch.no_grad()
def said(text: str) -> list[float]:
    return [100 * float(m(toy().tokens(text)).softmax(-1)[0, 0]) for m in models().values()]


def test_the_page_says_what_the_models_say(reader: Reader) -> None:
    page = reader.open(picture().html)
    choosers, told = page.locator("select"), page.locator("[role=status]")
    assert choosers.count() == 2
    words, turned, begin = TEXT.split(), [0, 0], [share > 50 for share in said(TEXT)]
    for n, (place, which, word) in enumerate(
        [(4, 1, "dull"), (3, 0, "script"), (4, 1, "awful"), (3, 0, "ending")], 1
    ):
        choosers.nth(which).select_option(word)
        words[place] = word
        theirs = said(" ".join(words))
        shares = page.locator(".exchange-share").all_inner_texts()
        for share, true in zip(shares, theirs, strict=True):
            assert float(share[:-1]) == pytest.approx(true, abs=0.8)
        for m, true in enumerate(theirs):
            turned[m] += (true > 50) != begin[m]
        flips = f"Answers turned: trained, {turned[0]}; untrained, {turned[1]}."
        assert told.inner_text().endswith(f"Texts tried: {n}. {flips}")
    page.locator("[data-control=back]").click()
    assert told.inner_text().startswith("Words exchanged: 0. Texts tried: 4.")
    assert not reader.complaints


def test_it_is_moved_by_key_and_an_exchange_is_seen(reader: Reader) -> None:
    page = reader.open(picture().html)
    page.locator("select").first.focus()
    page.keyboard.press("ArrowDown")
    assert "exchange-changed" in (page.locator("select").first.get_attribute("class") or "")
    assert page.locator("[role=status]").inner_text().startswith("Words exchanged: 1.")
    assert not reader.complaints


def test_what_does_not_fit_is_refused() -> None:
    with pytest.raises(ValueError, match="one a word, 6"):
        word_substitution(models(), toy(), TEXT, [[]], 0)
    with pytest.raises(ValueError, match="unknown to the toy: weather"):
        word_substitution(models(), toy(), TEXT, [[], [], [], ["weather"], [], []], 0)
    with pytest.raises(TypeError, match="got"):
        word_substitution({"a": torch.nn.Linear(2, 2)}, toy(), TEXT, choices(), 0)
