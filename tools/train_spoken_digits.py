"""Train the toy that hears a spoken digit in the pages, and write its weights beside
deepdive_book.ch06c.toys.

    python tools/train_spoken_digits.py     # some minutes on one core; needs the data set fsdd

It learns from the Free Spoken Digit Dataset (Jackson et al. 2018, CC BY-SA 4.0): six people who say
each digit fifty times. First it is trained on all six: these weights are kept, in half precision.
Then six times on five people, and asked about the sixth: that is what a reader's own voice can
expect. Recordings are varied, since six voices are few: each is played at five speeds, which moves
pitch and formants, half of the time with noise of 5 to 30 dB and quiet ends; bands are moved as a
longer or shorter throat would, and SpecAugment hides some of them. The same machine, torch and
thread count give the same files.
"""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping
from typing import Any

import numpy as np
import torch
import torch.nn.functional as F
from safetensors.torch import save_file
from torch import Tensor

from deepdive.audio.augment import add_noise, change_speed, spec_augment
from deepdive.data.speech import Recordings, fsdd
from deepdive.training import fit
from deepdive.training.optim import adam, cosine
from deepdive_book.ch06c.figures.spoken_digit_features import prepared
from deepdive_book.ch06c.toys import FOLDER
from deepdive_book.ch06c.toys.spoken_digits import TARGETS, UNITS, SpokenDigits

STEPS, SIZE, RATE = 700, 64, 4e-3
SPEEDS = (0.82, 0.91, 1.0, 1.1, 1.22)


def variants(recordings: Recordings) -> list[list[Tensor]]:
    """Of each recording its features at each speed, without noise and with it."""
    draw, found = torch.Generator().manual_seed(1), []
    for samples in recordings.waves:
        mine = []
        for speed in SPEEDS:
            wave = change_speed(samples, speed).double()
            mine.append(prepared(wave))
            ends = [int(n) for n in torch.randint(0, 500, (2,), generator=draw)]
            longer = torch.nn.functional.pad(wave, (ends[0], ends[1]))
            decibels = 5 + 25 * float(torch.rand((), generator=draw))
            mine.append(prepared(add_noise(longer, decibels, generator=draw)))
        found.append(mine)
    return found


def warped(x: Tensor, draw: torch.Generator, most: float = 0.15) -> Tensor:
    """Features (T, n) of a longer or shorter throat: band j is taken from place a j + b."""
    n = x.shape[1]
    by = 1 + most * (2 * float(torch.rand((), generator=draw)) - 1)
    move = 1.5 * (2 * float(torch.rand((), generator=draw)) - 1)
    place = (by * torch.arange(n) + move).clamp(0, n - 1.001)
    low, part = place.long(), place - place.floor()
    return (1 - part) * x[:, low] + part * x[:, low + 1]


class Spoken:
    """Batches (features, lengths, targets, target lengths): drawn by epoch and place."""

    def __init__(self, features: list[list[Tensor]], words: list[str], size: int = SIZE) -> None:
        self.features, self.words, self.size = features, words, size
        self.epoch = self.index = 0

    def __len__(self) -> int:
        return len(self.features) // self.size

    def __iter__(self) -> Iterator[tuple[Tensor, ...]]:
        while self.index < len(self):
            draw = torch.Generator().manual_seed(1_000_003 * self.epoch + self.index)
            order = torch.randperm(
                len(self.features), generator=torch.Generator().manual_seed(self.epoch)
            )
            some = order[self.index * self.size : (self.index + 1) * self.size].tolist()
            self.index += 1
            chosen = []
            for i in some:
                k = int(torch.randint(len(self.features[i]), (), generator=draw))
                x = self.features[i][k]
                chosen.append(
                    spec_augment(warped(x, draw), bands=2, band_width=5, times=1, time_width=8,
                                 generator=draw)
                )  # fmt: skip
            yield (*together(chosen), *targets([self.words[i] for i in some]))
        self.epoch, self.index = self.epoch + 1, 0

    def state_dict(self) -> dict[str, int]:
        return {"epoch": self.epoch, "index": self.index}

    def load_state_dict(self, state: Mapping[str, int]) -> None:
        self.epoch, self.index = state["epoch"], state["index"]

    def fingerprint(self) -> dict[str, int]:
        return {"recordings": len(self.features), "size": self.size}


def together(features: list[Tensor]) -> tuple[Tensor, Tensor]:
    lengths = torch.tensor([len(x) for x in features])
    return torch.nn.utils.rnn.pad_sequence(features, batch_first=True), lengths


def targets(words: list[str]) -> tuple[Tensor, Tensor]:
    rows = [torch.tensor(TARGETS[word]) for word in words]
    lengths = torch.tensor([len(row) for row in rows])
    return torch.nn.utils.rnn.pad_sequence(rows, batch_first=True), lengths


def loss(model: torch.nn.Module, batch: Any) -> Tensor:
    x, lengths, texts, text_lengths = batch
    rows = (lengths + 1) // 2
    fits = rows > text_lengths + 1  # a very short one, played fast
    # torch's form of deepdive.training.objectives.ctc.ctc_loss, equal to it and faster
    logs = model(x, lengths)[fits].log_softmax(-1).transpose(0, 1)
    return F.ctc_loss(logs, texts[fits], rows[fits], text_lengths[fits])


def trained(features: list[list[Tensor]], words: list[str]) -> SpokenDigits:
    torch.manual_seed(0)
    model = SpokenDigits(dropout=0.1)
    fit(model.train(), Spoken(features, words), loss, steps=STEPS,
        optimizer=adam(model, lr=RATE, weight_decay=0.02),
        schedule=cosine(RATE, STEPS // 15, STEPS), progress=False)  # fmt: skip
    return model.half().float().eval()


@torch.no_grad()
def heard(model: SpokenDigits, features: list[Tensor]) -> list[str]:
    """Return the most probable digit of each."""
    found = []
    for x in features:
        logits = model(x[None], torch.tensor([len(x)]))[0]
        found.append([*TARGETS][int(model.digits(logits).argmax())])
    return found


def grouped(model: SpokenDigits, features: list[Tensor]) -> None:
    """Give the model its units: centres of k-means, dull sounds first, hissing ones last."""
    from sklearn.cluster import KMeans

    centers = KMeans(UNITS, n_init=2, random_state=0).fit(torch.cat(features).numpy())
    order = centers.cluster_centers_[:, 12:].mean(1).argsort()
    model.units.copy_(torch.from_numpy(centers.cluster_centers_[order]))


def main() -> None:
    recordings = fsdd()
    features, people = variants(recordings), sorted({*recordings.speakers})
    plain = [mine[2 * SPEEDS.index(1.0)] for mine in features]
    model = trained(features, list(recordings.words))
    grouped(model, plain)
    weights = {name: tensor.half() for name, tensor in model.state_dict().items()}
    save_file(weights, FOLDER / "spoken_digits.safetensors")
    about: dict[str, Any] = {"recordings": len(recordings), "steps": STEPS, "others": {}}
    for person in people:
        mine = [i for i, who in enumerate(recordings.speakers) if who == person]
        others = [i for i, who in enumerate(recordings.speakers) if who != person]
        model = trained([features[i] for i in others], [recordings.words[i] for i in others])
        said = heard(model, [plain[i] for i in mine])
        hits = [a == recordings.words[i] for a, i in zip(said, mine, strict=True)]
        about["others"][person] = round(float(np.mean(hits)), 4)
        (FOLDER / "spoken_digits.json").write_text(json.dumps(about, indent=1) + "\n", "utf-8")
        print(person, about["others"][person], flush=True)
    print(f"{sum(t.numel() for t in weights.values()):,} weights")


if __name__ == "__main__":
    main()
