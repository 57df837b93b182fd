"""Chapter 6c's questions: each number in an answer is computed, what an answer says is tried."""

from __future__ import annotations

import math
import re
from collections.abc import Mapping
from itertools import groupby, product

import pytest
import torch
from checkout import ROOT
from question_numbers import Numbers, check_numbers, check_shares, with_a_number
from torch.nn import functional as F

from deepdive.audio.mel import fourier, log_mel
from deepdive.decoding.ctc import greedy, prefix_beam
from deepdive.training.objectives.ctc import ctc_loss, frames_needed
from deepdive_book.ch06c.phone_purity import agreement
from deepdive_book.course.questions import FILES, load

CHAPTER = ROOT / "chapters" / "06c_speech"
BANKS = {which: load(CHAPTER, which) for which in FILES}
ITEMS = {item.id: item for bank in BANKS.values() for item in bank.items}


def test_there_are_38_items_and_two_forms_of_12() -> None:
    assert [len(BANKS[which].items) for which in ("bank", "before", "after")] == [38, 12, 12]
    assert len(ITEMS) == 62


# -- the numbers


def sums(samples: list[float]) -> tuple[float, float]:
    """With the cosine and the sine of one turn in four samples."""
    row = torch.tensor(samples).double()
    cosine, sine = (float((row @ part)[1]) for part in fourier(4))
    return cosine, sine


def needs(text: str) -> int:
    """The fewest frames that say a text."""
    codes = torch.tensor([[ord(letter) for letter in text]])
    return int(frames_needed(codes, torch.tensor([len(text)])))


def frames(n: int, length: int, step: int) -> int:
    return 1 + (n - length) // step


def halved(n: int) -> int:
    """The rows of a convolution of stride 2."""
    return F.conv1d(torch.zeros(1, 1, n), torch.zeros(1, 1, 3), stride=2, padding=1).shape[-1]


def weigh(lots: Mapping[str, list[int]], text: str) -> int:
    """The sum over all paths that say a text."""
    total = 0
    for path in product(lots, repeat=len(lots["-"])):
        if "".join(x for x, _ in groupby(path) if x != "-") == text:
            total += math.prod(lots[x][t] for t, x in enumerate(path))
    return total


ONE_UNIT = agreement([0] * 6 + [1] * 4, [0] * 10)
LOTS = {"-": [1, 1], "a": [2, 1], "t": [1, 2]}
# By id: each answer that has a number, and the numbers that stand in it, in their order.
NUMBERS: Numbers = {
    "power-of-four": {
        "20": (sum(x * x for x in sums([3, 1, -1, -1])),),
        "6": (sum(map(abs, sums([3, 1, -1, -1]))),), "16": (sums([3, 1, -1, -1])[0] ** 2,),
        "36": (sum(map(abs, sums([3, 1, -1, -1]))) ** 2,),
    },
    "frames-of-a-second": {
        "98": (frames(16000, 400, 160),), "40": (frames(16000, 400, 400),),
        "100": (16000 / 160,), "97": (15600 // 160,),
    },
    "half-as-loud": {
        "each falls by the logarithm of 4": (1 / 0.5**2,),
        "each falls by the logarithm of 2": (1 / 0.5,),
    },
    "bits-of-units": {
        "588": (98 * math.log2(64),), "6272": (98 * 64,), "98": (98,), "784": (98 * 8,),
    },
    "sum-of-at": {"5": (weigh(LOTS, "a"),), "3": (3,), "2": (2 * 1,), "6": ((2 + 1) * (1 + 1),)},
    "count-frames": {
        "10": (needs("TWO TREES"),), "9": (len("TWO TREES"),), "8": (len("TWOTREES"),),
        "19": (2 * len("TWO TREES") + 1,),
    },
    "gradient-of-a-frame": {
        "−0.5": (0.7 - 0.2,), "0.5": (0.7 - 0.2,), "−0.8": (1 - 0.2,), "−5.0": (1 / 0.2,),
    },
    "places-of-the-lattice": {"13": (2 * 6 + 1,), "12": (2 * 6,), "7": (6 + 1,), "6": (6,)},
    "two-books": {"64": (8 * 8,), "16": (8 + 8,), "8": (8,), "256": (2**8,)},
    "purity-of-one-unit": {
        "0.6 and 1": (ONE_UNIT.phone_purity, ONE_UNIT.unit_purity),
        "1 and 0.6": (ONE_UNIT.unit_purity, ONE_UNIT.phone_purity),
        "0.6 and 0.6": (ONE_UNIT.phone_purity, 0.6), "0.5 and 1": (1 / 2, ONE_UNIT.unit_purity),
    },
    "word-of-two": {
        "75 %": (100 * 30 / 40,), "30 %": (30,), "33 %": (100 * 10 / 30,), "67 %": (100 * 20 / 30,),
    },
    "rows-of-sound": {
        "101": (halved(halved(402)),), "100": (402 // 4,), "201": (halved(402),), "402": (402,),
    },
    "straight-line": {"the 90 % alone are no evidence that it listens": (90,)},
    "windows-of-thirty": {
        "1500": (halved(30 * 100),), "600": (halved(12 * 100),),
        "300": (halved(halved(12 * 100)),), "3000": (30 * 100,),
    },
    "before-frames": {
        "9": (frames(100, 20, 10),), "10": (100 / 10,), "5": (100 / 20,), "8": (80 / 10,),
    },
    "after-frames": {
        "9": (frames(500, 100, 50),), "10": (500 / 50,), "5": (500 / 100,), "8": (400 / 50,),
    },
    "after-loud": {"each grows by 2": (math.log(math.e**2),)},
    "before-enough": {"5": (needs("BALL"),), "4": (4,), "7": (2 * 4 - 1,), "3": (3,)},
    "after-enough": {"5": (needs("SOON"),), "4": (4,), "9": (2 * 4 + 1,), "7": (2 * 4 - 1,)},
    "after-diversity": {
        "1, and the diversity loss": (math.exp(0),), "320, and no loss at all": (320,),
    },
}  # fmt: skip
# By id: the fraction that is right.
SHARES = {
    "share-of-right": 2 / (2 + 1 + 1), "before-paths": 12 / 18, "after-paths": 32 / 40,
}  # fmt: skip


def test_every_number_in_an_answer_is_computed_here() -> None:
    found = with_a_number(ITEMS)
    assert found <= NUMBERS.keys() | SHARES, found - NUMBERS.keys() - SHARES.keys()
    check_numbers(ITEMS, NUMBERS)
    check_shares(ITEMS, SHARES)


# -- what answers say, tried


@pytest.mark.parametrize(
    ("name", "text"),
    [("path-says-bee", "bee"), ("after-collapse", "see"), ("before-collapse", "BOOK")],
)
def test_only_the_right_path_says_the_text(name: str, text: str) -> None:
    for option in ITEMS[name].options:
        path = re.sub(r"[` ]", "", option.text)
        said = "".join(x for x, _ in groupby(path) if x != "-")
        assert (said == text) is option.right, option.text


def test_half_as_loud_is_the_logarithm_of_4_lower() -> None:
    wave = torch.randn(4000)
    lower = log_mel(wave, 8000) - log_mel(wave / 2, 8000)
    assert torch.allclose(lower, torch.tensor(4.0).log(), atol=1e-3)


def test_a_file_read_at_twice_its_rate_has_half_the_frames() -> None:
    wave = torch.randn(8000)
    assert len(log_mel(wave, 8000)) == 98
    assert abs(len(log_mel(wave, 16000)) - 98 / 2) < 2


def test_the_gradient_of_a_frame_is_what_is_said_less_what_is_asked() -> None:
    scores = torch.randn(1, 3, 3, dtype=torch.float64, requires_grad=True)
    n = torch.tensor([1])
    ctc_loss(scores, torch.tensor([3]), torch.tensor([[1]]), n).sum().backward()
    p = scores.detach().softmax(-1)[0]
    through, every = 0.0, 0.0
    for path in product(range(3), repeat=3):
        if [x for x, _ in groupby(path) if x] == [1]:
            weight = math.prod(float(p[t, x]) for t, x in enumerate(path))
            every += weight
            through += weight * (path[0] == 1)
    assert scores.grad is not None
    assert abs(float(scores.grad[0, 0, 1]) - (float(p[0, 1]) - through / every)) < 1e-9


def test_a_beam_finds_a_text_of_many_paths_and_greedy_another() -> None:
    shares = torch.tensor([[0.6, 0.4], [0.6, 0.4]])  # the blank, a
    assert greedy(shares[None], torch.tensor([2])) == [[]]
    assert prefix_beam(shares.log(), beams=9, min_prob=0.0)[0].symbols == [1]


def test_a_low_temperature_makes_a_small_lead_a_large_share() -> None:
    cosines = torch.tensor([0.9, 0.6, 0.5])
    assert (cosines / 1).softmax(0)[0] < 0.45
    assert (cosines / 0.1).softmax(0)[0] > 0.9


def test_units_cut_at_random_lose_unit_purity_alone() -> None:
    phones, units = torch.randint(8, (4000,)), torch.randint(64, (4000,))
    units = torch.where(torch.rand(4000) < 0.5, 8 * phones, units)
    whole = agreement(phones.tolist(), units.tolist())
    cut = agreement(phones.tolist(), (2 * units + torch.randint(2, (4000,))).tolist())
    assert cut.unit_purity < 0.7 * whole.unit_purity
    assert cut.phone_purity > whole.phone_purity
    assert cut.shared > whole.shared
