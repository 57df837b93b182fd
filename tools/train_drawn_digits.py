"""Train the toy that reads drawn digits in the pages, and write its weights beside
deepdive_book.ch06b.toys.

    python tools/train_drawn_digits.py      # about a minute on one core; no download

A ViT of three layers, 48 wide, learns the handwritten digits of 8 x 8 pixels that come with
scikit-learn (Alpaydin and Kaynak 1998, CC BY 4.0): 1,437 to learn from, the other 360, of other
writers as far as the file tells, to test with. What a reader draws is prepared as these were
(`deepdive_book.ch06b.figures.drawing.prepared`), but hands differ: in each batch the digits are
turned, slanted, moved and made narrower by lot, the ones most, which many people draw as a bare
line. Matrices begin larger than ViT's (Glorot): with few steps that is worth much. The weights are
kept in half precision. The same machine, torch and thread count give the same files.
"""

from __future__ import annotations

import json
from collections.abc import Iterator

import torch
import torch.nn.functional as F
from safetensors.torch import save_file
from torch import Tensor

from deepdive.data.images import small_digits
from deepdive.evaluate.confidence_intervals import bootstrap
from deepdive.training import fit
from deepdive.training.optim import adam, cosine
from deepdive_book.ch06b.toys import FOLDER
from deepdive_book.ch06b.toys.drawn_digits import build_drawn_digits
from deepdive_book.tasks.images import ImageBatches, loss, predict, tensors

STEPS, SIZE, RATE = 5000, 32, 2e-3


def moved(x: Tensor, labels: Tensor, draw: torch.Generator) -> Tensor:
    """Return the digits (B, 1, 8, 8), each turned, slanted, made narrower and moved by lot."""
    n = len(x)

    def between(low: float, high: float) -> Tensor:
        return low + (high - low) * torch.rand(n, generator=draw)

    turn, slant = between(-0.22, 0.22), between(-0.3, 0.3)
    narrow = torch.where(labels == 1, between(1.0, 3.0), between(0.88, 1.3))
    low = between(0.92, 1.12)
    cos, sin = turn.cos(), turn.sin()
    across = torch.stack([cos * narrow, (slant - sin) * narrow, between(-0.2, 0.2)], -1)
    down = torch.stack([sin * low, cos * low, between(-0.12, 0.12)], -1)
    # four points a pixel: what is narrowed keeps its ink
    grid = F.affine_grid(torch.stack([across, down], 1), [n, 1, 32, 32], align_corners=False)
    ink = F.grid_sample((x + 1) / 2, grid, align_corners=False)
    heavy = between(0.8, 1.35)[:, None, None, None]  # strokes differ in thickness
    return (F.avg_pool2d(ink, 4) * heavy).clamp(0, 1) * 2 - 1


class Moved:
    """Batches whose digits are moved: what is drawn follows from the batch's place."""

    def __init__(self, batches: ImageBatches) -> None:
        self.batches = batches
        self.state_dict, self.load_state_dict = batches.state_dict, batches.load_state_dict
        self.fingerprint = batches.fingerprint

    def __len__(self) -> int:
        return len(self.batches)

    def __iter__(self) -> Iterator[tuple[Tensor, Tensor]]:
        for x, labels in self.batches:
            place = self.batches.epoch * 1000 + self.batches.index
            yield moved(x, labels, torch.Generator().manual_seed(place)), labels


def main() -> None:
    train, test = small_digits("train"), small_digits("test")
    model = build_drawn_digits()
    for part in model.modules():
        if isinstance(part, torch.nn.Linear):
            torch.nn.init.xavier_uniform_(part.weight)
    fit(model.train(), Moved(ImageBatches(*tensors(train), SIZE, seed=1)), loss, steps=STEPS,
        optimizer=adam(model, lr=RATE), schedule=cosine(RATE, STEPS // 20, STEPS))  # fmt: skip
    model.half().float().eval()
    x, labels = tensors(test)
    turned = moved(x, labels, torch.Generator().manual_seed(7))
    measured = {}
    for name, images in (("as they are", x), ("moved by lot", turned)):
        right = predict(model, images, progress=False).argmax(1) == labels
        measured[name] = [round(share, 4) for share in bootstrap(right.double())]
    about = {"learned": len(train), "tested": len(test), "right": measured}
    (FOLDER / "drawn_digits.json").write_text(json.dumps(about, indent=1) + "\n", "utf-8")
    weights = {name: tensor.half() for name, tensor in model.state_dict().items()}
    save_file(weights, FOLDER / "drawn_digits.safetensors")
    print(f"{sum(t.numel() for t in weights.values()):,} weights; {measured}")


if __name__ == "__main__":
    main()
