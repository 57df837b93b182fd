"""Pencil sheets about what stands around attention: positions, layer norm, feed-forward."""

from __future__ import annotations

import itertools
import math
import random

from deepdive.sheets.model import Grid, Sheet, Step, bracketed, dot, number


def positions(seed: int) -> Sheet:
    """Sinusoidal positions in four dimensions, and a dot product that sees only the distance.

    The base is 100 where the paper has 10,000, so that both angles are easy.
    """
    draw = random.Random(f"positions {seed}")
    shift = draw.randint(1, 2)
    first = draw.randint(0, 1)
    second = draw.randint(first + 1, 3)
    places = sorted({first, first + shift, second, second + shift})
    columns = ("sin p", "cos p", "sin p/10", "cos p/10")
    angles = sorted({float(p) for p in places} | {p / 10 for p in places})
    table = [[math.sin(a) for a in angles], [math.cos(a) for a in angles]]
    rows, work = {}, []
    for p in places:
        rows[p] = [f(x) for x in (p, p / 10) for f in (math.sin, math.cos)]
        said = [f"{f} {number(x, 1)}" for x in (p, p / 10) for f in ("sin", "cos")]
        work.append([f"{a} = {number(v)}" for a, v in zip(said, rows[p], strict=True)])
    pairs = [(first, first + shift), (second, second + shift)]
    products = [dot(rows[a], rows[b]) for a, b in pairs]
    names = [f"p = {p}" for p in places]
    return Sheet(
        name="positions",
        title="Sinusoidal positions",
        question=f"Words {first} and {first + shift} stand {shift} apart, {second} and "
        f"{second + shift} too. Do the position vectors know?",
        section="2.4.1.2",
        minutes=10,
        seed=seed,
        steps=(
            Step(
                "Given: sine and cosine of some angles (in radians).",
                "",
                (Grid("waves", "value", table, ("sin", "cos"), [number(a, 1) for a in angles]),),
            ),
            Step(
                "Write the vector of each position. The first pair turns once in 6.3 words, the "
                "second ten times more slowly (base 100; the paper has 10,000).",
                "PE(p) = [sin p, cos p, sin p/10, cos p/10]",
                (Grid("PE", "key", list(rows.values()), names, columns, work),),
            ),
            Step(
                "Take the dot product of the two pairs.",
                "PE(a) · PE(b)",
                (
                    Grid(
                        "products",
                        "score",
                        [[value for value, _ in products]],
                        (),
                        [f"{a} and {b}" for a, b in pairs],
                        [[text for _, text in products]],
                    ),
                ),
            ),
        ),
        answer=f"Both are cos {shift} + cos {number(shift / 10, 1)} = {number(products[0][0])}: "
        "the product depends on the distance only.",
    )


def layer_norm(seed: int) -> Sheet:
    """Layer norm of a row whose standard deviation is a whole number."""
    draw = random.Random(f"layer_norm {seed}")
    fitting = [
        (row, root)
        for row in itertools.combinations_with_replacement(range(-7, 8), 4)
        if sum(row) == 0
        and (root := math.isqrt(sum(d * d for d in row) // 4)) > 1
        and sum(d * d for d in row) == 4 * root * root
        and len(set(row)) > 2
    ]
    chosen, root = draw.choice(fitting)
    deviations = draw.sample([float(d) for d in chosen], 4)
    mean = float(draw.randint(-2, 6))
    row = [mean + d for d in deviations]
    gain = [float(draw.choice((1, 2, 3))) for _ in row]
    shift = [float(draw.choice((-1, 0, 1))) for _ in row]
    normal = [d / root for d in deviations]
    output = [g * n + b for g, n, b in zip(gain, normal, shift, strict=True)]
    squares = [d * d for d in deviations]
    total = sum(squares)
    sums = " + ".join(bracketed(x) for x in row)
    return Sheet(
        name="layer_norm",
        title="Layer norm",
        question="A row has wandered off. What brings it back to mean 0 and spread 1?",
        section="2.4.3",
        minutes=8,
        seed=seed,
        steps=(
            Step(
                "Given: a row, and the gain and the bias that training found.",
                "",
                (
                    Grid("x", "value", [row], ("x",)),
                    Grid("gain", "key", [gain], ("gain",)),
                    Grid("bias", "key", [shift], ("bias",)),
                ),
            ),
            Step(
                "Average the row.",
                "mean = sum / 4",
                (
                    Grid(
                        "mean", "score", [[mean]], ("mean",), (),
                        [[f"({sums}) / 4 = {number(mean)}"]],
                    ),
                ),
            ),
            Step(
                "Take the mean away, and square.",
                "deviation = x − mean",
                (
                    Grid(
                        "deviations", "score", [deviations], ("x − mean",), (),
                        [[f"{number(x)} − {bracketed(mean)} = {number(d)}"
                          for x, d in zip(row, deviations, strict=True)]],
                    ),
                    Grid(
                        "squares", "score", [squares], ("squared",), (),
                        [[f"{bracketed(d)}² = {number(d * d)}" for d in deviations]],
                    ),
                ),
            ),
            Step(
                "Average the squares, and take the root. (The code adds 0.00001 under the root, so "
                "that a row of equal numbers does not divide by 0.)",
                "std = √(sum of squares / 4)",
                (
                    Grid(
                        "std", "score", [[float(root)]], ("std",), (),
                        [[f"√({number(total)} / 4) = √{number(total / 4)} = {root}"]],
                    ),
                ),
            ),
            Step(
                "Divide, multiply by the gain, add the bias.",
                "y = gain · (x − mean) / std + bias",
                (
                    Grid(
                        "output", "output", [output], ("y",), (),
                        [[f"{number(g)}·{bracketed(d)}/{root} + {bracketed(b)} = {number(y)}"
                          for g, d, b, y in zip(gain, deviations, shift, output, strict=True)]],
                    ),
                ),
            ),
        ),
        answer=f"Before gain and bias the row has mean 0 and variance 1: its squares, "
        f"{number(total)} in all, are divided by {root}² = {root * root}, which leaves 4.",
    )  # fmt: skip


def feed_forward(seed: int) -> Sheet:
    """A feed-forward layer with its residual: widen, cut at zero, narrow, add."""
    draw = random.Random(f"feed_forward {seed}")
    while True:
        x = [float(draw.randint(-2, 3)) for _ in range(2)]
        wide = [[float(draw.randint(-2, 2)) for _ in range(4)] for _ in range(2)]
        narrow = [[float(draw.randint(-1, 2)) for _ in range(2)] for _ in range(4)]
        hidden = [dot(x, column) for column in zip(*wide, strict=True)]
        if (
            sum(value < 0 for value, _ in hidden) == 2
            and sum(value > 0 for value, _ in hidden) == 2
        ):
            break
    kept = [max(0.0, value) for value, _ in hidden]
    mixed = [dot(kept, column) for column in zip(*narrow, strict=True)]
    output = [a + b for a, (b, _) in zip(x, mixed, strict=True)]
    return Sheet(
        name="feed_forward",
        title="Feed-forward with a residual",
        question="What can a layer do to one word alone, without a look at the others?",
        section="2.4.4",
        minutes=8,
        seed=seed,
        steps=(
            Step(
                "Given: a row of 2 numbers, a table that widens it to 4, and one that narrows it "
                "to 2. The biases are 0.",
                "",
                (
                    Grid("x", "value", [x], ("x",)),
                    Grid("W1", "key", wide, ("W1", "")),
                    Grid("W2", "key", narrow, ("W2", "", "", "")),
                ),
            ),
            Step(
                "Widen: x with each column of W1.",
                "x W1",
                (_row("hidden", "score", "x W1", hidden),),
            ),
            Step(
                "Cut at zero (ReLU).",
                "h = max(0, x W1)",
                (
                    Grid(
                        "kept", "weight", [kept], ("h",), (),
                        [[f"max(0, {number(v)}) = {number(k)}"
                          for (v, _), k in zip(hidden, kept, strict=True)]],
                    ),
                ),
            ),
            Step(
                "Narrow: h with each column of W2.",
                "h W2",
                (_row("mixed", "score", "h W2", mixed),),
            ),
            Step(
                "Add the row that came in: the residual.",
                "y = x + h W2",
                (
                    Grid(
                        "output", "output", [output], ("y",), (),
                        [[f"{number(a)} + {bracketed(b)} = {number(y)}"
                          for a, (b, _), y in zip(x, mixed, output, strict=True)]],
                    ),
                ),
            ),
        ),
        answer="Two of the four hidden numbers were cut. Without the cut, W1 W2 would be one table "
        "of 2 × 2, and the second would add nothing.",
    )  # fmt: skip


def _row(name: str, role: str, label: str, found: list[tuple[float, str]]) -> Grid:
    return Grid(name, role, [[v for v, _ in found]], (label,), (), [[text for _, text in found]])
