"""Pencil sheets about what stands around attention: positions, layer norm, feed-forward."""

import itertools
import math
import random

from deepdive_book.course.sheets.model import Grid, Step, Work, bracketed, dot, number, row_grid

Table = list[list[float]]


def positions(draw: random.Random) -> Work:
    """Sinusoidal positions in four dimensions, and a dot product that sees only the distance.

    The base is 100 where the paper has 10,000, so that both angles are easy.
    """
    shift = draw.randint(1, 2)
    first = draw.randint(0, 1)
    second = draw.randint(first + 1, 3)
    places = sorted({first, first + shift, second, second + shift})
    angles = sorted({float(p) for p in places} | {p / 10 for p in places})
    table = [[math.sin(a) for a in angles], [math.cos(a) for a in angles]]
    vectors = {p: [f(x) for x in (p, p / 10) for f in (math.sin, math.cos)] for p in places}
    pairs = [(first, first + shift), (second, second + shift)]
    products = [dot(vectors[a], vectors[b]) for a, b in pairs]
    product_grid = row_grid(
        "products",
        "score",
        (),
        [value for value, _ in products],
        [text for _, text in products],
        [f"{a} and {b}" for a, b in pairs],
    )
    question = (
        f"Words {first} and {first + shift} stand {shift} apart, {second} and "
        f"{second + shift} too. Do the position vectors know?"
    )
    steps = (
        Step(
            "Given: sine and cosine of some angles (in radians).",
            "",
            (Grid("waves", "value", table, ("sin", "cos"), [number(a, 1) for a in angles]),),
        ),
        Step(
            "Write the vector of each position. The first pair turns once in 6.3 words, the "
            "second ten times more slowly (base 100; the paper has 10,000).",
            "PE(p) = [sin p, cos p, sin p/10, cos p/10]",
            (_position_vectors(vectors),),
        ),
        Step("Take the dot product of the two pairs.", "PE(a) · PE(b)", (product_grid,)),
    )
    answer = (
        f"Both are cos {shift} + cos {number(shift / 10, 1)} = {number(products[0][0])}: "
        "the product depends on the distance only."
    )
    return question, steps, answer


def _position_vectors(vectors: dict[int, list[float]]) -> Grid:
    """The grid with the vector of each position, and the sine or cosine that each number is."""
    columns = ("sin p", "cos p", "sin p/10", "cos p/10")
    work = []
    for p, vector in vectors.items():
        waves = [f"{f} {number(x, 1)}" for x in (p, p / 10) for f in ("sin", "cos")]
        work.append([f"{wave} = {number(v)}" for wave, v in zip(waves, vector, strict=True)])
    return Grid("PE", "key", list(vectors.values()), [f"p = {p}" for p in vectors], columns, work)


def layer_norm(draw: random.Random) -> Work:
    """Layer norm of a row whose standard deviation is a whole number."""
    deviations, root = _deviations(draw)
    mean = float(draw.randint(-2, 6))
    row = [mean + d for d in deviations]
    gain = [float(draw.choice((1, 2, 3))) for _ in row]
    bias = [float(draw.choice((-1, 0, 1))) for _ in row]
    total = sum(d * d for d in deviations)
    given = (
        Grid("x", "value", [row], ("x",)),
        Grid("gain", "key", [gain], ("gain",)),
        Grid("bias", "key", [bias], ("bias",)),
    )
    sums = f"({' + '.join(bracketed(x) for x in row)}) / 4 = {number(mean)}"
    means = row_grid("mean", "score", ("mean",), [mean], [sums])
    roots = f"√({number(total)} / 4) = √{number(total / 4)} = {root}"
    spread = row_grid("std", "score", ("std",), [float(root)], [roots])
    question = "A row has wandered off. What brings it back to mean 0 and spread 1?"
    steps = (
        Step("Given: a row, and the gain and the bias that training found.", "", given),
        Step("Average the row.", "mean = sum / 4", (means,)),
        Step(
            "Take the mean away, and square.",
            "deviation = x − mean",
            _deviation_grids(row, mean, deviations),
        ),
        Step(
            "Average the squares, and take the root. (The code adds 0.00001 under the root, so "
            "that a row of equal numbers does not divide by 0.)",
            "std = √(sum of squares / 4)",
            (spread,),
        ),
        Step(
            "Divide, multiply by the gain, add the bias.",
            "y = gain · (x − mean) / std + bias",
            (_normal_grid(gain, deviations, root, bias),),
        ),
    )
    answer = (
        f"Before gain and bias the row has mean 0 and variance 1: its squares, "
        f"{number(total)} in all, are divided by {root}² = {root * root}, which leaves 4."
    )
    return question, steps, answer


def _deviations(draw: random.Random) -> tuple[list[float], int]:
    """Four deviations from a mean, in any order, and their standard deviation: a whole number."""
    fitting = [
        (row, root)
        for row in itertools.combinations_with_replacement(range(-7, 8), 4)
        if sum(row) == 0
        and (root := math.isqrt(sum(d * d for d in row) // 4)) > 1
        and sum(d * d for d in row) == 4 * root * root
        and len(set(row)) > 2
    ]
    chosen, root = draw.choice(fitting)
    return draw.sample([float(d) for d in chosen], 4), root


def _deviation_grids(row: list[float], mean: float, deviations: list[float]) -> tuple[Grid, Grid]:
    """The grids of the deviations from the mean and of their squares."""
    away = [
        f"{number(x)} − {bracketed(mean)} = {number(d)}"
        for x, d in zip(row, deviations, strict=True)
    ]
    squares = [d * d for d in deviations]
    squared = [f"{bracketed(d)}² = {number(d * d)}" for d in deviations]
    return (
        row_grid("deviations", "score", ("x − mean",), deviations, away),
        row_grid("squares", "score", ("squared",), squares, squared),
    )


def _normal_grid(gain: list[float], deviations: list[float], root: int, bias: list[float]) -> Grid:
    """The grid of what layer norm returns: gain · deviation / root + bias."""
    output, work = [], []
    for g, d, b in zip(gain, deviations, bias, strict=True):
        output.append(g * (d / root) + b)
        work.append(f"{number(g)}·{bracketed(d)}/{root} + {bracketed(b)} = {number(output[-1])}")
    return row_grid("output", "output", ("y",), output, work)


def feed_forward(draw: random.Random) -> Work:
    """A feed-forward layer with its residual: widen, cut at zero, narrow, add."""
    x, wide, narrow = _weights(draw)
    hidden = _products(x, wide)
    cut = [max(0.0, value) for value, _ in hidden]
    mixed = _products(cut, narrow)
    given = (
        Grid("x", "value", [x], ("x",)),
        Grid("W1", "key", wide, ("W1", "")),
        Grid("W2", "key", narrow, ("W2", "", "", "")),
    )
    cuts = [f"max(0, {number(v)}) = {number(c)}" for (v, _), c in zip(hidden, cut, strict=True)]
    question = "What can a layer do to one word alone, without a look at the others?"
    steps = (
        Step(
            "Given: a row of 2 numbers, a table that widens it to 4, and one that narrows it "
            "to 2. The biases are 0.",
            "",
            given,
        ),
        Step(
            "Widen: x with each column of W1.", "x W1", (_product_grid("hidden", "x W1", hidden),)
        ),
        Step(
            "Cut at zero (ReLU).",
            "h = max(0, x W1)",
            (row_grid("kept", "weight", ("h",), cut, cuts),),
        ),
        Step("Narrow: h with each column of W2.", "h W2", (_product_grid("mixed", "h W2", mixed),)),
        Step(
            "Add the row that came in: the residual.",
            "y = x + h W2",
            (_sum_grid(x, [value for value, _ in mixed]),),
        ),
    )
    answer = (
        "Two of the four hidden numbers were cut. Without the cut, W1 W2 would be one table "
        "of 2 × 2, and the second would add nothing."
    )
    return question, steps, answer


def _weights(draw: random.Random) -> tuple[list[float], Table, Table]:
    """A row of 2, a table that widens it to two numbers below zero and two above, and one back."""
    while True:
        x = [float(draw.randint(-2, 3)) for _ in range(2)]
        wide = [[float(draw.randint(-2, 2)) for _ in range(4)] for _ in range(2)]
        narrow = [[float(draw.randint(-1, 2)) for _ in range(2)] for _ in range(4)]
        hidden = [value for value, _ in _products(x, wide)]
        if sum(value < 0 for value in hidden) == 2 and sum(value > 0 for value in hidden) == 2:
            return x, wide, narrow


def _products(row: list[float], table: Table) -> list[tuple[float, str]]:
    """The row's dot product with each column of a table, and how it is found."""
    return [dot(row, column) for column in zip(*table, strict=True)]


def _product_grid(name: str, label: str, products: list[tuple[float, str]]) -> Grid:
    values, work = zip(*products, strict=True)
    return row_grid(name, "score", (label,), list(values), list(work))


def _sum_grid(row: list[float], added: list[float]) -> Grid:
    output = [a + b for a, b in zip(row, added, strict=True)]
    work = [
        f"{number(a)} + {bracketed(b)} = {number(y)}"
        for a, b, y in zip(row, added, output, strict=True)
    ]
    return row_grid("output", "output", ("y",), output, work)
