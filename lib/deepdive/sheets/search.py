"""Pencil sheets about choosing and grading words: cross-entropy and beam search."""

from __future__ import annotations

import math
import random

from deepdive.sheets.model import Grid, Sheet, Step, Value, number

# Rows of whole tenths for three words; (word, word, end).
TENTHS = [(a, b, 10 - a - b) for a in range(1, 9) for b in range(1, 10 - a) if a != b]


def cross_entropy(seed: int) -> Sheet:
    """Surprise at the right words of a sentence, their mean, perplexity, and a smoothed target."""
    draw = random.Random(f"cross_entropy {seed}")
    words = draw.sample(("cat", "dog", "owl", "cow"), 3)
    spreads = draw.sample(
        [row for row in TENTHS if len(set(row)) == 3 and 10 - row[0] - row[1] > 0], 3
    )
    chances = [[p / 10 for p in row] for row in spreads]
    right = [draw.randrange(3) for _ in range(3)]
    given = [row[i] for row, i in zip(chances, right, strict=True)]
    losses = [-math.log(p) for p in given]
    mean = sum(losses) / 3
    logs = sorted({p for row in chances for p in row})
    smooth = [0.9 if i == right[0] else 0.05 for i in range(3)]
    parts = [-t * math.log(p) for t, p in zip(smooth, chances[0], strict=True)]
    names = [f"place {i + 1}" for i in range(3)]
    return Sheet(
        name="cross_entropy",
        title="Cross-entropy",
        question=f"The right words are “{' '.join(words[i] for i in right)}”. "
        "How surprised is the model?",
        section="2.2.3",
        minutes=8,
        seed=seed,
        steps=(
            Step(
                "Given: what the model expects at three places.",
                "",
                (Grid("chances", "weight", chances, names, words),),
                ", ".join(f"ln {number(p)} = {number(math.log(p))}" for p in logs),
            ),
            Step(
                "Read off the chance of the right word, and take −ln of it.",
                "loss = −ln p(right word)",
                (
                    Grid(
                        "losses", "score", [losses], ("loss",), [words[i] for i in right],
                        [[f"−ln {number(p)} = {number(v)}"
                          for p, v in zip(given, losses, strict=True)]],
                    ),
                ),
            ),
            Step(
                "Average. Then raise e to it: the perplexity, a number of words.",
                "loss = sum / 3, perplexity = e^loss",
                (
                    Grid(
                        "mean", "output", [[mean, math.exp(mean)]], (), ("loss", "perplexity"),
                        [[f"({' + '.join(number(v) for v in losses)}) / 3 = {number(mean)}",
                          f"e^{number(mean)} = {number(math.exp(mean))}"]],
                    ),
                ),
            ),
            Step(
                "Smooth the labels at place 1: 0.9 for the right word, 0.05 for each other one.",
                "loss = −Σ target · ln p",
                (
                    Grid(
                        "smoothed", "score", [[*parts, sum(parts)]], ("parts",), [*words, "sum"],
                        [[*(f"−{number(t)} · ({number(math.log(p))}) = {number(v)}"
                            for t, p, v in zip(smooth, chances[0], parts, strict=True)),
                          f"{' + '.join(number(v) for v in parts)} = {number(sum(parts))}"]],
                    ),
                ),
            ),
        ),
        answer=f"Perplexity {number(math.exp(mean))}: as unsure as a fair choice among so many "
        "words.",
    )  # fmt: skip


def beam_search(seed: int) -> Sheet:
    """Greedy against a beam of two, on a table of chances where the two disagree."""
    draw = random.Random(f"beam_search {seed}")
    words = draw.choice((("yes", "no"), ("le", "chat"), ("red", "blue"), ("go", "on")))
    while True:
        start = draw.choice([(4, 6), (6, 4), (7, 3), (3, 7)])
        after = draw.sample([row for row in TENTHS if len(set(row)) == 3], 2)
        chances = [[start[0] / 10, start[1] / 10, 0.0], *([p / 10 for p in row] for row in after)]
        first = 0 if start[0] > start[1] else 1
        path, product = _greedy(chances)
        found = _Found(chances)
        # They disagree, greedy ends in time, and no two products that are compared are equal.
        apart = all(abs(a - b) > 1e-9 for a, b in found.compared)
        if apart and product + 0.02 < found.best[0]:
            break
    labels = (*words, "end")
    sixes = [[found.first[i] * p for p in chances[1 + i]] for i in range(2)]
    going = [" ".join(words[i] for i in beam) for beam in found.going]
    ended = [(" ".join(words[i] for i in path), p) for p, path in found.ended]
    greedy_rows: list[list[Value]] = [[" ".join([words[i] for i in path] + ["end"]), product]]
    best = " ".join(words[i] for i in found.best[1])
    factors = " · ".join(number(p) for p in _factors(chances, path))
    return Sheet(
        name="beam_search",
        title="Beam search",
        question="Taking the best word each time is not the best sentence. What does a second "
        "beam find?",
        section="2.5.3",
        minutes=12,
        seed=seed,
        steps=(
            Step(
                "Given: the chance of each next word. A sentence is one or two words and the end.",
                "",
                (
                    Grid(
                        "chances", "weight", chances,
                        ("start", *(f"after {w}" for w in words)), labels,
                    ),
                ),
            ),
            Step(
                "Greedy: take the likeliest next word until the end (after two words the end must "
                "follow). Multiply.",
                "p(sentence) = product of the chances",
                (
                    Grid(
                        "greedy", "score", greedy_rows, (), ("sentence", "p"),
                        [[f"start with {words[first]}, the likeliest; then on",
                          f"{factors} = {number(product, 3)}"]],
                        digits=3,
                    ),
                ),
            ),
            Step(
                "Beam of two: both first words go on. Multiply each with its row.",
                "p(beam) · p(next)",
                (
                    Grid(
                        "products", "score", sixes, words, labels,
                        [[f"{number(found.first[i])} · {number(p)} = {number(found.first[i] * p)}"
                          for p in chances[1 + i]] for i in range(2)],
                    ),
                ),
            ),
            Step(
                "Put those that end aside. The best two of the others go on.",
                "keep the 2 largest",
                (
                    Grid(
                        "beams", "key", [[*going]], ("go on",), (),
                        [[f"p = {number(found.chance[i])}" for i in range(2)]],
                    ),
                ),
            ),
            Step(
                "Now each must end. Compare all four ended sentences.",
                "p(beam) · p(end)",
                (
                    Grid(
                        "ended", "output", [[p for _, p in ended]], ("p",),
                        [text for text, _ in ended],
                        [[f"{' · '.join(number(f) for f in _factors(chances, path))} = "
                          f"{number(p, 3)}" for p, path in found.ended]],
                        digits=3,
                    ),
                ),
            ),
        ),
        answer=f"The beam finds “{best}” with {number(found.best[0], 3)}; greedy has "
        f"{number(product, 3)}, for it never looked past its first word.",
    )  # fmt: skip


class _Found:
    """What a beam of two finds: chances of the first words, who goes on, and what ended."""

    def __init__(self, chances: list[list[float]]) -> None:
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


def _greedy(chances: list[list[float]]) -> tuple[list[int], float]:
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


def _factors(chances: list[list[float]], path: list[int] | tuple[int, ...]) -> list[float]:
    rows = [chances[0], *(chances[1 + i] for i in path)]
    return [row[i] for row, i in zip(rows, (*path, 2), strict=True)]
