"""A wish for the letter toy: its places, its measures by hand, and that each way hears it."""

from __future__ import annotations

import math

import numpy as np
import pytest
import torch

from deepdive.tokenizers import BPETokenizer
from deepdive_book.ch06a.runs import style_finetuning
from deepdive_book.ch06a.runs.domain_fertility import fertility, pieces, words_of
from deepdive_book.ch06a.runs.style_finetuning import (
    WAYS,
    StyleTask,
    evaluate,
    pronoun_odds,
    share,
    tuned,
)
from deepdive_book.ch06a.toys.next_letters import next_letters

LINES = [
    f"And {who} said {what}, I pray you {verb} me to the {place}, for we must be gone.\n"
    for who in ("the king", "my lord", "a servant", "the nurse")
    for what in ("nothing", "at last", "softly")
    for verb, place in (("bring", "tower"), ("follow", "sea"))
]
TEXT = "".join(LINES)
AHEAD = "A" * style_finetuning.BEFORE
TOY = next_letters()


def wish() -> StyleTask:
    return StyleTask(TEXT, TEXT[: len(TEXT) // 2], TEXT[len(TEXT) // 2 :], TOY.letters)


def test_a_place_is_what_stands_before_it_and_either_answer() -> None:
    found = wish().places(AHEAD + LINES[0] + LINES[1])
    assert len(found.wanted) == 2
    said = "".join(TOY.letters[i] for i in found.wanted[1])
    assert said.endswith("I pray thou ")
    refused = "".join(TOY.letters[i] for i in found.refused[1])
    assert refused == said[:-6] + " you  "
    assert found.is_wanted.sum(1).tolist() == [6, 6]
    assert found.is_refused.sum(1).tolist() == [5, 5]


def test_a_text_without_the_word_is_refused() -> None:
    with pytest.raises(ValueError, match="' you ' stands nowhere in 4 letters"):
        StyleTask("gone", TEXT, TEXT, TOY.letters)


def test_the_share_is_that_of_two_probabilities_spelled_out() -> None:
    places = wish().places(AHEAD + LINES[0])
    logs = {}
    for word, tokens in (
        (style_finetuning.WANTED, places.wanted),
        (style_finetuning.REFUSED, places.refused),
    ):
        with torch.no_grad():
            said = TOY.model(tokens).log_softmax(-1)[0]
        logs[word] = sum(
            float(said[style_finetuning.BEFORE - 1 + i, TOY.letters.index(letter)])
            for i, letter in enumerate(word)
        )
    with torch.no_grad():
        found = [each.item() for each in pronoun_odds(TOY.model, places)]
    assert found == pytest.approx([*logs.values()], rel=1e-4)
    a, b = (math.exp(x) for x in logs.values())
    assert float(share(TOY.model, places)) == pytest.approx(a / (a + b), rel=1e-3)


@pytest.mark.parametrize("way", WAYS)
def test_each_way_is_heard_and_a_lora_moves_few(way: str) -> None:
    asked = wish()
    rate = 3e-2 if way == "all letters" else 1e-2
    found = tuned(TOY.model, asked, way, rank=1, rate=rate, seed=0)
    assert found.moved == 720
    assert found.steps is not None
    assert evaluate(found.model, asked)["share"] > evaluate(TOY.model, asked)["share"]
    assert {n for n, _ in found.model.named_parameters()} == {
        n for n, _ in TOY.model.named_parameters()
    }


def test_another_way_is_refused() -> None:
    with pytest.raises(ValueError, match="way='praise'"):
        tuned(TOY.model, wish(), "praise", rank=0, rate=1e-3, seed=0)


def test_pieces_a_word() -> None:
    tokenizer = BPETokenizer.train(["low lower lowest " * 9], 40)
    assert "".join(pieces(tokenizer, "lower")) == "lower"
    assert fertility(tokenizer, ["low", "slow"] * 50).shape == (1,)
    by_hand = (len(pieces(tokenizer, "low")) + len(pieces(tokenizer, "slow"))) / 2
    assert np.isclose(fertility(tokenizer, ["low", "slow"] * 50)[0], by_hand)
    assert words_of("It cost 5 pounds, Sir!") == ["it", "cost", "pounds", "sir"]
    with pytest.raises(ValueError, match="got 3, expected 100"):
        fertility(tokenizer, ["low"] * 3)
