"""The saved rows of page 6a.7: which prompts are measured, and the baselines."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from itertools import product
from math import log
from typing import Any

from deepdive.data.reviews import Labeled
from deepdive.decoding import Prompted
from deepdive_book.ch06a.runs import chain_of_thought, in_context, induction
from deepdive_book.ch06a.runs.in_context import (
    LABELS,
    TEMPLATES,
    PromptedLM,
    Task,
    digits,
    sampled,
)

VERSION = 2  # of the rows: prompts have the tokens of the whole text
SETS, FIRST = range(6), range(3)  # demonstration sets: of the main table, and of the other parts
SHOTS, MAIN = (1, 2, 4, 8, 16), (4, 16)
MANY = (*SHOTS, 64, 256, 500)
HEADS = 12  # heads with the highest scores, of 270
CONTROLS = range(10)  # random sets of as many other heads
TASKS = {"sentiment": in_context.sentiment, "topics": in_context.topics}


def points(queries: int = 64) -> list[dict[str, Any]]:
    """What is measured, the most important first."""
    sizes = {"sentiment": queries, "topics": queries * 3 // 4}
    correct = ("correct",)

    def shots(
        seeds: Sequence[int], each: Sequence[int], kinds: Sequence[str] = LABELS
    ) -> list[dict[str, Any]]:
        return [{"part": "shots", "task": task, "labels": labels, "seed": seed,
                 "shots": list(each), "queries": n}
                for seed in seeds for task, n in sizes.items() for labels in kinds]  # fmt: skip

    found: list[dict[str, Any]] = [{"part": "zero-shot", "task": "topics", "template": "",
                                    "queries": sizes["topics"]}]  # fmt: skip
    found += [{"part": "zero-shot", "task": "sentiment", "template": template, "queries": queries}
              for template in TEMPLATES]  # fmt: skip
    found += [{"part": "naive Bayes", "task": task, "seed": seed, "queries": n}
              for seed in SETS for task, n in sizes.items()]  # fmt: skip
    found += shots(SETS[:3], MAIN)
    found += [
        {"part": "label effects"},
        {"part": "order", "seed": 0, "queries": queries},
        {"part": "pull"},
    ]
    found += [{"part": "template", "template": template, "seed": seed, "shots": list(MAIN),
               "queries": queries} for seed in FIRST for template in TEMPLATES
              if TEMPLATES[template] != in_context.REVIEW]  # fmt: skip
    found += shots(SETS[3:], MAIN)
    found += [{"part": "steps", "form": form, "seed": seed, "shots": 4, "queries": queries // 2}
              for seed in FIRST for form in chain_of_thought.FORMS]  # fmt: skip
    found += [{"part": "copy"}]
    return found + shots(FIRST, [n for n in SHOTS if n not in MAIN], correct)


def measure(part: str, **point: Any) -> dict[str, Any]:
    """One row, with SmolLM2 and real data; rows with predictions have the gold classes too."""
    lm = in_context.load_smollm2()
    if part in WHOLE:
        return WHOLE[part](lm)
    if part == "steps":
        return chain_of_thought.measure_form(lm, **point)
    task = TASKS[point.pop("task", "sentiment")]()
    gold = {"gold": digits(sampled(task.queries, point["queries"], seed=0).labels)}
    if part == "naive Bayes":
        return {"predictions": naive_bayes(task, **point)} | gold
    return {"predictions": measure_prompts(lm, task, part, **point)} | gold


def measure_prompts(
    lm: PromptedLM, task: Task, part: str, *, queries: int, seed: int = 0, labels: str = "correct",
    shots: int | Sequence[int] = 0, template: str = "",
) -> dict[str, list[str]]:  # fmt: skip
    """Predictions, uncalibrated and calibrated, by the number of shots or the order."""
    if part == "order":
        return in_context.predict_by_order(lm, task, seed, queries)
    each = [shots] if isinstance(shots, int) else shots
    given = TEMPLATES.get(template)
    return in_context.predict_by_shots(lm, task, each, labels, seed, queries, given)


def measure_copying(lm: PromptedLM) -> dict[str, Any]:
    """Each head's induction score in thousandths, and the copying accuracy after ablations."""
    found = induction.scores(lm.model)
    heads = induction.best(found, HEADS)
    row = {
        "scores": (1000 * found).round().int().tolist(),
        "all": induction.copy_accuracy(lm.model),
    }
    with induction.ablated(lm.model, heads):
        row["ablated"] = induction.copy_accuracy(lm.model)
    control = []
    for seed in CONTROLS:
        with induction.ablated(lm.model, induction.controls(heads, found.shape[1], seed)):
            control.append(induction.copy_accuracy(lm.model))
    return row | {"controls": control}


def measure_pull(lm: PromptedLM) -> dict[str, Any]:
    """How many points the last demonstration's label moves p(positive): with all heads, without the
    best induction heads, without controls. Mean over the queries and over correct and flipped
    labels of the other demonstrations.
    """
    heads = induction.best(induction.scores(lm.model), HEADS)
    n_heads = lm.model.config.n_heads
    found = []
    for off in ([], heads, *(induction.controls(heads, n_heads, seed) for seed in CONTROLS)):
        with induction.ablated(lm.model, off):
            rows = [in_context.positive_per_mille(lm, key)
                    for key in ("1112", "1111", "2221", "2222")]  # fmt: skip
        up, down, down_too, up_too = (sum(row[:4]) / 40 for row in rows)  # percent, without "N/A"
        found.append(round((up - down + up_too - down_too) / 2, 1))
    return {"all": found[0], "ablated": found[1], "controls": found[2:]}


def measure_label_effects(lm: PromptedLM) -> dict[str, Any]:
    """log odds of positive to negative after the figure's four demonstrations, with each of the 16
    ways to label them: for the figure's four queries with content and the content-free inputs.
    """
    prompt, found = Prompted(lm.model), {}
    texts = (*in_context.QUERIES[:4], *in_context.CONTENT_FREE)
    for key in map("".join, product("12", repeat=4)):
        shown = in_context.choose_demonstrations(key)
        logs = in_context.label_log_probs(prompt, in_context.REVIEW, shown, texts, lm.tokenizer)
        found[key] = [round(x, 3) for x in (logs[:, 1] - logs[:, 0]).tolist()]
    return {"log_odds": found}


WHOLE = {"copy": measure_copying, "pull": measure_pull, "label effects": measure_label_effects}


def naive_bayes(task: Task, seed: int, queries: int) -> dict[str, str]:
    """Predictions of naive Bayes on word counts, trained on the demonstrations, and on more."""
    texts = sampled(task.queries, queries, seed=0).texts
    found = {}
    for n in MANY:
        fitted = NaiveBayes(sampled(task.pool, n, seed))
        found[str(n)] = digits(fitted.predict(text) for text in texts)
    return found


class NaiveBayes:
    """log p(class) + sum of log p(word | class), from counts with one added to each."""

    def __init__(self, data: Labeled) -> None:
        self.prior = [log(data.labels.count(k) + 1) for k in range(len(data.names))]
        self.counts = [Counter[str]() for _ in data.names]
        for text, label in zip(data.texts, data.labels, strict=True):
            self.counts[label].update(text.lower().split())
        words = len(set().union(*self.counts))
        self.totals = [count.total() + words for count in self.counts]

    def predict(self, text: str) -> int:
        """The class with the highest score."""
        words = text.lower().split()
        scores = [
            prior + sum(log((count[word] + 1) / total) for word in words)
            for prior, count, total in zip(self.prior, self.counts, self.totals, strict=True)
        ]
        return scores.index(max(scores))
