"""Chapter 6a's questions: each number in an answer is computed, what an answer says is tried."""

from __future__ import annotations

import math
import re
from itertools import chain

import pytest
import torch
from checkout import ROOT
from question_numbers import Numbers, check_numbers, check_shares, with_a_number
from torch.nn import functional as F

from deepdive.core import GatedFeedForward, LayerNorm, RMSNorm
from deepdive.decoding.scores import filter_min_p, filter_top_p
from deepdive.evaluate.scaling import Chinchilla
from deepdive.evaluate.summaries import rouge
from deepdive.models.generative.gpt import TINY, gpt
from deepdive.published.quantized import dequantize, quantize
from deepdive.training.objectives import dpo_loss, unigram_f1
from deepdive_book.course.questions import FILES, load

CHAPTER = ROOT / "chapters" / "06a_text"
BANKS = {which: load(CHAPTER, which) for which in FILES}
ITEMS = {item.id: item for bank in BANKS.values() for item in bank.items}


def test_there_are_46_items_and_two_forms_of_12() -> None:
    assert [len(BANKS[which].items) for which in ("bank", "before", "after")] == [46, 12, 12]
    assert len(ITEMS) == 70


# -- the numbers


def bits(*given: float) -> float:
    return sum(-math.log2(p) for p in given)


def both(row: list[float]) -> tuple[float, ...]:
    """A row by layer norm, then by RMS norm."""
    x = torch.tensor(row)
    return (*LayerNorm(2, 0.0)(x + 0).nan_to_num().tolist(), *RMSNorm(2, 0.0)(x).tolist())


def step(low: float, high: float, width: int) -> float:
    """How far apart the marks of a ruler are."""
    return (high - low) / (2**width - 1)


def nuclei(share: float, least: float) -> tuple[float, ...]:
    """How many of five words a nucleus keeps, and how many min p keeps."""
    logits = torch.tensor([40.0, 30, 20, 8, 2]).log()
    kept = (filter_top_p(logits, share), filter_min_p(logits, least))
    return tuple(float(each.isfinite().sum()) for each in kept)


def valley(n: float, d: float) -> float:
    """What a model loses by its size and by its text, both powers one half."""
    return Chinchilla(1, 4, 4, 0.5, 0.5)(n, d)


def grown(alpha: float, beta: float) -> tuple[float, ...]:
    """By how much the best size and its text grow with 16 times the budget."""
    law = Chinchilla(1, 1, 1, alpha, beta)
    return tuple(more / less for more, less in zip(law.best(96), law.best(6), strict=True))


def pairs_seen(length: int, side: int = 3) -> float:
    """Pairs of a text whose words look at `side` words on either side."""
    return length * (2 * side + 1) - side * (side + 1)


SHARED, OWN, REST = 3, 5, 15  # words
F1 = unigram_f1([*"abcde"], [*"abc", *"ghijklmnopqr"])
# By id: each answer that has a number, and the numbers that stand in it, in their order.
NUMBERS: Numbers = {
    "price-of-three": {
        "2": (bits(1 / 4, 1 / 2, 1 / 16, 1 / 2) / 4,), "8": (bits(1 / 4, 1 / 2, 1 / 16, 1 / 2),),
        "0.33": ((1 / 4 + 1 / 2 + 1 / 16 + 1 / 2) / 4,), "1.39": (2 * math.log(2),),
    },
    "questions-of-a-row": {"504": (8 * 63,), "512": (8 * 64,), "8": (8,), "63": (63,)},
    "mean-that-stays": {"(0, 0) and (1, 1)": both([3.0, 3.0])},
    "cache-of-shared-heads": {"4": (12 / 3,), "16": ((12 / 3) ** 2,), "8": (2 * 12 / 3,)},
    "ruler-of-a-block": {
        "4.29": (step(10, 40, 3),), "3.75": (30 / 8,), "10.00": (step(10, 40, 2),),
        "5.71": (step(0, 40, 3),),
    },
    "bits-with-ruler": {
        "4.5": (4 + 32 / 64,), "5": (4 + 32 / 32,), "4.25": (4 + 16 / 64,), "36": (4 + 32,),
    },
    "principal-sentence": {
        "0.3": (F1,), "0.6": (SHARED / OWN,), "0.2": (SHARED / REST,), "0.4": ((0.6 + 0.2) / 2,),
    },
    "bits-of-a-rotation": {
        "6": (math.log2(64),), "32": (64 / 2,), "63": (64 - 1,), "64": (64,),
    },
    "nucleus-of-five": {"3 and 4": nuclei(0.8, 0.1), "4 and 5": nuclei(0.95, 0.05)},
    "guess-that-stays": {"0.4": (min(1, 0.2 / 0.5),), "0.1": (0.2 * 0.5,), "0.2": (0.2,)},
    "valley-of-256": {
        "3": (valley(16, 16),), "3.5": (valley(64, 4),), "5.25": (valley(256, 1),),
        "2": (valley(16, 16) - 4 / 16**0.5,),
    },
    "growth-of-two-powers": {
        "8 times the size, 2 times the tokens": grown(1 / 4, 3 / 4),
        "2 times the size, 8 times the tokens": grown(3 / 4, 1 / 4),
        "4 times the size, 4 times the tokens": grown(1 / 2, 1 / 2),
    },
    "nothing-divided-out": {"2 : 5": (2, 5), "10 : 1": (2 * 5, 1), "5 : 2": (5, 2)},
    "prompt-read-once": {
        "360": (4 * 40 + 10 * 20,), "600": (10 * (40 + 20),), "180": (4 * 40 + 20,),
    },
    "window-of-led": {"2": (pairs_seen(20_000) / pairs_seen(10_000),), "4": (2**2,)},
    "loss-of-an-answer": {
        "1.5": ((1 + 2) / 2,), "2.6": ((5 * 3 + 1 + 2) / 7,), "3": (1 + 2,), "4.5": (3 + 1.5,),
    },
    "numbers-of-a-lora": {
        "320": (4 * (20 + 60),), "1200": (20 * 60,), "4800": (4 * 20 * 60,), "80": (4 * 20,),
    },
    "before-surprise": {"3": (bits(1 / 2, 1 / 2, 1 / 2),), "8": (2**3,)},
    "after-surprise": {
        "6": (bits(1 / 2, 1 / 8, 1 / 4),), "2": (bits(1 / 2, 1 / 8, 1 / 4) / 3,),
        "64": (2 * 8 * 4,), "14": (2 + 8 + 4,),
    },
    "before-ruler": {"10 degrees": (30 / 3,), "7.5 degrees": (30 / 4,), "15 degrees": (30 / 2,)},
    "after-ruler": {
        "1.00": (step(-1, 2, 2),), "0.75": (3 / 4,), "1.50": (3 / 2,), "0.67": (2 / 3,),
    },
    "before-damage": {"5": (math.log2(32),), "16": (32 / 2,), "31": (32 - 1,)},
    "after-runs": {"that seeds can shift ROUGE-1 by about seven points": (1,)},
    "after-damage": {"7": (math.log2(128),), "64": (128 / 2,), "127": (128 - 1,)},
}  # fmt: skip


SHARES = {"rouge-two-by-hand": rouge("no pain at all", "no pain at night")["rouge2"]}


def test_every_number_in_an_answer_is_computed_here() -> None:
    found = with_a_number(ITEMS)
    assert found <= NUMBERS.keys() | SHARES, found - NUMBERS.keys() - SHARES.keys()
    check_numbers(ITEMS, NUMBERS)
    check_shares(ITEMS, SHARES)


# -- what answers say, tried


def test_one_pass_answers_as_many_questions_as_one_letter_after_the_other() -> None:
    model, tokens = gpt(TINY).eval(), torch.randint(32, (1, 9))
    whole = model(tokens)
    for t in range(1, 9):
        assert torch.allclose(model(tokens[:, :t])[:, -1], whole[:, t - 1], atol=1e-5)


def test_a_gate_of_0_and_one_far_below_let_nothing_pass() -> None:
    assert F.silu(torch.tensor([0.0, -50.0])).abs().max() < 1e-9
    assert F.silu(torch.linspace(-50, 0, 999)).min() > -0.3
    layer = GatedFeedForward(4, 8)
    assert layer(torch.zeros(1, 4)).shape == (1, 4)


def test_a_loss_of_preferences_falls_while_both_answers_become_rarer() -> None:
    chosen, rejected = torch.tensor([[0.4, 0.2], [0.4, 0.05]]).log().unbind()
    before, now = (dpo_loss(*(each[i : i + 1] for each in (chosen, rejected)),
                            chosen[:1], rejected[:1], 0.1) for i in (0, 1))  # fmt: skip
    assert now < before


def test_a_ruler_forgets_no_end_and_a_second_rounding_moves_nothing() -> None:
    weights = torch.randn(64)
    weights[5] *= 50
    once = dequantize("Q4_1", quantize("Q4_1", weights.numpy()))
    again = dequantize("Q4_1", quantize("Q4_1", once))
    assert abs(once - again).max() < 2e-3 * abs(once).max()
    apart = abs(once - weights.numpy())
    assert apart[:32].mean() > 4 * apart[32:].mean()  # the block of the giant
    assert apart[5] < 0.01 * abs(weights[5])


def test_marks_of_four_bits_move_outwards_among_those_of_five() -> None:
    old = torch.arange(16.0)
    moves = (old * 31 / 15 + 0.5).floor() * 15 / 31 - old
    assert (moves[1:8] < 0).all()
    assert (moves[8:15] > 0).all()


def test_an_opposite_costs_less_rouge_l_than_another_order() -> None:
    note = [
        f"{subject} denies {thing} today" for subject, thing in zip("abcde", "vwxyz", strict=True)
    ]
    true = " ".join(note)
    false, reversed_ = true.replace("denies", "reports", 1), " ".join(note[::-1])
    assert rouge(false, true)["rougeL"] > rouge(reversed_, true)["rougeL"] + 0.3


@pytest.mark.parametrize("name", ["table-of-three-parts"])
def test_the_table_s_intervals_are_read_as_the_answer_says(name: str) -> None:
    rows = re.findall(r"\| ([ABC]) \|[^\[]*\[([−\d.]+), ([−\d.]+)\]", ITEMS[name].stem)
    ends = {part: [float(x.replace("−", "-")) for x in pair] for part, *pair in rows}
    assert [part for part, (low, high) in ends.items() if not low <= 0 <= high] == ["A"]
    assert ends["B"][1] > ends["C"][1]


def test_the_bank_asks_about_pages_that_are_there() -> None:
    pages = {path.stem for path in CHAPTER.glob("[0-9][0-9]*_*.py")}
    assert {item.page for item in chain(*(bank.items for bank in BANKS.values()))} <= pages
