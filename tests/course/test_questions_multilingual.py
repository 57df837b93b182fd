"""Chapter 4's questions: each number in an answer is computed, what an answer says is tried."""

from __future__ import annotations

from statistics import mean

import torch
from checkout import ROOT
from question_numbers import Numbers, check_numbers, check_shares, with_a_number
from torch import Tensor

from deepdive.data.mixture import repeats, shares
from deepdive.evaluate.answers import answer_f1
from deepdive.models.multilingual.ernie_m import cross_lingual_mask
from deepdive_book.ch04.multilingual_qa_metrics import answer_f1_in
from deepdive_book.ch04.runs.cross_lingual_transfer import nearest_is_partner
from deepdive_book.course.questions import FILES, load

CHAPTER = ROOT / "chapters" / "04_multilingual"
BANKS = {which: load(CHAPTER, which) for which in FILES}
ITEMS = {item.id: item for bank in BANKS.values() for item in bank.items}


def test_there_are_39_items_and_two_forms_of_12() -> None:
    assert [len(BANKS[which].items) for which in ("bank", "before", "after")] == [39, 12, 12]
    assert len(ITEMS) == 63


# -- the numbers

THREE = {"first": 49, "second": 9, "last": 4}
COUNCIL = 10 * shares({"large": 64, "small": 4}, 0.5)["small"]
DRAWN = {alpha: 400 * shares({"large": 81, "small": 9}, alpha)["small"] for alpha in (0, 0.5, 1)}


LISTED, CHARACTERS = [92, 86, 80, 30], "伯尔尼阿尔卑"


def table(pieces: float, width: float, rest: float) -> float:
    """Which share of all numbers lies in the table."""
    return pieces * width / (pieces * width + rest)


def off(row: tuple[float, float], mean: tuple[float, float]) -> tuple[float, ...]:
    """Without signs, as an answer is read."""
    return tuple(abs(a - b) for a, b in zip(row, mean, strict=True))


# By id: each answer that has a number, and the numbers that stand in it, in their order.
NUMBERS: Numbers = {
    "slips-of-six": {"4": (max(4, 2),), "6": (4 + 2,), "3": (6 / 2,), "2": (min(4, 2),)},
    "share-of-the-table": {
        "64 %": (100 * 0.25 * 512 / 200,), "36 %": (100 - 100 * 0.25 * 512 / 200,),
        "39 %": (100 * table(0.25, 512, 200),), "51 %": (512 / 10,),
    },
    "read-how-often": {
        "5": (repeats(THREE, 0.5, 120)["last"],), "1.9": (repeats(THREE, 1, 120)["last"],),
        "10": (repeats(THREE, 0, 120)["last"],), "20": (120 * shares(THREE, 0.5)["last"],),
    },
    "gained-for-lost": {
        "2.3": ((80 - 66) / (56 - 50),), "0.4": ((56 - 50) / (80 - 66),), "14": (80 - 66,),
        "1.7": ((80 - 63) / (60 - 50),),
    },
    "hidden-one-in-three": {
        "0.5 bits": (1.5 / 3,), "1.0 bits": (2 * 1.5 / 3,), "1.5 bits": (1.5,), "0.0 bits": (0,),
    },
    "places-from-zero": {
        "place 0, and a row for its language": (0,),
        "place 6, and no row for its language": (6,),
    },
    "means-taken-off": {
        "both (2, 1)": off((6, 1), (4, 0)),
        "(2, 1) and (5, 2)": (*off((3, 4), (1, 3)), *off((6, 1), (1, 3))),
        "(4, 7) and (10, 1)": (3 + 1, 4 + 3, 6 + 4, 1 + 0),
        "both (0.5, 2.5)": off((3, 4), (2.5, 1.5)),
    },
    "half-of-the-row": {
        "50 %": (100 * 2**5 / (2**5 + 2**4 + 2 * 2**3),), "33 %": (100 * 5 / 15,),
        "57 %": (100 * 2**5 / (2**5 + 2**4 + 2**3),), "25 %": (100 / 4,),
    },
    "nothing-is-wrong": {
        "near 1, as any two sentences": (1,), "near 0, as nothing joins them": (0,),
        "near -1, since they were pushed apart": (1,),
    },
    "numbers-of-a-turn": {
        "190 and 20": (20 * 19 / 2, 20), "400 and 20": (20 * 20, 20), "380 and 40": (20 * 19, 40),
        "20 and 1": (20, 1),
    },
    "shelves-then-a-pair": {
        "16": (20 - round(0.35 * 20) + 3,), "13": (20 - round(0.35 * 20),), "20": (20,),
        "14": (20 - (3 + 0 + 6) + 3,),
    },
    "two-hashes-together": {
        "18": (len({((c + 1) * 5 % 6, (c + 1) * 7 % 9) for c in range(1000)}),), "54": (6 * 9,),
        "9": (9,), "15": (6 + 9,),
    },
    "work-of-letters": {
        "280": (2 * 80 + 6 * 80 / 4,), "640": (8 * 80,), "120": (6 * 80 / 4,), "160": (2 * 80,),
    },
    "left-off-the-list": {
        "14 points": (mean(LISTED[:3]) - mean(LISTED),),
        "19 points": ((mean(LISTED[:3]) - LISTED[3]) / 3,),
        "42 points": (mean(LISTED) - LISTED[3],), "56 points": (mean(LISTED[:3]) - LISTED[3],),
    },
    "between-two-blanks": {
        "0.00, as though nothing had been found": (answer_f1(CHARACTERS[:5], CHARACTERS),),
        "0.91, as five of the characters are shared": (
            answer_f1_in(CHARACTERS[:5], CHARACTERS, "zh"),
        ),
        "0.83, the share of the right characters": (5 / 6,),
        "1.00, since it begins at the right place and ends just before it": (1,),
    },
    "before-told": {"7": (7,), "10": (7 + 3,), "5": (10 / 2,), "3": (3,)},
    "before-shares": {"2": (COUNCIL,), "5": (10 / 2,), "4": (4,)},
    "after-shares": {
        "100": (DRAWN[0.5],), "40": (DRAWN[1],), "200": (DRAWN[0],), "133": (400 / 3,),
    },
    "before-gap": {"1": (4 / 4,), "3": (4 * 3 / 4,), "4": (4,), "0": (0,)},
    "after-gap": {"1.0": (2 / 2,), "2.0": (2,), "0.5": (2 / 4,), "0.0": (0,)},
}  # fmt: skip
SHARES = {
    "two-ways-of-setting": (1 / 8) / (1 / 8 + 1 / 4 * 1 / 4),
    "said-four-right-two": answer_f1_in("near the old mill", "the mill", "en"),
    "after-told": 4 / (4 + 1),
    "before-table": table(4000, 5, 20_000),
    "after-table": table(0.1, 300, 90),
}


def test_every_number_in_an_answer_is_computed_here() -> None:
    numbered = with_a_number(ITEMS)
    assert numbered <= NUMBERS.keys() | SHARES, numbered - NUMBERS.keys() - SHARES.keys()
    check_numbers(ITEMS, NUMBERS)
    check_shares(ITEMS, SHARES)


# -- what answers say, tried


def reached(mask: Tensor, layers: int) -> Tensor:
    """Which words have reached which after so many layers (T, T)."""
    ways = torch.eye(len(mask), dtype=torch.bool)
    for _ in range(layers):
        ways = (mask | torch.eye(len(mask), dtype=torch.bool)).float() @ ways.float() > 0
    return ways


def test_by_words_that_look_everywhere_a_gap_hears_of_its_own_line() -> None:
    second = torch.tensor([False] * 4 + [True] * 4)
    hidden = torch.zeros(8, dtype=torch.bool)
    hidden[1] = True
    own = ~second & ~hidden
    everywhere = torch.ones(8, 8, dtype=torch.bool)
    everywhere[1] = second
    right = cross_lingual_mask(second[None], hidden[None], torch.ones(1, 8, dtype=torch.bool))[0]
    for mask, heard in ((everywhere, [0, 3]), (right, [0, 0])):
        assert [int(reached(mask, layers)[1][own].sum()) for layers in (1, 2)] == heard


def test_one_mean_of_both_languages_leaves_the_clouds_apart() -> None:
    one = torch.randn(50, 6, generator=torch.Generator().manual_seed(0))
    other = one + torch.tensor([4.0, -3, 2, 5, -4, 3])
    middle = torch.cat([one, other]).mean(0)
    assert nearest_is_partner(one, other).all()
    assert not nearest_is_partner(one - middle, other - middle, centered=False).all()
