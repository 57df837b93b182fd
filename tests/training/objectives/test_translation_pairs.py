"""Translation pairs: by hand, against a plain loop, at their limit, and what a model learns that
may look at the translation."""

from __future__ import annotations

import random

import pytest
import torch
from torch import Tensor, nn

from deepdive.layers.heads import initialize
from deepdive.models.bert.bert import TINY, bert
from deepdive.models.bert.pretraining import for_masked_lm
from deepdive.tokenizers import WordTokenizer
from deepdive.training.objectives import cross_entropy, join_translations, mask_tokens

EN, FR = [[1, 10, 11, 2], [1, 12, 2]], [[1, 20, 2], [1, 21, 22, 23, 2]]


def test_by_hand() -> None:
    pairs = join_translations(EN, FR, (0, 3), pad=9)
    assert pairs.tokens.tolist() == [[1, 10, 11, 2, 1, 20, 2, 9], [1, 12, 2, 1, 21, 22, 23, 2]]
    assert pairs.positions.tolist() == [[0, 1, 2, 3, 0, 1, 2, 0], [0, 1, 2, 0, 1, 2, 3, 4]]
    assert pairs.languages.tolist() == [[0, 0, 0, 0, 3, 3, 3, 3], [0, 0, 0, 3, 3, 3, 3, 3]]
    assert torch.equal(pairs.real, pairs.tokens != 9)
    assert pairs.second.int().tolist() == [[0, 0, 0, 0, 1, 1, 1, 0], [0, 0, 0, 1, 1, 1, 1, 1]]


def loop(first: list, second: list, one: list[int], two: list[int], pad: int) -> list[Tensor]:
    """The same, one token after the other."""
    T = max(len(a) + len(b) for a, b in zip(first, second, strict=True))
    rows = []
    for a, b, lang_a, lang_b in zip(first, second, one, two, strict=True):
        row = []
        for t in range(T):
            if t < len(a):
                row.append((a[t], True, t, lang_a, False))
            elif t < len(a) + len(b):
                row.append((b[t - len(a)], True, t - len(a), lang_b, True))
            else:
                row.append((pad, False, 0, lang_b, False))
        rows.append(row)
    return [torch.tensor([[cell[i] for cell in row] for row in rows]) for i in range(5)]


@pytest.mark.parametrize("seed", range(20))
def test_equals_a_loop_over_tokens(seed: int) -> None:
    draw = random.Random(seed)

    def sentences(least: int) -> list[list[int]]:
        return [[draw.randrange(4, 30) for _ in range(draw.randrange(least, 7))] for _ in range(5)]

    def languages() -> list[int]:
        return [draw.randrange(4) for _ in range(5)]

    first, second, one, two = sentences(1), sentences(0), languages(), languages()
    pairs = join_translations(first, second, (one, torch.tensor(two)), pad=3)
    for ours, expected in zip(pairs, loop(first, second, one, two, 3), strict=True):
        assert torch.equal(ours, expected)


def test_without_a_translation_it_is_a_batch_of_one_language() -> None:
    pairs = join_translations(EN, [[], []], (2, 0), pad=0)
    assert pairs.tokens.tolist() == [EN[0], [*EN[1], 0]]
    assert pairs.positions.tolist() == [[0, 1, 2, 3], [0, 1, 2, 0]]
    assert (pairs.languages[pairs.real] == 2).all()
    assert not pairs.second.any()


def test_gaps_stand_in_both() -> None:
    words = WordTokenizer(
        ["<pad>", "<bos>", "<eos>", "<unk>", "<mask>", *"abcdefgh"],
        ("<pad>", "<bos>", "<eos>", "<unk>", "<mask>"),
    )
    first, second = [[1, *[5] * 20, 2]] * 100, [[1, *[9] * 20, 2]] * 100
    pairs = join_translations(first, second, (0, 1), words.pad)
    generator = torch.Generator().manual_seed(0)
    _, targets, chosen = mask_tokens(pairs.tokens, words, 0.25, generator=generator)
    for side, token in ((0, 5), (1, 9)):
        here = chosen & (pairs.languages == side)
        assert abs(int(here.sum()) - 500) < 4.5 * 20  # a binomial count of 2,000 by 0.25
        assert (targets[here] == token).all()
    assert not chosen[(pairs.tokens == 1) | (pairs.tokens == 2)].any()


def guessed(aligned: bool) -> float:
    """How many hidden words a small BERT knows whose translation stands beside them, where word w
    is w + 10 in the other language; or beside another sentence's translation.
    """
    torch.manual_seed(0)
    model: nn.Module = for_masked_lm(bert(TINY, n_layers=1)).train()
    initialize(model, 0.1)
    optimizer = torch.optim.Adam(model.parameters(), 3e-3)

    def batch() -> tuple[Tensor, Tensor, Tensor, Tensor]:
        words = torch.randint(4, 14, (64, 2))
        other = words + 10 if aligned else torch.randint(14, 24, (64, 2))
        pairs = join_translations(words.tolist(), other.tolist(), (0, 1), pad=0)
        chosen = torch.rand(64, 4) < 0.2
        return pairs.tokens.masked_fill(chosen, 3), pairs.tokens, chosen, pairs.languages

    for _ in range(120):
        inputs, tokens, chosen, languages = batch()
        loss = cross_entropy(model(inputs, None, languages)[chosen], tokens[chosen], pad=None)
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
    inputs, tokens, chosen, languages = batch()
    with torch.no_grad():
        told = model.eval()(inputs, None, languages).argmax(-1)
    return float((told == tokens)[chosen].float().mean())


def test_a_hidden_word_is_told_by_its_translation() -> None:
    """A tenth is chance; both hidden at once is 0.2 of the gaps."""
    assert guessed(aligned=True) > 0.5
    assert guessed(aligned=False) < 0.3


@pytest.mark.parametrize(
    ("first", "second", "languages", "message"),
    [
        (EN, FR[:1], (0, 1), "first has 2 sentences, second 1"),
        ([], [], (0, 1), "1 or more"),
        ([[1], []], [[2], []], (0, 1), r"first\[1\] and second\[1\] are both empty"),
        (EN, FR, (0, [1, 1, 1]), "languages: .* for 2 pairs"),
        (EN, FR, (0.5, 1), "languages: .*float32"),
    ],
)
def test_what_is_refused(first: list, second: list, languages: tuple, message: str) -> None:
    with pytest.raises(ValueError, match=message):
        join_translations(first, second, languages, pad=0)
