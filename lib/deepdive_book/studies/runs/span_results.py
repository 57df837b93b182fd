"""Case study 5: one training, and all that is measured of it, as a row that a sweep keeps.

    row = measured(films(), start="read", seed=0, steps=1500, reading=800)

Numbers are [mean, low, high], 95 % over the texts of the test; lists of them go over the heads of
cross-attention, layer by layer. `rows` begin before the encoder's first layer.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import replace
from functools import cache, partial
from typing import Any

import torch
from torch import Tensor

from deepdive.data.tasks import Span
from deepdive.evaluate import bootstrap
from deepdive.evaluate.answers import answer_f1, exact_match
from deepdive.models.generative.t5 import T5
from deepdive_book.studies.runs import span_heads
from deepdive_book.studies.runs.span_heads import Exchange, Pair
from deepdive_book.studies.runs.span_qa_format import answers
from deepdive_book.studies.runs.spans import Work, begun, films, generated, read, train_model

WORKS: dict[str, Callable[[], Work]] = {
    "generated": partial(generated, 3000),
    "films": cache(films),
}
POINTS = [
    *({"data": "generated", "start": "drawn", "seed": seed, "steps": 700, "reading": 0}
      for seed in range(3)),
    *({"data": "films", "start": start, "seed": seed, "steps": 800, "reading": reading}
      for seed in range(3) for start, reading in (("read", 300), ("drawn", 0))),
    *({"data": "films", "start": "drawn", "seed": seed, "steps": 2400, "reading": 0, "dropout": 0.2}
      for seed in range(3)),
]  # fmt: skip
LONGER = [*({"seed": seed, "steps": 800} for seed in range(3)), {"seed": 0, "steps": 3200}]


def measured(
    work: Work, start: str, seed: int, steps: int, reading: int, dropout: float = 0.0
) -> dict[str, Any]:
    """Train once and measure; `start` is "drawn", or "read": it has filled gaps before."""
    work = replace(work, config=work.config.but(dropout=dropout))
    model = begun(work, seed)
    if start == "read":
        read(model, work, reading, seed)
    train_model(model, work, steps, seed)
    shown = (
        picture(model, to_draw(model, work), work)
        if seed == 0 and (reading or work.passages is None)
        else []
    )
    found = scores(model, work) | attention_share(model, work)
    return found | {"lessons": lessons(model, work), "picture": shown}


def one_training(data: str, **point: Any) -> dict[str, Any]:
    """A point of `POINTS`, measured."""
    return measured(WORKS[data](), **point)


def train_accuracy(seed: int, steps: int, work: Work | None = None) -> dict[str, Any]:
    """Of one that learns from films alone: spans to the word, of its lessons and of new texts."""
    work = work or WORKS["films"]()
    model = train_model(begun(work, seed), work, steps, seed)
    found = scores(model, work)
    return {"lessons": lessons(model, work), "exact": found["exact"], "f1": found["f1"]}


def lessons(model: T5, work: Work) -> list[float]:
    """How often it writes the span of what it has learned from, to the word."""
    some = [row for row in work.train[:600] if row.answer]
    said = answers(model, some, work.tokenizer)
    return describe([exact_match(text, row.answer) for text, row in zip(said, some, strict=True)])


def scores(model: T5, work: Work) -> dict[str, Any]:
    """How often it writes the span to the word, and F1 of the words; where there is one, and
    where "none" is right; and on texts with one span and with two.
    """
    said = answers(model, work.test, work.tokenizer)
    hits = [exact_match(text, row.answer or "none") for text, row in zip(said, work.test,
                                                                        strict=True)]  # fmt: skip
    both = zip(work.test[::2], work.test[1::2], strict=True)
    spans = [n for a, b in both for n in [bool(a.answer) + bool(b.answer)] * 2]
    there = [bool(row.answer) for row in work.test]

    def where(wanted: Sequence[bool]) -> list[float]:
        return describe([hit for hit, yes in zip(hits, wanted, strict=True) if yes])

    f1 = [answer_f1(text, row.answer) for text, row in zip(said, work.test, strict=True)
          if row.answer]  # fmt: skip
    return {
        "exact": where(there), "f1": describe(f1), "none": where([not yes for yes in there]),
        "one": where([yes and n == 1 for yes, n in zip(there, spans, strict=True)]),
        "two": where([n == 2 for n in spans]), "texts": len(spans) // 2, "pairs": len(work.pairs),
        "hits": "".join("01"[int(hit)] for hit in hits),
    }  # fmt: skip


def attention_share(model: T5, work: Work) -> dict[str, Any]:
    """The heads: where they look, what is written without each (and, last, without the three that
    look most at the span, and the three that look least), what each brings along.
    """
    pairs, tokenizer = work.pairs, work.tokenizer
    looks = span_heads.attention_shares(model, pairs, tokenizer)
    found: dict[str, Any] = {
        "span": each(looks.span),
        "question": each(looks.question),
        "chance": describe(looks.chance),
    }
    whole = span_heads.written(model, pairs, tokenizer)
    found["right"] = describe(whole.right)
    names = span_heads.head_names(model)
    order = looks.span.mean(-1).flatten().argsort(descending=True).tolist()
    sets = [[h] for h in range(len(names))] + [order[:3], order[-3:]]
    right, other = [], []
    for some in sets:
        with span_heads.ablate_heads(model, [names[h] for h in some]):
            without = span_heads.written(model, pairs, tokenizer)
        # of those that were right with all heads on
        right.append(describe(without.right[whole.right]))
        other.append(describe(without.other[whole.right]))
    found |= {"right without": right, "other without": other}
    return found | patch_effect(model, pairs, work)


def patch_effect(model: T5, pairs: Sequence[Pair], work: Work) -> dict[str, Any]:
    """What each part brings along from the run with the other question."""
    runs = Exchange(model, pairs, work.tokenizer)
    cross, encoder = runs.heads(), runs.heads("encoder.stack.blocks.*.attn")
    every = runs.of(f"{span_heads.CROSS}.heads", [torch.ones(1, 1, 1, dtype=torch.bool)])
    groups, layers = runs.groups(), range(model.config.n_layers)
    points = ["encoder.embedded", *(f"encoder.stack.blocks.{i}.stream" for i in layers)]
    rows = [
        dict(zip(groups, each(runs.of(point, list(groups.values()))), strict=True))
        for point in points
    ]
    return {
        "exchanged": len(runs.pairs), "taken": each(cross), "layers": each(every),
        "encoder taken": each(encoder), "rows": rows,
    }  # fmt: skip


def describe(values: Any) -> list[float]:
    """[mean, low, high] of numbers or yes and no; [0, 0, 1], nothing known, of fewer than two."""
    numbers = torch.as_tensor(values).float().tolist()
    if len(numbers) < 2:
        return [0.0, 0.0, 1.0]
    found = bootstrap(numbers, draws=1000)
    return [round(float(x), 4) for x in found]


def each(values: Tensor) -> list[list[float]]:
    """The same for each row of (..., N)."""
    return [describe(row) for row in values.flatten(0, -2)]


def to_draw(model: T5, work: Work, most: int = 3, longest: int = 18) -> list[tuple[Span, Span]]:
    """Some pairs that it answers rightly, short ones; others where there are none."""
    flat = [row for pair in work.pairs for row in pair]
    said = answers(model, flat, work.tokenizer)
    hits = [text == row.answer for text, row in zip(said, flat, strict=True)]
    order = sorted(
        range(len(work.pairs)),
        key=lambda i: (-hits[2 * i] - hits[2 * i + 1],
                       len(work.pairs[i][0].context.split()) > longest, i),
    )  # fmt: skip
    return [work.pairs[i] for i in order[:most]]


def picture(model: T5, rows: Sequence[tuple[Span, Span]], work: Work) -> list[dict[str, Any]]:
    """For each text what is looked at and, for each set of heads that are off, written."""
    names = span_heads.head_names(model)
    sets = [[n for h, n in enumerate(names) if k >> h & 1] for k in range(1 << len(names))]
    flat = [row for pair in rows for row in pair]
    says: list[list[str]] = [[] for _ in flat]
    for heads in sets:
        with span_heads.ablate_heads(model, heads):
            for kept, text in zip(says, answers(model, flat, work.tokenizer), strict=True):
                kept.append(text)
    return [
        {"question": row.question, "text": row.context, "answer": row.answer, "start": row.start,
         "looks": span_heads.by_word(model, row, work.tokenizer), "says": said}
        for row, said in zip(flat, says, strict=True)
    ]  # fmt: skip
