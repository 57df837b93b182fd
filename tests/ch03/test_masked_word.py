"""The model that fills gaps: its arithmetic is PyTorch's, its page does what it says."""

from __future__ import annotations

import json
import random
import re
from functools import cache
from pathlib import Path
from typing import Any

import pytest
import torch
from browser import DESK, PHONE, Reader, Size
from playwright.sync_api import Page

from deepdive.core import relu
from deepdive.models.bert.bert import bert
from deepdive.models.bert.pretraining import BertForMaskedLM, for_masked_lm
from deepdive_book.ch03.figures.masked_word import candidates, masked_word
from deepdive_book.ch03.toys.gap_words import GAP_TIED, GapToy, cut_words, masked_words
from deepdive_book.kit.live import export
from deepdive_book.kit.live.export import described_encoder, quantized, restored, snapshot
from deepdive_book.kit.markup import Html

LIVE = Path(export.__file__).parent
MANY, ONE = "the ___ are playing in the park .", "the ___ is playing in the park ."
SIZES: dict[str, Any] = {"d_ff": 40, "max_length": 16, "n_segments": 0, "dropout": 0.0}


@cache
def toy() -> GapToy:
    return masked_words()


def picture() -> Html:
    return masked_word(toy().model, toy().tokenizer, MANY, examples=[ONE])


@cache
def page_of_toy() -> str:
    return masked_word(toy().model, toy().tokenizer, MANY, examples=[ONE]).html


def moved(n_heads: int, n_layers: int, **changes: Any) -> BertForMaskedLM:
    """A small BERT with every weight off its special values, and rounded to one byte."""
    torch.manual_seed(0)
    encoder = bert(vocab_size=23, d_model=24, n_heads=n_heads, n_layers=n_layers, **SIZES | changes)
    model = for_masked_lm(encoder).eval()
    for p in model.parameters():
        p.data += 0.3 * torch.randn_like(p)
    like = {name: t for name, t in model.state_dict().items() if name != GAP_TIED[0]}
    model.load_state_dict(restored(*quantized(like), like, tied=GAP_TIED))
    return model


RUN = """
const { spec, cases } = given, shapes = spec.shapes;
const shares = filler(spec, cut(shapes, quantised(shapes, ...spec.weights)));
return cases.map(({ tokens, place }) => [...shares(tokens, place)]);
"""


def in_page(reader: Reader, given: Any) -> Any:
    """What RUN returns in the browser, as JSON."""
    code = "".join((LIVE / name).read_text("utf-8") for name in ("forward.js", "masked.js"))
    data = json.dumps(given).replace("<", "\\u003c")
    body = (
        f'<script>{code}; const mark = "@".repeat(9), given = {data};'
        f"const answer = (() => {{ {RUN} }})();"
        "document.body.append(mark + JSON.stringify(answer) + mark);</script>"
    )
    return json.loads(reader.text(body).split("@" * 9)[1])


@pytest.mark.parametrize(("n_heads", "n_layers"), [(1, 1), (3, 2), (4, 3), (0, 0)])
def test_the_page_computes_what_pytorch_does(reader: Reader, n_heads: int, n_layers: int) -> None:
    model = moved(n_heads, n_layers) if n_heads else toy().model
    config, dice = model.bert.config, random.Random(3)
    rows = [
        [dice.randrange(config.vocab_size) for _ in range(n)]
        for n in (1, 2, 5, 9, config.max_length)
    ]
    cases = [{"tokens": row, "place": dice.randrange(len(row))} for row in rows]
    spec, weights = described_encoder(model)
    found = in_page(reader, {"spec": spec | {"weights": snapshot(weights)}, "cases": cases})
    for case, shares in zip(cases, found, strict=True):
        with torch.no_grad():
            wanted = model(torch.tensor([case["tokens"]]))[0, case["place"]].softmax(-1)
        torch.testing.assert_close(torch.tensor(shares), wanted, rtol=1e-3, atol=1e-6)


def shown(page: Page) -> list[str]:
    return page.locator(".gw-word").all_inner_texts()


def said(page: Page) -> str:
    return page.locator("[role=status]").inner_text()


def test_the_right_side_changes_the_guess(reader: Reader) -> None:
    page = reader.open(page_of_toy())
    first = shown(page)
    assert first == list(candidates(toy().model, toy().tokenizer, MANY.split(), 1))[:8]
    page.locator(".gw-examples button").nth(1).click()
    second = shown(page)
    assert second == list(candidates(toy().model, toy().tokenizer, ONE.split(), 1))[:8]
    assert {"students", "children"} <= {*first}, "several of them: `are` stands on the right"
    assert not {"students", "children"} & {*second}
    assert {"dog", "cat"} & {*second}
    assert said(page).startswith(f"Most likely: {second[0]} ")
    assert not reader.complaints
    assert not [url for url in reader.requests if not url.startswith("http://book.test/")]


def test_a_word_that_is_pressed_is_hidden_by_mouse_and_key(reader: Reader) -> None:
    page = reader.open(page_of_toy())
    page.locator("input").fill("The dog's tail is Zyx!")
    words = page.locator(".gw-words button")
    assert words.count() == len(cut_words("The dog's tail is Zyx!"))
    assert "gw-unknown" in (words.nth(4).get_attribute("class") or "")
    assert "does not know" in (words.nth(4).get_attribute("aria-label") or "")
    words.nth(0).focus()
    page.keyboard.press("Enter")
    assert words.nth(0).get_attribute("aria-pressed") == "true"
    assert page.evaluate("document.activeElement.textContent") == "___"
    assert re.search(r"The hidden word, the, is candidate \d+, with ", said(page))
    words.nth(4).click()
    assert "zyx, is not among the words" in said(page)
    page.locator("input").fill("  ")
    assert said(page).startswith("Write a sentence")
    page.locator("input").fill("is " * 40)
    assert "Only the first 22 words" in said(page)
    assert words.count() == 22
    assert not reader.complaints


@pytest.mark.parametrize("size", [DESK, PHONE])
def test_it_fits(reader: Reader, size: Size) -> None:
    page = reader.open(page_of_toy(), size)
    page.locator("input").fill("I would like a cup of extraordinarily good ___, please.")
    assert page.evaluate("document.documentElement.scrollWidth <= innerWidth")
    small = page.locator(".gw :is(button, p, span, input)").evaluate_all(
        "x => x.filter(e => parseFloat(getComputedStyle(e).fontSize) < 14).length"
    )
    assert small == 0


def test_without_scripts_the_first_sentence_and_its_candidates_stand_there() -> None:
    dead = re.sub(r"<script>.*?</script>", "", page_of_toy(), flags=re.DOTALL)
    assert f"<noscript><p>{MANY}</p></noscript>" in dead
    assert dead.count("gw-word") > 8
    assert "Most likely: " in dead


def test_what_the_page_cannot_run_is_refused() -> None:
    words, model = toy().tokenizer, toy().model
    for text in ("no gap here .", "a zyxw ___ .", "is " * 25 + "___"):
        with pytest.raises(ValueError, match="expected at most 22 known words, one of them ___"):
            masked_word(model, words, text)
    with pytest.raises(TypeError, match="has no bert and masked"):
        described_encoder(torch.nn.Linear(2, 2))
    for changes, message in (
        ({"activation": relu}, "activation: the page needs it gelu"),
        ({"n_segments": 2}, "without segments"),
    ):
        with pytest.raises(ValueError, match=message):
            described_encoder(moved(2, 1, **changes))


def test_the_toy_fills_gaps_it_has_not_seen() -> None:
    low = toy().right["first 1"][1]
    assert low > 0.35, "what the training script measured, lower end"
    assert toy().tested > 2000
