"""What pages that sort images share: pixels as tensors, batches that are changed by lot, the loss,
predictions.

A classifier here is anything with `forward(images (B, C, H, W)) -> logits (B, n_classes)`.
"""

import hashlib
from collections.abc import Iterator, Mapping, Sequence
from typing import Any

import torch
import torch.nn.functional as F
from torch import Tensor, nn

from deepdive.core.checks import as_int, not_negative, positive
from deepdive.data.images import Images


def tensors(images: Images, mean: float = 0.5, scale: float = 0.5) -> tuple[Tensor, Tensor]:
    """Return x = (pixels / 255 - mean) / scale, float32 (N, C, H, W), and the labels (N,)."""
    x = (torch.from_numpy(images.pixels.copy()).float() / 255 - mean) / scale
    return x, torch.from_numpy(images.labels.copy())


def shifted(x: Tensor, by: int, draw: torch.Generator) -> Tensor:
    """Return each image (B, C, H, W) moved by -by to by pixels down and across, drawn for each;
    what comes in at an edge repeats the edge.
    """
    if by == 0:
        return x
    b, _, h, w = x.shape
    moved = torch.randint(-by, by + 1, (2, b, 1), generator=draw)
    lines = (torch.arange(h) + moved[0]).clamp(0, h - 1)
    columns = (torch.arange(w) + moved[1]).clamp(0, w - 1)
    each = torch.arange(b)[:, None, None]
    return x.movedim(1, 3)[each, lines[:, :, None], columns[:, None, :]].movedim(3, 1)


def mirrored(x: Tensor, draw: torch.Generator) -> Tensor:
    """Return the images (B, C, H, W), each with left and right exchanged in half of the draws."""
    turn = torch.rand(len(x), generator=draw) < 0.5
    return torch.where(turn[:, None, None, None], x.flip(3), x)


class ImageBatches:
    """Batches (images (B, C, H, W), labels (B,)) of `size` images in an order drawn for each epoch.

    With shift and mirror images are changed by lot: moved by as many pixels at most, mirrored in
    half of the draws. What is drawn follows from seed, epoch and batch, so that training goes on
    exactly. Each epoch leaves out the images that fill no whole batch, others each time.
    """

    def __init__(
        self,
        x: Tensor,
        labels: Tensor,
        size: int = 64,
        *,
        shift: int = 0,
        mirror: bool = False,
        seed: int = 0,
    ) -> None:
        if x.ndim != 4 or len(x) != len(labels):
            shapes = f"{tuple(x.shape)} and {tuple(labels.shape)}"
            raise ValueError(f"x, labels: got {shapes}, expected (N, C, H, W) and (N,)")
        positive(size=size)
        not_negative(shift=shift, seed=seed)
        self.x, self.labels = x, labels
        self.size = min(as_int("size", size), len(x))
        self.shift, self.mirror = as_int("shift", shift), bool(mirror)
        self.seed, self.epoch, self.index = as_int("seed", seed), 0, 0

    def __len__(self) -> int:
        return len(self.x) // self.size

    def _draw(self, index: int) -> torch.Generator:
        """What is drawn for a batch of this epoch; for its order with index = len(self)."""
        place = (self.seed * 1_000_003 + self.epoch) * 1_000_003 + index
        return torch.Generator().manual_seed(place % 2**63)

    def __iter__(self) -> Iterator[tuple[Tensor, Tensor]]:
        """The batches from the current place to the end of this epoch."""
        order = torch.randperm(len(self.x), generator=self._draw(len(self)))
        while self.index < len(self):
            some = order[self.index * self.size : (self.index + 1) * self.size]
            draw = self._draw(self.index)
            self.index += 1
            x = shifted(self.x[some], self.shift, draw)
            yield mirrored(x, draw) if self.mirror else x, self.labels[some]
        self.epoch, self.index = self.epoch + 1, 0

    def state_dict(self) -> dict[str, int]:
        """The place: epoch, and index of the next batch."""
        return {"epoch": self.epoch, "index": self.index, **self._identity()}

    def load_state_dict(self, state: Mapping[str, int]) -> None:
        """Go to a saved place. Raises ValueError if it was saved over other data or settings."""
        mine = self._identity()
        if other := [key for key, value in mine.items() if state.get(key) != value]:
            raise ValueError(f"{other[0]}: saved as {state.get(other[0])}, here {mine[other[0]]}")
        self.epoch, self.index = state["epoch"], state["index"]

    def fingerprint(self) -> dict[str, int | str]:
        """What tells these batches from others: the numbers of their making, and a sha256."""
        digest = hashlib.sha256(self.x.numpy().tobytes() + self.labels.numpy().tobytes())
        return {**self._identity(), "sha256": digest.hexdigest()}

    def _identity(self) -> dict[str, int]:
        return {"images": len(self.x), "size": self.size, "shift": self.shift,
                "mirror": int(self.mirror), "seed": self.seed}  # fmt: skip


def loss(model: nn.Module, batch: Sequence[Tensor]) -> Tensor:
    """Return the mean cross-entropy of the true kinds, -log softmax(logits)[label]."""
    images, labels = batch
    return F.cross_entropy(model(images), labels)


@torch.no_grad()
def predict(model: nn.Module, x: Tensor, size: int = 500, progress: bool = True) -> Tensor:
    """Return the logits (N, n_classes) of all images (N, C, H, W), `size` at a time, in evaluation
    mode; the model's mode is left as it was.
    """
    from tqdm import tqdm

    device, was_training = next(model.parameters()).device, model.training
    model.eval()
    parts = tqdm(x.split(size), desc="look", disable=not progress, leave=False, delay=3)
    logits = torch.cat([model(part.to(device)).cpu() for part in parts])
    model.train(was_training)
    return logits


def accuracy(model: nn.Module, x: Tensor, labels: Tensor, **settings: Any) -> float:
    """Return the share of images whose most probable kind is the label, 0 to 1."""
    return float((predict(model, x, **settings).argmax(1) == labels).float().mean())
