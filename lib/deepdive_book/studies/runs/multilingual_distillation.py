"""A student that places sentences of other languages where an English teacher places their
translations (Reimers and Gurevych 2020), small enough to be made in minutes.

    lessons = lessons_of({"fra": pairs}, tokenizer)             # pairs of (English, other)
    student = fit_student(lessons, teacher_vectors, tokenizer)       # those of `lessons.english`
    student.vectors(["Il pleut."])                              # (1, 384), of length 1
"""

from __future__ import annotations

import random
from collections.abc import Callable, Mapping, Sequence
from typing import Any, NamedTuple

import torch
import torch.nn.functional as F
from torch import Tensor, nn

from deepdive.core.checks import positive
from deepdive.data.text import Pair
from deepdive.models.bert.bert import bert
from deepdive.models.bert.sbert import SentenceEncoder, mean
from deepdive.tokenizers import padded
from deepdive.tokenizers.xlmr import XLMRTokenizer
from deepdive.training import fit
from deepdive.training.history import History
from deepdive.training.optim import adam, constant, linear
from deepdive.training.settings import Validation

BATCH, RATE, DROPPED = 256, 5e-3, 0.1
UNKNOWN = 0  # the row of pieces that no lesson has; they count for nothing

Loss = Callable[[Tensor, Tensor], Tensor]


class WeighedBag(nn.Module):
    """The vector of a sentence from its pieces, whatever their order:

        u = sum over t of a[t] table[piece_t],   a = softmax over t of weight[piece_t]

    In training each piece is left out with probability `DROPPED`.
    """

    def __init__(self, n_pieces: int, d: int) -> None:
        super().__init__()
        positive(n_pieces=n_pieces, d=d)
        self.table, self.weight = nn.Embedding(n_pieces, d), nn.Embedding(n_pieces, 1)
        nn.init.normal_(self.table.weight, std=0.05)
        nn.init.zeros_(self.weight.weight)

    def forward(self, tokens: Tensor, real: Tensor) -> Tensor:
        """tokens, real: (B, T); u: (B, d)."""
        if self.training:
            left = torch.rand(real.shape, device=real.device) >= DROPPED
            real = torch.where((real & left).any(1, keepdim=True), real & left, real)
        u: Tensor = (self.shares(tokens, real)[..., None] * self.table(tokens)).sum(1)
        return u

    def shares(self, tokens: Tensor, real: Tensor) -> Tensor:
        """How much each piece counts, (B, T); 0 where `real` is not."""
        return self.weight(tokens)[..., 0].masked_fill(~real, -torch.inf).softmax(-1)


class BagEncoder(nn.Module):
    """A BERT of two layers, the mean of its states, and a matrix to the teacher's `d` numbers."""

    def __init__(self, n_pieces: int, d: int) -> None:
        super().__init__()
        positive(n_pieces=n_pieces, d=d)
        encoder = bert(vocab_size=n_pieces, d_model=128, n_layers=2, n_heads=4, d_ff=512,
                       dropout=0.0)  # fmt: skip
        self.encoder, self.out = SentenceEncoder(encoder, mean), nn.Linear(128, d)

    def forward(self, tokens: Tensor, real: Tensor) -> Tensor:
        """tokens, real: (B, T); u: (B, d)."""
        u: Tensor = self.out(self.encoder(tokens, real))
        return u


class TrainingPairs(NamedTuple):
    """Sentences as pieces, and of which English sentence each is a translation, or itself.

    english   the different English sentences, in alphabetical order: what the teacher reads
    pieces    the rows of each sentence's pieces, those of `english` at the end
    of        the place in `english` of each
    rows      piece of the tokeniser -> row of the student
    """

    english: list[str]
    pieces: list[list[int]]
    of: list[int]
    rows: dict[int, int]


def lessons_of(pairs: Mapping[str, Sequence[Pair]], tokenizer: XLMRTokenizer) -> TrainingPairs:
    """Return what a student learns from pairs of translations, in any number of languages."""
    every = [pair for some in pairs.values() for pair in some]
    english = sorted({left for left, _ in every})
    place = {text: i for i, text in enumerate(english)}
    read = [tokenizer.encode(text) for text in [*(right for _, right in every), *english]]
    rows = {piece: i + 1 for i, piece in enumerate(sorted({p for text in read for p in text}))}
    of = [place[left] for left, _ in every] + [*range(len(english))]
    return TrainingPairs(english, [[rows[p] for p in text] for text in read], of, rows)


class Student(NamedTuple):
    """A net, the tokeniser, and the row of each piece that it learned."""

    net: WeighedBag
    tokenizer: XLMRTokenizer
    rows: dict[int, int]

    def pieces(self, text: str) -> list[int]:
        return [self.rows[p] for p in self.tokenizer.encode(text) if p in self.rows] or [UNKNOWN]

    @torch.no_grad()
    def vectors(self, texts: Sequence[str], size: int = 256) -> Tensor:
        """Return a vector of length 1 for each text, (N, d); 0 where it knows no piece."""
        read = [self.pieces(text) for text in texts]
        found = [self.net(*_batch(read[k : k + size])) for k in range(0, len(read), size)]
        known = torch.tensor([text != [UNKNOWN] for text in read])
        return F.normalize(torch.cat(found), dim=-1) * known[:, None]

    @torch.no_grad()
    def parts(self, text: str, direction: Tensor) -> tuple[list[str], Tensor]:
        """The words of a text and what each adds to `vectors([text]) @ direction`: exactly, since
        the vector is a sum over pieces. A word without a known piece adds 0.
        """
        words = text.split()
        read = [[self.rows[p] for p in self.tokenizer.encode(w) if p in self.rows] for w in words]
        owner = torch.tensor([i for i, some in enumerate(read) for _ in some], dtype=torch.long)
        if not len(owner):
            return words, torch.zeros(len(words))
        tokens, real = _batch([[p for some in read for p in some]])
        rows = self.net.shares(tokens, real)[0, :, None] * self.net.table(tokens)[0]
        added = rows @ direction / rows.sum(0).norm()
        return words, torch.zeros(len(words)).index_add(0, owner, added)


def _batch(read: list[list[int]]) -> tuple[Tensor, Tensor]:
    tokens, real = padded(read, UNKNOWN)
    return tokens, real


def cosine(u: Tensor, v: Tensor) -> Tensor:
    """1 - cos(u, v), the mean over a batch."""
    return 1 - F.cosine_similarity(u, v).mean()


def squared(u: Tensor, v: Tensor) -> Tensor:
    """(u - v)^2, the mean over a batch and the d numbers of a vector."""
    return F.mse_loss(u, v)


def fit_student(
    lessons: TrainingPairs, teacher: Tensor, tokenizer: XLMRTokenizer, *, seed: int = 0,
    epochs: int = 8, loss: Loss = cosine, **more: Any,
) -> tuple[Student, History]:  # fmt: skip
    """Train a student to place each sentence where `teacher` (N, d) places its English one.

    teacher   the vectors of `lessons.english`, of length 1. `more` is for `fit`.
    """
    torch.manual_seed(seed)
    net = WeighedBag(len(lessons.rows) + 1, teacher.shape[1])

    def lesson(net: nn.Module, some: list[int]) -> Tensor:
        u = net(*_batch([lessons.pieces[i] for i in some]))
        return loss(u, teacher[[lessons.of[i] for i in some]])

    batches = sampled(len(lessons.of), epochs, seed)
    steps = len(batches)
    history = fit(net, batches, lesson, steps=steps, seed=seed,
                  optimizer=adam(net, RATE), schedule=linear(RATE, min(100, steps // 4), steps + 1),
                  **more)  # fmt: skip
    return Student(net.eval(), tokenizer, lessons.rows), history


def watched(
    lessons: TrainingPairs, teacher: Tensor, *, loss: Loss, seed: int = 0, steps: int = 500,
    every: int = 50, held: int = 500, size: int = 64, rate: float = 1e-3, **more: Any,
) -> list[dict[str, float]]:  # fmt: skip
    """Train a `BagEncoder`, and say after each `every` steps how it is on `held` other lessons:

    loss     as it is trained
    alike    the mean cosine of two different sentences' vectors
    found    of how many sentences, in per cent, the nearest of all held teacher vectors is the own
    """
    torch.manual_seed(seed)
    net = BagEncoder(len(lessons.rows) + 1, teacher.shape[1])
    order = sampled(len(lessons.of), 1, seed, size=len(lessons.of))[0]
    test, train, steps_seen = order[:held], order[held:], [0]
    batches = [[train[k] for k in some] for some in sampled(len(train), 1, seed, size)][:steps]

    def sides(net: nn.Module, some: list[int]) -> tuple[Tensor, Tensor]:
        return net(*_batch([lessons.pieces[i][:40] for i in some])), teacher[
            [lessons.of[i] for i in some]
        ]

    rows: list[dict[str, float]] = []

    def look(net: nn.Module) -> float:
        parts = [sides(net, test[k : k + 100]) for k in range(0, len(test), 100)]
        u, v = (torch.cat(side) for side in zip(*parts, strict=True))
        a, b = F.normalize(u, dim=-1), F.normalize(v, dim=-1)
        n = len(a)
        alike = ((a @ a.T).sum() - n) / (n * (n - 1))
        right = v[(a @ b.T).argmax(1)].eq(v).all(1)  # the same English sentence may stand twice
        steps_seen[0] += every
        rows.append({"step": steps_seen[0], "loss": loss(u, v).item(), "alike": alike.item(),
                     "found": 100 * right.float().mean().item()})  # fmt: skip
        return -float(len(rows))

    fit(net, batches, lambda net, some: loss(*sides(net, some)), steps=len(batches), seed=seed,
        optimizer=adam(net, rate), schedule=constant(rate, 100),
        validate=Validation(look, every=every), **more)  # fmt: skip
    return [{name: round(value, 5) for name, value in row.items()} for row in rows]


def sampled(n: int, epochs: int, seed: int, size: int = BATCH) -> list[list[int]]:
    """The batches of all epochs: each takes all n items once, in an order of its own."""
    draw, order, batches = random.Random(f"lessons {seed}"), [*range(n)], []
    for _ in range(epochs):
        draw.shuffle(order)
        batches += [order[k : k + size] for k in range(0, n, size)]
    return batches
