"""The worlds of page 4.2: each language is large, middling and small equally often."""

from __future__ import annotations

from collections import Counter

import pytest

from deepdive.data.translated import SIB200
from deepdive_book.ch04.runs.vocabulary_allocation import (
    RATIO,
    TURNS,
    country_names,
    kind_of,
    order,
    owned,
    served,
    unigram,
)

TRAIN, TEST = country_names(["en", "de", "ru"])


def test_over_all_turns_every_language_is_in_every_third_twice() -> None:
    seen = Counter(
        (name, rank // 8) for turn in range(TURNS) for rank, name in enumerate(order(SIB200, turn))
    )
    assert set(seen.values()) == {2}
    assert order(SIB200, 0) != [*SIB200]
    assert order(SIB200, 0) == order(SIB200, 0)


def test_the_smallest_owns_a_part_of_what_the_largest_owns() -> None:
    found = owned({name: [*range(640)] for name in SIB200}, 0)  # type: ignore[misc]
    sizes = [len(texts) for texts in found.values()]
    assert (sizes[0], sizes[-1]) == (640, 20)
    assert sizes == sorted(sizes, reverse=True)
    assert all(abs(n - 640 * RATIO ** (-k / 23)) <= 0.5 for k, n in enumerate(sizes))


def test_a_piece_s_script_is_its_first_letter_s() -> None:
    kinds = [kind_of(piece) for piece in ("▁the", "мо", "▁木", "か", "▁19", "7th", "ß", "▁", "ก่")]
    assert kinds == ["Latin", "Cyrillic", "Han", "Kana", "other", "Latin", "Latin", "other", "Thai"]


def test_the_same_countries_have_names_in_every_language() -> None:
    rows = [*zip(*TRAIN.values(), strict=True), *zip(*TEST.values(), strict=True)]
    assert ("Germany", "Deutschland", "Германия") in rows
    assert not set(TRAIN["en"]) & set(TEST["en"])
    assert {len(names) for names in TEST.values()} == {len(TEST["en"])}


def test_what_is_counted_is_what_the_vocabulary_does() -> None:
    row = served(TRAIN, TEST, 0.0, 0, 200, 500)
    assert row == served(TRAIN, TEST, 0.0, 0, 200, 500)
    assert row["words"]["de"] == sum(len(text.split()) for text in TEST["de"])
    assert sum(row["kinds"].values()) <= 200
    n = len(TRAIN["en"])
    assert sorted(row["own"].values()) == [round(n / 32), round(n / 32**0.5), n]
    made = unigram([text for texts in TRAIN.values() for text in texts], 200)
    assert made.encode("Germany").tokens[0].startswith("▁")


def test_a_small_language_pays_less_where_it_is_read_more_often() -> None:
    paid = dict.fromkeys((1.0, 0.0), 0)
    for turn in (0, 2, 4):  # each language is the smallest once
        small = order(TRAIN, turn)[-1]
        for alpha in paid:
            paid[alpha] += served(TRAIN, TEST, alpha, turn, 200, 500)["pieces"][small]
    assert paid[0.0] < paid[1.0]


@pytest.mark.parametrize("alpha", [-1.0, float("nan")])
def test_no_such_alpha(alpha: float) -> None:
    with pytest.raises(RuntimeError, match="alpha="):
        served(TRAIN, TEST, alpha, 0, 150, 30)
