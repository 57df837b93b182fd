"""Cases of `deepdive.models.transformer.macaron`, `sandwich`, and `darts`."""

import torch
from torch import Tensor, nn

from deepdive.core import Block, FeedForward, LayerNorm, MultiHeadAttention, PreNorm
from deepdive.layers.mixed_layer import MixedLayer
from deepdive.layers.sublayers import Sublayer, SublayerStack, sublayer_stack
from deepdive.models.transformer import darts, macaron, sandwich
from deepdive.models.transformer.decoder_only import DecoderOnly
from deepdive.models.transformer.macaron import HalfFeedForward, macaron_block
from deepdive.models.transformer.sandwich import sandwich_order
from laws import ANY_ROWS, Case, Fails, Refuses, case, random_rows, set_weights
from laws.models.transformer.transformer import ORDER, ROW, step_or_all

X, ROWS = random_rows(2, 5, 16), torch.zeros(1, 3, 16)


@case("macaron/HalfFeedForward", HalfFeedForward)
def _() -> Case:
    def a_whole_layer() -> tuple[Tensor, Tensor]:
        half, plain = HalfFeedForward(16, 32).double(), FeedForward(16, 32).double()
        plain.load_state_dict(half.state_dict())
        return 2 * half(X), plain(X)

    return Case(
        place="feed_forward",
        make=lambda: HalfFeedForward(16, 32),
        parity="transformers Wav2Vec2ConformerEncoderLayer, half of its feed-forward output",
        limits={"twice the half: a feed-forward layer": a_whole_layer},
        laws={"refusal": ANY_ROWS},
    )


@case("macaron", DecoderOnly)
def _() -> Case:
    def plain_block() -> tuple[Tensor, Tensor]:
        """The first half returns 0, the second is doubled: attention, then feed-forward."""
        block = macaron_block(16, 4, 32).double()
        set_weights(block, ff_first__out__weight=0.0, ff_first__out__bias=0.0)
        plain = Block(MultiHeadAttention(16, 4), FeedForward(16, 16)).double()
        plain.load_state_dict(
            {name: w for name, w in block.state_dict().items() if "ff_first" not in name}
        )
        with torch.no_grad():
            block.ff.out.weight *= 2
            block.ff.out.bias *= 2
        return block(X), plain(X)

    return Case(
        run=step_or_all,
        begin=lambda model: model.begin(),
        parity="transformers Wav2Vec2ConformerEncoderLayer, with a silent convolution",
        limits={"first half 0, second doubled: a plain block": plain_block},
        refusals={
            "an odd d_ff": lambda: macaron_block(16, 4, 33),
            "a float mask": lambda: macaron.tiny()(ROW, torch.ones(1, 3)),
        },
        laws=ORDER,
    )


def attention_sublayer() -> Sublayer:
    return Sublayer(MultiHeadAttention(16, 4), PreNorm(16))


@case("sandwich/Sublayer", Sublayer)
def _() -> Case:
    def with_residual() -> tuple[Tensor, Tensor]:
        layer = attention_sublayer().double()
        return layer(X), X + layer.sublayer(layer.residual.norm(X))

    return Case(
        place="layer",
        make=attention_sublayer,
        parity="torch.nn MultiheadAttention, Linear, Conv1d, and LayerNorm, put together",
        limits={"its parts": with_residual},
        refusals={"a memory": lambda: attention_sublayer()(ROWS, memory=ROWS)},
    )


@case("sandwich/SublayerStack", SublayerStack)
def _() -> Case:
    def alternating() -> tuple[Tensor, Tensor]:
        stack = sublayer_stack(sandwich_order(2, 0), 16, 4, 32).double()
        x = X
        for attention, ff in zip(stack.blocks[::2], stack.blocks[1::2], strict=True):
            block = Block(attention.sublayer, ff.sublayer).double()
            block.attn_residual, block.ff_residual = attention.residual, ff.residual
            x = block(x)
        return stack(X), stack.norm(x)

    return Case(
        place="stack",
        make=lambda: sublayer_stack("fsssff", 16, 4, 32),
        parity="torch.nn MultiheadAttention, Linear, Conv1d, and LayerNorm, put together",
        limits={
            "k = 0: blocks in a row": alternating,
            "no sublayers: the norm": lambda: (
                sublayer_stack("ii", 16, 4, 32).double()(X),
                LayerNorm(16).double()(X),
            ),
        },
        refusals={
            "another letter": lambda: sublayer_stack("sx", 16, 4, 32),
            "a coefficient above n": lambda: sandwich_order(2, 3),
        },
    )


@case("sandwich", DecoderOnly)
def _() -> Case:
    def reordered() -> tuple[Tensor, Tensor]:
        """The order adds no weights and removes none."""
        sizes = [
            torch.tensor(sorted(p.numel() for p in sublayer_stack(o, 16, 4, 32).parameters()))
            for o in (sandwich_order(3, 0), sandwich_order(3, 2))
        ]
        return sizes[0].double(), sizes[1].double()

    return Case(
        run=step_or_all,
        begin=lambda model: model.begin(),
        parity="torch.nn MultiheadAttention, Linear, Conv1d, and LayerNorm, put together",
        limits={"any k: the same sizes": reordered},
        refusals={"a float mask": lambda: sandwich.tiny()(ROW, torch.ones(1, 3))},
        laws=ORDER,
    )


def mixed() -> MixedLayer:
    layers = {name: sublayer_stack(name, 16, 4, 32).blocks[0] for name in "scf"}
    return MixedLayer({**layers, "i": nn.Identity()})


@case("darts/MixedLayer", MixedLayer)
def _() -> Case:
    def one_hot(i: int) -> tuple[Tensor, Tensor]:
        layer = mixed()
        set_weights(layer, alpha=torch.full((4,), -1e4).index_fill(0, torch.tensor(i), 0.0))
        return layer(X), [*layer.candidates.values()][i](X)

    return Case(
        place="layer",
        make=mixed,
        parity="the paper's mixed operation, written out as loops",
        limits={
            "one-hot: that candidate": lambda: one_hot(1),
            "one-hot identity: the input": lambda: one_hot(3),
        },
        refusals={
            "no candidates": lambda: MixedLayer({}),
            "a bias": lambda: mixed()(ROWS, bias=torch.zeros(1, 1, 3, 3)),
        },
        laws={
            "order": Fails("one candidate is a convolution, which reads neighbors"),
            "cache": Refuses(MixedLayer.instead),
        },
    )


@case("darts", DecoderOnly)
def _() -> Case:
    def discrete() -> tuple[Tensor, Tensor]:
        """One-hot mixtures: the stack of the chosen sublayers."""
        model = darts.tiny().double()
        stack = sublayer_stack("fs", 32, 4, 64, bias=False).double()
        for layer, name, place in zip(model.decoder.stack.blocks, "fs", range(2), strict=True):
            set_weights(layer, alpha=torch.tensor([0.0 if n == name else -1e4 for n in "scfi"]))
            stack.blocks[place].load_state_dict(layer.candidates[name].state_dict())
        assert darts.chosen_order(model) == "fs"
        expected = model(ROW)
        model.decoder.stack = stack
        return expected, model(ROW)

    return Case(
        run=step_or_all,
        begin=lambda model: model.begin(),
        parity="the paper's mixed operation, written out as loops",
        limits={"one-hot mixtures: the chosen stack": discrete},
        refusals={"decoding": lambda: darts.tiny().step(ROW, darts.tiny().begin())},
        laws={**ORDER, "cache": Refuses(MixedLayer.instead)},
    )
