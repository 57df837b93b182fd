"""Code-switching: phrases by a search over all of them, sentences by hand, the limits."""

from __future__ import annotations

import itertools
import random
from unittest import mock

import pytest
import torch

from deepdive.tokenizers import WordTokenizer
from deepdive.tokenizers.wordpiece import BERT_SPECIALS
from deepdive.training.objectives import (
    Phrase,
    code_switch,
    code_switching,
    mask_tokens,
    phrase_pairs,
)

EN, FR = [1, 2, 3, 4], [11, 12, 13, 14, 15]
WORD_BY_WORD = [Phrase(i, i + 1, i, i + 1) for i in range(4)]


def by_search(links: set[tuple[int, int]], n: int, m: int, longest: int) -> set[Phrase]:
    """All pairs of stretches, each tried: the words that a link leaves from reach the ends of the
    source's stretch, and the target's is the smallest that holds all their partners.
    """
    found = set()
    for a, b in itertools.combinations(range(n + 1), 2):
        for c, d in itertools.combinations(range(m + 1), 2):
            inside = [(i, j) for i, j in links if a <= i < b and c <= j < d]
            out = [(i, j) for i, j in links if (a <= i < b) != (c <= j < d)]
            touches = {i for i, _ in inside}, {j for _, j in inside}
            tight = inside and {a, b - 1} <= touches[0] and {c, d - 1} <= touches[1]
            if tight and not out and max(b - a, d - c) <= longest:
                found.add(Phrase(a, b, c, d))
    return found


@pytest.mark.parametrize("seed", range(30))
def test_phrases_equal_a_search_over_all(seed: int) -> None:
    draw = random.Random(seed)
    n, m, longest = draw.randint(1, 6), draw.randint(1, 6), draw.randint(1, 6)
    links = {(draw.randrange(n), draw.randrange(m)) for _ in range(draw.randint(0, 7))}
    found = phrase_pairs(links, n, m, longest)
    assert set(found) == by_search(links, n, m, longest)
    assert len(found) == len(set(found))


def test_words_that_cross_move_together() -> None:
    """the red house, la maison rouge: red house is a phrase, the red is none."""
    found = phrase_pairs([(0, 0), (1, 2), (2, 1)], 3, 3)
    assert Phrase(1, 3, 1, 3) in found
    assert not any((one.a, one.b) == (0, 2) for one in found)
    assert len(found) == 5  # three words, red house, all


def sentences_are_switched() -> None:
    whole = Phrase(1, 3, 1, 4)  # two words, three in the translation
    assert code_switch(EN, FR, [whole], 0.5) == (
        [1, 12, 13, 14, 4], [False, True, True, True, False]
    )  # fmt: skip
    for seed in range(50):
        draw = torch.Generator().manual_seed(seed)
        tokens, foreign = code_switch(EN, FR, WORD_BY_WORD, 0.5, draw)
        assert sum(foreign) == 2, "half of four words"
        for place, (token, other) in enumerate(zip(tokens, foreign, strict=True)):
            assert token == (FR if other else EN)[place]


def test_by_hand() -> None:
    sentences_are_switched()
    assert code_switch(EN, FR, [Phrase(0, 3, 0, 1)], 0.5)[0] == EN, "too long for half"
    everything = code_switch(EN, FR, [Phrase(0, 4, 0, 5)], 1.0)
    assert everything == (FR, [True] * 5)
    chosen = {
        tuple(code_switch(EN, FR, WORD_BY_WORD, 0.25, torch.Generator().manual_seed(s))[0])
        for s in range(60)
    }
    assert len(chosen) == 4, "each word at some time"


def test_phrases_do_not_touch() -> None:
    phrases = phrase_pairs([(i, i) for i in range(4)], 4, 5)
    for seed in range(100):
        draw = torch.Generator().manual_seed(seed)
        tokens, foreign = code_switch(EN, FR, phrases, 0.75, draw)
        assert len(tokens) == 4
        assert sum(foreign) <= 3


def test_ratio_0_is_masked_language_modelling() -> None:
    words = [f"w{i}" for i in range(20)]
    tokenizer = WordTokenizer.train([" ".join(words)], specials=BERT_SPECIALS)
    source = tokenizer.encode(" ".join(words[:8]))
    switched, foreign = code_switch(source, FR, [Phrase(0, 8, 0, 5)], 0.0)
    assert not any(foreign)
    rows = [torch.tensor([one]) for one in (switched, source)]
    masked = [
        mask_tokens(row, tokenizer, generator=torch.Generator().manual_seed(3)) for row in rows
    ]
    for mixed, plain in zip(*masked, strict=True):
        assert torch.equal(mixed, plain)


def test_a_fault_is_seen() -> None:
    """A phrase of the target put beside the source's, not in its place."""

    def beside(one: Phrase) -> Phrase:
        return Phrase(one.a, one.a, one.c, one.d)

    def wrong(phrases: list[Phrase]) -> list[Phrase]:
        return [beside(one) for one in sorted(phrases)]

    with (
        mock.patch.object(code_switching, "sorted", wrong, create=True),
        pytest.raises(AssertionError),
    ):
        sentences_are_switched()


@pytest.mark.parametrize(
    ("call", "words"),
    [
        (lambda: code_switch(EN, FR, WORD_BY_WORD, 1.5), "ratio"),
        (lambda: code_switch(EN, FR, [Phrase(0, 0, 0, 1)]), "is empty"),
        (lambda: code_switch(EN, FR, [Phrase(0, 1, 0, 9)]), "outside 4 and 5"),
        (lambda: phrase_pairs([(4, 0)], 4, 5), r"\(4, 0\) is outside"),
    ],
)
def test_what_does_not_fit_is_refused(call: object, words: str) -> None:
    with pytest.raises(ValueError, match=words):
        call()  # type: ignore[operator]
