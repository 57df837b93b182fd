"""Patients of chapter 7's clinic: one program that explains a small classifier, and four ways to
break one of its parts. The classifier is well in all of them.

It judges generated reviews (`deepdive_book.ch07.toys.review_words`), of which the deciding words
are known. What is explained is how far it is on the side of "negative". As in
`deepdive_book.course.clinic`, the program's parts are plain functions that can be exchanged one at
a time.

    patient = admit("A")
    patient.look(["i find the music cold ."])["integrated"], patient.found, patient.chart()
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from functools import cache
from typing import Any

import torch
from matplotlib.figure import Figure
from torch import Tensor

from deepdive.core.hooks import record
from deepdive.explain.tracing import mean_gradient
from deepdive_book.ch07.toys.review_words import POINT, ReviewToy, build_review_words, review_words
from deepdive_book.course.clinic.base import Clinic
from deepdive_book.course.clinic.parts import Part
from deepdive_book.data.labeled_cause_reviews import generated_verdicts
from deepdive_book.kit.plotting import with_alt

STEPS, REVIEWS = 64, 40  # points of a way; reviews by which a program is judged
DIAGNOSES = {
    "marks": "both marks are cut off at the end, so each number stands at the word before its own",
    "gone": "the words that should stay are hidden, and those that should go stay",
    "path": "the mean gradient is multiplied with the row, and not with how far it came",
    "order": "the layers' attention is multiplied in the wrong order",
}
PATIENTS = {"A": "marks", "B": "gone", "C": "path", "D": "order"}


def of_words(values: Tensor) -> Tensor:
    """Return the numbers (S,) of the words, of those (S + 2,) of all tokens, [CLS] to [SEP]."""
    return values[1:-1]


def with_blanks(tokens: Tensor, kept: Tensor, blank: int) -> Tensor:
    """Return tokens (N, S), with `blank` for each of tokens (S,) that `kept` (N, S) leaves out."""
    return torch.where(kept, tokens, blank)


def shares(rows: Tensor, start: Tensor, mean_slope: Tensor) -> Tensor:
    """Return integrated gradients (T,): what the rows (T, d) add beyond `start` (T, d)."""
    return ((rows - start) * mean_slope).sum(-1)


def rolled(layers: Sequence[Tensor]) -> Tensor:
    """Return attention rollout (T, T) of the layers' weights, each (T, T), the first layer first:
    the product of (W + I) / 2, the last layer on the left.
    """
    found = torch.eye(len(layers[0]))
    for weights in layers:
        found = (weights + torch.eye(len(weights))) / 2 @ found
    return found


HEALTHY: Mapping[str, Part] = {
    "marks": of_words, "gone": with_blanks, "path": shares, "order": rolled,
}  # fmt: skip
BROKEN: Mapping[str, Part] = {
    "marks": lambda values: values[:-2],
    "gone": lambda tokens, kept, blank: torch.where(kept, blank, tokens),
    "path": lambda rows, start, mean_slope: (rows * mean_slope).sum(-1),
    "order": lambda layers: rolled(layers[::-1]),
}


class BuggyModel:
    """A program that explains, made of `parts`; what it explains was trained before.

    seed    0 for a classifier that learned from texts with blanks, else for one of whole texts
    steps   0 for one that has learned nothing
    found   for each method, in how many of 100 generated reviews a deciding word has the largest
            number for the review's own class
    """

    def __init__(
        self, parts: Mapping[str, Part], _before: Mapping[str, Part], *, seed: int = 0,
        steps: int = 1,
    ) -> None:  # fmt: skip
        self.parts, self.curve = dict(parts), list[float]()
        self.toy = review_words("plain" if seed else "blanks")
        if not steps:
            new = build_review_words(len(self.toy.tokenizer)).eval()
            self.toy = self.toy._replace(model=new)
        made = generated_verdicts(REVIEWS, seed=7)
        seen, hits = self.look(made.texts), dict.fromkeys(("occlusion", "integrated", "rollout"), 0)
        for i, (label, deciding) in enumerate(zip(made.labels, made.deciding, strict=True)):
            for name in hits:
                values = seen[name][i] * (-1 if label and name != "rollout" else 1)
                hits[name] += int(values.argmax()) in deciding
        self.found = {name: 100 * count / REVIEWS for name, count in hits.items()}

    def look(self, texts: Sequence[str]) -> dict[str, Any]:
        """Read texts once, and explain them; what was seen on the way.

        Returns "answer" (N,), how far the classifier is on the side of "negative"; and for each
        text a tensor: "tokens" (S + 2,), its ids; "weights" (2, S + 2, S + 2), the attention of
        both layers, the mean over heads; and what the program gives its words, (S,), as
        "occlusion", "integrated" (integrated gradients, from blanks) and "rollout" (of [CLS]).
        """
        found: dict[str, Any] = {"answer": []}
        for text in texts:
            for name, value in self._explained(text).items():
                found.setdefault(name, []).append(value)
        return {**found, "answer": torch.stack(found["answer"])}

    def _explained(self, text: str) -> dict[str, Tensor]:
        tokens = _tokens(self.toy, text)
        with torch.no_grad(), record(self.toy.model, "*.weights") as seen:
            answer = self._negative(tokens[None])[0]
        weights = torch.stack([layer[0][0].mean(0) for layer in seen.values()])
        whole = self.parts["order"](list(weights))
        return {
            "answer": answer, "tokens": tokens, "weights": weights,
            "occlusion": self._occlusion(tokens), "integrated": self._integrated(tokens),
            "rollout": self.parts["marks"](whole[0]),
        }  # fmt: skip

    def _negative(self, tokens: Tensor) -> Tensor:
        logits = self.toy.model(tokens)
        margin: Tensor = logits[:, 0] - logits[:, 1]
        return margin

    def _occlusion(self, tokens: Tensor) -> Tensor:
        """What the answer loses without each word: the game's answer to all less to all but one."""
        size = len(tokens) - 2
        kept = torch.cat(
            [torch.ones(1, size, dtype=torch.bool), ~torch.eye(size, dtype=torch.bool)]
        )
        words = self.parts["gone"](tokens[1:-1], kept, self.toy.mask)
        ends = tokens[[0, -1]].expand(size + 1, 2)
        with torch.no_grad():
            answers = self._negative(torch.cat([ends[:, :1], words, ends[:, 1:]], 1))
        return answers[0] - answers[1:]

    def _integrated(self, tokens: Tensor) -> Tensor:
        model, blanks = self.toy.model, tokens.clone()
        blanks[1:-1] = self.toy.mask
        with torch.no_grad(), record(model, POINT) as seen:
            model(torch.stack([tokens, blanks]))
        rows, start = next(iter(seen.values()))[0]
        way = ((torch.arange(STEPS) + 0.5) / STEPS)[:, None, None] * (rows - start) + start
        slope = mean_gradient(
            model, POINT, lambda: self._negative(tokens.expand(STEPS, -1))[:, None], [way], STEPS
        )[0]
        return self.parts["marks"](self.parts["path"](rows, start, slope))

    def chart(self) -> Figure:
        """In how many reviews each method names a deciding word first, beside the healthy one."""
        figure, well = Figure(figsize=(6.4, 2.6), layout="constrained"), healthy()
        axes = figure.subplots()
        for off, color, name, each in (
            (-0.2, "C0", "healthy", well.found), (0.2, "C1", "patient", self.found),
        ):  # fmt: skip
            axes.bar([i + off for i in range(3)], [*each.values()], 0.38, color=color, label=name)
        axes.set_xticks(range(3), [*self.found])
        axes.set(ylabel="a deciding word first, %", ylim=(0, 100))
        axes.legend(fontsize="small")
        told = ", ".join(f"{n} {well.found[n]:.0f} % and {self.found[n]:.0f} %" for n in self.found)
        return with_alt(figure, f"A deciding word first, healthy and patient: {told}.")


@cache
def _ids() -> Mapping[str, int]:
    return {word: i for i, word in enumerate(review_words().tokenizer.vocab)}


def _tokens(toy: ReviewToy, text: str) -> Tensor:
    """[CLS] text [SEP] as ids; [MASK] is a word here.

    Raises ValueError for a text without words and for a word that the classifier does not know.
    """
    words = text.split()
    if not words or (unknown := [word for word in words if word not in _ids()]):
        what = f"does not know {', '.join(unknown)}" if words else "needs a word"
        raise ValueError(f"text: got {text!r}, and the classifier {what}")
    return torch.tensor([toy.tokenizer.bos, *(_ids()[word] for word in words), toy.tokenizer.eos])


WARD = Clinic(BuggyModel, PATIENTS, DIAGNOSES, HEALTHY, BROKEN, DIAGNOSES)
admit, healthy, ill, operate = WARD.admit, WARD.healthy, WARD.ill, WARD.operate
misjudged, opened, unproven = WARD.misjudged, WARD.opened, WARD.unproven
