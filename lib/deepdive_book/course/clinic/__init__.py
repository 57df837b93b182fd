"""Patients for the bug clinic: one small decoder, and six ways to break one of its parts.

A patient reverses words of five letters: it reads `bdace|` and writes `ecadb`. Its parts are plain
functions (`HEALTHY`), so that one can be exchanged at a time: for a broken one (`BROKEN`), for the
healthy one (`Patient.treated`), or for one that a student wrote (`operate`). Most fell ill before
their training; those in `MOVED` after it, when their weights went to another program.

    patient = admit("A")
    patient.curve, patient.right, patient.look(texts(1))["weights"], patient.chart()
"""

from __future__ import annotations

from typing import Any

import torch
from matplotlib.figure import Figure
from torch import Tensor

from deepdive.training.seeds import preserve_rng_state
from deepdive_book.course.clinic.base import Clinic, draw_losses
from deepdive_book.course.clinic.decoder import Decoder, loss_of, train
from deepdive_book.course.clinic.parts import BROKEN, DIAGNOSES, EVERY, HEALTHY, Parts
from deepdive_book.course.specimens.decoder import LENGTH, NAMES, WORD, texts
from deepdive_book.kit.plotting import with_alt

__all__ = [
    "BROKEN", "DIAGNOSES", "HEALTHY", "MOVED", "PATIENTS", "BuggyModel", "admit", "healthy", "ill",
    "misjudged", "opened", "operate", "unproven",
]  # fmt: skip
STEPS, LATER = 240, 60
PATIENTS = {"A": "mask", "B": "shift", "C": "position", "D": "epsilon", "E": "eval", "F": "scale"}
MOVED = {"epsilon", "position"}


class BuggyModel:
    """One decoder with its history.

    curve  the loss before each tenth step, as its own program tells it
    right  share of 64 new words that it writes without a mistake
    """

    def __init__(
        self,
        parts: Parts,
        before: Parts,
        *,
        seed: int = 0,
        steps: int = STEPS,
    ) -> None:
        with preserve_rng_state():
            torch.manual_seed(seed)
            self.model = Decoder(before)
            self.curve = train(self.model, steps, seed)
            self.parts = self.model.parts = dict(parts)
            self.right = self._right()
            if before is HEALTHY is not parts:
                kept = {name: value.clone() for name, value in self.model.state_dict().items()}
                self.curve += train(self.model, LATER, seed + 1)
                self.model.load_state_dict(kept)  # it is examined as it came

    def look(self, tokens: Tensor, size: float = 1.0) -> dict[str, Any]:
        """Read texts (B, 11) once; what was seen on the way.

        Returns "rows" (B, 10, d), letters plus places, as they go in; "queries", "keys" (B, 10, d);
        "scores", "weights" (B, 10, 10); "logits" (B, 10, 9); and "loss", as its own program tells
        it. `size` multiplies the rows.
        """
        self.model.eval()
        with torch.no_grad():
            seen: dict[str, Any] = self.model(tokens[:, :-1], size)
            (seen["loss"],) = self.model.parts["eval"](
                lambda name: self.model.train(name == "train"),
                lambda: None,
                lambda: loss_of(self.model, tokens).item(),
                1,
            )
        self.model.eval()
        return seen

    def write(self, tokens: Tensor) -> Tensor:
        """Return what it writes after the bar (B, 5), letter by letter, for texts (B, 11)."""
        self.model.eval()
        text = tokens[:, : LENGTH + 1]
        with torch.no_grad():
            for _ in range(LENGTH):
                text = torch.cat([text, self.model(text)["logits"][:, -1:].argmax(-1)], 1)
        return text[:, -LENGTH:]

    def _right(self) -> float:
        unseen = texts(64)
        return (self.write(unseen) == unseen[:, -LENGTH:]).all(1).float().mean().item()

    def treated(self, diagnosis: str) -> BuggyModel:
        """Return the patient with this one part replaced by the healthy one.

        Raises ValueError for a word that is not in DIAGNOSES.
        """
        if diagnosis not in DIAGNOSES:
            raise ValueError(f"diagnosis: got {diagnosis!r}, expected one of {[*DIAGNOSES]}")
        parts = {**self.parts, diagnosis: HEALTHY[diagnosis]}
        return healthy() if parts == HEALTHY else self

    def chart(self) -> Figure:
        """Losses and one map of weights, beside those of a healthy model."""
        return _chart(self, healthy())


def _chart(patient: BuggyModel, well: BuggyModel) -> Figure:
    figure = Figure(figsize=(8.4, 2.9))
    losses, *maps = figure.subplots(1, 3, width_ratios=[1.5, 1, 1])
    draw_losses(losses, patient, well, "words")
    losses.set_ylim(0, None)
    names, peaks = [NAMES[token] for token in WORD[0, :-1]], []
    for axes, who, title in zip(maps, (well, patient), ("healthy", "patient"), strict=True):
        weights = who.look(WORD)["weights"][0]
        image = axes.imshow(weights.numpy(), vmin=0, vmax=1)
        axes.set_xticks(range(len(names)), names, fontsize="small")
        axes.set_yticks(range(len(names)), names, fontsize="small")
        axes.set(xlabel="key", title=title)
        peaks.append(", ".join(str(int(key)) for key in weights.argmax(-1)))
    maps[0].set_ylabel("query")
    figure.colorbar(image, ax=maps, shrink=0.8)
    worst = max(patient.curve[len(well.curve) :], default=0.0)
    later = f", after a leap to {worst:.2f} at step {EVERY * len(well.curve)}" if worst else ""
    return with_alt(
        figure,
        f"Left, losses: the healthy model's end at {well.curve[-1]:.2f}, the patient's at "
        f"{patient.curve[-1]:.2f}{later}. Right, two maps of weights for the text "
        f"{''.join(names)}. The key with the largest weight, counted from 0, query after query: "
        f"healthy {peaks[0]}; patient {peaks[1]}.",
    )


WARD = Clinic(BuggyModel, PATIENTS, DIAGNOSES, HEALTHY, BROKEN, MOVED)
admit, healthy, ill, operate = WARD.admit, WARD.healthy, WARD.ill, WARD.operate
misjudged, opened, unproven = WARD.misjudged, WARD.opened, WARD.unproven
