"""Draw the README's moving picture, book/_static/attention.webp: attention as it is learned.

It is the model of *Attention in ten minutes*, trained here: five animals, five sounds, and nobody
says which animal makes which. On the left, how much of its attention a sound gives to each animal,
and the mixture of their flags that it calls; on the right, the arrows that decide it.
"""

from __future__ import annotations

import io
from pathlib import Path

import matplotlib.pyplot as plt
import torch
from matplotlib.colors import to_rgb
from PIL import Image
from torch import nn

from deepdive.core import SoftmaxAttention
from deepdive.training.optim import adam
from deepdive_book.kit.palette import ROLES

OUT = Path(__file__).resolve().parent.parent / "book" / "_static" / "attention.webp"
ANIMALS = ("cat", "cow", "dog", "duck", "owl")
SOUNDS = ("meow", "moo", "woof", "quack", "hoot")
FLAGS = ("#e5b700", "#d62728", "#1f77b4", "#2ca02c", "#e8e8e8")
ASKED = 1  # the sound of the picture: moo
STEPS = 300
SEED = 5
SHOWN = [*range(0, 60, 3), *range(60, 120, 6), *range(120, STEPS + 1, 20)]
LAST = 3000  # milliseconds that the last frame stays; the others 90
Frame = tuple[int, torch.Tensor, torch.Tensor, torch.Tensor]


class Farm(nn.Module):
    """One table of arrows for the sounds, one for the animals, and attention between them."""

    def __init__(self) -> None:
        super().__init__()
        self.sounds, self.animals = nn.Embedding(5, 2), nn.Embedding(5, 2)
        self.attention = SoftmaxAttention()

    def forward(self, who: torch.Tensor, flags: torch.Tensor, sound: torch.Tensor) -> torch.Tensor:
        query = self.sounds(sound)[:, None, None]  # (B, 1, 1, 2)
        keys, values = self.animals(who)[:, None], flags[:, None]  # (B, 1, 4, 2 or 3)
        return self.attention(query, keys, values, scale=1.0)[:, 0, 0]  # (B, 3)


def frames() -> list[Frame]:
    """Train the model; at each step shown, its two tables and the weights of the asked sound."""
    torch.manual_seed(SEED)
    model, draw = Farm(), torch.Generator().manual_seed(0)
    optimizer = adam(model, lr=0.05)
    kept: list[Frame] = []
    for step in range(STEPS + 1):
        if step in SHOWN:
            sounds, animals = (t.weight.detach().clone() for t in (model.sounds, model.animals))
            kept.append((step, sounds, animals, (sounds[ASKED] @ animals.T).softmax(-1)))
        who = torch.rand(64, 5, generator=draw).argsort(-1)[:, :4]
        flags = torch.rand(64, 4, 3, generator=draw)
        chosen, rows = torch.randint(4, (64,), generator=draw), torch.arange(64)
        error = model(who, flags, who[rows, chosen]) - flags[rows, chosen]
        optimizer.zero_grad()
        error.square().sum(-1).mean().backward()
        optimizer.step()
    return kept


def picture(frame: Frame, reach: float) -> Image.Image:
    """One frame, 640 x 340 pixels."""
    step, sounds, animals, weights = frame
    figure, (stage, compass) = plt.subplots(1, 2, figsize=(6.4, 3.4), width_ratios=[1.1, 1])
    for i, (name, color, weight) in enumerate(zip(ANIMALS, FLAGS, weights.tolist(), strict=True)):
        stage.plot([2, i], [0, 1.85], color=ROLES["weight"], lw=14 * weight, solid_capstyle="round")
        stage.plot([i], [2.9], "s", color=color, ms=20, mec="black", mew=0.6)
        stage.text(i, 2.4, name, color=ROLES["key"], ha="center", va="center", size=12)
        stage.text(i, 2.12, f"{weight:.2f}", ha="center", va="center", size=9)
    where = {"ha": "center", "va": "center", "size": 15, "weight": "bold"}
    stage.text(2, -0.25, SOUNDS[ASKED], color=ROLES["query"], **where)
    called = weights @ torch.tensor([to_rgb(color) for color in FLAGS])
    stage.annotate("", (3.3, -0.25), (2.6, -0.25), arrowprops={"arrowstyle": "-|>"})
    stage.plot([3.7], [-0.25], "s", color=called.tolist(), ms=20, mec="black", mew=0.6)
    stage.set(xlim=(-0.6, 4.6), ylim=(-0.7, 3.2))
    placed: list[tuple[float, float]] = []
    for table, words, role in ((animals, ANIMALS, "key"), (sounds, SOUNDS, "query")):
        for tip, word in zip(table, words, strict=True):
            style = {"color": ROLES[role], "arrowstyle": "-|>", "lw": 1.4}
            compass.annotate("", tip.tolist(), (0, 0), arrowprops=style)
            x, y = (tip * (1 + 0.13 * reach / tip.norm())).tolist()
            while any(abs(x - a) < 0.38 * reach and abs(y - b) < 0.14 * reach for a, b in placed):
                x, y = 1.04 * x, 1.04 * y
            placed.append((x, y))
            bold = "bold" if word == SOUNDS[ASKED] else "normal"
            compass.text(x, y, word, color=ROLES[role], ha="center", va="center", weight=bold)
    compass.set(xlim=(-1.4 * reach, 1.4 * reach), ylim=(-1.2 * reach, 1.2 * reach), aspect="equal")
    for axes in (stage, compass):
        axes.axis("off")
    figure.suptitle(f"after {step} of {STEPS} steps of training", size=10, color="#555555", y=0.05)
    figure.subplots_adjust(0.01, 0.06, 0.99, 0.99, 0.02)
    buffer = io.BytesIO()
    figure.savefig(buffer, dpi=100)
    plt.close(figure)
    return Image.open(buffer).convert("RGB")


def main() -> None:
    kept = frames()
    reach = max(table.norm(dim=1).max().item() for _, *tables, _ in kept for table in tables)
    first, *rest = [picture(frame, reach) for frame in kept]
    times = [900, *[90] * (len(rest) - 1), LAST]
    first.save(OUT, save_all=True, append_images=rest, duration=times, loop=0, quality=60, method=6)
    print(f"{OUT}: {len(kept)} frames, {OUT.stat().st_size / 1000:.0f} kB")


if __name__ == "__main__":
    main()
