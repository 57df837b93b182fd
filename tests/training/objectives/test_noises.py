"""BART's noises and Pegasus' gaps: every outcome of tiny texts, written out, and how often each."""

from __future__ import annotations

import math
import random
from collections import Counter
from itertools import chain, combinations, permutations, product

import pytest

from deepdive.evaluate.summaries import rouge_n
from deepdive.training.objectives import (
    delete_each,
    gap_sentences,
    infill,
    mask_each,
    permute_sentences,
    poisson,
    rotate,
    select_gap_sentences,
    unigram_f1,
)

MASK, TEXT = 0, [5, 6, 7, 8]
DRAWS = 20_000


def shares(draw: object) -> dict[tuple[int, ...], float]:
    """How often each outcome came."""
    chance = random.Random(0)
    counts = Counter(tuple(draw(chance)) for _ in range(DRAWS))  # type: ignore[operator]
    return {outcome: n / DRAWS for outcome, n in counts.items()}


def agree(found: dict[tuple[int, ...], float], wanted: dict[tuple[int, ...], float]) -> None:
    """Every outcome that is possible and no other; each within four standard errors."""
    assert set(found) == set(wanted)
    for outcome, p in wanted.items():
        assert abs(found[outcome] - p) < 4 * math.sqrt(p * (1 - p) / DRAWS), outcome


def test_masking_and_deletion_are_each_token_s_own() -> None:
    masked: Counter[tuple[int, ...]] = Counter()
    deleted: Counter[tuple[int, ...]] = Counter()
    for chosen in product((False, True), repeat=4):
        p = math.prod(0.3 if one else 0.7 for one in chosen)
        masked[tuple(MASK if one else t for t, one in zip(TEXT, chosen, strict=True))] += p
        deleted[tuple(t for t, one in zip(TEXT, chosen, strict=True) if not one)] += p
    agree(shares(lambda chance: mask_each(TEXT, MASK, 0.3, chance)), masked)
    agree(shares(lambda chance: delete_each(TEXT, 0.3, chance)), deleted)


def ways_of_infilling(rate: float, mean: float) -> dict[tuple[int, ...], float]:
    """Lengths, drawn until they have their share; then all orders of spans and known tokens."""
    probability = [mean**n * math.exp(-mean) / math.factorial(n) for n in range(40)]
    found: Counter[tuple[int, ...]] = Counter()

    def lengths(left: int, drawn: tuple[int, ...], p: float) -> None:
        if left == 0:
            places = len(TEXT) - sum(drawn) + len(drawn)
            ways = [*combinations(range(places), len(drawn))]
            for way in ways:
                rest, spans, read = iter(range(len(TEXT))), iter(drawn), []
                for place in range(places):
                    if place in way:
                        read.append(MASK)
                        [next(rest) for _ in range(next(spans))]
                    else:
                        read.append(TEXT[next(rest)])
                found[tuple(read)] += p / len(ways)
            return
        if len(drawn) < 9:  # more empty spans than that: less than 1e-9 in all
            lengths(left, (*drawn, 0), p * probability[0])
        for n in range(1, left):
            lengths(left - n, (*drawn, n), p * probability[n])
        lengths(0, (*drawn, left), p * sum(probability[left:]))

    lengths(round(rate * len(TEXT)), (), 1.0)
    return dict(found)


def test_infilling_by_brute_force() -> None:
    wanted = ways_of_infilling(0.5, 3.0)
    assert sum(wanted.values()) == pytest.approx(1, abs=1e-6)
    found = shares(lambda chance: infill(TEXT, MASK, 0.5, chance))
    assert set(found) <= set(wanted)
    for outcome, p in wanted.items():
        assert abs(found.get(outcome, 0.0) - p) < 4 * math.sqrt(p / DRAWS) + 1e-4, outcome


def test_infilling_hides_its_share_and_keeps_the_order() -> None:
    chance = random.Random(1)
    text = list(range(1, 101))
    for _ in range(200):
        read = infill(text, MASK, 0.3, chance)
        known = [token for token in read if token != MASK]
        assert len(known) == 70
        assert known == sorted(known)
    assert infill(text, MASK, 0.0, chance) == text
    assert set(infill(text, MASK, 1.0, chance)) == {MASK}
    assert infill([], MASK, 0.3, chance) == []


def test_poisson() -> None:
    found = shares(lambda chance: (poisson(3.0, chance),))
    for n in range(8):
        p = 3.0**n * math.exp(-3) / math.factorial(n)
        assert abs(found[n,] - p) < 4 * math.sqrt(p * (1 - p) / DRAWS)
    with pytest.raises(ValueError, match="mean: got 0"):
        poisson(0, random.Random(0))


def test_order_by_brute_force() -> None:
    sentences = [[5, 6], [7], [8]]
    orders = [tuple(chain(*order)) for order in permutations(sentences)]
    agree(shares(lambda chance: permute_sentences(sentences, chance)), dict.fromkeys(orders, 1 / 6))
    turns = [(*TEXT[i:], *TEXT[:i]) for i in range(4)]
    agree(shares(lambda chance: rotate(TEXT, chance)), dict.fromkeys(turns, 1 / 4))
    assert rotate([], random.Random(0)) == []


@pytest.mark.parametrize("rate", [-0.1, 1.1, math.nan])
def test_a_rate_that_is_no_probability_is_refused(rate: float) -> None:
    chance = random.Random(0)
    for call in (
        lambda: mask_each(TEXT, MASK, rate, chance),
        lambda: delete_each(TEXT, rate, chance),
        lambda: infill(TEXT, MASK, rate, chance),
        lambda: gap_sentences([TEXT, TEXT], MASK, rate),
    ):
        with pytest.raises(ValueError, match="rate: got"):
            call()


def test_unigram_f1_is_rouge_1() -> None:
    chance = random.Random(0)
    for _ in range(200):
        a, b = ([chance.randrange(4) for _ in range(chance.randrange(6))] for _ in range(2))
        assert unigram_f1(a, b) == pytest.approx(rouge_n(a, b, 1).f1)


def test_principal_sentences_by_brute_force() -> None:
    chance = random.Random(0)
    for _ in range(100):
        n = chance.randrange(2, 6)
        sentences = [[chance.randrange(5) for _ in range(chance.randrange(1, 5))] for _ in range(n)]

        def score(chosen: set[int], of: list[list[int]] = sentences) -> float:
            inside = [*chain(*(s for i, s in enumerate(of) if i in chosen))]
            outside = [*chain(*(s for i, s in enumerate(of) if i not in chosen))]
            return unigram_f1(inside, outside)

        alone = {i: score({i}) for i in range(n)}
        for count in range(n + 1):
            found = select_gap_sentences(sentences, count)
            assert found == sorted(set(found))
            assert len(found) == count
            rest = [alone[i] for i in range(n) if i not in found]
            assert not found or not rest or min(alone[i] for i in found) >= max(rest)
        chosen: set[int] = set()
        for count in range(1, n + 1):
            grown = set(select_gap_sentences(sentences, count, one_by_one=True))
            (new,) = grown - chosen
            assert score(grown) == max(score({*chosen, i}) for i in range(n) if i not in chosen)
            chosen, _ = grown, new


def test_gaps_by_hand() -> None:
    """The second sentence shares two of its words with the others, the others one each."""
    cows, hens, rain = [5, 6], [5, 7], [7, 8]
    assert [unigram_f1(a, [*b, *c]) for a, b, c in ((cows, hens, rain), (hens, cows, rain))] == [
        pytest.approx(1 / 3), pytest.approx(2 / 3)
    ]  # fmt: skip
    assert select_gap_sentences([cows, hens, rain], 1) == [1]
    assert gap_sentences([cows, hens, rain], MASK) == ([5, 6, MASK, 7, 8], [5, 7])
    read, written = gap_sentences([cows, hens, rain], MASK, rate=1.0)  # never all
    assert read.count(MASK) == 2
    assert len(written) == 4
    with pytest.raises(ValueError, match="expected 2 or more"):
        gap_sentences([cows], MASK)
    with pytest.raises(ValueError, match="count: got 4"):
        select_gap_sentences([cows, hens, rain], 4)
