"""Patients of chapter 6c's clinic: one small recogniser, and four ways to break one of its parts.

A patient reads generated beeps, no speech: each letter is a tone of its own, words have silence
between them. The recordings of a batch stand in one buffer as long as the longest; behind a shorter
one stand samples of the longest, which do not count. Frames of 20 ms become the power of 21
frequencies; a convolution makes one row of two frames, and CTC is taught on rows. As in
`deepdive_book.course.clinic`, its parts are plain functions that can be exchanged one at a time.

    patient = admit("A")
    patient.curve, patient.wrong, patient.look(sounds(4))["texts"], patient.chart()
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from functools import cache, partial
from typing import Any

import torch
import torch.nn.functional as F
from matplotlib.figure import Figure
from torch import Tensor, nn

from deepdive.decoding.ctc import greedy
from deepdive.evaluate.transcripts import word_error_rate
from deepdive_book.course.clinic.base import Clinic, side_by_side, taught_once, train_model
from deepdive_book.course.clinic.parts import Part
from deepdive_book.course.specimens.speech import RATE, SYMBOLS, Sounds, sounds

FRAME, STEP, FLOOR = 40, 20, 1e-4
WIDTH, STEPS, LEARN = 32, 160, 1e-2
DIAGNOSES = {
    "blank": "symbol 0 is the space and the blank at once",
    "rate": "the rate that a file names is not looked at",
    "lengths": "rows of padding are read, as lengths are not halved with the frames",
    "norm": "mean and spread of a recording are taken over its padding too",
}
PATIENTS = {"A": "blank", "B": "rate", "C": "lengths", "D": "norm"}
MOVED = {"rate", "lengths", "norm"}  # they fell ill after their training


def symbols(text: str) -> list[int]:
    """Return the symbols that the loss asks for: places in `SYMBOLS`."""
    return [SYMBOLS.index(letter) for letter in text]


def at_rate(waves: Tensor, rate: int) -> Tensor:
    """Return waves (B, n) of `rate` samples a second with 2,000 a second."""
    if rate == RATE:
        return waves
    size = waves.shape[1] * RATE // rate
    return F.interpolate(waves[:, None], size=size, mode="linear", align_corners=False)[:, 0]


def rows(lengths: Tensor) -> Tensor:
    """Return how many rows count, for lengths in frames: a half is rounded up."""
    return (lengths + 1) // 2


def normalized(features: Tensor, lengths: Tensor) -> Tensor:
    """Return features (B, T, n), each recording's numbers of a band with mean 0 and spread 1."""
    real = (torch.arange(features.shape[1]) < lengths[:, None])[..., None]
    mean = (features * real).sum(1, keepdim=True) / lengths[:, None, None]
    spread = ((features - mean).square() * real).sum(1, keepdim=True) / lengths[:, None, None]
    return (features - mean) / (spread.sqrt() + 1e-3)


def _of_all(features: Tensor, lengths: Tensor) -> Tensor:
    mean, spread = features.mean(1, keepdim=True), features.std(1, keepdim=True, correction=0)
    return (features - mean) / (spread + 1e-3)


HEALTHY: Mapping[str, Part] = {
    "blank": symbols, "rate": at_rate, "lengths": rows, "norm": normalized,
}  # fmt: skip
BROKEN: Mapping[str, Part] = {
    "blank": lambda text: [0 if letter == " " else SYMBOLS.index(letter) for letter in text],
    "rate": lambda waves, rate: waves,
    "lengths": lambda lengths: lengths,
    "norm": _of_all,
}


class Recognizer(nn.Module):
    """Frames, their power, a convolution that halves them, another one; made of `parts`."""

    def __init__(self, parts: Mapping[str, Part]) -> None:
        super().__init__()
        self.parts = dict(parts)
        self.halve = nn.Conv1d(FRAME // 2 + 1, WIDTH, 5, stride=2, padding=2)
        self.next = nn.Conv1d(WIDTH, WIDTH, 9, padding=4)
        self.say = nn.Linear(WIDTH, len(SYMBOLS))

    def forward(self, heard: Sounds) -> dict[str, Any]:
        """Return features as they go in, targets, log-probabilities, rows that count, the loss."""
        waves = self.parts["rate"](heard.waves, heard.rate)  # (B, n)
        samples = heard.lengths * waves.shape[1] // heard.waves.shape[1]
        pieces = waves.unfold(1, FRAME, STEP) * torch.hann_window(FRAME)  # (B, T, FRAME)
        power = torch.fft.rfft(pieces).abs().square()
        frames = 1 + (samples - FRAME) // STEP
        given = self.parts["norm"]((power + FLOOR).log(), frames)
        x = torch.relu(self.halve(given.mT))
        log_probs = self.say(torch.relu(self.next(x)).mT).log_softmax(-1)  # (B, rows, V)
        counted = self.parts["lengths"](frames).clamp(max=log_probs.shape[1])
        asked = [torch.tensor(self.parts["blank"](text)) for text in heard.texts]
        loss = F.ctc_loss(
            log_probs.transpose(0, 1), torch.cat(asked), counted,
            torch.tensor([len(each) for each in asked]), zero_infinity=True,
        )  # fmt: skip
        return {
            "features": given, "targets": asked, "log_probs": log_probs, "rows": counted,
            "loss": loss,
        }  # fmt: skip


class BuggyModel:
    """One small recogniser with its history.

    curve  the loss before each tenth step, as its own program tells it
    wrong  the word error rate in % on 32 new recordings: "alone", one at a time; "batch", sixteen
           at a time, filled up; "other rate", alone, from files of 4,000 samples a second
    moved  by how much, in percentage points, the probabilities of a row's symbols change on the
           mean when a recording stands among fifteen others; the last six rows of each left out,
           since convolutions look that far into what stands behind
    """

    def __init__(
        self, parts: Mapping[str, Part], before: Mapping[str, Part], *, seed: int = 0,
        steps: int = STEPS,
    ) -> None:  # fmt: skip
        well = before is HEALTHY
        self.model, self.curve = _healthily(seed, steps) if well else _trained(before, seed, steps)
        self.parts = self.model.parts = dict(parts)
        new, other = sounds(32), sounds(32, rate=2 * RATE)
        self.wrong = {
            "alone": self._rate(new.only(i) for i in range(32)),
            "batch": self._rate(sounds(16, seed) for seed in (500, 501)),
            "other rate": self._rate(other.only(i) for i in range(32)),
        }

        many, changes = sounds(16, 500), []
        among = self.look(many)["log_probs"].exp()
        for i in range(16):
            alone = self.look(many.only(i))["log_probs"][0].exp()[:-6]
            changes.append((among[i, : len(alone)] - alone).abs().mean())
        self.moved = 100 * float(torch.stack(changes).mean())

    def _rate(self, batches: Any) -> float:
        said, written = list[str](), list[str]()
        for batch in batches:
            said += batch.texts
            written += self.look(batch)["texts"]
        return 100 * word_error_rate(said, written)

    def look(self, heard: Sounds) -> dict[str, Any]:
        """Hear recordings once; what was seen on the way.

        Returns "features" (B, T, 21), as they go in; "targets", the symbols that the loss asks for,
        a tensor for each recording; "log_probs" (B, rows, 6); "rows" (B,), how many of them count;
        "texts", what it writes; and "loss", as its own program tells it.
        """
        with torch.no_grad():  # a grader passes on a plain tuple
            seen: dict[str, Any] = self.model(Sounds(*heard))
        found = greedy(seen["log_probs"], seen["rows"])
        seen["texts"] = [_text(each) for each in found]
        return seen

    def chart(self) -> Figure:
        """Losses, and the three word error rates beside those of the healthy recogniser."""
        well = healthy()
        shares, label = (well.wrong, self.wrong), "wrong words in % of those said"
        return side_by_side(self, well, "recordings", "recogniser", shares, "wrong words", label)


def _text(found: Sequence[int]) -> str:
    return "".join(SYMBOLS[i] for i in found).strip()


def _trained(parts: Mapping[str, Part], seed: int, steps: int) -> tuple[Recognizer, list[float]]:
    """A recogniser after `steps` steps of training, and its losses on the way."""
    test = sounds(32, 77)
    return train_model(
        lambda: Recognizer(parts),
        lambda model, i: model(_batch(i))["loss"],
        lambda model: model(test)["loss"],
        seed=seed,
        steps=steps,
        rate=lambda i: LEARN * (1 - i / steps),
    )


@cache
def _batch(step: int) -> Sounds:
    return sounds(16, 1000 + 2 * step)


_healthily = taught_once(partial(_trained, HEALTHY), partial(Recognizer, HEALTHY))
WARD = Clinic(BuggyModel, PATIENTS, DIAGNOSES, HEALTHY, BROKEN, MOVED)
admit, healthy, ill, operate = WARD.admit, WARD.healthy, WARD.ill, WARD.operate
misjudged, opened, unproven = WARD.misjudged, WARD.opened, WARD.unproven
