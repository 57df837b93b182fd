"""Cases of DeLighT, of Lite Transformer, and of what their layers are made of."""

from functools import partial

import torch
import torch.nn.functional as F
from torch import Tensor, nn

from deepdive.core import Block, FeedForward, MultiHeadAttention
from deepdive.core.masks import Causal, Padding, Window
from deepdive.core.stack import Stack
from deepdive.layers.dextra import DelightAttention, DExTra, GroupTransform, shape
from deepdive.layers.lightweight_convolution import (
    DynamicKernel,
    GatedLightweightConvolution,
    LightweightConvolution,
    LongShortAttention,
    SharedKernel,
)
from deepdive.models.efficient import delight, lite_transformer
from deepdive.models.efficient.delight import block_scaling
from laws import ALONE, NO_WEIGHTS, Case, Fails, NotApplicable, case, random_rows, set_weights

X, ROWS = random_rows(2, 6, 16), torch.zeros(1, 3, 16)
LOOPS = "the papers' equations, written out as loops over positions and groups"
NEIGHBORS = Fails("a convolution tells its neighbors apart by their distance")
CHANNELS = {
    **dict.fromkeys(("padding", "cache"), NotApplicable(
        "padding and the cache are those of the convolution around it")),
    "no_leak": Fails("the window is that of the convolution around it"),
    "order": NEIGHBORS, "hooks": NO_WEIGHTS,
}  # fmt: skip


def of_channels(module: nn.Module, x: Tensor, mask: object, state: object) -> Tensor:
    """A kernel of 3 over (B, d_model, T), centered."""
    return module(F.pad(x.mT, (1, 1))).mT


def identity(x: Tensor) -> Tensor:
    return x


LINEAR = {"activation": identity, "norm": nn.Identity, "shuffle": False}


@case("GroupTransform", GroupTransform)
def _() -> Case:
    def a_matrix() -> tuple[Tensor, Tensor]:
        layer = GroupTransform(16, 8, 1, **LINEAR).double()
        return layer(X), X @ layer.linear.weight[0] + layer.linear.bias

    def shuffled() -> tuple[Tensor, Tensor]:
        """Two groups of four: 0 1 2 3, 4 5 6 7 becomes 0 4 1 5, 2 6 3 7."""
        plain = GroupTransform(16, 8, 2, **LINEAR).double()
        mixed = GroupTransform(16, 8, 2, **{**LINEAR, "shuffle": True}).double()
        mixed.load_state_dict(plain.state_dict())
        return mixed(X), plain(X)[..., [0, 4, 1, 5, 2, 6, 3, 7]]

    return Case(
        make=lambda: GroupTransform(16, 8, 2),
        parity=LOOPS,
        limits={"one group: a linear layer": a_matrix, "shuffled features": shuffled},
        refusals={"groups that do not divide": lambda: GroupTransform(16, 8, 3)},
        laws=ALONE,
    )


@case("DExTra", DExTra)
def _() -> Case:
    def a_linear_map() -> tuple[Tensor, Tensor]:
        """Width 1, one group, one layer, no activation: a product of matrices."""
        unit = DExTra(16, 8, 1, 1.0, 1, **LINEAR).double()
        W, W_1, W_2 = (layer.linear.weight[0] for layer in (
            unit.reduce, unit.transforms[0], unit.join))  # fmt: skip
        biases = unit(torch.zeros(1, 16).double())
        return unit(X), X @ (W @ W_2[:8] + W @ W_1 @ W_2[8:]) + biases

    def without_mixing() -> tuple[Tensor, Tensor]:
        """No weight reads the mixed-in input: the layers one after another."""
        unit = DExTra(16, 8, 2, 1.0, 1, **LINEAR).double()
        set_weights(unit.transforms[1], linear__weight=F.pad(
            random_rows(unit.widths[0], 8), (0, 0, 8, 0)))  # fmt: skip
        set_weights(unit.join, linear__weight=F.pad(torch.eye(8), (0, 0, 8, 0)))
        y = unit.transforms[0](unit.reduce(X))
        return unit(X), y @ unit.transforms[1].linear.weight[0][8:]

    def sizes() -> tuple[Tensor, Tensor]:
        """The released base: 512 to 256, four layers to 1024 and back, 2 and 4 groups."""
        groups, widths = shape(256, 1024, 4, 8)
        return torch.tensor([groups, widths]), torch.tensor([[2, 4, 4, 2], [256, 1024, 1024, 256]])

    return Case(
        make=lambda: DExTra(16, 8, 3, max_groups=4),
        parity=LOOPS,
        limits={
            "width 1, one group, one layer: a linear map": a_linear_map,
            "no mixing: layer after layer": without_mixing,
            "the released widths and groups": sizes,
        },
        refusals={
            "groups that do not divide": lambda: DExTra(16, 8, 3, max_groups=3),
            "no layers": lambda: DExTra(16, 8, 0),
        },
        laws=ALONE,
    )


@case("DelightAttention", DelightAttention)
def _() -> Case:
    def make() -> DelightAttention:
        return DelightAttention(16, DExTra(16, 8, 2, max_groups=4))

    def one_head() -> tuple[Tensor, Tensor]:
        layer = make().double()
        q, (k, v) = layer.attn.queries(layer.dextra(X)), layer.attn.keys_and_values(layer.dextra(X))
        weights = (q @ k.mT / 8**0.5).softmax(-1)
        return layer(X), layer.attn.out((weights @ v).squeeze(1))

    return Case(
        place="layer",
        make=make,
        parity=LOOPS,
        limits={"one head of half the width": one_head},
        refusals={
            "a memory": lambda: make()(ROWS, memory=ROWS),
            "a wrong width": lambda: make()(torch.zeros(1, 3, 8)),
        },
    )


@case("delight", Stack)
def _() -> Case:
    def scales() -> tuple[Tensor, Tensor]:
        """Eight blocks from 4 to 8 layers, widths from 2 to 3."""
        found = block_scaling(8, 4, 8, 2.0)
        depths = [4 + 4 * b // 7 for b in range(8)]
        widths = [round(2 + b / 7, 3) for b in range(8)]
        return torch.tensor(found).double(), torch.tensor(
            [*zip(depths, widths, strict=True)]
        ).double()

    def equal_blocks() -> tuple[Tensor, Tensor]:
        found = block_scaling(3, 4, 4, 2.0)
        return torch.tensor(found), torch.tensor([(4, 2.0)] * 3)

    def silent() -> tuple[Tensor, Tensor]:
        stack = delight.tiny().double()
        expected = X
        for block in stack.blocks:
            set_weights(block, attn__attn__out__weight=0.0, ff__out__weight=0.0)
            expected = block.ff_residual.norm(block.attn_residual.norm(expected))
        return stack(X), expected

    return Case(
        place="stack",
        parity=LOOPS,
        limits={
            "the paper's scaling": scales,
            "no scaling: equal blocks": equal_blocks,
            "sublayers that return 0: the norms": silent,
        },
        refusals={
            "depths in the wrong order": lambda: block_scaling(3, 8, 4),
            "a memory": lambda: delight.tiny()(ROWS, memory=ROWS),
        },
    )


@case("SharedKernel", SharedKernel)
def _() -> Case:
    def one_channel_per_head() -> tuple[Tensor, Tensor]:
        module, x = SharedKernel(16, 16, 3).double(), X.mT
        return module(x), F.conv1d(x, module.weight.softmax(-1)[:, None], groups=16)

    def equal_logits() -> tuple[Tensor, Tensor]:
        module, x = set_weights(SharedKernel(16, 2, 3), weight=1.0), X.mT
        return module(x), x.unfold(-1, 3, 1).mean(-1)

    return Case(
        make=lambda: SharedKernel(16, 2, 3),
        run=of_channels,
        parity="torch.nn.functional.conv1d, and " + LOOPS,
        limits={"a head per channel: conv1d in groups": one_channel_per_head,
                "equal logits: a mean": equal_logits},
        refusals={"heads that do not divide": lambda: SharedKernel(16, 3, 3)},
        laws=CHANNELS,
    )  # fmt: skip


@case("DynamicKernel", DynamicKernel)
def _() -> Case:
    def fixed() -> tuple[Tensor, Tensor]:
        """Logits that don't depend on the state: one kernel, shared."""
        module, plain = DynamicKernel(16, 2, 3, 1), SharedKernel(16, 2, 3).double()
        set_weights(module, logits__weight=0.0, logits__bias=plain.weight.flatten())
        return module(X.mT), plain(X.mT)

    return Case(
        make=lambda: DynamicKernel(16, 2, 3, 1),
        run=of_channels,
        parity=LOOPS,
        limits={"logits that are constant: SharedKernel": fixed},
        refusals={"heads that do not divide": lambda: DynamicKernel(16, 3, 3, 1)},
        laws=CHANNELS,
    )


@case("LightweightConvolution", LightweightConvolution)
def _() -> Case:
    def centered() -> tuple[Tensor, Tensor]:
        layer = LightweightConvolution(16, 2, 5).double()
        weight = layer.W.weight.softmax(-1).repeat_interleave(8, 0)[:, None]
        return layer(X), F.conv1d(X.mT, weight, padding=2, groups=16).mT

    causal = partial(LightweightConvolution, 16, 2, 4, causal=True, dynamic=True)
    return Case(
        place="layer",
        make=causal,
        parity=LOOPS,
        limits={"a shared kernel: conv1d in groups": centered},
        refusals={
            "an even kernel": lambda: LightweightConvolution(16, 2, 4),
            "a causal mask, and a look ahead": lambda: LightweightConvolution(16, 2, 3)(
                ROWS, mask=Causal()),
            "another mask": lambda: causal()(ROWS, mask=Window(1)),
        },
        laws={"order": NEIGHBORS, "hooks": NO_WEIGHTS},
    )  # fmt: skip


@case("GatedLightweightConvolution", GatedLightweightConvolution)
def _() -> Case:
    def its_steps() -> tuple[Tensor, Tensor]:
        layer = GatedLightweightConvolution(16, 2, 3).double()
        values, gate = layer.inner(X).chunk(2, -1)
        return layer(X), layer.out(layer.conv(values * gate.sigmoid()))

    causal = partial(GatedLightweightConvolution, 16, 2, 3, causal=True)
    return Case(
        place="layer",
        make=causal,
        parity=LOOPS,
        limits={"gate, convolution, matrix": its_steps},
        refusals={"another mask": lambda: causal()(ROWS, mask=Window(1)),
                  "a memory": lambda: causal()(ROWS, memory=ROWS)},
        laws={"order": NEIGHBORS, "hooks": NO_WEIGHTS},
    )  # fmt: skip


@case("LongShortAttention", LongShortAttention)
def _() -> Case:
    def all_attend() -> tuple[Tensor, Tensor]:
        layer, plain = LongShortAttention(16, 4, 3, attended=16), MultiHeadAttention(16, 4)
        plain.load_state_dict(layer.attn.state_dict())
        return layer.double()(X), plain.double()(X)

    def all_convolved() -> tuple[Tensor, Tensor]:
        layer = LongShortAttention(16, 4, 3, attended=0).double()
        plain = GatedLightweightConvolution(16, 4, 3, dynamic=True).double()
        plain.load_state_dict(layer.conv.state_dict())
        return layer(X), plain(X)

    def side_by_side() -> tuple[Tensor, Tensor]:
        layer, keys = LongShortAttention(16, 2, 3, attended=6).double(), torch.ones(2, 6).bool()
        keys[1, 4:] = False
        halves = layer.attn(X[..., :6], mask=Padding(keys)), layer.conv(
            X[..., 6:], mask=Padding(keys))  # fmt: skip
        return layer(X, mask=Padding(keys)), torch.cat(halves, -1)

    return Case(
        place="layer",
        make=lambda: LongShortAttention(16, 2, 3, causal=True),
        parity=LOOPS,
        limits={
            "all channels attend: attention": all_attend,
            "all channels convolved: the convolution": all_convolved,
            "each on its channels": side_by_side,
        },
        refusals={
            "too many channels": lambda: LongShortAttention(16, 2, 3, attended=17),
            "a causal mask, and a look ahead": lambda: LongShortAttention(16, 2, 3)(
                ROWS, mask=Causal()),
            "a memory": lambda: LongShortAttention(16, 2, 3)(ROWS, memory=ROWS),
        },
        laws={"order": NEIGHBORS},
    )  # fmt: skip


@case("lite_transformer", Stack)
def _() -> Case:
    def a_transformer() -> tuple[Tensor, Tensor]:
        """All channels attend, and d_ff is 4 d_model: the Transformer's encoder layers."""
        ours = lite_transformer.lite_transformer(
            16, n_heads=4, kernels=(3, 5), d_ff=64, attended=16, dropout=0.0
        )
        plain = Stack(lambda _: Block(MultiHeadAttention(16, 4), FeedForward(16, 64),
                                      residual=lite_transformer.PostNorm), 2)  # fmt: skip
        plain.load_state_dict({n.replace("attn.attn", "attn"): p
                               for n, p in ours.state_dict().items()})  # fmt: skip
        return ours.double()(X), plain.double()(X)

    def reach() -> tuple[Tensor, Tensor]:
        """Without attention, two layers with kernels of 3 and 5 reach 1 + 2 positions back."""
        stack = lite_transformer.lite_transformer(
            16, n_heads=2, kernels=(3, 5), attended=0, dropout=0.0).double()  # fmt: skip
        other = X.clone()
        other[:, 0] += 1
        moved = (stack(other) - stack(X)).abs().amax((0, 2)) > 1e-9
        return moved.double(), torch.tensor([1.0, 1, 1, 1, 0, 0]).double()

    def make() -> Stack:
        return lite_transformer.tiny()

    return Case(
        make=lambda: lite_transformer.lite_transformer(
            16, n_heads=2, kernels=(3, 5), causal=True, dropout=0.0),
        place="stack",
        parity=LOOPS,
        limits={"all channels attend: the Transformer": a_transformer,
                "without attention, the kernels' reach": reach},
        refusals={"a memory": lambda: make()(ROWS, memory=ROWS),
                  "a causal mask, and a look ahead": lambda: make()(ROWS, mask=Causal())},
        laws={"order": NEIGHBORS},
    )  # fmt: skip
