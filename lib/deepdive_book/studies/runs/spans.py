"""Case study 5: a T5 is asked for spans, and its heads are asked whether they find them.

    work = generated(2000)                               # or films()
    model = train_model(begun(work, seed=0), work, steps=600, seed=0)
    said = answers(model, work.test, work.tokenizer)
    told = heads(model, work)                            # for each cross-attention head

A *pair* is one text with both questions, each of which has an answer: the two differ in one token.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import torch
from torch import Tensor, nn

from deepdive.data import BucketBatches
from deepdive.data.reviews import movie_reviews, rt_polarity
from deepdive.data.tasks import Span
from deepdive.models.generative import t5
from deepdive.models.generative.t5_config import T5Config
from deepdive.published.folders import load
from deepdive.tokenizers import BPETokenizer, Tokenizer, WordTokenizer
from deepdive.tokenizers.unigram import UnigramTokenizer
from deepdive.training import fit
from deepdive.training.objectives import corrupt_spans, cross_entropy, mask_spans
from deepdive.training.optim import cosine
from deepdive.training.parameter_scaled_adam import ScaledAdam
from deepdive_book.data.spans import (
    both_questions,
    format_example,
    two_sentiment_sentences,
    word_numbers,
)
from deepdive_book.studies.runs.span_qa_format import encode, loss

LONGEST = 24  # words of a film sentence
EMPTY = 5  # of the questions without an answer, one in so many is learned from
MARKS, WINDOW = 16, 48  # sentinels; tokens of a passage with hidden spans
SMALL = t5.BASE.but(d_model=48, n_heads=4, d_head=12, n_layers=2, n_decoder_layers=2, d_ff=96,
                    n_buckets=16, max_distance=32, dropout=0.0)  # fmt: skip
MEDIUM = SMALL.but(d_model=64, d_head=16, d_ff=192)


@dataclass(frozen=True)
class Work:
    """Rows to learn from and to test on, both questions of a text beside each other; the pieces;
    the size of the model; and passages of tokens to read before, (N, `WINDOW`).
    """

    source: str
    train: Sequence[Span]
    test: Sequence[Span]
    tokenizer: Tokenizer
    config: T5Config
    passages: Tensor | None = None

    @property
    def pairs(self) -> list[tuple[Span, Span]]:
        """The texts of the test of which both questions have an answer, and not the same."""
        both = zip(self.test[::2], self.test[1::2], strict=True)
        return [(a, b) for a, b in both if a.answer and b.answer]


def generated(n: int, test: int = 300) -> Work:
    """Generated sentences, n to learn from; a token is a word."""
    rows = two_sentiment_sentences(n + test)
    train, held = rows[: 2 * n], rows[2 * n :]
    words = WordTokenizer.train((" ".join(format_example(row)) for row in train), 1000)
    return Work(f"two_sided({n}) (generated)", train, held, words, _sized(SMALL, words))


def films(pieces: int = 1500, test: int = 1500) -> Work:
    """Sentences about films with spans by the rule, whose numbers are of the training part; whole
    reviews to read before.
    """
    train, _, held = rt_polarity().held_out(test, 300)
    numbers = word_numbers(train)
    sides = [both_questions((t for t in part.texts if len(t.split()) <= LONGEST), numbers)
             for part in (train, held)]  # fmt: skip
    reviews = [text.replace("\n", " ") for text in movie_reviews().texts]
    sides[0] = [row for i, row in enumerate(sides[0]) if row.answer or not i % EMPTY]
    sample = [" ".join(format_example(row)) for row in sides[0]]
    bpe = BPETokenizer.train([*sample, *reviews[::8]], pieces)
    flow = torch.tensor([piece for text in reviews for piece in bpe.encode(text)])
    passages = flow[: len(flow) // WINDOW * WINDOW].view(-1, WINDOW)
    learn, test_rows = sides
    size = _sized(MEDIUM, bpe)
    return Work("rt_polarity, movie_reviews", learn, test_rows, bpe, size, passages)


def patch_effect(train: Sequence[Span], test: Sequence[Span], pieces: int = 1500) -> Work:
    """A reader's rows: pieces are learned from those to learn from."""
    bpe = BPETokenizer.train([" ".join(format_example(row)) for row in train], pieces)
    return Work("your rows", train, test, bpe, _sized(MEDIUM, bpe))


def public(folder: str | Path, rows: Sequence[Span], test: Sequence[Span]) -> tuple[t5.T5, Work]:
    """A published T5 of a folder with its own pieces, to be asked about these rows."""
    model, pieces = load(folder), UnigramTokenizer.from_folder(folder)
    assert isinstance(model, t5.T5)
    return model, Work(f"{Path(folder).name} (public)", rows, test, pieces, model.config)


def _sized(config: T5Config, tokenizer: Tokenizer) -> T5Config:
    return config.but(
        vocab_size=len(tokenizer) + MARKS, pad=tokenizer.pad, end=tokenizer.eos
    )  # the last ids are the marks


def begun(work: Work, seed: int = 0) -> t5.T5:
    """A model with drawn weights."""
    torch.manual_seed(seed)
    return t5.t5(work.config)


def read(model: t5.T5, work: Work, steps: int, seed: int, rate: float = 0.02) -> t5.T5:
    """Let it fill hidden spans of the passages."""
    assert work.passages is not None
    passages, chance = work.passages, torch.Generator().manual_seed(seed)
    order = torch.randperm(len(passages), generator=chance)
    parts = [order[i : i + 32] for i in range(0, len(order) - 31, 32)]

    def hidden(model: nn.Module, batch: Tensor) -> Tensor:
        rows = passages[batch]
        marked = mask_spans((len(rows), WINDOW), generator=chance)
        src, tgt = corrupt_spans(rows, marked, work.config.vocab_size - 1)
        before = nn.functional.pad(tgt[:, :-1], (1, 0), value=work.config.pad)
        return cross_entropy(model(src, before), tgt, pad=None)

    return _fitted(model, parts, hidden, steps, seed, rate)


def train_model(
    model: t5.T5, work: Work, steps: int, seed: int, rate: float = 0.02, tokens: int = 2500
) -> t5.T5:
    """Let it learn to answer."""
    batches = BucketBatches(encode(work.train, work.tokenizer), max_tokens=tokens, seed=seed)
    return _fitted(model, batches, loss, steps, seed, rate)


def _fitted(
    model: t5.T5, batches: Iterable[Any], measure: Callable[..., Tensor], steps: int, seed: int,
    rate: float,
) -> t5.T5:  # fmt: skip
    fit(model, batches, measure, steps=steps, seed=seed, optimizer=ScaledAdam(model.parameters()),
        schedule=cosine(rate, warmup=max(1, steps // 10), total=steps + 1, floor=rate / 20),
        progress=False)  # fmt: skip
    return model.eval()
