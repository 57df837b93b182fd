"""Slips as tokens: places spell the answer, whatever the pieces; a trained model writes it back."""

from __future__ import annotations

import pytest
import torch

from deepdive.models.generative.t5 import TINY, t5
from deepdive.tokenizers import BPETokenizer, Tokenizer, WordTokenizer
from deepdive.training import fit
from deepdive.training.optim import adam
from deepdive_book.data.spans import format_example, two_sentiment_sentences
from deepdive_book.studies.runs.span_qa_format import (
    answer_positions,
    answers,
    encode,
    loss,
    padded,
)

ROWS = two_sentiment_sentences(40, seed=2)
TEXTS = [" ".join(format_example(row)) for row in ROWS]


@pytest.mark.parametrize("tokenizer", [WordTokenizer.train(TEXTS, 500),
                                       BPETokenizer.train(TEXTS, 120)])  # fmt: skip
def test_places_spell_the_answer(tokenizer: Tokenizer) -> None:
    sources, targets = encode(ROWS, tokenizer)
    for row, source, target in zip(ROWS, sources, targets, strict=True):
        spelt = [source[i] for i in answer_positions(row, tokenizer)]
        assert tokenizer.decode(spelt) == row.answer
        assert (target[0], target[-1]) == (tokenizer.pad, tokenizer.eos)
        assert spelt == target[1:-1] or not row.answer


def test_a_small_t5_learns_four_slips() -> None:
    words = WordTokenizer.train(TEXTS, 500)
    some = ROWS[:4]
    torch.manual_seed(0)
    model = t5(TINY, vocab_size=len(words), pad=words.pad, end=words.eos, dropout=0.0)
    assert answers(model, some, words, longest=4) != [row.answer for row in some]
    batch = tuple(padded(side) for side in encode(some, words))
    fit(model, [batch], loss, steps=80, optimizer=adam(model, lr=5e-3), progress=False)
    assert answers(model, some, words, batch=3) == [format_example(row)[1] for row in some]
