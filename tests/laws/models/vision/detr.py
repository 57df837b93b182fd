"""Cases of DETR, of its attention and of the ResNet below it."""

from __future__ import annotations

from typing import Any
from unittest import mock

import torch
import torch.nn.functional as F
from torch import Tensor

from deepdive.core import MultiHeadAttention
from deepdive.core.hooks import record
from deepdive.layers.patches import unpatchify
from deepdive.layers.position_aware_attention import QKPositionAttention
from deepdive.models.transformer.transformer import tiny
from deepdive.models.vision import detr, resnet
from deepdive.models.vision.detr import Detr
from deepdive.models.vision.resnet import ResNet
from laws import Case, NotApplicable, Pair, Refuses, case, random_rows, set_weights

ORACLE = "transformers DetrForObjectDetection"
A_SET = dict.fromkeys(
    ("no_leak", "padding", "cache", "order"),
    NotApplicable("it gives a row for each query, whatever the length of what it reads"),
)
A_MAP = dict.fromkeys(
    ("no_leak", "padding", "cache", "order", "hooks"),
    NotApplicable("a convolution over an image: no mask, no attention, and places are near or far"),
)
# In the first layer of the decoder all rows are zeros: whoever looks at whom gets one value.
FIRST = "the decoder's first rows are equal, so that its first weights change nothing"
SILENT = {f"decoder.blocks.0.attn.{name}": FIRST for name in ("q.", "kv.weight")}


def image(x: Tensor) -> Tensor:
    """Rows (B, T, 192) as images of 8 x 8 T pixels."""
    return unpatchify(x, 8, 8, 8 * x.shape[1])


def images(size: int = 16, channels: int = 3) -> Tensor:
    return random_rows(2, channels, size, size)


@case("detr", Detr)
def _() -> Case:
    def make(**changes: Any) -> Detr:
        return detr.detr(detr.TINY, **changes).double().eval()

    def run(module: Detr, x: Tensor, mask: Any = None, state: Any = None) -> Tensor:
        return torch.cat(list(module(image(x))), -1)

    def its_parent() -> tuple[Tensor, Tensor]:
        """No places, and no queries: the stacks of a Transformer, which read the map."""
        ours, parent = make(d_model=32, d_ff=64), tiny().double().eval()
        ours.queries.data.zero_()
        parent.encoder.stack.load_state_dict(ours.encoder.state_dict())
        parent.decoder.stack.load_state_dict(ours.decoder.state_dict(), strict=False)
        rows = ours.project(ours.backbone(images(32))).flatten(2).mT
        memory = parent.encoder.stack(rows)
        states = parent.decoder.stack(torch.zeros(2, 5, 32).double(), memory=memory)
        nowhere = torch.zeros(2, 16, 32).double()
        with mock.patch("deepdive.models.vision.detr.grid_sines", return_value=nowhere):
            return ours.decode(images(32))[-1], ours.decoder.norm(states)  # type: ignore[misc]

    def without_padding() -> tuple[Tensor, Tensor]:
        model, all_real = make(), torch.ones(2, 16, 16, dtype=torch.bool)
        return model(images()).boxes, model(images(), all_real).boxes

    limits: dict[str, Pair] = {
        "no places, no queries: a Transformer's stacks": its_parent,
        "all pixels real: no padding": without_padding,
    }
    return Case(
        make=lambda: detr.detr(detr.TINY),
        run=run,
        d_model=192,
        parity=ORACLE,
        limits=limits,
        silent=SILENT,
        refusals={
            "other channels": lambda: make()(images(channels=1)),
            "padding of another size": lambda: make()(images(), torch.ones(2, 8, 8).bool()),
            "padding as numbers": lambda: make()(images(), torch.ones(2, 16, 16)),
            "a width that is no multiple of four": lambda: make(d_model=18, n_heads=2),
        },
        laws=A_SET,
    )


@case("detr/PlacedAttention", QKPositionAttention)
def _() -> Case:
    rows, other, at, there = (random_rows(2, n, 16, seed=s) for s, n in enumerate((3, 5, 3, 5)))

    def both() -> tuple[QKPositionAttention, MultiHeadAttention]:
        ours, parent = QKPositionAttention(16, 4).double(), MultiHeadAttention(16, 4).double()
        parent.load_state_dict(ours.state_dict())
        return ours, parent

    def nowhere() -> tuple[Tensor, Tensor]:
        ours, parent = both()
        return ours(rows, memory=other), parent(rows, memory=other)

    def weights() -> tuple[Tensor, Tensor]:
        """Who looks at whom is as if the places were added to the rows."""
        ours, parent = both()
        found = []
        for module, given in (
            (ours, {"x": rows, "memory": other, "positions": at, "memory_positions": there}),
            (parent, {"x": rows + at, "memory": other + there}),
        ):
            with record(module, "*.weights") as seen:
                module(**given)
            found.append(next(iter(seen.values()))[0])
        return found[0], found[1]

    return Case(
        place="layer",
        make=lambda: QKPositionAttention(16, 4),
        parity=ORACLE,
        limits={"no positions: multi-head attention": nowhere, "weights of placed rows": weights},
        refusals={
            "places as numbers": lambda: both()[0](rows, positions=torch.arange(3)),
            "places of other rows": lambda: both()[0](rows, memory=other, memory_positions=at),
        },
        laws={"cache": Refuses("the rows of a picture come all at once")},
    )


@case("detr/ResNet", ResNet)
def _() -> Case:
    def run(module: ResNet, x: Tensor, mask: Any = None, state: Any = None) -> Tensor:
        return module(image(x)).flatten(2).mT

    def silent_branches() -> tuple[Tensor, Tensor]:
        network = resnet.resnet(resnet.TINY, widths=(8,), depths=(2,)).double()
        names = [name for name, _ in network.named_parameters() if "convs" in name]
        set_weights(network, **{name.replace(".", "__"): 0.0 for name in names})
        return network(images()), F.max_pool2d(network.stem(images()).relu(), 3, 2, 1)

    return Case(
        make=lambda: resnet.resnet(resnet.TINY),
        run=run,
        d_model=192,
        parity=ORACLE,
        limits={"branches of zeros: the stem": silent_branches},
        refusals={
            "other channels": lambda: resnet.resnet(resnet.TINY)(images(channels=1).float()),
            "stages without depths": lambda: resnet.resnet(widths=(8, 16), depths=(1,)),
        },
        laws=A_MAP,
    )
