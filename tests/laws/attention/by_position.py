"""Cases of `deepdive.attention.by_position`."""

import math
from functools import partial

import torch
from torch import Tensor

from deepdive.attention.by_position.adaptive_span import AdaptiveSpanAttention
from deepdive.attention.by_position.axial import AxialAttention
from deepdive.attention.by_position.block_sparse import BlockSparseAttention
from deepdive.attention.by_position.chunk import ChunkAttention
from deepdive.attention.by_position.dilated import DilatedAttention
from deepdive.attention.by_position.factorized import FixedAttention, StridedAttention
from deepdive.attention.by_position.global_window import GlobalWindowAttention
from deepdive.attention.by_position.longformer import LongformerAttention
from deepdive.attention.by_position.shifted import ShiftedAttention, Sides
from deepdive.attention.by_position.window import WindowAttention
from deepdive.core.cache import Slot
from deepdive.core.hooks import collect_losses
from deepdive.core.masks import Causal, Dense, Global, Mask, Window
from deepdive.core.multi_head import MultiHeadAttention
from deepdive.core.softmax import SoftmaxAttention
from laws import Case, Fails, Pair, Refuses, case, random_rows
from laws.attention.softmax import NEAR, gap, heads, mechanism_case, same

UNDER_ITS_MASK = "torch.nn.functional.scaled_dot_product_attention under its mask"
SEES_ALL = Refuses("a global token sees all: there is no causal form, and no cache")
PADDING = gap(23, 5, 11)  # longer than a window: some rows have no key
THREE = [torch.zeros(1, 2, 3, 4)] * 3


@case("adaptive_span", AdaptiveSpanAttention)
def _() -> Case:
    rows = heads(23)

    def make(start: float = 0.5, longest: int = 6) -> AdaptiveSpanAttention:
        return AdaptiveSpanAttention(2, longest, ramp=3, start=start).double()

    ramp = torch.zeros(23, 23, dtype=torch.float64)  # over three keys, the own one whole
    for back in range(3):
        ramp.diagonal(-back).fill_(math.log((3 - back) / 3))

    def the_loss() -> tuple[Tensor, Tensor]:
        ours = make()
        with collect_losses(ours) as losses:
            ours(*rows)
        return torch.stack(list(losses)), 2e-6 * ours.lengths().mean().unsqueeze(0)

    return mechanism_case(
        lambda: AdaptiveSpanAttention(4, 4, ramp=2),
        parity="the paper's equations, pair by pair, gradients of the spans included",
        limits={
            "spans over everything: the mask Causal": same(make(0.5, 60), rows, Causal() & PADDING),
            "spans of nothing: the ramp alone": same(
                make(1e-12), rows, pattern=Window(2), bias=ramp
            ),
            "the loss: the mean length": the_loss,
        },
        refusals={"no ramp": lambda: AdaptiveSpanAttention(2, 4, ramp=0)},
        laws=NEAR,
    )


@case("axial", AxialAttention)
def _() -> Case:
    rows = heads(23)
    return mechanism_case(
        lambda: AxialAttention(2, "column"),
        parity="torch.nn.functional.scaled_dot_product_attention on each row and column",
        limits={
            "one row: SoftmaxAttention": same(AxialAttention(23), rows),
            "one column: SoftmaxAttention": same(AxialAttention(1, "column"), rows),
        },
        refusals={"an unknown axis": lambda: AxialAttention(2, "depth")},
        laws={"order": Fails("who stands in a line depends on the order")},
    )


@case("BlockSparseAttention", BlockSparseAttention)
def _() -> Case:
    rows, near = heads(23), torch.arange(23)
    ends = (near - near.unsqueeze(1)).abs() <= 1  # a window of three, and the two ends
    ends[[0, -1]] = ends[:, [0, -1]] = True
    two_sided = Refuses("the first block sees all: there is no causal form, and no cache")
    return mechanism_case(
        lambda: BlockSparseAttention(1, 0),
        parity=f"{UNDER_ITS_MASK}, transformers BigBirdModel",
        limits={
            "a short text: SoftmaxAttention": same(BlockSparseAttention(4, 1), rows, PADDING),
            "nothing drawn, blocks of one: window and ends": same(
                BlockSparseAttention(1, 0), rows, pattern=Dense(ends)
            ),
        },
        refusals={"an empty block": lambda: BlockSparseAttention(0)},
        laws={"no_leak": two_sided, "cache": two_sided, **NEAR},
    )


@case("ChunkAttention", ChunkAttention)
def _() -> Case:
    rows, padding = heads(23), gap(23, 5, 16)
    both = Causal() & padding

    def ring(chunk: int, before: int, after: int) -> Pair:
        """A key that is met n times has a score that is raised by log n."""
        at = torch.arange(23) // chunk
        n = int(at[-1]) + 1
        shifts = [shift if abs(shift) <= n else 0 for shift in range(-after, before + 1)]
        often = torch.stack([(at[:, None] - at) % n == shift % n for shift in shifts]).sum(0)
        masks = (None, Causal(), padding, both)
        return same(ChunkAttention(chunk, before, after), rows, *masks, bias=often.double().log())

    return mechanism_case(
        lambda: ChunkAttention(2, 1, 0),
        parity="transformers LocalSelfAttention",
        limits={
            "the ring of chunks as a mask": ring(4, 2, 1),
            "a ring of three chunks, met four times": ring(8, 2, 1),
            "a ring of two chunks, one step too far": ring(12, 3, 1),
            "one chunk: SoftmaxAttention": same(ChunkAttention(23), rows, both),
        },
        refusals={"no chunk": lambda: ChunkAttention(0)},
        laws={**NEAR, "cache": Refuses("a key for each query: a chunk is met whole")},
    )


@case("DilatedAttention", DilatedAttention)
def _() -> Case:
    no_gaps = same(DilatedAttention(2, 1), heads(23, H=3), pattern=Window(2, 1))
    return mechanism_case(
        lambda: DilatedAttention(1, 1, dilations=(1, 1, 2, 2), block=2),
        parity=UNDER_ITS_MASK,
        limits={"no gaps: the mask Window": no_gaps},
        refusals={
            "dilations for other heads": lambda: DilatedAttention(1, 1, (1, 2, 3))(*THREE),
            "a dilation of 0": lambda: DilatedAttention(1, 1, (0,)),
        },
        laws=NEAR,
    )


def factorized_case(
    make: type[StridedAttention] | type[FixedAttention], small: tuple[int, ...]
) -> Case:
    """Return the case of one of the two patterns of the sparse Transformer."""
    everything = same(make(23), heads(23), pattern=Causal())
    return mechanism_case(
        lambda: make(*small),
        parity="torch.nn.functional.scaled_dot_product_attention under the paper's sets",
        limits={"a stride over everything: the mask Causal": everything},
        refusals={"no stride": lambda: make(0)},
        laws={"order": Fails("who is met depends on the order")},
    )


case("sparse_transformer", StridedAttention)(partial(factorized_case, StridedAttention, (3,)))
case("FixedAttention", FixedAttention)(partial(factorized_case, FixedAttention, (3, 2)))


@case("GlobalWindowAttention", GlobalWindowAttention)
def _() -> Case:
    rows = heads(23)
    marks = torch.zeros(2, 23).bool()
    marks[0, [4, 17]], marks[1, 2] = True, True

    def marked_tokens() -> tuple[Tensor, Tensor]:
        opened = Window(2, 2) | Dense(marks[:, None, :, None] | marks[:, None, None])
        ours = GlobalWindowAttention(2, 2, block=4)(*rows, PADDING, global_tokens=marks)
        return ours, SoftmaxAttention()(*rows, PADDING & opened)

    def all_global() -> tuple[Tensor, Tensor]:
        every = torch.ones(2, 23).bool()
        return GlobalWindowAttention(1, 1)(*rows, global_tokens=every), SoftmaxAttention()(*rows)

    return mechanism_case(
        lambda: GlobalWindowAttention(1, 1, at=(0,), block=2),
        parity=f"{UNDER_ITS_MASK}, transformers LongformerModel",
        limits={
            "the mask Window | Global, padding included": same(
                GlobalWindowAttention(3, 1, at=(0, -1), block=4),
                rows,
                PADDING,
                pattern=Window(3, 1) | Global((0, 22)),
            ),
            "marked tokens, other ones in each text": marked_tokens,
            "no global token: the mask Window": same(
                GlobalWindowAttention(2, 1), rows, pattern=Window(2, 1)
            ),
            "all tokens global: SoftmaxAttention": all_global,
        },
        refusals={
            "a position that is not there": lambda: GlobalWindowAttention(1, 1, (5,))(*THREE),
            "a window to the wrong side": lambda: GlobalWindowAttention(-1, 0),
            "marks for another text": lambda: GlobalWindowAttention(1, 1)(
                *THREE, global_tokens=torch.ones(1, 4).bool()
            ),
            "marks of numbers": lambda: GlobalWindowAttention(1, 1)(
                *THREE, global_tokens=torch.ones(1, 3)
            ),
        },
        laws={"no_leak": SEES_ALL, "cache": SEES_ALL, **NEAR},
    )


@case("LongformerAttention", LongformerAttention)
def _() -> Case:
    def make(window: int = 1, at: tuple[int, ...] = (0,)) -> LongformerAttention:
        return LongformerAttention(16, 4, window, at, block=4)

    def moved(layer: LongformerAttention) -> LongformerAttention:
        with torch.no_grad():
            for i, parameter in enumerate(layer.double().parameters()):
                parameter.add_(0.2 * random_rows(*parameter.shape, seed=i))
        return layer

    def shared(layer: LongformerAttention, mask: Mask) -> tuple[Tensor, Tensor]:
        """The layer, and plain attention with its shared projections under `mask`."""
        x, padding, plain = random_rows(2, 13, 16), gap(13, 9, 13), MultiHeadAttention(16, 4)
        for name in ("q", "kv", "out"):
            setattr(plain, name, getattr(layer, name))
        return layer(x, mask=padding), plain(x, mask=padding & mask)

    def at_the_start() -> tuple[Tensor, Tensor]:
        layer = moved(make())
        layer.start_global()
        return shared(layer, Window(1, 1) | Global((0,)))

    rows = torch.zeros(1, 3, 16)
    return Case(
        place="layer",
        make=make,
        parity="transformers LongformerModel",
        limits={
            "no global token: multi-head attention under the mask Window": lambda: shared(
                moved(make(2, ())), Window(2, 2)
            ),
            "global projections as they start: the mask Window | Global": at_the_start,
        },
        refusals={
            "a memory": lambda: make()(rows, memory=rows),
            "a cache": lambda: make()(rows, cache=Slot()),
            "a bias": lambda: make()(rows, bias=torch.zeros(3, 3)),
            "another mask": lambda: make()(rows, mask=Window(2)),
        },
        laws={"no_leak": SEES_ALL, "cache": SEES_ALL, **NEAR},
    )


@case("WindowAttention", WindowAttention)
def _() -> Case:
    q, k, v = rows = heads(23)
    ours = WindowAttention(3, 1, block=4)
    return mechanism_case(
        lambda: WindowAttention(2, 1, block=2),
        parity="torch.nn.functional.scaled_dot_product_attention under the band's mask, "
        "transformers LongformerSelfAttention",
        limits={
            "the mask Window, padding included": same(ours, rows, PADDING, pattern=Window(3, 1)),
            "the mask Window for the last rows": same(
                WindowAttention(3, 2), [q[:, :, -5:], k, v], None, Causal(), pattern=Window(3, 2)
            ),
            "a window over everything: SoftmaxAttention": same(WindowAttention(22, 22), rows),
        },
        refusals={"a window to the wrong side": lambda: WindowAttention(-1)},
        laws=NEAR,
    )


@case("ShiftedAttention", ShiftedAttention)
def _() -> Case:
    ids = torch.tensor([[0, 0, 0, 0, 0], [0, 0, 1, 1, 1], [0, 2, 0, 2, 2]])

    def biased(mask: Mask | None) -> Pair:
        """Two images of three windows, and a bias that is learned: as the mask is written out."""

        def pair() -> tuple[Tensor, Tensor]:
            rows = [random_rows(6, 2, 5, 4, seed=seed) for seed in range(3)]
            bias = random_rows(1, 2, 5, 5, seed=4).requires_grad_()
            ways = ((ShiftedAttention(), mask), (SoftmaxAttention(), mask and mask.dense(5)))
            said = [mechanism(*rows, way, bias) for mechanism, way in ways]
            slopes = [torch.autograd.grad(one.square().sum(), bias)[0] for one in said]
            ours, theirs = (
                torch.cat([a.flatten(), b.flatten()]) for a, b in zip(said, slopes, strict=True)
            )
            return ours, theirs

        return pair

    return mechanism_case(
        ShiftedAttention,
        parity="transformers SwinModel",
        limits={
            "one side: SoftmaxAttention": biased(None),
            "two sides: the mask written out": biased(Sides(ids, 2)),
            "no bias: SoftmaxAttention": same(ShiftedAttention(), heads(9), Causal()),
        },
        refusals={"windows of other images": lambda: ShiftedAttention()(*THREE, Sides(ids, 2))},
    )
