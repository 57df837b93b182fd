"""Patients of chapter 6a's clinic: one small decoder that writes, and four ways to break one of its
parts.

A patient reads and writes sentences of a dozen words, letter by letter. A batch is filled up with
padding. As in `deepdive_book.course.clinic`, its parts are plain functions that can be exchanged
one at a time.

    patient = admit("A")
    patient.curve, patient.shares, patient.look(texts(4))["answer"], patient.chart()
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
from deepdive_book.course.specimens.text import LETTERS, WORDS, Texts, texts

WIDTH, LAYERS, LONGEST, STEPS, LEARN = 32, 2, 64, 240, 1e-2
DIAGNOSES = {
    "count": "padding is asked for in the loss, and counted",
    "heat": "scores are multiplied by the temperature, not divided by it",
    "cache": "each letter that is written stands at place 0, whatever was written before",
    "last": "the answer is read off the last column, also where that is padding",
}
PATIENTS = {"A": "count", "B": "heat", "C": "cache", "D": "last"}
MOVED = {"heat", "cache", "last"}  # they fell ill after their training


def count_tokens(real: Tensor) -> Tensor:
    """Return bool (B, T - 1): which of the next letters the loss asks for."""
    return real[:, 1:]


def heated(logits: Tensor, temperature: float) -> Tensor:
    """Return the logits from which a letter is drawn at this temperature."""
    return logits / temperature


def positions(first: int, count: int) -> Tensor:
    """Return the places (count,) of letters of which the first stands at place `first`."""
    return torch.arange(first, first + count)


def last(real: Tensor) -> Tensor:
    """Return (B,), for each text the column from which the letter behind it is read."""
    return real.sum(1) - 1


HEALTHY: Mapping[str, Part] = {
    "count": count_tokens,
    "heat": heated,
    "cache": positions,
    "last": last,
}
BROKEN: Mapping[str, Part] = {
    "count": lambda real: torch.ones_like(real[:, 1:]),
    "heat": lambda logits, temperature: logits * temperature,
    "cache": lambda first, count: torch.arange(count),
    "last": lambda real: torch.full((len(real),), real.shape[1] - 1),
}
Kept = list[tuple[Tensor, Tensor]]


class Layer(nn.Module):
    """One head and a feed-forward layer, each behind a norm; keys and values can be kept."""

    def __init__(self) -> None:
        super().__init__()
        self.looks = nn.Linear(WIDTH, 3 * WIDTH)
        self.ff = nn.Sequential(nn.Linear(WIDTH, 64), nn.GELU(), nn.Linear(64, WIDTH))

    def forward(self, x: Tensor, before: tuple[Tensor, Tensor] | None) -> tuple[Tensor, Any]:
        q, k, v = self.looks(F.layer_norm(x, (WIDTH,))).chunk(3, -1)
        if before is not None:
            k, v = torch.cat([before[0], k], 1), torch.cat([before[1], v], 1)
        allowed = torch.ones(q.shape[1], k.shape[1]).tril(k.shape[1] - q.shape[1]).bool()
        x = x + F.scaled_dot_product_attention(q, k, v, attn_mask=allowed)
        return x + self.ff(F.layer_norm(x, (WIDTH,))), (k, v)


class GeneratorModel(nn.Module):
    """A decoder of two layers, made of `parts`."""

    def __init__(self, parts: Mapping[str, Part]) -> None:
        super().__init__()
        self.parts = dict(parts)
        self.letter = nn.Embedding(len(LETTERS), WIDTH)
        self.place = nn.Embedding(LONGEST, WIDTH)
        self.layers = nn.ModuleList(Layer() for _ in range(LAYERS))
        self.say = nn.Linear(WIDTH, len(LETTERS))

    def forward(self, tokens: Tensor, kept: Kept | None = None) -> tuple[Tensor, Kept]:
        """Return logits (B, T, 15) and what is kept, for tokens behind those that were `kept`."""
        first = kept[0][0].shape[1] if kept else 0
        x = self.letter(tokens) + self.place(self.parts["cache"](first, tokens.shape[1]))
        now: Kept = []
        for i, layer in enumerate(self.layers):
            x, pair = layer(x, kept[i] if kept else None)
            now.append(pair)
        return self.say(x), now

    def by_letter(self, tokens: Tensor) -> Tensor:
        """Return the same logits, read letter by letter, as in writing."""
        kept, rows = None, []
        for column in tokens.split(1, 1):
            logits, kept = self(column, kept)
            rows.append(logits)
        return torch.cat(rows, 1)

    def loss(self, read: Texts, logits: Tensor) -> Tensor:
        asked = self.parts["count"](read.real)
        return F.cross_entropy(logits[:, :-1][asked], read.tokens[:, 1:][asked])


class BuggyModel:
    """One small decoder with its history.

    curve   the loss before each tenth step, as its own program tells it
    shares  in %: "letters", next letters that it finds right while reading; "words", those that
            exist among the words it writes; "words at 0.5", at that temperature; "in a batch",
            answers that are the same in a batch of 32 as alone
    """

    def __init__(
        self, parts: Mapping[str, Part], before: Mapping[str, Part], *, seed: int = 0,
        steps: int = STEPS,
    ) -> None:  # fmt: skip
        well = before is HEALTHY
        self.model, self.curve = _healthily(seed, steps) if well else _trained(before, seed, steps)
        self.parts = self.model.parts = dict(parts)
        new, open_ended = texts(32), texts(32, whole=False)
        among = self.look(open_ended)["answer"].argmax(1)
        alone = [self.look(open_ended.only(i))["answer"].argmax() for i in range(32)]
        found = self.look(new)["logits"][:, :-1].argmax(-1) == new.tokens[:, 1:]
        self.shares = {
            "letters": 100 * float(found[new.real[:, 1:]].double().mean()),
            "words": self._existing(1.0),
            "words at 0.5": self._existing(0.5),
            "in a batch": 100 * float((among == torch.stack(alone)).double().mean()),
        }

    def look(self, read: Any, temperature: float = 1.0, by_letter: bool = False) -> dict[str, Any]:
        """Read texts once; what was seen on the way.

        Returns "logits" (B, T, 15); "counted" bool (B, T - 1), which of the next letters the loss
        asks for; "answer" (B, 15), how probable each letter is behind the text, at this
        temperature; and "loss", as its own program tells it. `by_letter` reads as one writes,
        letter by letter, with what is kept of those before.
        """
        read = Texts(*read)  # a grader passes on a plain tuple
        with torch.no_grad():
            logits = self.model.by_letter(read.tokens) if by_letter else self.model(read.tokens)[0]
            rows = logits[torch.arange(len(logits)), self.model.parts["last"](read.real)]
            return {
                "logits": logits,
                "counted": self.model.parts["count"](read.real),
                "answer": self.model.parts["heat"](rows, temperature).softmax(-1),
                "loss": self.model.loss(read, logits),
            }

    @torch.no_grad()
    def write(self, count: int = 32, letters: int = 30, temperature: float = 1.0) -> list[str]:
        """Return texts that it draws letter by letter, each cut where it ends."""
        draw = torch.Generator().manual_seed(7)
        column, kept, written = torch.ones(count, 1, dtype=torch.int64), None, []
        for _ in range(letters):
            logits, kept = self.model(column, kept)
            shares = self.model.parts["heat"](logits[:, -1], temperature).softmax(-1)
            column = torch.multinomial(shares, 1, generator=draw)
            written.append(column)
        rows = torch.cat(written, 1).tolist()
        return ["".join(LETTERS[i] for i in row).partition(".")[0] for row in rows]

    def _existing(self, temperature: float) -> float:
        """The share in % of words that exist, the last one of each text left out."""
        words = [
            word for text in self.write(temperature=temperature) for word in text.split(" ")[:-1]
        ]
        return 100 * sum(word in WORDS for word in words) / max(1, len(words))

    def chart(self) -> Figure:
        """Losses, and the four shares beside those of the healthy decoder."""
        well = healthy()
        return side_by_side(self, well, "texts", "decoder", (well.shares, self.shares))


def _trained(
    parts: Mapping[str, Part], seed: int, steps: int
) -> tuple[GeneratorModel, list[float]]:
    """A decoder after `steps` steps of training, and its losses on the way."""
    test = texts(64, 77)
    return train_model(
        lambda: GeneratorModel(parts),
        lambda model, i: _loss(model, texts(16, 1000 + i)),
        lambda model: _loss(model, test),
        seed=seed,
        steps=steps,
        rate=lambda i: LEARN * (1 - i / steps),
    )


def _loss(model: GeneratorModel, read: Texts) -> Tensor:
    return model.loss(read, model(read.tokens)[0])


_healthily = taught_once(partial(_trained, HEALTHY), partial(GeneratorModel, HEALTHY))
WARD = Clinic(BuggyModel, PATIENTS, DIAGNOSES, HEALTHY, BROKEN, MOVED)
admit, healthy, ill, operate = WARD.admit, WARD.healthy, WARD.ill, WARD.operate
misjudged, opened, unproven = WARD.misjudged, WARD.opened, WARD.unproven
