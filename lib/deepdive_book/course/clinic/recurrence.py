"""Chapter 5's bug clinic: one small Transformer-XL, and two ways to break one of its parts.

The model predicts digits, most of which repeat the digit six positions back. It processes a stream
in segments of eight digits, and a memory caches the states of the previous segment. As in
`deepdive_book.course.clinic`, its parts are plain functions that can be exchanged one at a time.

    model = admit("A")
    model.curve, model.shares, model.look(streams(4))["logits"], model.chart()
"""

from __future__ import annotations

from collections.abc import Mapping
from functools import partial
from typing import Any

import torch
import torch.nn.functional as F
from matplotlib.figure import Figure
from torch import Tensor, nn

from deepdive_book.course.clinic.base import Clinic, side_by_side, taught_once, train_model
from deepdive_book.course.clinic.parts import Part
from deepdive_book.course.specimens.recurrence import DIGITS, SEGMENT, streams

WIDTH, MEMORY, STEPS, LEARN = 32, SEGMENT, 150, 1e-2
DIAGNOSES = {
    "memory": "a memory that is too long is cut to its oldest states",
    "distance": "the distance from a query to a key ignores the memory's length",
}
PATIENTS = {"A": "memory", "B": "distance"}


def newest(states: Tensor, length: int) -> Tensor:
    """Return the newest `length` states, or all, of states (B, N, d), the oldest first."""
    return states[:, -length:]


def distances(queries: int, memory: int) -> Tensor:
    """Return how many positions a key (across, memory first) is before a query (down)."""
    return memory + torch.arange(queries)[:, None] - torch.arange(memory + queries)


HEALTHY: Mapping[str, Part] = {"memory": newest, "distance": distances}
BROKEN: Mapping[str, Part] = {
    "memory": lambda states, length: states[:, :length],
    "distance": lambda queries, memory: (
        torch.arange(queries)[:, None] - torch.arange(memory + queries)
    ),
}


class RecurrentModel(nn.Module):
    """A Transformer-XL of one layer and one head, made of `parts`."""

    def __init__(self, parts: Mapping[str, Part]) -> None:
        super().__init__()
        self.parts = dict(parts)
        self.digit = nn.Embedding(DIGITS, WIDTH)
        self.query, self.key, self.value = (nn.Linear(WIDTH, WIDTH) for _ in range(3))
        self.content, self.position = (nn.Parameter(torch.zeros(WIDTH)) for _ in range(2))
        self.offset = nn.Embedding(2 * SEGMENT + MEMORY, WIDTH)  # a vector for each distance
        self.logits = nn.Linear(WIDTH, DIGITS)

    def segment(self, tokens: Tensor, memory: Tensor) -> tuple[Tensor, Tensor]:
        """Return logits (B, T, 10) of one segment, and the memory for the next one."""
        x = self.digit(tokens)
        states = torch.cat([memory, x], 1)
        M, T = memory.shape[1], tokens.shape[1]
        far = self.parts["distance"](T, M).clamp(0, self.offset.num_embeddings - 1)
        q, k = self.query(x), self.key(states)
        by_position = ((q + self.position) @ self.offset.weight.T).gather(
            2, far.expand(len(x), T, M + T)
        )
        scores = ((q + self.content) @ k.mT + by_position) * WIDTH**-0.5
        allowed = torch.ones(T, M + T, dtype=torch.bool).tril(M)
        weights = scores.masked_fill(~allowed, -torch.inf).softmax(-1)
        return (
            self.logits(x + weights @ self.value(states)),
            self.parts["memory"](states.detach(), MEMORY),
        )

    def forward(self, tokens: Tensor, size: int = SEGMENT) -> Tensor:
        """Return logits (B, N, 10), computed segment by segment from an empty memory."""
        memory, found = torch.zeros(len(tokens), 0, WIDTH), []
        for part in tokens.split(size, 1):
            logits, memory = self.segment(part, memory)
            found.append(logits)
        return torch.cat(found, 1)

    def loss(self, digits: Tensor) -> Tensor:
        return F.cross_entropy(self(digits[:, :-1]).flatten(0, 1), digits[:, 1:].flatten())


class BuggyModel:
    """One small Transformer-XL with its history.

    curve   the loss before each tenth step
    shares  accuracy in % of the next digit in "segment 1" to "segment 4" of new streams
    """

    def __init__(
        self, parts: Mapping[str, Part], before: Mapping[str, Part], *, seed: int = 0,
        steps: int = STEPS,
    ) -> None:  # fmt: skip
        well = before is HEALTHY
        self.model, self.curve = _healthily(seed, steps) if well else _trained(before, seed, steps)
        self.parts = self.model.parts = dict(parts)
        new = streams(256)
        correct = self.look(new)["logits"].argmax(-1) == new[:, 1:]
        self.shares = {
            f"segment {i + 1}": 100 * float(each.double().mean())
            for i, each in enumerate(correct.split(SEGMENT, 1))
        }

    def look(self, digits: Tensor, size: int = SEGMENT) -> dict[str, Any]:
        """Process streams (B, N + 1) once, in segments of `size` digits.

        Returns "logits" (B, N, 10), the scores of each next digit, and "loss".
        """
        with torch.no_grad():
            logits = self.model(digits[:, :-1], size)
        loss = F.cross_entropy(logits.flatten(0, 1), digits[:, 1:].flatten())
        return {"logits": logits, "loss": loss}

    def chart(self) -> Figure:
        """Losses, and the accuracy in each segment next to the healthy model's."""
        well = healthy()
        shares = (well.shares, self.shares)
        return side_by_side(self, well, "streams", "model", shares, "accuracy", "accuracy (%)")


def _trained(
    parts: Mapping[str, Part], seed: int, steps: int
) -> tuple[RecurrentModel, list[float]]:
    """A model after `steps` steps of training, and its losses on the way."""
    test = streams(64, seed=77)
    return train_model(
        lambda: RecurrentModel(parts),
        lambda model, i: model.loss(streams(32, seed=1000 + i)),
        lambda model: model.loss(test),
        seed=seed,
        steps=steps,
        rate=lambda i: LEARN * (1 - i / steps),
    )


_healthily = taught_once(partial(_trained, HEALTHY), partial(RecurrentModel, HEALTHY))
WARD = Clinic(BuggyModel, PATIENTS, DIAGNOSES, HEALTHY, BROKEN)
admit, healthy, ill, operate = WARD.admit, WARD.healthy, WARD.ill, WARD.operate
misjudged, opened, unproven = WARD.misjudged, WARD.opened, WARD.unproven
