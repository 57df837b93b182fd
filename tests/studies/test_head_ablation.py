"""Heads switched off: what is told is what was kept for that set, for each text and question."""

from __future__ import annotations

import re

import pytest
from browser import DESK, PHONE, Reader, Size

from deepdive_book.kit.markup import Html
from deepdive_book.studies.figures.head_ablation import Asked, Kept, alt_text, bars, head_ablation

NOTE = "asked:"
WORDS = ("<dull>", "but", "very", "warm")
LOOKS = [[0.5, 0.2, 0.1, 0.0], [0.0, 0.0, 0.25, 0.75]]
TEXTS = [
    Kept(WORDS, {
        "negative": Asked(NOTE, ((0,), (2, 3)), LOOKS, ("<dull>", "very warm", "but", "<dull>")),
        "positive": Asked(NOTE, ((2, 3), (0,)), LOOKS[::-1], ("very warm", "a", "<dull>", "b")),
    }),
    Kept(WORDS[::-1], {
        "negative": Asked(NOTE, ((3,), (1, 0)), LOOKS, ("but", "but", "but", "<dull>")),
        "positive": Asked(NOTE, ((1, 0), (3,)), LOOKS, ("very warm", "but", "but", "but")),
    }),
]  # fmt: skip


def picture() -> Html:
    return head_ablation(TEXTS, (1, 2))


@pytest.mark.parametrize("size", [DESK, PHONE])
def test_every_set_of_heads_tells_what_was_kept(reader: Reader, size: Size) -> None:
    page = reader.open(picture().html, size)
    status, heads = page.locator("[role=status]"), page.locator("input")
    for t, text in enumerate(TEXTS):
        page.locator("select").select_option(str(t))
        for q, one in enumerate(text.asked.values()):
            page.locator(".questions button").nth(q).click()
            for off in range(4):
                for h in range(2):
                    heads.nth(h).set_checked(not off >> h & 1)
                assert status.inner_text() == alt_text(one, text.words, off)
            for h in range(2):
                page.locator(".sh-look").nth(h).click()
                spans = page.locator(".sh-words span")
                shown = [spans.nth(i).evaluate("x => x.style.getPropertyValue('--look')")
                         for i in range(5)]  # fmt: skip
                assert shown == [f"{share}%" for share in bars(one.looks[h])]
                assert page.locator(".sh-before").inner_text() == NOTE
            right = page.locator(".sh-right").all_inner_texts()
            assert right == [text.words[i] for i in sorted(one.answer[0])]
    page.get_by_role("button", name="All heads on").click()
    assert "All heads are on." in status.inner_text()
    assert page.evaluate("document.documentElement.scrollWidth <= innerWidth")
    assert not reader.complaints


def test_bars_are_the_shares_and_what_is_left_of_them() -> None:
    assert bars(LOOKS[0]) == [20, 50, 20, 10, 0]
    assert bars(LOOKS[1]) == [0, 0, 0, 25, 75]


def test_it_works_by_keys(reader: Reader) -> None:
    page = reader.open(picture().html)
    page.locator("input").nth(1).focus()
    page.keyboard.press("Space")
    assert "1 of 2 heads are off. It writes “but”: neither span." in page.content()


def test_without_scripts_the_first_state_stands_there() -> None:
    dead = re.sub(r"<script>.*?</script>", "", picture().html, flags=re.DOTALL)
    assert dead.count("&lt;dull&gt;") == 4  # two options, the word, what is written
    assert "All heads are on. It writes “&lt;dull&gt;”: the span that was asked for." in dead
    assert picture().html == picture().html
    assert "negative: <dull>" in repr(picture())


def test_what_does_not_fit_is_refused() -> None:
    with pytest.raises(ValueError, match="give one at least"):
        head_ablation([], (1, 2))
    with pytest.raises(ValueError, match="expected 4 heads for 4 words"):
        head_ablation(TEXTS, (2, 2))
    short = TEXTS[0].asked["negative"]._replace(says=("a",))
    with pytest.raises(ValueError, match="says: got 1, expected 4"):
        head_ablation([Kept(WORDS, {"negative": short})], (1, 2))
    with pytest.raises(ValueError, match=r"expected \['negative', 'positive'\]"):
        head_ablation([TEXTS[0], Kept(WORDS, {"negative": TEXTS[0].asked["negative"]})], (1, 2))
