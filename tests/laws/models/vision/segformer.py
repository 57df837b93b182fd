"""Cases of SegFormer and of its parts, which take grids."""

from __future__ import annotations

from functools import partial
from typing import Any

import torch
import torch.nn.functional as F
from torch import Tensor

from deepdive.core import FeedForward, MultiHeadAttention, gelu
from deepdive.core.masks import Causal
from deepdive.layers.patches import unpatchify
from deepdive.layers.segformer_layers import (
    ConvolvedFeedForward,
    Decoder,
    OverlappingPatches,
    ReducedAttention,
    Stage,
)
from deepdive.models.vision import segformer
from deepdive.models.vision.segformer import Segformer
from laws import ORDERED, TWO_SIDED, Case, Fails, NotApplicable, case, random_rows
from laws.models.vision.swin import as_grid
from laws.models.vision.vit import WHOLE, images

ORACLE = "transformers SegformerForSemanticSegmentation"
GRID = NotApplicable("a grid has no order of rows, and no attention is there")
NO_ROWS = dict.fromkeys(("no_leak", "padding", "cache", "order", "hooks"), GRID)
LOST = "a batch norm takes away what is added everywhere"
NEIGHBORS = Fails("zeros beyond the edges, and neighbours, tell the places apart")


def as_image(x: Tensor) -> Tensor:
    """Rows (B, T, 4) as an image of eight lines, (B, 1, 8, 8)."""
    return unpatchify(x[:, :4], 2, 2, 8).repeat(1, 1, 4, 1)


@case("segformer", Segformer)
def _() -> Case:
    def make(**changes: Any) -> Segformer:
        return segformer.segformer(segformer.TINY, **changes).double().eval()

    def as_large_as_the_image() -> tuple[Tensor, Tensor]:
        model = make()
        wide = F.interpolate(model(images()), (8, 8), mode="bilinear")
        return model.pixels(images()), wide

    def moved_in_the_middle() -> tuple[Tensor, Tensor]:
        """Where no zeros are near, a moved image has a moved grid: a stage without attention."""
        stage = make(depths=(1, 1)).stages[0]
        stage.blocks[0].attn.attention.out.weight.data.zero_()
        image, wide = images(size=24), torch.zeros(2, 1, 24, 24, dtype=torch.float64)
        wide[..., 4:] = image[..., :-4]
        return stage(wide)[:, 4:8, 6:10], stage(image)[:, 4:8, 4:8]

    def run(module: Segformer, x: Tensor, mask: Any = None, state: Any = None) -> Tensor:
        return module(as_image(x)).flatten(2).mT

    return Case(
        make=lambda: segformer.segformer(segformer.TINY),
        run=run,
        d_model=4,
        parity=ORACLE,
        limits={
            "resized to the image": as_large_as_the_image,
            "moved, away from the edges: moved": moved_in_the_middle,
        },
        refusals={
            "other channels": lambda: make()(images(channels=3)),
            "a grid that no square fits in": lambda: make()(images(size=2)),
            "rates of another number of stages": lambda: make(rates=(1,)),
            "heads that do not divide": lambda: make(heads=(3, 4)),
        },
        silent={"projections.0.bias": LOST, "projections.1.bias": LOST, "stages.1.norm.bias": LOST},
        laws={**TWO_SIDED, "padding": WHOLE, "order": NotApplicable("it gives a grid")},
    )


@case("segformer/Stage", Stage)
def _() -> Case:
    def no_layers() -> tuple[Tensor, Tensor]:
        stage = Stage(OverlappingPatches(3, 2, 1, 16), []).double()
        return stage(images()), stage.norm(stage.patches(images()))

    return Case(
        make=lambda: segformer.stage(segformer.TINY, 0),
        run=lambda module, x, mask, state: module(as_image(x)).flatten(1, 2),
        d_model=4,
        parity=ORACLE,
        limits={"no layers: patches, normalised": no_layers},
        refusals={"no batch axis": lambda: segformer.stage(segformer.TINY, 0)(images()[0].float())},
        laws={**TWO_SIDED, "padding": WHOLE, "order": NotApplicable("it gives a grid")},
    )


@case("segformer/Decoder", Decoder)
def _() -> Case:
    def grids(x: Tensor) -> list[Tensor]:
        return [as_grid(x), as_grid(x)[:, ::2, ::2].repeat(1, 1, 1, 2)]

    def place_by_place() -> tuple[Tensor, Tensor]:
        """Grids of one size: a multilayer perceptron at each place alone."""
        decoder = Decoder(segformer.TINY).double().eval()
        first = random_rows(1, 2, 3, 16)
        second = random_rows(1, 2, 3, 32, seed=6)
        one = [grid[:, 1:, 2:] for grid in (first, second)]
        return decoder([first, second])[:, :, 1:, 2:], decoder(one)

    return Case(
        make=lambda: Decoder(segformer.TINY),
        run=lambda module, x, mask, state: module(grids(x)).flatten(2).mT,
        parity=ORACLE,
        limits={"grids of one size: each place alone": place_by_place},
        refusals={
            "fewer grids": lambda: Decoder(segformer.TINY)([random_rows(1, 2, 2, 16).float()])
        },
        silent={"projections.0.bias": LOST, "projections.1.bias": LOST},
        laws=NO_ROWS,
    )


@case("segformer/OverlappingPatches", OverlappingPatches)
def _() -> Case:
    def without_overlap() -> tuple[Tensor, Tensor]:
        """Squares of one pixel, one every pixel: a matrix at each."""
        module = OverlappingPatches(1, 1, 3, 8).double()
        by_hand = images(channels=3).movedim(1, -1) @ module.project.weight[:, :, 0, 0].T
        return module(images(channels=3)), module.norm(by_hand + module.project.bias)

    return Case(
        make=partial(OverlappingPatches, 3, 2, 1, 16),
        run=lambda module, x, mask, state: module(as_image(x)).flatten(1, 2),
        d_model=4,
        parity=ORACLE,
        limits={"squares of one pixel: a matrix": without_overlap},
        refusals={"other channels": lambda: OverlappingPatches(3, 2, 3, 8)(images().float())},
        laws=NO_ROWS,
    )


@case("segformer/ReducedAttention", ReducedAttention)
def _() -> Case:
    def every_row() -> tuple[Tensor, Tensor]:
        module, grid = ReducedAttention(16, 4).double(), random_rows(2, 4, 4, 16)
        plain = MultiHeadAttention(16, 4).double()
        plain.load_state_dict(module.attention.state_dict())
        return module(grid).flatten(1, 2), plain(grid.flatten(1, 2))

    def one_key() -> tuple[Tensor, Tensor]:
        """A rate as large as the grid: one key, and all say what it says."""
        module, grid = ReducedAttention(16, 4, 4).double(), random_rows(2, 4, 4, 16)
        return module(grid), module(grid)[:, :1, :1].expand(-1, 4, 4, -1)

    def last_column_in_no_key() -> tuple[Tensor, Tensor]:
        module, grid = ReducedAttention(16, 4, 2).double(), random_rows(2, 4, 5, 16)
        other = grid.clone()
        other[:, :, -1] = random_rows(2, 4, 16, seed=1)
        return module(grid)[:, :, :-1], module(other)[:, :, :-1]

    def make(rate: int = 2) -> ReducedAttention:
        return ReducedAttention(16, 4, rate)

    grid = random_rows(1, 4, 4, 16).float()
    return Case(
        make=make,
        run=lambda module, x, mask, state: module(as_grid(x))[:, 0],
        parity=ORACLE,
        limits={
            "rate 1: MultiHeadAttention": every_row,
            "the whole grid one key": one_key,
            "a column that fills no square: in no key": last_column_in_no_key,
        },
        refusals={
            "a mask": lambda: make()(grid, mask=Causal()),
            "a grid that no square fits in": lambda: make(5)(grid),
        },
        laws={**TWO_SIDED, "padding": WHOLE, "order": ORDERED},
    )


@case("segformer/ConvolvedFeedForward", ConvolvedFeedForward)
def _() -> Case:
    def neighbors_ignored() -> tuple[Tensor, Tensor]:
        """A kernel of its middle alone: `FeedForward`."""
        module, grid = ConvolvedFeedForward(16, 32).double(), random_rows(2, 4, 4, 16)
        module.depthwise.weight.data.zero_()
        module.depthwise.weight.data[:, :, 1, 1] = 1
        module.depthwise.bias.data.zero_()
        plain = FeedForward(16, 32, gelu).double()
        plain.load_state_dict(module.state_dict(), strict=False)
        return module(grid), plain(grid)

    return Case(
        make=partial(ConvolvedFeedForward, 16, 32),
        run=lambda module, x, mask, state: module(as_grid(x))[:, 0],
        parity=ORACLE,
        limits={"a kernel of its middle alone: FeedForward": neighbors_ignored},
        refusals={
            "another width": lambda: ConvolvedFeedForward(8, 16)(random_rows(1, 2, 2, 16).float())
        },
        laws={**NO_ROWS, "order": NEIGHBORS},
    )
