"""The rows of page 6a.7: which prompts are measured, each part by the file that defines it."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from math import log
from typing import Any

from deepdive.data.reviews import Labelled
from deepdive_book.ch06a.runs import chain_of_thought, in_context, induction
from deepdive_book.ch06a.runs.in_context import (
    LABELS,
    WORDINGS,
    PromptedLM,
    Task,
    digits,
    sampled,
    speaker,
)

SEEDS, SHOTS, FEW = range(3), (1, 2, 4, 8, 16), (4, 16)
MANY = (*SHOTS, 64, 256, 500)
HEADS = 12  # heads with the highest scores, of 270


def points(queries: int = 64) -> list[dict[str, Any]]:
    """What is measured, the most wanted first."""
    found: list[dict[str, Any]] = []
    for seed in SEEDS:
        sizes = {"sentiment": queries, "topics": queries * 3 // 4}
        found += [{"part": "bag", "task": task, "seed": seed, "queries": n}
                  for task, n in sizes.items()]  # fmt: skip
        for labels in LABELS:
            shots = SHOTS if labels == "true" else FEW
            found += [{"part": "shots", "task": "sentiment", "labels": labels, "seed": seed,
                       "shots": list(shots), "queries": queries}]  # fmt: skip
            found += [{"part": "shots", "task": "topics", "labels": labels, "seed": seed,
                       "shots": list(FEW), "queries": queries * 3 // 4}]  # fmt: skip
        found += [{"part": "steps", "form": form, "seed": seed, "shots": 4, "queries": queries // 2}
                  for form in chain_of_thought.FORMS]  # fmt: skip
    found += [{"part": "none", "task": "topics", "wording": "", "queries": queries * 3 // 4}]
    found += [{"part": "none", "task": "sentiment", "wording": wording, "queries": queries}
              for wording in WORDINGS]  # fmt: skip
    found += [{"part": "worded", "wording": wording, "seed": seed, "shots": list(FEW),
               "queries": queries} for seed in SEEDS for wording in WORDINGS
              if WORDINGS[wording] != in_context.REVIEW]  # fmt: skip
    found += [{"part": "copy"}, {"part": "pull"}]
    found += [{"part": "order", "seed": 0, "queries": queries}]
    return found


def measure(part: str, **point: Any) -> dict[str, Any]:
    """One row, of SmolLM2 and real data; rows that say classes hold the true ones too."""
    if part in ("copy", "pull"):
        return copying(speaker()) if part == "copy" else pulling(speaker())
    if part == "steps":
        return chain_of_thought.by_form(speaker(), **point)
    task = TASKS[point.pop("task", "sentiment")]()
    true = {"true": digits(sampled(task.asked, point["queries"], seed=0).labels)}
    if part == "bag":
        return {"said": by_words(task, **point)} | true
    return {"said": label_scores(speaker(), task, part, **point)} | true


TASKS = {"sentiment": in_context.sentiment, "topics": in_context.topics}


def label_scores(
    who: PromptedLM, task: Task, part: str, *, queries: int, seed: int = 0, labels: str = "true",
    shots: int | Sequence[int] = 0, wording: str = "",
) -> dict[str, list[str]]:  # fmt: skip
    """What is said of each question, plain and calibrated, by the number of shots or the order."""
    if part == "order":
        return in_context.by_order(who, task, seed, queries)
    each = [shots] if isinstance(shots, int) else shots
    form = WORDINGS.get(wording)
    return in_context.by_shots(who, task, each, labels, seed, queries, form)


def copying(who: PromptedLM) -> dict[str, Any]:
    """Each head's score in thousandths, and how much is copied without the best, and others."""
    found = induction.scores(who.model)
    heads = induction.best(found, HEADS)
    row = {
        "scores": (1000 * found).round().int().tolist(),
        "whole": induction.copy_accuracy(who.model),
    }
    with induction.without(who.model, heads):
        row["without"] = induction.copy_accuracy(who.model)
    rest = []
    for seed in SEEDS:
        with induction.without(who.model, induction.others(heads, found.shape[1], seed)):
            rest.append(induction.copy_accuracy(who.model))
    return row | {"without_others": rest}


def pulling(who: PromptedLM) -> dict[str, Any]:
    """How many points the last form's label moves the answers, and without the best heads, and
    without others: the mean over the texts and over true and false labels of the other forms.
    """
    heads = induction.best(induction.scores(who.model), HEADS)
    n_heads = who.model.config.n_heads
    found = []
    for silent in ([], heads, *(induction.others(heads, n_heads, seed) for seed in SEEDS)):
        with induction.without(who.model, silent):
            rows = [in_context.probabilities(who, key) for key in ("1112", "1111", "2221", "2222")]
        up, down, down_too, up_too = (sum(row[:4]) / 40 for row in rows)  # percent, without "N/A"
        found.append(round((up - down + up_too - down_too) / 2, 1))
    return {"whole": found[0], "without": found[1], "without_others": found[2:]}


def by_words(task: Task, seed: int, queries: int) -> dict[str, str]:
    """What a naive Bayes classifier of words says that learns from the same demonstrations, and
    from more.
    """
    asked = sampled(task.asked, queries, seed=0).texts
    found = {}
    for n in MANY:
        learned = Words(sampled(task.shown, n, seed))
        found[str(n)] = digits(learned.best(text) for text in asked)
    return found


class Words:
    """log p(class) + sum of log p(word | class), counted, with one added to each count."""

    def __init__(self, shown: Labelled) -> None:
        self.prior = [log(shown.labels.count(k) + 1) for k in range(len(shown.names))]
        self.counts = [Counter[str]() for _ in shown.names]
        for text, label in zip(shown.texts, shown.labels, strict=True):
            self.counts[label].update(text.lower().split())
        words = len(set().union(*self.counts))
        self.whole = [count.total() + words for count in self.counts]

    def best(self, text: str) -> int:
        """The class of the highest score."""
        words = text.lower().split()
        scores = [
            prior + sum(log((count[word] + 1) / whole) for word in words)
            for prior, count, whole in zip(self.prior, self.counts, self.whole, strict=True)
        ]
        return scores.index(max(scores))
