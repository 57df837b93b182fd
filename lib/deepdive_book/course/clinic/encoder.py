"""Patients of chapter 3's clinic: one small BERT, and four ways to break one of its parts.

A patient fills gaps in texts of two letters that alternate, `[CLS] c f c f c [SEP]`, padded to
equal length; a gap shows `[MASK]`, and the letter two places on says what was there. As in
`deepdive_book.course.clinic`, its parts are plain functions that can be exchanged one at a time.

    patient = admit("A")
    patient.curve, patient.right, patient.look(texts(4))["weights"], patient.chart()
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import torch
from matplotlib.figure import Figure
from torch import Tensor, nn
from torch.nn import functional as F

from deepdive_book.course.clinic.base import Clinic, draw_losses, train_model
from deepdive_book.course.clinic.parts import Part
from deepdive_book.course.specimens.encoder import LENGTH, MASK, NAMES, PAD, gaps, texts
from deepdive_book.kit.plotting import with_alt

PLACES, WIDTH, STEPS = 16, 32, 200
DIAGNOSES = {
    "padding": "the padding mask is inverted",
    "loss": "the loss is asked at all places, not at the gaps alone",
    "labels": "the labels are shifted: each place is asked for the token behind it",
    "pool": "the text's vector is a mean over the padding too",
}
PATIENTS = {"A": "padding", "B": "loss", "C": "labels", "D": "pool"}


def visible(real: Tensor) -> Tensor:
    """Return bool (B, T), True = may be attended to, for bool (B, T), True = real token."""
    return real


def loss_mask(hidden: Tensor, real: Tensor) -> Tensor:
    """Return bool (B, T): the places that enter the loss."""
    return hidden


def answers(tokens: Tensor) -> Tensor:
    """Return int (B, T): what must be said at each place of the texts (B, T)."""
    return tokens


def vector(states: Tensor, real: Tensor) -> Tensor:
    """Return (B, d): the mean of the states (B, T, d) of real tokens."""
    return (states * real[..., None]).sum(1) / real.sum(1, keepdim=True)


HEALTHY: Mapping[str, Part] = {
    "padding": visible, "loss": loss_mask, "labels": answers, "pool": vector,
}  # fmt: skip
BROKEN: Mapping[str, Part] = {
    "padding": lambda real: ~real,
    "loss": lambda hidden, real: real,
    "labels": lambda tokens: tokens.roll(-1, 1),
    "pool": lambda states, real: states.mean(1),
}


class Encoder(nn.Module):
    """One post-norm layer with one head, both sides visible; made of `parts`."""

    def __init__(self, parts: Mapping[str, Part]) -> None:
        super().__init__()
        self.parts = dict(parts)
        self.tokens, self.places = nn.Embedding(12, WIDTH), nn.Embedding(PLACES, WIDTH)
        self.q, self.k, self.v, self.out = (nn.Linear(WIDTH, WIDTH) for _ in range(4))
        self.ff = nn.Sequential(nn.Linear(WIDTH, 2 * WIDTH), nn.GELU(), nn.Linear(2 * WIDTH, WIDTH))
        self.norms = nn.ModuleList(nn.LayerNorm(WIDTH) for _ in range(3))
        self.head = nn.Linear(WIDTH, 12)

    def forward(self, shown: Tensor) -> dict[str, Tensor]:
        """Return weights (B, T, T), states (B, T, d), vector (B, d) and logits (B, T, 12)."""
        real, (first, second, third) = shown != PAD, self.norms
        x = first(self.tokens(shown) + self.places(torch.arange(shown.shape[1])))
        scores = self.q(x) @ self.k(x).mT / WIDTH**0.5
        weights = scores.masked_fill(~self.parts["padding"](real)[:, None], -1e9).softmax(-1)
        x = second(x + self.out(weights @ self.v(x)))
        x = third(x + self.ff(x))
        pooled = self.parts["pool"](x, real)
        return {"weights": weights, "states": x, "vector": pooled, "logits": self.head(x)}


def describe(seen: Mapping[str, Tensor], tokens: Tensor, hidden: Tensor, parts: Any) -> Tensor:
    """Return the loss that a patient's own program tells; 0 where nothing is asked."""
    where = parts["loss"](hidden, tokens != PAD)
    each = F.cross_entropy(seen["logits"].mT, parts["labels"](tokens), reduction="none")
    return (each * where).sum() / where.sum().clamp(min=1)


def _read(model: Encoder, tokens: Tensor, hidden: Tensor) -> dict[str, Tensor]:
    return dict(model(tokens.masked_fill(hidden, MASK)))


class BuggyModel:
    """One small BERT with its history.

    curve  the loss before each tenth step, as its own program tells it
    right  share of the gaps in 64 new texts that it fills rightly
    """

    def __init__(
        self, parts: Mapping[str, Part], before: Mapping[str, Part], *, seed: int = 0,
        steps: int = STEPS,
    ) -> None:  # fmt: skip
        def loss(model: Encoder, tokens: Tensor, seed: int) -> Tensor:
            hidden = gaps(tokens, seed)
            return describe(_read(model, tokens, hidden), tokens, hidden, before)

        self.model, self.curve = train_model(
            lambda: Encoder(before),
            lambda model, i: loss(model, texts(32, 1000 + i), 1000 + i),
            lambda model: loss(model, texts(64), 0),
            seed=seed,
            steps=steps,
            rate=lambda _: 5e-3,
        )
        self.parts = self.model.parts = dict(parts)
        unseen = texts(64)
        hidden = gaps(unseen)
        said = self.look(unseen, hidden)["logits"].argmax(-1)
        self.right = (said == unseen)[hidden].float().mean().item()

    def look(self, tokens: Tensor, hidden: Tensor | None = None) -> dict[str, Tensor]:
        """Read texts (B, T) once, `hidden` bool (B, T) shown as `[MASK]`; what was seen.

        Returns "weights" (B, T, T), "states" (B, T, 32), "vector" (B, 32), "logits" (B, T, 12), and
        "loss", as its own program tells it. Without `hidden`, `gaps(tokens)` are hidden.
        """
        hidden = gaps(tokens) if hidden is None else hidden
        with torch.no_grad():
            seen = _read(self.model, tokens, hidden)
            return {**seen, "loss": describe(seen, tokens, hidden, self.parts)}

    def fill(self, tokens: Tensor, hidden: Tensor) -> Tensor:
        """Return the texts (B, T) with its guesses in the gaps."""
        return torch.where(hidden, self.look(tokens, hidden)["logits"].argmax(-1), tokens)

    def chart(self) -> Figure:
        """Losses and one map of weights, beside those of a healthy model."""
        figure, well = Figure(figsize=(8.4, 2.9)), healthy()
        losses, *maps = figure.subplots(1, 3, width_ratios=[1.5, 1, 1])
        draw_losses(losses, self, well, "texts")
        losses.set_ylim(0, None)
        one = texts(1, 5)
        names = [NAMES[token].strip("[]")[:3] for token in one[0].tolist()]
        for axes, who, title in zip(maps, (well, self), ("healthy", "patient"), strict=True):
            axes.imshow(who.look(one)["weights"][0].numpy(), vmin=0, vmax=1)
            axes.set_xticks(range(LENGTH), names, fontsize="x-small", rotation=90)
            axes.set_yticks(range(LENGTH), names, fontsize="x-small")
            axes.set(xlabel="key", title=title)
        share = [
            who.look(one)["weights"][0][:, one[0] == PAD].sum(-1).mean() for who in (well, self)
        ]
        return with_alt(
            figure,
            f"Left, losses: the healthy model's end at {well.curve[-1]:.2f}, the patient's at "
            f"{self.curve[-1]:.2f}. Right, two maps of weights; the padding has {share[0]:.0%} of "
            f"them in the healthy model, {share[1]:.0%} in the patient.",
        )


WARD = Clinic(BuggyModel, PATIENTS, DIAGNOSES, HEALTHY, BROKEN)
admit, healthy, ill, operate = WARD.admit, WARD.healthy, WARD.ill, WARD.operate
misjudged, opened, unproven = WARD.misjudged, WARD.opened, WARD.unproven
