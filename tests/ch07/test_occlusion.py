"""Words taken away from two models: what the page computes is what the games say; its size."""

from __future__ import annotations

import random
from functools import cache

import pytest
import torch
from browser import Reader

from deepdive.explain.games.game import Game, grouped
from deepdive.explain.games.removal import deleted, masked, no_attend, resampled, zero_embedding
from deepdive.explain.games.samplers import background
from deepdive_book.ch07.figures.occlusion import WAYS, occlusion_demo
from deepdive_book.ch07.toys.review_words import SENTENCE, ReviewToy, review_words
from deepdive_book.data.labeled_cause_reviews import generated_verdicts
from deepdive_book.kit.live.export import described_judge
from deepdive_book.kit.markup import Html

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
        zero_embedding(toy.model, "encoder.embeddings.embedded", negative, text),
        no_attend(negative, text),
        deleted(negative, text),
        resampled(negative, text, background(others())),
    )
    return {way: grouped(game, owner) for way, game in zip(WAYS, made, strict=True)}


@cache
def judges() -> dict[str, tuple[ReviewToy, dict[str, Game]]]:
    return {kind: (review_words(kind), games(review_words(kind))) for kind in ("blanks", "plain")}


@cache
def picture() -> Html:
    return occlusion_demo(judges(), SENTENCE, 0, others(), gone=[COLD])


def test_the_page_says_what_the_games_say(reader: Reader) -> None:
    page = reader.open(picture().html)
    chips, dice = page.locator(".removal-words button"), random.Random(0)
    gone = {COLD}
    for _ in range(5):
        kept = torch.tensor([i not in gone for i in range(14)])
        for way in WAYS:
            shares = page.locator(f"[data-way='{way}'] .removal-share").all_inner_texts()
            for share, (_, theirs) in zip(shares, judges().values(), strict=True):
                assert float(share[:-1]) == pytest.approx(100 * float(theirs[way](kept)), abs=0.8)
        flipped = dice.randrange(14)
        chips.nth(flipped).click()
        gone ^= {flipped}
    assert not reader.complaints


def test_what_stands_there_is_chosen_by_key(reader: Reader) -> None:
    page = reader.open(picture().html)
    reads, told = page.locator(".removal-text"), page.locator("[role=status]")
    assert reads.inner_text().endswith("the music [MASK] .")
    page.locator("input").first.focus()
    for way, end in (("a row of zeros", "music [0] ."), ("no key", "(cold) ."),
                     ("cut out", "the music ."), ("another word", " .")):  # fmt: skip
        page.keyboard.press("ArrowDown")
        assert reads.inner_text().endswith(end)
        assert told.inner_text().startswith(f"Away: cold. {way}: blanks, ")
    assert page.locator(".removal-more").inner_text() == ", and 5 other texts like it"
    page.locator("[data-control=back]").click()
    assert reads.inner_text() == SENTENCE
    assert not reader.complaints


def test_what_does_not_fit_is_refused() -> None:
    toy, theirs = judges()["plain"]
    with pytest.raises(ValueError, match="unknown to it"):
        occlusion_demo(judges(), "i find the weather cold .", 0, others())
    with pytest.raises(ValueError, match="expected the games mask, zero"):
        occlusion_demo({"a": (toy, {"mask": theirs["mask"]})}, SENTENCE, 0, others())
    with pytest.raises(ValueError, match=r"expected \(J, 16\)"):
        occlusion_demo(judges(), SENTENCE, 0, others()[:, 1:])
    with pytest.raises(TypeError, match="got"):
        described_judge(torch.nn.Linear(2, 2))
