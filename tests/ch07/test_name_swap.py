"""A letter and its twin: what the page computes is what the models say, by key and finger."""

from __future__ import annotations

import re
from functools import cache

import pytest
import torch
from browser import Reader

from deepdive.layers.heads import Classifier
from deepdive.models.bert.bert import bert
from deepdive.tokenizers import WordTokenizer
from deepdive_book.ch07.figures.name_swap import name_swap_demo, share
from deepdive_book.kit.markup import Html

MARKS = ("[PAD]", "[CLS]", "[SEP]", "[UNK]", "[MASK]")
TEMPLATE = "{} of the {} office was {} ."
CHOICES = [("name", ["anna", "ida", "otto"]), ("office", ["north", "south"]),
           ("quality", ["quick", "slow"])]  # fmt: skip
PAIRS = {"anna": "otto", "ida": "ben"}
WORDS = WordTokenizer.train(
    ["anna ida otto ben of the north south office was quick slow ."], 100, specials=MARKS
)


@cache
def models() -> dict[str, Classifier]:
    found = {}
    for seed, name in enumerate(("one", "<another>")):
        torch.manual_seed(seed)
        encoder = bert(vocab_size=len(WORDS), d_model=16, n_heads=2, n_layers=1, d_ff=32,
                       max_length=12, n_segments=0, dropout=0.0)  # fmt: skip
        model = Classifier(encoder, 16, 2, dropout=0.0).eval()
        for p in model.parameters():
            p.data += 0.3 * torch.randn_like(p)
        found[name] = model.half().float()
    return found


def picture() -> Html:
    return name_swap_demo(models(), WORDS, TEMPLATE, CHOICES, PAIRS)


def test_the_page_says_what_the_models_say(reader: Reader) -> None:
    page = reader.open(picture().html)
    seen = []
    for name, twin in (("anna", "otto"), ("ida", "ben"), ("otto", "anna")):
        for office in ("north", "south"):
            for place, word in enumerate((name, office, "slow")):
                page.locator("select").nth(place).select_option(word)
            shares = page.locator(".twins-share").all_inner_texts()
            expected = [
                100 * share(model, WORDS, TEMPLATE.format(who, office, "slow"))
                for model in models().values() for who in (name, twin)
            ]  # fmt: skip
            assert [float(each[:-2]) for each in shares] == pytest.approx(expected, abs=0.8)
            assert page.locator(".twins-name").all_inner_texts() == [name, twin] * 2
            seen += expected
    assert max(seen) - min(seen) > 10  # models that differ, or the test would see nothing
    assert not reader.complaints


def test_buttons_and_keys_move_it(reader: Reader) -> None:
    page = reader.open(picture().html)
    told = page.locator("[role=status]")
    before = told.inner_text()
    page.locator("button").first.click()
    assert page.locator("select").first.input_value() == "otto"
    own, other = re.findall(r"hired (\d+ %), \w+ (\d+ %)", before)[0]
    assert f"one: otto hired {other}, anna {own}" in told.inner_text()
    page.locator("button").nth(1).focus()
    page.keyboard.press("Enter")
    assert page.locator("select").nth(1).input_value() == "south"
    assert not reader.complaints


def test_what_does_not_fit_is_refused() -> None:
    with pytest.raises(ValueError, match="2 choices for 3 gaps"):
        name_swap_demo(models(), WORDS, TEMPLATE, CHOICES[:2], PAIRS)
    with pytest.raises(ValueError, match=r"unknown words: \['rude'\]"):
        name_swap_demo(models(), WORDS, TEMPLATE, [*CHOICES[:2], ("quality", ["rude"])], PAIRS)
    with pytest.raises(ValueError, match=r"no twin: \['ida'\]"):
        name_swap_demo(models(), WORDS, TEMPLATE, CHOICES, {"anna": "otto"})
    with pytest.raises(TypeError, match="got"):
        name_swap_demo({"a": torch.nn.Linear(2, 2)}, WORDS, TEMPLATE, CHOICES, PAIRS)
