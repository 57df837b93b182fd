"""Pencil sheets about choosing and grading words: cross-entropy and beam search."""

from __future__ import annotations

import math
import random
from collections.abc import Sequence

from deepdive_book.course.sheets.model import Grid, Step, Work, number, row_grid

Table = list[list[float]]

# Rows of whole tenths for three words; (word, word, end).
TENTHS = [(a, b, 10 - a - b) for a in range(1, 9) for b in range(1, 10 - a) if a != b]


def cross_entropy(draw: random.Random) -> Work:
    """Surprise at the right words of a sentence, their mean, perplexity, and a smoothed target."""
    words = draw.sample(("cat", "dog", "owl", "cow"), 3)
    spreads = draw.sample(
        [row for row in TENTHS if len(set(row)) == 3 and 10 - row[0] - row[1] > 0], 3
    )
    chances = [[p / 10 for p in row] for row in spreads]
    right = [draw.randrange(3) for _ in range(3)]
    right_words = [words[i] for i in right]
    losses = _losses([row[i] for row, i in zip(chances, right, strict=True)], right_words)
    perplexity = _perplexity([float(loss) for loss in losses.values[0]])
    logs = sorted({p for row in chances for p in row})
    names = [f"place {i + 1}" for i in range(3)]
    question = f"The right words are “{' '.join(right_words)}”. How surprised is the model?"
    steps = (
        Step(
            "Given: what the model expects at three places.",
            "",
            (Grid("chances", "weight", chances, names, words),),
            ", ".join(f"ln {number(p)} = {number(math.log(p))}" for p in logs),
        ),
        Step(
            "Read off the chance of the right word, and take −ln of it.",
            "loss = −ln p(right word)",
            (losses,),
        ),
        Step(
            "Average. Then raise e to it: the perplexity, a number of words.",
            "loss = sum / 3, perplexity = e^loss",
            (perplexity,),
        ),
        Step(
            "Smooth the labels at place 1: 0.9 for the right word, 0.05 for each other one.",
            "loss = −Σ target · ln p",
            (_smoothed(chances[0], right[0], words),),
        ),
    )
    answer = (
        f"Perplexity {number(perplexity.values[0][1])}: as unsure as a fair choice among so "
        "many words."
    )
    return question, steps, answer


def _losses(chances: list[float], words: list[str]) -> Grid:
    """The grid of the surprise at each right word, whose chances these are."""
    losses = [-math.log(p) for p in chances]
    work = [f"−ln {number(p)} = {number(v)}" for p, v in zip(chances, losses, strict=True)]
    return row_grid("losses", "score", ("loss",), losses, work, words)


def _perplexity(losses: list[float]) -> Grid:
    """The grid of the mean of three losses, and of e to its power."""
    mean = sum(losses) / 3
    work = [
        f"({' + '.join(number(v) for v in losses)}) / 3 = {number(mean)}",
        f"e^{number(mean)} = {number(math.exp(mean))}",
    ]
    values = [mean, math.exp(mean)]
    return row_grid("mean", "output", (), values, work, ("loss", "perplexity"))


def _smoothed(chances: list[float], right: int, words: list[str]) -> Grid:
    """The grid of the loss against a smoothed target, word by word, and its sum."""
    target = [0.9 if i == right else 0.05 for i in range(3)]
    parts = [-t * math.log(p) for t, p in zip(target, chances, strict=True)]
    work = [
        f"−{number(t)} · ({number(math.log(p))}) = {number(v)}"
        for t, p, v in zip(target, chances, parts, strict=True)
    ]
    total = f"{' + '.join(number(v) for v in parts)} = {number(sum(parts))}"
    return row_grid(
        "smoothed", "score", ("parts",), [*parts, sum(parts)], [*work, total], [*words, "sum"]
    )


def beam_search(draw: random.Random) -> Work:
    """Greedy against a beam of two, on a table of chances where the two disagree."""
    words = draw.choice((("yes", "no"), ("le", "chat"), ("red", "blue"), ("go", "on")))
    chances = _disagreeing(draw)
    beam = _Beam(chances)
    _, product = _greedy(chances)
    rows = ("start", *(f"after {word}" for word in words))
    best = " ".join(words[i] for i in beam.best[1])
    question = (
        "Taking the best word each time is not the best sentence. What does a second beam find?"
    )
    steps = (
        Step(
            "Given: the chance of each next word. A sentence is one or two words and the end.",
            "",
            (Grid("chances", "weight", chances, rows, (*words, "end")),),
        ),
        Step(
            "Greedy: take the likeliest next word until the end (after two words the end must "
            "follow). Multiply.",
            "p(sentence) = product of the chances",
            (_greedy_grid(chances, words),),
        ),
        Step(
            "Beam of two: both first words go on. Multiply each with its row.",
            "p(beam) · p(next)",
            (_product_grid(beam, chances, words),),
        ),
        Step(
            "Put those that end aside. The best two of the others go on.",
            "keep the 2 largest",
            (_beam_grid(beam, words),),
        ),
        Step(
            "Now each must end. Compare all four ended sentences.",
            "p(beam) · p(end)",
            (_ended_grid(beam, chances, words),),
        ),
    )
    answer = (
        f"The beam finds “{best}” with {number(beam.best[0], 3)}; greedy has "
        f"{number(product, 3)}, for it never looked past its first word."
    )
    return question, steps, answer


def _disagreeing(draw: random.Random) -> Table:
    """Chances of the next word, at the start and after each word, where a beam beats greedy."""
    while True:
        start = draw.choice([(4, 6), (6, 4), (7, 3), (3, 7)])
        after = draw.sample([row for row in TENTHS if len(set(row)) == 3], 2)
        chances = [[start[0] / 10, start[1] / 10, 0.0], *([p / 10 for p in row] for row in after)]
        _, product = _greedy(chances)
        beam = _Beam(chances)
        # They disagree, greedy ends in time, and no two products that are compared are equal.
        apart = all(abs(a - b) > 1e-9 for a, b in beam.compared)
        if apart and product + 0.02 < beam.best[0]:
            return chances


def _greedy_grid(chances: Table, words: Sequence[str]) -> Grid:
    """The grid of the sentence that greedy writes, and of its probability."""
    path, product = _greedy(chances)
    first = words[0 if chances[0][0] > chances[0][1] else 1]
    work = [
        f"start with {first}, the likeliest; then on",
        f"{_multiplied(chances, path)} = {number(product, 3)}",
    ]
    sentence = " ".join([*(words[i] for i in path), "end"])
    return row_grid("greedy", "score", (), [sentence, product], work, ("sentence", "p"), digits=3)


def _product_grid(beam: _Beam, chances: Table, words: Sequence[str]) -> Grid:
    """The grid of the chances of two words: those of the first with its row of the table."""
    products = [[p * q for q in row] for p, row in zip(beam.first, chances[1:], strict=True)]
    work = [
        [f"{number(p)} · {number(q)} = {number(p * q)}" for q in row]
        for p, row in zip(beam.first, chances[1:], strict=True)
    ]
    return Grid("products", "score", products, words, (*words, "end"), work)


def _beam_grid(beam: _Beam, words: Sequence[str]) -> Grid:
    """The grid of the two beams that go on."""
    going = [" ".join(words[i] for i in path) for path in beam.going]
    return row_grid("beams", "key", ("go on",), going, [f"p = {number(p)}" for p in beam.chance])


def _ended_grid(beam: _Beam, chances: Table, words: Sequence[str]) -> Grid:
    """The grid of the four sentences that ended, and of their probabilities."""
    work = [f"{_multiplied(chances, path)} = {number(p, 3)}" for p, path in beam.ended]
    sentences = [" ".join(words[i] for i in path) for _, path in beam.ended]
    values = [p for p, _ in beam.ended]
    return row_grid("ended", "output", ("p",), values, work, sentences, digits=3)


class _Beam:
    """What a beam of two finds: chances of the first words, who goes on, and what ended."""

    def __init__(self, chances: Table) -> None:
        self.first = chances[0][:2]
        seconds = [(self.first[i] * chances[1 + i][j], (i, j)) for i in range(2) for j in range(2)]
        seconds.sort(reverse=True)
        self.going = [beam for _, beam in seconds[:2]]
        self.chance = [p for p, _ in seconds[:2]]
        short = [(self.first[i] * chances[1 + i][2], (i,)) for i in range(2)]
        long = [(p * chances[1 + beam[1]][2], beam) for p, beam in seconds[:2]]
        self.ended: list[tuple[float, tuple[int, ...]]] = [*short, *long]
        ranked = sorted(self.ended, reverse=True)
        self.best = ranked[0]
        self.compared = [(seconds[1][0], seconds[2][0]), (ranked[0][0], ranked[1][0])]


def _greedy(chances: Table) -> tuple[list[int], float]:
    """The sentence that greedy writes, and its probability."""
    path: list[int] = []
    row = chances[0]
    while len(path) < 2:
        j = max(range(3), key=lambda i: row[i])
        if j == 2:
            break
        path.append(j)
        row = chances[1 + j]
    return path, math.prod(_factors(chances, path))


def _factors(chances: Table, path: Sequence[int]) -> list[float]:
    rows = [chances[0], *(chances[1 + i] for i in path)]
    return [row[i] for row, i in zip(rows, (*path, 2), strict=True)]


def _multiplied(chances: Table, path: Sequence[int]) -> str:
    """The chances of a sentence as a product: `0.6 · 0.5`."""
    return " · ".join(number(p) for p in _factors(chances, path))
