"""Cases of Swin, of windows that shift, and of merged patches."""

from __future__ import annotations

from functools import partial
from typing import Any

import torch
from torch import Tensor

from deepdive.core import Block, FeedForward, MultiHeadAttention, Position
from deepdive.layers.patches import unpatchify
from deepdive.layers.windows import Merging, Windows, folded, unfolded
from deepdive.models.vision import swin
from deepdive.models.vision.swin import Swin
from laws import TWO_SIDED, Case, Fails, NotApplicable, Pair, case, random_rows
from laws.models.vision.vit import WHOLE, images

ORACLE = "transformers SwinModel"
APART = Fails("patches of other windows are not seen")


def as_grid(x: Tensor) -> Tensor:
    """Rows (B, T, d) as a grid of two such lines, and two of others, (B, 4, T, d)."""
    return torch.stack([x, -x, 2 * x, x / 2], 1)


@case("swin", Swin)
def _() -> Case:
    def make(**changes: Any) -> Swin:
        return swin.swin(swin.TINY, **changes).double().eval()

    def one_window() -> tuple[Tensor, Tensor]:
        """No shift and no bias, a window as large as the image: ViT's layers, one after another."""
        model = make(
            depths=(2,), heads=(2,), window=8, shift=lambda side: 0,
            position=lambda heads, config: Position(),
        )  # fmt: skip
        rows = model.patch_norm(model.patches(images(size=16)))
        for layer in model.stages[0]:
            rows = layer.block(rows)
        return model(images(size=16)), model.norm(rows)

    def no_bias() -> tuple[Tensor, Tensor]:
        """A table of zeros is no position."""
        plain = make(position=lambda heads, config: Position())
        biased = make()
        biased.load_state_dict(plain.state_dict(), strict=False)
        for name, number in biased.named_parameters():
            if ".position." in name:
                number.data.zero_()
        return biased(images(size=16)), plain(images(size=16))

    limits: dict[str, Pair] = {
        "one window, not shifted, no bias: ViT's blocks": one_window,
        "a bias of zeros: none": no_bias,
    }

    def run(module: Swin, x: Tensor, mask: Any = None, state: Any = None) -> Tensor:
        line = unpatchify(x, 2, 2, 2 * x.shape[1])
        return module(line.repeat(1, 1, 8, 1).repeat(1, 1, 1, 4)[..., : 16 * (x.shape[1] // 4)])

    return Case(
        make=lambda: swin.swin(swin.TINY),
        run=run,
        d_model=4,
        parity=ORACLE,
        limits=limits,
        refusals={
            "a stage without heads": lambda: make(depths=(1, 1, 1)),
            "heads that do not divide": lambda: make(heads=(3, 4)),
            "a shift as far as a window": lambda: make(shift=lambda side: side),
        },
        laws={
            **TWO_SIDED,
            "padding": WHOLE,
            "order": NotApplicable("four patches become one: there are fewer states"),
        },
    )


@case("swin/Windows", Windows)
def _() -> Case:
    def make(window: int = 2, shift: int = 1) -> Windows:
        block = Block(MultiHeadAttention(16, 4), FeedForward(16, 32))
        return Windows(block, window, shift)

    def whole() -> tuple[Tensor, Tensor]:
        module, grid = make(4, 2).double(), random_rows(2, 4, 4, 16)
        return module(grid).flatten(1, 2), module.block(grid.flatten(1, 2))

    def window_by_window() -> tuple[Tensor, Tensor]:
        module, grid = make(2, 0).double(), random_rows(1, 4, 4, 16)
        corner = module.block(grid[:, 2:, :2].flatten(1, 2))
        return module(grid)[:, 2:, :2].flatten(1, 2), corner

    def shifted_in_the_middle() -> tuple[Tensor, Tensor]:
        """Away from the edges, shifted windows are windows that stand elsewhere."""
        module, grid = make(2, 1).double(), random_rows(1, 4, 4, 16)
        middle = module.block(grid[:, 1:3, 1:3].flatten(1, 2))
        return module(grid)[:, 1:3, 1:3].flatten(1, 2), middle

    def shifted_in_a_corner() -> tuple[Tensor, Tensor]:
        """A corner has no neighbours in its window but those across the edges, which it leaves."""
        module, grid = make(2, 1).double(), random_rows(1, 4, 4, 16)
        return module(grid)[:, 0, 0], module.block(grid[:, 0, :1])[:, 0]

    def a_window_that_is_not_full() -> tuple[Tensor, Tensor]:
        """The last patch of 4 x 4 in windows of 3 x 3: it meets eight rows of zeros."""
        module, grid = make(3, 0).double(), random_rows(2, 4, 4, 16)
        block, last = module.block, grid[:, 3:, 3].contiguous()
        zeros = torch.zeros(2, 8, 16).double()

        def met(rows: Tensor) -> Tensor:
            return block.attn(torch.cat([rows, zeros], 1))[:, :1]

        expected = block.ff_residual(block.attn_residual(last, met), block.ff)
        return module(grid)[:, 3:, 3], expected

    def there_and_back() -> tuple[Tensor, Tensor]:
        grid = random_rows(2, 4, 6, 3)
        return unfolded(folded(grid, 2), 2, 4, 6), grid

    def run(module: Windows, x: Tensor, mask: Any = None, state: Any = None) -> Tensor:
        return module(as_grid(x))[:, 0]

    return Case(
        make=make,
        run=run,
        parity=ORACLE,
        limits={
            "a window as large as the grid: the block": whole,
            "each window alone": window_by_window,
            "shifted, in the middle: another window": shifted_in_the_middle,
            "shifted, in a corner: alone": shifted_in_a_corner,
            "a window that is not full: zeros are keys too": a_window_that_is_not_full,
            "folded and unfolded: the grid": there_and_back,
        },
        refusals={
            "a shift as far as a window": lambda: make(2, 2),
        },
        laws={**TWO_SIDED, "padding": WHOLE, "order": APART},
    )


@case("swin/Merging", Merging)
def _() -> Case:
    def in_their_order() -> tuple[Tensor, Tensor]:
        """The upper left, the lower left, the upper right, the lower right."""
        module, grid = Merging(3).double(), random_rows(1, 2, 4, 3)
        (a, b), (c, d) = grid[0, :, :2]
        return module(grid)[0, 0, 0], module.reduce(module.norm(torch.cat([a, c, b, d])))

    def a_line_of_zeros() -> tuple[Tensor, Tensor]:
        module, grid = Merging(3).double(), random_rows(1, 3, 4, 3)
        return module(grid), module(torch.cat([grid, torch.zeros(1, 1, 4, 3).double()], 1))

    def run(module: Merging, x: Tensor, mask: Any = None, state: Any = None) -> Tensor:
        return module(as_grid(x)).flatten(1, 2)

    return Case(
        make=partial(Merging, 16),
        run=run,
        parity=ORACLE,
        limits={
            "four patches, column by column": in_their_order,
            "a side of three: a line of zeros": a_line_of_zeros,
        },
        refusals={"no width": lambda: Merging(0)},
        laws=dict.fromkeys(
            ("no_leak", "padding", "cache", "order", "hooks"),
            NotApplicable("four patches become one, and no attention is there"),
        ),
    )
