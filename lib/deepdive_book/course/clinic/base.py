"""What all clinics share: how a patient is taught, admitted, operated on, judged and drawn.

A clinic has a small model made of parts, plain functions that can be exchanged one at a time; a
word for each part that can be broken; and a class of patients, `make(parts, before, ...)`: one
that works with `parts` and learned with `before`. These are other parts only in those that fell
ill after their training.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cache
from itertools import count
from typing import Any, Generic, Protocol, TypeVar

import torch
from matplotlib.axes import Axes
from matplotlib.figure import Figure
from torch import Tensor, nn

from deepdive.training.seeds import preserve_rng_state
from deepdive_book.course import twins
from deepdive_book.course.clinic import proof
from deepdive_book.course.clinic.parts import EVERY, Part, Parts, course
from deepdive_book.kit.plotting import with_alt


class Diagnosis(Protocol):
    """What every patient has: its losses before each tenth step, and a way to look inside."""

    curve: list[float]
    parts: dict[str, Part]

    @property
    def look(self) -> Callable[..., Any]:
        """Read once, and say what was seen."""
        ...


M = TypeVar("M", bound=nn.Module)
P = TypeVar("P", bound=Diagnosis)


@dataclass(frozen=True, eq=False)
class Clinic(Generic[P]):
    """The patients of one clinic, each made once.

    make       (parts, before, **settings) -> a patient; settings are its `seed` and `steps`
    patients   letter -> the word of what ails it; neighbours are A and B, C and D, ...
    diagnoses  word -> what is wrong, in words
    parts      word -> the healthy part; broken: the broken one
    moved      the words of those who fell ill after their training
    order      letter -> the letter that the standard form gives this patient

    Grading keeps this package from what a student wrote, and sets `twins.SEED`: measurements are
    then tried on patients of another seed than those that the student could see.
    """

    make: Callable[..., P]
    patients: Mapping[str, str]
    diagnoses: Mapping[str, str]
    parts: Parts
    broken: Parts
    moved: Collection[str] = ()
    order: dict[str, str] = field(default_factory=dict)
    beds: dict[tuple[str, int, int | None], P] = field(default_factory=dict)

    def opened(self, order: Sequence[str]) -> None:
        """Give the patients the letters A, B, ... in this order of their standard letters.

        Raises ValueError for what is no order of all letters that keeps neighbors together.
        """
        letters = [*self.patients]
        doors = {frozenset(letters[i : i + 2]) for i in range(0, len(letters), 2)}
        if {frozenset(order[i : i + 2]) for i in range(0, len(order), 2)} != doors:
            raise ValueError(f"order: got {order!r}, expected the pairs of {letters} in some")
        self.order.update(zip(letters, order, strict=True))

    def admit(self, letter: str) -> P:
        """Return the patient of this letter; what ails it is for you to find.

        Raises ValueError for a letter that no patient has.
        """
        return self.ill(self._word(letter))

    def ill(self, name: str) -> P:
        """Return the patient whose part `name` is broken."""
        return self._made(name, twins.SEED)

    def healthy(self) -> P:
        """Return the model with which each patient is compared."""
        return self._made("", 0)

    def operate(self, name: str, part: Part) -> P:
        """Return the patient whose part `name` is broken, with `part` in its place.

        It is trained anew, unless it fell ill after its training.
        """
        parts = {**self.parts, name: part}
        return self.make(parts, self.parts if name in self.moved else parts)

    def misjudged(self, letter: str, diagnosis: str) -> str:
        """Say why the diagnosis cannot be right, or "": the part that it names is made healthy."""
        name = self._word(letter)
        ill = {**self.parts, name: self.broken[name]}
        return proof.misjudged(letter, diagnosis, self.diagnoses, ill, self.parts)

    def unproven(self, measure: Part, letter: str) -> str:
        """Say why `measure(look)` does not prove what ails the patient, or "".

        It must give the patient another number than three healthy models (two seeds, and one that
        has not learned yet), by more than these differ, and another than the patient next door,
        who often looks alike: so a number that the losses show already proves nothing. It is asked
        twice of each, in an order that is drawn, and must look each time: a list of answers proves
        nothing (`deepdive_book.course.clinic.proof`).
        """
        letters = [*self.patients]
        door = letters[letters.index(letter) ^ 1]
        well = [self.healthy(), self._made("", twins.SEED or 1), self._made("", 0, steps=0)]
        return proof.unproven(measure, self.admit(letter), well, self.admit(door), door)

    def _word(self, letter: str) -> str:
        if letter not in self.patients:
            expected = " ".join(self.patients)
            raise ValueError(f"letter: got {letter!r}, expected one of {expected}")
        return self.patients[self.order.get(letter, letter)]

    def _made(self, name: str, seed: int, *, steps: int | None = None) -> P:
        """Return the model of this seed, made once, whose part `name` is broken, or none."""
        if (bed := (name, seed, steps)) not in self.beds:
            parts = {**self.parts, name: self.broken[name]} if name else self.parts
            before = parts if name not in self.moved else self.parts
            settings = {"seed": seed} if steps is None else {"seed": seed, "steps": steps}
            self.beds[bed] = self.make(parts, before, **settings)
        return self.beds[bed]


def train_model(
    make: Callable[[], M],
    loss: Callable[[M, int], Tensor],
    judge: Callable[[M], Tensor],
    *,
    seed: int,
    steps: int,
    rate: Callable[[int], float],
) -> tuple[M, list[float]]:
    """Return a model that Adam trained, and what `judge(model)` said before each tenth step.

    Step i takes `loss(model, i)` at the learning rate `rate(i)`. What is drawn follows from `seed`,
    and nobody else's draws change.
    """
    with preserve_rng_state():
        torch.manual_seed(seed)
        model, numbers = make(), count()
        adam = torch.optim.Adam(model.parameters())

        def step() -> None:
            i = next(numbers)
            adam.param_groups[0]["lr"] = rate(i)
            adam.zero_grad()
            loss(model, i).backward()
            adam.step()

        def told() -> float:
            with torch.no_grad():
                return judge(model).item()

        return model, course(lambda _: None, step, told, steps)


def taught_once(
    train: Callable[[int, int], tuple[M, list[float]]], make: Callable[[], M]
) -> Callable[[int, int], tuple[M, list[float]]]:
    """Return `train(seed, steps)`, which trains once for each seed and number of steps: each call
    returns a model of its own, with these weights, whose parts may then be exchanged.
    """

    @cache
    def weights(seed: int, steps: int) -> tuple[Mapping[str, Tensor], list[float]]:
        model, curve = train(seed, steps)
        return model.state_dict(), curve

    def again(seed: int, steps: int) -> tuple[M, list[float]]:
        kept, curve = weights(seed, steps)
        with preserve_rng_state():
            model = make()
        model.load_state_dict(kept)
        return model, [*curve]

    return again


def draw_losses(axes: Axes, patient: Diagnosis, well: Diagnosis, of: str) -> None:
    """Draw the losses of a patient and of a healthy model on new texts, pictures, ...: `of`."""
    for curve, style, name in ((patient.curve, "C1-", "patient"), (well.curve, "C0--", "healthy")):
        axes.plot(range(0, EVERY * len(curve), EVERY), curve, style, label=name)
    axes.set(xlabel="step", ylabel=f"loss, new {of}")
    axes.legend(fontsize="small")


def side_by_side(
    patient: Diagnosis, well: Diagnosis, of: str, who: str, shares: Sequence[Mapping[str, float]],
    what: str = "shares", label: str = "%",
) -> Figure:  # fmt: skip
    """Return a figure of the losses on new texts, recordings, ...: `of`, and beside them bars of
    `what`, in per cent: `shares` of the healthy model, a `who`, and of the patient.
    """
    n = len(shares[0])
    figure = Figure(figsize=(6 + 0.5 * n, 3.0), layout="constrained")
    losses, bars = figure.subplots(1, 2, width_ratios=[1, 0.7 + 0.16 * n])
    draw_losses(losses, patient, well, of)
    for off, color, each in zip((-0.2, 0.2), ("C0", "C1"), shares, strict=True):
        bars.bar([i + off for i in range(n)], [*each.values()], 0.38, color=color)
    bars.set_xticks(range(n), [*shares[0]], fontsize="small")
    bars.set(ylabel=label)
    told = ", ".join(f"{x} {shares[0][x]:.0f} % and {shares[1][x]:.0f} %" for x in shares[0])
    return with_alt(
        figure,
        f"Left, losses: the healthy {who}'s ends at {well.curve[-1]:.3f}, the patient's at "
        f"{patient.curve[-1]:.3f}. Right, {what}, healthy and patient: {told}.",
    )
