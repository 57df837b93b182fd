"""Pencil sheets about attention: one query, a temperature, a causal mask, two heads."""

import math
import random
from collections.abc import Sequence

from deepdive_book.course.sheets.model import (
    Grid,
    Step,
    Work,
    bracketed,
    dot,
    exponentials,
    mix_grid,
    number,
    softmax_grids,
)

PHRASES = (
    ("the", "black", "cat"),
    ("a", "red", "house"),
    ("my", "old", "friend"),
    ("two", "small", "birds"),
    ("she", "sings", "well"),
)


def _rows(draw: random.Random, count: int, width: int, choices: Sequence[int]) -> list[list[float]]:
    return [[float(draw.choice(choices)) for _ in range(width)] for _ in range(count)]


def _scores(
    draw: random.Random, keys: int, width: int, scale: float
) -> tuple[list[float], list[list[float]], list[float]]:
    """A query and keys whose scaled scores differ, lie from -1 to 3, and have one clear winner."""
    while True:
        (query,) = _rows(draw, 1, width, (0, 0, 1, 2))
        found = _rows(draw, keys, width, (-1, 0, 1, 2))
        scores = [scale * dot(query, key)[0] for key in found]
        ordered = sorted(scores)
        spread = len(set(scores)) == keys and ordered[-1] - ordered[-2] >= 0.5
        asks = sum(x != 0 for x in query) >= 2  # else a dot product is a single number of the key
        if spread and asks and ordered[0] >= -1 and ordered[-1] <= 3:
            return query, found, scores


def _score_grids(
    query: Sequence[float], keys: Sequence[Sequence[float]], names: Sequence[str], label: str = ""
) -> tuple[Grid, Grid]:
    """The grids of the dot products and of the scores, which are divided by sqrt(d)."""
    root = math.sqrt(len(query))
    products = [dot(query, key) for key in keys]
    scores = [value / root for value, _ in products]
    dots = [[value for value, _ in products]]
    divided = [
        f"{bracketed(value)} / {number(root)} = {number(value / root)}" for value, _ in products
    ]
    return (
        Grid(f"{label}dots", "score", dots, ("dots",), names, [[work for _, work in products]]),
        Grid(f"{label}scores", "score", [scores], ("scores",), names, [divided]),
    )


def attention(draw: random.Random) -> Work:
    """One query, three keys, four dimensions: score, weigh, mix."""
    names = draw.choice(PHRASES)
    query, keys, scores = _scores(draw, 3, 4, 0.5)
    values = _rows(draw, 3, 2, (0, 1, 2, 3))
    dots, scaled = _score_grids(query, keys, names)
    powers, weights = softmax_grids([scores], (), names)
    (shares,) = weights.values
    best = max(range(3), key=lambda i: scores[i])
    given = (
        Grid("query", "query", [query], ("q",)),
        Grid("keys", "key", keys, names),
        Grid("values", "value", values, names),
    )
    question = f"One word asks, and “{' '.join(names)}” can answer. Who is heard, and how much?"
    steps = (
        Step("Given: a query, and a key and a value for each word.", "", given),
        Step("Take the dot product of the query with each key.", "dots = q · k", (dots,)),
        Step("Divide by the root of the 4 dimensions.", "scores = dots / √4", (scaled,)),
        Step("Raise e to each score, and add.", "e^score", (powers,), exponentials(scores)),
        Step("Divide by the sum. Do they add up to one?", "weights = e^score / sum", (weights,)),
        Step(
            "Average the values under the weights, column by column.",
            "output = weights · values",
            (mix_grid([[float(w) for w in shares]], values, ("output",)),),
        ),
    )
    answer = f"“{names[best]}” is heard most: {number(shares[best])} of the attention."
    return question, steps, answer


def softmax(draw: random.Random) -> Work:
    """Four scores at three temperatures."""
    names = draw.sample(("cat", "dog", "sleeps", "the", "runs", "house"), 4)
    while True:
        scores = [float(draw.randint(-2, 3)) for _ in names]
        if len(set(scores)) == 4 and max(scores) - min(scores) <= 4:
            break
    steps = [
        Step(
            "Given: the scores of four words.", "", (Grid("scores", "score", [scores], (), names),)
        )
    ]
    best = []
    for temperature in (1.0, 2.0, 0.5):
        t = number(temperature, 1)
        scaled = [score / temperature for score in scores]
        label = f"T = {t}: "
        powers, weights = softmax_grids([scaled], (), names, label)
        rule = f"e^(score / {t}), then divide by the sum"
        work = [
            [f"{bracketed(s)} / {t} = {number(x)}" for s, x in zip(scores, scaled, strict=True)]
        ]
        divided = Grid(f"{label}scores", "score", [scaled], (), names, work)
        grids = (powers, weights) if temperature == 1 else (divided, powers, weights)
        steps.append(Step(f"Temperature {t}.", rule, grids, exponentials(scaled)))
        best.append(max(float(w) for w in weights.values[0]))
    question = "How do scores become shares, and what do heat and cold do to them?"
    answer = (
        f"The largest share is {number(best[2])} at T = 0.5, {number(best[0])} at T = 1 and "
        f"{number(best[1])} at T = 2: cold sharpens, heat levels. The order never changes."
    )
    return question, steps, answer


def causal_mask(draw: random.Random) -> Work:
    """Three words that may look back but not ahead."""
    names = draw.choice(PHRASES)
    scores = _rows(draw, 3, 3, (-1, 0, 1, 2))
    values = _rows(draw, 3, 2, (0, 1, 2, 3))
    masked = [
        [s if i <= t else -math.inf for i, s in enumerate(row)] for t, row in enumerate(scores)
    ]
    work = [
        [
            f"{names[i]} is not after {names[t]}: keep {number(s)}"
            if i <= t
            else f"{names[i]} comes after {names[t]}: −∞"
            for i, s in enumerate(row)
        ]
        for t, row in enumerate(scores)
    ]
    powers, weights = softmax_grids(masked, names, names)
    shares = [[float(w) for w in row] for row in weights.values]
    given = (Grid("scores", "score", scores, names, names), Grid("values", "value", values, names))
    question = f"“{' '.join(names)}”: each word may look at itself and back. What is left?"
    steps = (
        Step("Given: the scores (a row for each query), and the values.", "", given),
        Step(
            "Put −∞ where a key comes after its query.",
            "keep the score where key ≤ query, else −∞",
            (Grid("masked scores", "score", masked, names, names, work),),
        ),
        Step(
            "Raise e to each.",
            "e^score, and the sum of each row",
            (powers,),
            exponentials([s for row in masked for s in row]),
        ),
        Step("Divide each row by its sum.", "weights = e^score / sum", (weights,)),
        Step("Mix.", "output = weights · values", (mix_grid(shares, values, names),)),
    )
    answer = f"“{names[0]}” sees only itself: its weight is 1, and its output is its own value."
    return question, steps, answer


def multi_head(draw: random.Random) -> Work:
    """One query of eight numbers, split into two heads of four."""
    names = draw.choice(PHRASES)[:2]
    while True:
        heads = [_scores(draw, 2, 4, 0.5) for _ in range(2)]
        if heads[0][2][0] > heads[0][2][1] and heads[1][2][1] > heads[1][2][0]:
            break  # the two heads look at different words
    values = _rows(draw, 2, 4, (0, 1, 2, 3))
    query = [x for head in heads for x in head[0]]
    keys = [[x for head in heads for x in head[1][i]] for i in range(2)]
    steps = [
        Step(
            "Given: a query, two keys and two values. Head 0 takes the left half of each row, "
            "head 1 the right half.",
            "",
            (
                Grid("query", "query", [query], ("q",)),
                Grid("keys", "key", keys, names),
                Grid("values", "value", values, names),
            ),
        )
    ]
    outputs: list[float] = []
    for h, (q, k, scores) in enumerate(heads):
        label = f"head {h} "
        powers, weights = softmax_grids([scores], (), names, label)
        shares = [[float(w) for w in row] for row in weights.values]
        half = [row[2 * h : 2 * h + 2] for row in values]
        mixed = mix_grid(shares, half, ("output",), f"{label}output")
        outputs += [float(x) for x in mixed.values[0]]
        say = f"Head {h}: score, weigh, mix, with its halves only."
        grids = (*_score_grids(q, k, names, label), powers, weights, mixed)
        steps.append(Step(say, "scores = q · k / √4", grids, exponentials(scores)))
    joined = Grid(
        "output", "output", [outputs], ("output",), (),
        [[f"from head {i // 2}: {number(x)}" for i, x in enumerate(outputs)]],
    )  # fmt: skip
    steps.append(Step("Put the two outputs side by side.", "output = [head 0, head 1]", (joined,)))
    question = f"Can one word look at “{names[0]}” and at “{names[1]}” and keep the two apart?"
    answer = f"Yes: head 0 looks more at “{names[0]}”, head 1 more at “{names[1]}”."
    return question, steps, answer
