"""Small encoders of several languages: what is drawn, what is learned, and what is measured."""

from __future__ import annotations

import re

import pytest
import torch

from deepdive.core.masks import padding
from deepdive.explain.probes import tag_accuracy
from deepdive.tokenizers import WordTokenizer
from deepdive_book.ch04.runs.cross_lingual_transfer import (
    Batches,
    Reader,
    masked_lm,
    nearest_is_partner,
    train_model,
    words_of,
)
from deepdive_book.data.grammar import grammar_pairs
from deepdive_book.data.relexified_english import RelexifiedLanguage

GREEK = RelexifiedLanguage("Greek")
TEXTS = [
    " ".join(re.findall(r"[a-z']+|[.!?]", english.lower())) for english, _ in grammar_pairs(1200)
]


@pytest.fixture(scope="module")
def vocabulary() -> WordTokenizer:
    return words_of([TEXTS, [GREEK(text) for text in TEXTS]])


def test_the_commonest_words_of_each_language_are_kept() -> None:
    vocabulary = words_of([["b a a", "c"], ["a x x", "y"]], each=2)
    assert vocabulary.vocab[-3:] == ["a", "b", "x"]  # `a` is common in both and stands once
    assert len(words_of([["b a a", "c"]])) == 5 + 3


def test_a_batch_has_as_many_rows_of_each_language(vocabulary: WordTokenizer) -> None:
    languages = {"English": TEXTS, "Greek": [GREEK(text) for text in TEXTS]}
    batches = Batches(vocabulary, languages, (), size=8, apart=0, seed=1)
    inputs, real, places, chosen, wanted = next(batches)
    assert inputs.shape == real.shape == places.shape == chosen.shape
    assert inputs.shape[0] == 8
    assert len(wanted) == chosen.sum()
    assert not (chosen & ~real).any()
    assert torch.equal(places, torch.arange(inputs.shape[1]).expand_as(inputs))
    half = torch.zeros_like(chosen)
    half[4:] = True
    greek = [vocabulary.vocab[i] for i in wanted[half[chosen]].tolist()]
    assert all(GREEK(word) == word for word in greek)  # nothing is left to be disguised
    again = next(Batches(vocabulary, languages, (), size=8, apart=0, seed=1))
    assert all(
        torch.equal(x, y)
        for x, y in zip(again, (inputs, real, places, chosen, wanted), strict=True)
    )
    places = next(Batches(vocabulary, languages, (), size=8, apart=32, seed=1))[2]
    assert places[:4, 0].tolist() == [0] * 4
    assert places[4:, 0].tolist() == [32] * 4


def test_half_of_the_batches_are_pairs(vocabulary: WordTokenizer) -> None:
    pairs = [(text, GREEK(text)) for text in TEXTS[:50]]
    batches = Batches(vocabulary, {"English": TEXTS[50:]}, pairs, size=8, apart=0, seed=0)
    drawn = [next(batches) for _ in range(40)]
    joined = [places for _, _, places, _, _ in drawn if (places.diff(dim=1) < 0).any()]
    assert 10 < len(joined) < 30
    assert all(len(places) == 4 for places in joined)  # as many sentences, two a row


def test_states_are_those_of_the_net(vocabulary: WordTokenizer) -> None:
    net = masked_lm(vocabulary, 0, n_layers=2)
    texts = TEXTS[:3]
    rows = [vocabulary.encode(text, bos=True, eos=True) for text in texts]
    for text, row, states in zip(
        texts, rows, Reader(net, vocabulary, 2).states(texts), strict=True
    ):
        tokens = torch.tensor([row])
        expected = net.bert(tokens)[0, 1:-1]
        assert len(expected) == len(text.split())
        assert torch.allclose(states, expected, atol=1e-5)
    moved = Reader(net, vocabulary, 2, first=32).states(texts[:1])[0]
    tokens = torch.tensor(rows[:1])
    places = torch.arange(32, 32 + tokens.shape[1])
    mask = padding(torch.ones_like(tokens, dtype=torch.bool), tokens, "mask")
    expected = net.bert.stack(net.bert.embeddings(tokens, None, places), mask=mask)[0, 1:-1]
    assert torch.allclose(moved, expected, atol=1e-5)
    first = Reader(net, vocabulary, 0).states(texts[:1])[0]
    assert torch.allclose(
        first, net.bert.embeddings(tokens, None, torch.arange(len(rows[0])))[0, 1:-1]
    )


def test_partners_are_found_once_the_means_are_off() -> None:
    """By hand: (1, 0) and (0, 1), moved by (9, 0) in the other language."""
    one = torch.tensor([[1.0, 0.0], [0.0, 1.0]])
    other = one + torch.tensor([9.0, 0.0])
    assert nearest_is_partner(one, other).tolist() == [[True, True], [True, True]]
    assert nearest_is_partner(one, other, centered=False).tolist() == [[True, True], [True, False]]
    assert not nearest_is_partner(one, one.flip(0)).any()


def test_gaps_are_learned_and_what_is_learned_crosses(vocabulary: WordTokenizer) -> None:
    """A second language without a shared word, no pair: after 300 steps translations are nearer
    than chance puts them, and a tagger of English tags it better than before.
    """
    half = len(TEXTS) // 2
    test = TEXTS[:60]
    languages = {"English": TEXTS[60:half], "Greek": [GREEK(text) for text in TEXTS[half:]]}
    net = masked_lm(vocabulary, 0, n_layers=2)
    sides = test, [GREEK(text) for text in test]

    def right() -> float:
        reader = Reader(net, vocabulary, 1)
        return nearest_is_partner(*map(reader.vectors, sides)).float().mean().item()

    before = right()
    history = train_model(net, vocabulary, languages, steps=400, size=64, progress=False)
    assert sum(history.losses[-20:]) < 0.75 * sum(history.losses[:20])
    assert before < 0.2
    assert right() > 0.5
    rows = [(text.split(), ["letters" if word.isalpha() else "other" for word in text.split()])
            for text in test]  # fmt: skip
    greek = [(GREEK(" ".join(words)).split(), tags) for words, tags in rows]
    reader = Reader(net, vocabulary, 1)
    assert tag_accuracy(reader.tagged(rows), reader.tagged(rows), 1.0).float().mean() > 0.95
    assert len(reader.tagged(greek)[1]) == sum(len(words) for words, _ in greek)


def test_words_that_the_vocabulary_lacks_are_left_out(vocabulary: WordTokenizer) -> None:
    reader = Reader(masked_lm(vocabulary, 0), vocabulary, 1)
    states, tags = reader.tagged([(["the", "xylophone", "sleeps", "."], ["D", "N", "V", "P"])])
    assert "N" not in tags
    assert len(states) == len(tags)
