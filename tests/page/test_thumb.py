"""Words taken away from two models: what the page computes is what the games say; its size."""

from __future__ import annotations

import random
import re
from functools import cache

import pytest
import torch
from browser import DESK, PHONE, Reader, Size

from deepdive.data.verdicts import generated_verdicts
from deepdive.explain.games.game import Game, grouped
from deepdive.explain.games.removal import deleted, drawn, left_out, masked, zeroed
from deepdive.explain.games.samplers import background
from deepdive.page.live.export import described_judge
from deepdive.page.live.thumb import WAYS, thumb
from deepdive.page.markup import Html
from deepdive.page.toys.reviews import SENTENCE, ReviewToy, review_words

COLD = SENTENCE.split().index("cold")


def others() -> torch.Tensor:
    texts = [t for t in generated_verdicts(200, seed=5).texts if len(t.split()) == 14]
    return torch.cat([review_words().tokens(text) for text in texts[:6]])


def games(toy: ReviewToy) -> dict[str, Game]:
    text = toy.tokens(SENTENCE)[0]
    owner = torch.tensor([-1, *range(len(text) - 2), -1])

    def negative(tokens: torch.Tensor, real: torch.Tensor | None = None) -> torch.Tensor:
        return toy.model(tokens, real).softmax(-1)[:, 0]

    made = (
        masked(negative, text, toy.mask),
        zeroed(toy.model, "encoder.embeddings.embedded", negative, text),
        left_out(negative, text),
        deleted(negative, text),
        drawn(negative, text, background(others())),
    )
    return {way: grouped(game, owner) for way, game in zip(WAYS, made, strict=True)}


@cache
def judges() -> dict[str, tuple[ReviewToy, dict[str, Game]]]:
    return {kind: (review_words(kind), games(review_words(kind))) for kind in ("blanks", "plain")}


@cache
def picture() -> Html:
    return thumb(judges(), SENTENCE, 0, others(), gone=[COLD])


def test_the_page_says_what_the_games_say(reader: Reader) -> None:
    page = reader.open(picture().html)
    chips, dice = page.locator(".th-words button:not(.th-back)"), random.Random(0)
    gone = {COLD}
    for _ in range(5):
        kept = torch.tensor([i not in gone for i in range(14)])
        for way in WAYS:
            shares = page.locator(f"[data-way='{way}'] .th-share").all_inner_texts()
            for share, (_, theirs) in zip(shares, judges().values(), strict=True):
                assert float(share[:-1]) == pytest.approx(100 * float(theirs[way](kept)), abs=0.8)
        flipped = dice.randrange(14)
        chips.nth(flipped).click()
        gone ^= {flipped}
    assert not reader.complaints


def test_what_stands_there_is_chosen_by_key(reader: Reader) -> None:
    page = reader.open(picture().html)
    reads, told = page.locator(".th-reads"), page.locator("[role=status]")
    assert reads.inner_text().endswith("the music [MASK] .")
    page.locator("input").first.focus()
    for way, end in (("a row of zeros", "music [0] ."), ("no key", "(cold) ."),
                     ("cut out", "the music ."), ("another word", " .")):  # fmt: skip
        page.keyboard.press("ArrowDown")
        assert reads.inner_text().endswith(end)
        assert told.inner_text().startswith(f"Away: cold. {way}: blanks, ")
    assert page.locator(".th-more").inner_text() == ", and 5 other texts like it"
    page.locator(".th-back").click()
    assert reads.inner_text() == SENTENCE
    assert not reader.complaints


@pytest.mark.parametrize("size", [DESK, PHONE])
def test_it_fits(reader: Reader, size: Size) -> None:
    page = reader.open(picture().html, size)
    assert page.evaluate("document.documentElement.scrollWidth <= innerWidth")
    for share in page.locator(".th-bar").all():
        box = share.bounding_box()
        assert box
        assert box["width"] >= 50


def test_python_and_the_script_tell_the_same(reader: Reader) -> None:
    dead = re.sub(r"<script>.*?</script>", "", picture().html, flags=re.DOTALL)
    still = [reader.open(html).locator(".th").inner_text() for html in (dead, picture().html)]
    first, then = (
        [word for word in text.replace("all back", "").split() if word[-1] != "%"] for text in still
    )
    assert first == then  # the numbers are those of the games, by the first test
    assert repr(picture()).startswith("[words to take away: Away: cold. [MASK]: blanks, 45%")


def test_what_does_not_fit_is_refused() -> None:
    toy, theirs = judges()["plain"]
    with pytest.raises(ValueError, match="unknown to it"):
        thumb(judges(), "i find the weather cold .", 0, others())
    with pytest.raises(ValueError, match="expected the games mask, zero"):
        thumb({"a": (toy, {"mask": theirs["mask"]})}, SENTENCE, 0, others())
    with pytest.raises(ValueError, match=r"expected \(J, 16\)"):
        thumb(judges(), SENTENCE, 0, others()[:, 1:])
    with pytest.raises(TypeError, match="came as"):
        described_judge(torch.nn.Linear(2, 2))
