"""The rows of page 6a.7: which prompts are measured, each part by the file that defines it."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from deepdive.page.runs import in_context, induction, two_steps
from deepdive.page.runs.in_context import LABELS, WORDINGS, Speaker, Task, speaker

SEEDS, SHOTS, FEW = range(3), (1, 2, 4, 8, 16), (4, 16)
HEADS = 12  # heads with the highest scores, of 270


def points(queries: int = 64) -> list[dict[str, Any]]:
    """What is measured, the most wanted first."""
    found: list[dict[str, Any]] = []
    for seed in SEEDS:
        for labels in LABELS:
            shots = SHOTS if labels == "true" else FEW
            found += [{"part": "shots", "task": "sentiment", "labels": labels, "seed": seed,
                       "shots": list(shots), "queries": queries}]  # fmt: skip
            found += [{"part": "shots", "task": "topics", "labels": labels, "seed": seed,
                       "shots": list(FEW), "queries": queries * 3 // 4}]  # fmt: skip
        found += [{"part": "steps", "form": form, "seed": seed, "shots": 4, "queries": queries // 2}
                  for form in two_steps.FORMS]  # fmt: skip
    found += [{"part": "none", "task": "topics", "wording": "", "queries": queries * 3 // 4}]
    found += [{"part": "none", "task": "sentiment", "wording": wording, "queries": queries}
              for wording in WORDINGS]  # fmt: skip
    found += [{"part": "copy"}]
    found += [{"part": "order", "seed": 0, "queries": queries // 2}]
    found += [{"part": "wording", "wording": wording, "seed": seed, "shots": 4, "queries": queries}
              for seed in SEEDS for wording in [*WORDINGS][1:]]  # fmt: skip
    return found


def measure(part: str, **point: Any) -> dict[str, Any]:
    """One row, of SmolLM2 and real data."""
    who = speaker()
    if part == "steps":
        return two_steps.by_form(who, **point)
    if part == "copy":
        return copying(who)
    task = TASKS[point.pop("task", "sentiment")]()
    return {"said": said(who, task, part, **point)}


TASKS = {"sentiment": in_context.sentiment, "topics": in_context.topics}


def said(
    who: Speaker, task: Task, part: str, *, queries: int, seed: int = 0, labels: str = "true",
    shots: int | Sequence[int] = 0, wording: str = "",
) -> dict[str, list[str]]:  # fmt: skip
    """What is said of each question, plain and calibrated, by the number of shots or the order."""
    if part == "order":
        return in_context.by_order(who, task, seed, queries)
    each = [shots] if isinstance(shots, int) else shots
    form = WORDINGS.get(wording)
    return in_context.by_shots(who, task, each, labels, seed, queries, form)


def copying(who: Speaker) -> dict[str, Any]:
    """Each head's score in thousandths, and how much is copied without the best, and others."""
    found = induction.scores(who.model)
    heads = induction.best(found, HEADS)
    row = {"scores": (1000 * found).round().int().tolist(), "whole": induction.copied(who.model)}
    with induction.without(who.model, heads):
        row["without"] = induction.copied(who.model)
    rest = []
    for seed in SEEDS:
        with induction.without(who.model, induction.others(heads, found.shape[1], seed)):
            rest.append(induction.copied(who.model))
    return row | {"without_others": rest}
