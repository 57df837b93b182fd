"""Decoders of many sizes, each trained once and judged after several amounts of text.

    letters = english()                                       # 13 million letters, 70 kinds
    row = run(letters, Shape(2, 32), seed=0, marks=[2**19, 2**20], rate=0.01)
    row["loss"]                                               # nats a letter, one for each mark

One pass: no stretch of text is read twice in a run. The rate rises over 50 steps and then stays;
before each mark a copy of the model goes on alone, with a rate that falls to 0 over the last fifth
of the letters, and is judged (Hu et al. 2024, "MiniCPM", section 4). So one run makes a loss for
each mark, as though each had a run of its own.
"""

import unicodedata
from collections.abc import Callable, Iterable, Mapping, Sequence
from copy import deepcopy
from itertools import groupby
from math import exp, log
from string import ascii_uppercase
from typing import Any, NamedTuple

import numpy as np
import torch
from torch import Tensor, nn
from torch.optim import Optimizer

from deepdive.data.reviews import movie_reviews
from deepdive.data.subjects import addresses, arxiv_abstracts
from deepdive.data.text import shuffled
from deepdive.models.generative.llama import Llama, llama
from deepdive.training import fit
from deepdive.training.optim import adam
from deepdive_book.ch06a.runs.decoder_ablations import evaluate, loss
from deepdive_book.kit.flops import count_flops
from deepdive_book.tasks.stream import sequential_windows

LENGTH, ROWS, RISE, FALL = 64, 16, 50, 0.2
STEP = LENGTH * ROWS  # letters
END = "\n"  # behind each document
KINDS = END + "".join(c for c in map(chr, range(32, 127)) if c not in ascii_uppercase)


MARKS = (2**19, 2**20, 2**21)  # letters
RATES = (0.003, 0.006, 0.012, 0.024)
SEEDS = (0, 1, 2)


class Letters(NamedTuple):
    """A text to learn from and one to be judged by, of other documents, as numbers of `KINDS`."""

    train: Tensor
    test: Tensor


def numbered(documents: Iterable[str], held_out: int) -> Letters:
    """Return documents in lower case, those that come first, of `held_out` letters and more, to be
    judged by. Accents are taken off; what is then no letter of `KINDS` is left out.
    """
    place, found = torch.full((128,), -1), list[Tensor]()
    place[[ord(letter) for letter in KINDS]] = torch.arange(len(KINDS))
    for text in documents:
        plain = unicodedata.normalize("NFKD", " ".join(text.lower().replace("’", "'").split()))
        ids = place[list((plain + END).encode("ascii", "ignore"))]
        found.append(ids[ids >= 0])
    at = sum(1 for size in _before(found) if size < held_out)
    return Letters(torch.cat(found[at:]), torch.cat(found[:at]))


def _before(found: Sequence[Tensor]) -> list[int]:
    """How many letters stand before each document."""
    return [0, *torch.tensor([len(x) for x in found]).cumsum(0).tolist()[:-1]]


def english(held_out: int = 2**17) -> Letters:
    """Return film reviews, scientific abstracts and State of the Union addresses, in an order that
    is drawn once: a document is a review, an abstract, or the paragraphs of a year's addresses.
    """
    said = addresses(seed=None)
    years = groupby(zip(said.labels, said.texts, strict=True), lambda row: row[0])
    speeches = [" ".join(text for _, text in rows) for _, rows in years]
    documents = [*movie_reviews().texts, *arxiv_abstracts(seed=None).texts, *speeches]
    return numbered(shuffled(documents, 0), held_out)


class Shape(NamedTuple):
    """How a decoder is built: its layers, and how wide they are."""

    layers: int
    width: int

    def build(self, seed: int) -> Llama:
        """Today's decoder, with heads about 16 wide, and one table for letters in and out."""
        torch.manual_seed(seed)
        return llama(
            vocab_size=len(KINDS), d_model=self.width, n_heads=max(1, self.width // 16),
            n_layers=self.layers, d_ff=self.width * 8 // 12 * 4, max_length=LENGTH, tied=True,
        )  # fmt: skip

    def counts(self) -> dict[str, int]:
        """Its parameters, those outside the table of letters, and the operations that a letter
        costs, forward and backward.
        """
        model = self.build(0)
        batch = torch.zeros(1, LENGTH + 1, dtype=torch.long)
        named = {name: p.numel() for name, p in model.named_parameters()}
        return {
            "parameters": sum(named.values()),
            "inside": sum(n for name, n in named.items() if ".stack." in f".{name}"),
            "operations": count_flops(lambda: loss(model, batch).backward()) // LENGTH,
        }


def run(
    letters: Letters, shape: Shape, *, seed: int, marks: Sequence[int], rate: float
) -> dict[str, Any]:
    """Train a decoder of this shape; return its counts, and its losses on the test, in nats a
    letter: `loss` at each mark (in letters, rising); `stopped` at four fifths of each, where the
    rate has not begun to fall. The seed draws the first weights and the order of the text.

    Raises ValueError for a text that has fewer letters than the last mark.
    """
    rows = sequential_windows(letters.train, LENGTH)
    if marks[-1] > LENGTH * len(rows):
        raise ValueError(f"marks: the last is {marks[-1]:,}, the text has {len(letters.train):,}")
    order = torch.randperm(len(rows), generator=torch.Generator().manual_seed(seed))
    model, done = shape.build(seed), 0
    found: dict[str, list[float]] = {"loss": [], "stopped": []}
    optimizer = adam(model, lr=rate, betas=(0.9, 0.95), eps=1e-8)
    for mark in marks:
        last = mark // STEP
        turn = last - round(FALL * last)
        _learn(model, optimizer, rows, order, range(done, turn), rate, None)
        copy = deepcopy((model, optimizer))
        found["stopped"].append(_judged(copy[0], letters.test))
        _learn(*copy, rows, order, range(turn, last), rate, last)
        found["loss"].append(_judged(copy[0], letters.test))
        done = turn
    return {**shape.counts(), **found}


def _judged(model: nn.Module, test: Tensor) -> float:
    scores = evaluate(model, test)
    return round(sum(scores) / len(scores), 5)


def _learn(
    model: nn.Module, optimizer: Optimizer, rows: Tensor, order: Tensor, steps: range,
    rate: float, end: int | None,
) -> None:  # fmt: skip
    """Make these steps, counted from the run's first; with `end`, the rate falls to 0 there."""
    if not steps:
        return
    batches = [rows[order[ROWS * i : ROWS * (i + 1)]] for i in steps]

    def schedule(step: int) -> float:
        at = steps.start + step
        left = 1.0 if end is None else (end + 1 - at) / (end + 1 - steps.start)
        return rate * min(1.0, at / RISE) * left

    fit(model, batches, loss, steps=len(steps), optimizer=optimizer, schedule=schedule,
        progress=False)  # fmt: skip
    model.train()


SMALL = (Shape(2, 12), Shape(2, 20), Shape(2, 32))
LARGER = (Shape(2, 48), Shape(3, 64))
SLOWER = tuple(rate / 2 for rate in RATES)
TRIED = dict.fromkeys(SMALL, RATES) | dict.fromkeys(LARGER, SLOWER)
GRID = dict.fromkeys(SMALL, MARKS) | dict.fromkeys(LARGER, MARKS[:2])


def tuned(rows: Sequence[Mapping[str, Any]]) -> Callable[[float], float]:
    """Return the rate for a model of n parameters, from rows with `parameters`, `rate` and `loss`
    (of one mark). For each size the least point of a parabola through its losses over log(rate),
    kept within the rates that were tried; through these points a power of n, by least squares.
    """
    found = []
    for n, group in groupby(sorted(rows, key=_size), key=_size):
        x, y = zip(*((log(row["rate"]), row["loss"][0]) for row in group), strict=True)
        curve = np.polyfit(x, y, 2)
        lowest = -curve[1] / (2 * curve[0]) if curve[0] > 0 else x[int(np.argmin(y))]
        found.append((log(n), float(np.clip(lowest, min(x), max(x)))))
    of_size, lowest_at = zip(*found, strict=True)
    slope, begin = np.polyfit(of_size, lowest_at, 1)
    return lambda n: float(f"{exp(begin + slope * log(n)):.2g}")


def _size(row: Mapping[str, Any]) -> int:
    return int(row["parameters"])
