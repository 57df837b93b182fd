"""Languages are drawn by size to a power: counts, limits, and a place to take up again."""

from __future__ import annotations

import json
import math
from collections import Counter

import pytest

from deepdive.data.errors import DataError
from deepdive.data.mixture import ALPHAS, Mixture, repeats, shares

SIZES = {"en": 900, "hu": 90, "sw": 10}
DATA = {name: [f"{name} {i}" for i in range(n)] for name, n in SIZES.items()}
# Of the table of mT5 (Xue et al. 2021, appendix): millions of pages, percent of pre-training.
MT5 = {
    "en": (3067, 5.67), "ru": (756, 3.71), "es": (416, 3.09), "de": (397, 3.05), "fr": (333, 2.89),
    "it": (186, 2.43), "pt": (169, 2.36), "pl": (126, 2.15), "nl": (96, 1.98), "tr": (88, 1.93),
    "ja": (87, 1.92), "vi": (79, 1.87),
}  # fmt: skip


def test_the_limits_are_by_size_and_all_alike() -> None:
    assert shares(SIZES, 1) == pytest.approx({"en": 0.9, "hu": 0.09, "sw": 0.01})
    assert shares(SIZES, 0) == pytest.approx(dict.fromkeys(SIZES, 1 / 3))
    assert shares({"en": 900, "sw": 100}, 0.5) == pytest.approx({"en": 0.75, "sw": 0.25})
    assert shares(SIZES, 200)["en"] == pytest.approx(1.0)


@pytest.mark.parametrize("alpha", [0.0, 0.2, 0.3, 0.7, 1.0])
def test_shares_are_the_equation(alpha: float) -> None:
    total = sum(n**alpha for n in SIZES.values())
    for name, share in shares(SIZES, alpha).items():
        assert share == pytest.approx(SIZES[name] ** alpha / total, rel=1e-12)
        doubled = shares({k: 2 * n for k, n in SIZES.items()}, alpha)[name]
        assert share == pytest.approx(doubled, rel=1e-12)  # no unit


def test_a_temperature_is_one_over_alpha() -> None:
    by_size = shares(SIZES, 1)
    flat = {name: math.exp(math.log(p) / 5) for name, p in by_size.items()}
    total = sum(flat.values())
    mmnmt = shares(SIZES, ALPHAS["mmnmt"])
    assert mmnmt == pytest.approx({name: p / total for name, p in flat.items()})


def test_mt5s_table_is_pages_to_the_power_of_its_alpha() -> None:
    ours = shares({name: pages for name, (pages, _) in MT5.items()}, ALPHAS["mt5"])
    for name, (_, percent) in MT5.items():
        assert ours[name] / ours["en"] == pytest.approx(percent / MT5["en"][1], rel=0.02)


def test_small_languages_are_repeated() -> None:
    assert repeats(SIZES, 1, 2000) == pytest.approx(dict.fromkeys(SIZES, 2.0))
    alike = repeats(SIZES, 0, 3000)
    assert alike == pytest.approx({"en": 1000 / 900, "hu": 1000 / 90, "sw": 100.0})


@pytest.mark.parametrize("alpha", [0.0, 0.3, 1.0])
def test_counts_are_what_the_shares_say(alpha: float) -> None:
    n = 20_000
    counts = Counter(name for name, _ in Mixture(DATA, alpha).take(n))
    for name, share in shares(SIZES, alpha).items():
        assert abs(counts[name] - n * share) < 4 * math.sqrt(n * share * (1 - share))


def test_every_text_comes_before_any_comes_again() -> None:
    drawn = [text for name, text in Mixture(DATA, 0.0).take(400) if name == "sw"]
    for lap in range(len(drawn) // 10):
        assert sorted(drawn[10 * lap : 10 * lap + 10]) == DATA["sw"]
    assert drawn[:10] != drawn[10:20] != DATA["sw"]


def test_a_place_is_taken_up_again_exactly() -> None:
    whole = Mixture(DATA, 0.3, seed=5).take(300)
    first = Mixture(DATA, 0.3, seed=5)
    assert first.take(123) == whole[:123]
    state = json.loads(json.dumps(first.state_dict()))
    later = Mixture(DATA, 0.3, seed=5)
    later.load_state_dict(state)
    assert later.take(177) == whole[123:]
    assert Mixture(DATA, 0.3, seed=6).take(300) != whole


def test_what_does_not_fit_is_refused() -> None:
    with pytest.raises(DataError, match="expected some languages, each above 0"):
        shares({}, 1)
    with pytest.raises(DataError, match="each above 0"):
        shares({"en": 0}, 1)
    with pytest.raises(DataError, match="alpha=-1: expected a finite number, 0 or more"):
        shares(SIZES, -1)
    with pytest.raises(DataError, match=r"saved with alpha=0\.3, here it is 0\.5"):
        Mixture(DATA, 0.5).load_state_dict(Mixture(DATA, 0.3).state_dict())
    with pytest.raises(DataError, match="saved with seed=1, here it is 0"):
        Mixture(DATA, 0.3).load_state_dict(Mixture(DATA, 0.3, seed=1).state_dict())
