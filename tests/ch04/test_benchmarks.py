"""Rows of tests in many languages: what each says, on a tiny encoder and texts that are known."""

from __future__ import annotations

from collections import Counter
from typing import Any

import pytest
import torch

from deepdive.data.reviews import Labeled
from deepdive.data.translated import Sentence
from deepdive.models.bert.sbert import tiny
from deepdive.tokenizers import BERT_SPECIALS, WordTokenizer
from deepdive_book.ch04.runs import benchmarks
from deepdive_book.ch04.runs.benchmarks import Encoder
from deepdive_book.data.tree_grammar import tree_sentences

WORDS = ["query:", "red", "green", "blue", "warm", "cold", "and", "the", "of"]
TREES = tree_sentences(740)


def texts(part: str, front: str) -> Labeled:
    """Colours and warmth: seven subjects that the first words tell."""
    n = {"train": 70, "test": 21}[part]
    heads = ["red warm", "red cold", "green warm", "green cold", "blue warm", "blue cold", "and"]
    rows = tuple(f"{front}{heads[i % 7]} {WORDS[6 + i % 3]}" for i in range(n))
    return Labeled(rows, tuple(i % 7 for i in range(n)), tuple("abcdefg"), "made")


@pytest.fixture
def encoder(monkeypatch: pytest.MonkeyPatch) -> Encoder:
    torch.manual_seed(0)
    words = dict.fromkeys([*WORDS, *(w for tree in TREES for w in tree.words)])
    tokenizer = WordTokenizer([*BERT_SPECIALS, *words], BERT_SPECIALS)
    monkeypatch.setattr(
        benchmarks, "sib200", lambda x, part, _: texts(part, "" if x == "eng_Latn" else "the ")
    )
    monkeypatch.setattr(
        benchmarks, "pud", lambda _: [Sentence(str(i), "", tree) for i, tree in enumerate(TREES)]
    )
    return Encoder(tiny(len(tokenizer.vocab)).eval(), tokenizer)


def test_subjects_in_english_and_elsewhere(encoder: Encoder) -> None:
    english = benchmarks.subjects(encoder, "eng_Latn")
    other = benchmarks.subjects(encoder, "other")
    assert english["truth"] == other["truth"] == "0123456" * 3
    assert english["zero"] == english["own"]
    assert english["letters"] == english["own letters"]
    assert sum(benchmarks.accuracy(english, "own")) > 10  # of 21; by chance 3
    assert sum(benchmarks.accuracy(english, "most frequent")) == 3
    assert english["pieces"] == sum(len(text.split()) for text in texts("test", "").texts)
    assert other["pieces"] == english["pieces"] + 21
    assert english["unknown"] == 0
    assert benchmarks.english(encoder) is benchmarks.english(encoder)  # learned once


def test_right_is_told_text_by_text() -> None:
    row = {"truth": "0123", "zero": "0013"}
    assert benchmarks.accuracy(row, "zero") == [1, 0, 0, 1]
    assert benchmarks.digits([3.0, 1]) == "31"


def test_retrieval_counts_both_ways(encoder: Encoder, monkeypatch: pytest.MonkeyPatch) -> None:
    pairs = [(f"{a} {b}", f"{a} {b}") for a in WORDS[1:4] for b in WORDS[4:6]]
    monkeypatch.setattr(benchmarks, "retrieval_pairs", lambda *_, **__: pairs)
    row = benchmarks.retrieval(encoder, "any")
    assert row["pairs"] == 6
    assert row["plain"] == row["centred"] == [6, 6]  # each is its own translation
    assert row["gained"] == row["lost"] == [0, 0]


def test_tags_of_the_same_language_are_learned(encoder: Encoder) -> None:
    row: dict[str, Any] = benchmarks.tags(encoder, "en")
    assert row["zero"] == row["own"]
    assert row["zero levels"] == row["own levels"]
    assert len(row["words"]) == len(row["zero"]) == 740 - 700
    share = sum(row["zero"]) / sum(row["words"])
    assert share == pytest.approx(row["zero levels"][row["level"]], abs=1e-4)
    tags = Counter(tag for tree in TREES for tag in tree.tags)
    assert share > tags.most_common(1)[0][1] / tags.total()
    assert all(0 <= hits <= n for hits, n in zip(row["listed"], row["words"], strict=True))


def test_what_stands_in_front_is_read(encoder: Encoder) -> None:
    other = encoder._replace(front="blue ")
    one, two = (each.vectors(["red warm"]) for each in (encoder, other))
    assert not torch.allclose(one, two, atol=1e-3)
