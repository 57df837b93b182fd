"""Patients of chapter 6b's clinic: one small painter, and four ways to break one of its parts.

A patient fills in hidden patches of generated skies, pictures that grow lighter in one direction:
16 x 16 pixels in patches of 4 x 4, which attend in windows of 2 x 2 patches. In the second of its
three layers the windows have moved. As in `deepdive_book.course.clinic`, its parts are plain
functions that can be exchanged one at a time.

    patient = admit("A")
    patient.curve, patient.off, patient.look(pictures(4))["weights"], patient.chart()
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import torch
from matplotlib.figure import Figure
from matplotlib.patches import Rectangle
from torch import Tensor, nn

from deepdive.layers.patches import patchify, unpatchify
from deepdive_book.course.clinic.base import Clinic, draw_losses, train_model
from deepdive_book.course.clinic.parts import Part
from deepdive_book.course.specimens.pictures import PIXELS, SIDE, gaps, pictures
from deepdive_book.kit.plotting import with_alt

SIZE, WINDOW, SHIFT = 4, 2, 1
WIDTH, STEPS, RATE = 32, 140, 5e-3
MEAN, SPREAD = 0.5, 0.13  # of the training's pictures
DIAGNOSES = {
    "patches": "a reshape makes the rows, so that they hold lines and not squares",
    "norm": "new pictures are normalized by their own mean and spread, not by the training's",
    "loss": "the loss counts all patches, not the hidden ones alone",
    "mask": "in the shifted layer patches from opposite edges meet",
}
PATIENTS = {"A": "patches", "B": "norm", "C": "loss", "D": "mask"}
MOVED = {"norm"}  # it fell ill after its training


def rows(images: Tensor) -> Tensor:
    """Return (B, 16, 16): the pixels of each patch of images (B, 1, 16, 16)."""
    return patchify(images, SIZE)


def normalized(images: Tensor, mean: float, spread: float) -> Tensor:
    """Return images with the training's mean and spread taken off."""
    return (images - mean) / spread


def _own(images: Tensor, mean: float, spread: float) -> Tensor:
    axes = (1, 2, 3)
    return (images - images.mean(axes, keepdim=True)) / images.std(axes, keepdim=True)


def loss_mask(hidden: Tensor) -> Tensor:
    """Return bool (B, N): the patches that enter the loss."""
    return hidden


def meets(side: int, window: int, shift: int) -> Tensor:
    """Return bool (side^2, side^2): who may attend to whom, where windows have moved by `shift`."""
    return _same((torch.arange(side) - shift).div(window, rounding_mode="floor"), side)


def _rolled(side: int, window: int, shift: int) -> Tensor:
    return _same((torch.arange(side) - shift) % side // window, side)


def _same(line: Tensor, side: int) -> Tensor:
    at = (line[:, None] * side + line).flatten()  # the window of each patch
    return at[:, None] == at


HEALTHY: Mapping[str, Part] = {
    "patches": rows, "norm": normalized, "loss": loss_mask, "mask": meets,
}  # fmt: skip
BROKEN: Mapping[str, Part] = {
    "patches": lambda images: images.reshape(len(images), SIDE**2, SIZE**2),
    "norm": _own,
    "loss": torch.ones_like,
    "mask": _rolled,
}


class Layer(nn.Module):
    """One pre-norm layer with one head."""

    def __init__(self) -> None:
        super().__init__()
        self.qkv, self.out = nn.Linear(WIDTH, 3 * WIDTH), nn.Linear(WIDTH, WIDTH)
        self.ff = nn.Sequential(nn.Linear(WIDTH, 2 * WIDTH), nn.GELU(), nn.Linear(2 * WIDTH, WIDTH))
        self.norms = nn.ModuleList(nn.LayerNorm(WIDTH) for _ in range(2))

    def forward(self, x: Tensor, allowed: Tensor) -> tuple[Tensor, Tensor]:
        """Return the states (B, N, d) and the weights (B, N, N)."""
        q, k, v = self.qkv(self.norms[0](x)).chunk(3, -1)
        weights = (q @ k.mT / WIDTH**0.5).masked_fill(~allowed, -1e9).softmax(-1)
        x = x + self.out(weights @ v)
        return x + self.ff(self.norms[1](x)), weights


class ImageDecoder(nn.Module):
    """Three layers in windows, of which the second's have moved; made of `parts`."""

    def __init__(self, parts: Mapping[str, Part]) -> None:
        super().__init__()
        self.parts = dict(parts)
        self.into, self.say = nn.Linear(SIZE**2, WIDTH), nn.Linear(WIDTH, SIZE**2)
        self.gap = nn.Parameter(0.1 * torch.randn(WIDTH))
        self.places = nn.Parameter(0.1 * torch.randn(SIDE**2, WIDTH))
        self.layers = nn.ModuleList(Layer() for _ in range(3))

    def forward(self, images: Tensor, hidden: Tensor) -> dict[str, Tensor]:
        """Return rows as they go in, weights of the shifted layer, what is said, and the loss."""
        given = self.parts["patches"](self.parts["norm"](images, MEAN, SPREAD))  # (B, 16, 16)
        x = torch.where(hidden[..., None], self.gap, self.into(given)) + self.places
        allowed = meets(SIDE, WINDOW, 0), self.parts["mask"](SIDE, WINDOW, SHIFT)
        every = []
        for i, layer in enumerate(self.layers):
            x, weights = layer(x, allowed[i % 2])
            every.append(weights)
        said, where = self.say(x), self.parts["loss"](hidden)
        errors = (said - given).square().mean(-1)  # (B, 16)
        loss = (errors * where).sum() / where.sum().clamp(min=1)
        return {"rows": given, "weights": every[1], "said": said, "loss": loss}


class BuggyModel:
    """One small painter with its history.

    curve  the loss before each tenth step, as its own program tells it
    off    how far it is off at hidden pixels of 64 new pictures, in % from black to white
    """

    def __init__(
        self, parts: Mapping[str, Part], before: Mapping[str, Part], *, seed: int = 0,
        steps: int = STEPS,
    ) -> None:  # fmt: skip
        self.model, self.curve = train_model(
            lambda: ImageDecoder(before),
            lambda model, i: model(pictures(32, 1000 + i), gaps(32, 1000 + i))["loss"],
            lambda model: model(pictures(64), gaps(64))["loss"],
            seed=seed,
            steps=steps,
            rate=lambda _: RATE,
        )
        self.parts = self.model.parts = dict(parts)
        new, hidden = pictures(64), gaps(64)
        errors = (patchify(self.fill(new, hidden), SIZE) - patchify(new, SIZE))[hidden].abs()
        self.off = 100 * errors.mean().item()

    def look(self, images: Tensor, hidden: Tensor | None = None) -> dict[str, Tensor]:
        """Read images (B, 1, 16, 16) once, the patches `hidden`, bool (B, 16); what was seen.

        Returns "rows" (B, 16, 16), as they go in; "weights" (B, 16, 16) of the shifted layer;
        "said" (B, 16, 16), a row for each patch; and "loss", as its own program tells it. Without
        `hidden`, `gaps(B)` are hidden.
        """
        with torch.no_grad():
            seen: dict[str, Tensor] = self.model(
                images, gaps(len(images)) if hidden is None else hidden
            )
            return seen

    def fill(self, images: Tensor, hidden: Tensor) -> Tensor:
        """Return the images (B, 1, 16, 16) with what it says in each hidden square."""
        said = self.look(images, hidden)["said"] * SPREAD + MEAN
        painted = torch.where(hidden[..., None], said, patchify(images, SIZE))
        return unpatchify(painted, SIZE, PIXELS, PIXELS)

    def chart(self) -> Figure:
        """Losses, and three pictures as the healthy painter and the patient fill them in."""
        figure, well = Figure(figsize=(7.6, 3.3), layout="constrained"), healthy()
        sides: Any = figure.subfigures(1, 2, width_ratios=[1.25, 1])
        losses, panels = sides[0].subplots(), sides[1].subplots(3, 3)
        draw_losses(losses, self, well, "pictures")
        losses.set_yscale("log")
        some, hidden = pictures(3, 5), gaps(3, 5)
        said = {
            "true": some,
            "healthy": well.fill(some, hidden),
            "patient": self.fill(some, hidden),
        }
        for line, (name, filled) in zip(panels, said.items(), strict=True):
            for axes, image, gone in zip(line, filled, hidden, strict=True):
                axes.imshow(image[0].numpy(), cmap="gray", vmin=0, vmax=1)
                axes.set(xticks=[], yticks=[])
                for n in gone.nonzero()[:, 0].tolist() if name != "true" else ():
                    corner = (SIZE * (n % SIDE) - 0.5, SIZE * (n // SIDE) - 0.5)
                    axes.add_patch(Rectangle(corner, SIZE, SIZE, fill=False, edgecolor="C0"))
            line[0].set_ylabel(name)
        return with_alt(
            figure,
            f"Left, losses: the healthy painter's end at {well.curve[-1]:.3f}, the patient's at "
            f"{self.curve[-1]:.3f}. Right, three skies as they are, and with six squares of each "
            f"filled in. On new pictures the healthy painter is off by {well.off:.1f} % there, "
            f"the patient by {self.off:.1f} %.",
        )


WARD = Clinic(BuggyModel, PATIENTS, DIAGNOSES, HEALTHY, BROKEN, MOVED)
admit, healthy, ill, operate = WARD.admit, WARD.healthy, WARD.ill, WARD.operate
misjudged, opened, unproven = WARD.misjudged, WARD.opened, WARD.unproven
