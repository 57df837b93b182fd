"""Cases of `deepdive.models.efficient.transformer_xl` and of its memory's other form."""

from typing import Any

import torch
from torch import Tensor

from deepdive.core import Block, FeedForward, LayerNorm, MultiHeadAttention, PostNorm
from deepdive.core.hooks import collect_losses
from deepdive.core.masks import Causal
from deepdive.layers.compressed_memory import Compression, CompressiveMemory
from deepdive.layers.segment_memory import Memory
from deepdive.models.efficient import compressive
from deepdive.models.efficient.compressive import CompressiveTransformer
from deepdive.models.efficient.transformer_xl import (
    TINY,
    TransformerXL,
    XLBlock,
    transformer_xl,
)
from deepdive.models.efficient.transformer_xl_lm import TransformerXLLM, for_lm
from laws import ALONE, Case, Fails, NotApplicable, case, padding_of, random_rows

ROW = torch.tensor([[4, 9, 6, 8, 5, 7, 12, 30]])
ORDER = {"order": Fails("relative positions and the causal mask tell the tokens apart")}
GOLDEN = "transformers 4.57.6 TransfoXLLMHeadModel, its saved outputs"
LOOPS = "the paper's equations, written out as loops"


def step_or_all(model: Any, x: Tensor, mask: Any = None, state: Any = None) -> Tensor:
    """Run a model on the next tokens of a text, or on whole texts."""
    return model(x, padding_of(mask)) if state is None else model(x, memory=state)


def in_segments(model: Any, tokens: Tensor, memory: Any, size: int) -> Tensor:
    return torch.cat([model(part, memory=memory) for part in tokens.split(size, 1)], 1)


@case("transformer_xl/XLBlock", XLBlock)
def _() -> Case:
    def without_positions() -> tuple[Tensor, Tensor]:
        """W, u and v of zeros: a post-norm layer without positions."""
        ours = XLBlock(TINY).double()
        plain = Block(
            MultiHeadAttention(16, 4, bias=False), FeedForward(16, 32),
            residual=lambda d: PostNorm(d, norm=LayerNorm),
        ).double()  # fmt: skip
        with torch.no_grad():
            for p in ours.attn.position.parameters():
                p.zero_()
        plain.load_state_dict(ours.state_dict(), strict=False)
        x = random_rows(2, 6, 16)
        return ours.read(x, x, Causal()), plain(x, mask=Causal())

    return Case(
        make=lambda: XLBlock(TINY),
        run=lambda block, x, mask, state: block.read(x, x, mask),
        parity=GOLDEN,
        limits={"no positions: a layer of the Transformer": without_positions},
        refusals={
            "rows of another width": lambda: XLBlock(TINY).read(
                torch.zeros(1, 3, 8), torch.zeros(1, 3, 8), None
            ),
            "fewer keys than queries": lambda: XLBlock(TINY).read(
                torch.zeros(1, 3, 16), torch.zeros(1, 2, 16), Causal()
            ),
        },
        laws={
            **ORDER,
            "cache": NotApplicable("its memory is of states, not of keys: `Memory`"),
        },
    )


@case("transformer_xl/TransformerXL", TransformerXL)
def _() -> Case:
    def make() -> TransformerXL:
        return transformer_xl(TINY)

    def no_memory() -> tuple[Tensor, Tensor]:
        """A memory of no states: each segment by itself, a Transformer's layers."""
        model = make().double()
        alone = [model(part) for part in ROW.split(4, 1)]
        return in_segments(model, ROW, Memory(0), 4), torch.cat(alone, 1)

    def two_segments() -> tuple[Tensor, Tensor]:
        model = make().double()
        return in_segments(model, ROW, Memory(4), 4)[:, :4], model(ROW)[:, :4]

    def one_pass() -> tuple[Tensor, Tensor]:
        """A memory as long as all that came before: the segments are one long pass."""
        model = make().double()
        return in_segments(model, ROW, Memory(6), 2), model(ROW)

    return Case(
        make=make,
        run=step_or_all,
        begin=lambda model: model.begin(),
        vocab=32,
        parity=GOLDEN,
        limits={
            "memory of width 0: segments by themselves": no_memory,
            "the first segment has no memory": two_segments,
            "memory as long as the text: one long pass": one_pass,
        },
        refusals={
            "an inverted mask": lambda: make()(ROW, torch.zeros(1, 8).bool()),
            "padding that would be cached": lambda: make()(ROW, ROW > 4, memory=Memory()),
            "a negative memory": lambda: Memory(-1),
            "no batch axis": lambda: make()(ROW[0]),
            "a token outside the vocabulary": lambda: make()(ROW + 40),
        },
        laws=ORDER,
    )


@case("transformer_xl", TransformerXLLM)
def _() -> Case:
    def make() -> TransformerXLLM:
        return for_lm(transformer_xl(TINY))

    def no_layers() -> tuple[Tensor, Tensor]:
        model = for_lm(transformer_xl(TINY, n_layers=0)).double()
        weight = model.body.tokens.weight
        return model(ROW), 4 * weight[ROW] @ weight.T

    def window_of_memory() -> tuple[Tensor, Tensor]:
        """One layer, one token at a time: the memory is a sliding window."""
        model = for_lm(transformer_xl(TINY, n_layers=1, same_length=True, n_memory=4)).double()
        return in_segments(model, ROW, Memory(3), 1), model(ROW)

    return Case(
        run=step_or_all,
        begin=lambda model: model.begin(),
        parity=GOLDEN,
        limits={
            "no layers: the embeddings times themselves": no_layers,
            "one layer: the memory is a window": window_of_memory,
        },
        refusals={"a float mask": lambda: make()(ROW, torch.ones(1, 8))},
        laws=ORDER,
    )


@case("compressive/Compression", Compression)
def _() -> Case:
    x = random_rows(2, 6, 16)

    def one_each() -> tuple[Tensor, Tensor]:
        return Compression(16, 1, "mean")(x), x

    def equal_states() -> tuple[Tensor, Tensor]:
        """Groups of equal states keep them, as mean and as maximum."""
        twice = x.repeat_interleave(2, 1)
        found = [Compression(16, 2, "mean")(twice), Compression(16, 2, "maximum")(twice)]
        return torch.cat(found), torch.cat((x, x))

    return Case(
        make=lambda: Compression(16, 2),
        run=lambda part, x, mask, state: part(x),
        parity=LOOPS,
        limits={"ratio 1: the identity": one_each, "equal states": equal_states},
        refusals={
            "no whole group": lambda: Compression(16, 4)(torch.zeros(1, 6, 16)),
            "no states in a group": lambda: Compression(16, 0),
            "another kind": lambda: Compression(16, 2, "median"),  # type: ignore[arg-type]
        },
        laws={
            **ALONE,
            "no_leak": NotApplicable("it makes one state of several"),
            "order": NotApplicable("there are fewer states after it than before"),
        },
    )


@case("compressive", CompressiveTransformer)
def _() -> Case:
    def make() -> CompressiveTransformer:
        return compressive.compressive(compressive.TINY)

    def run(model: Any, x: Tensor, mask: Any = None, state: Any = None) -> Tensor:
        """In training in segments, so that states are compressed; the loss joins the output."""
        if not model.training or mask is not None or state is not None:
            return step_or_all(model, x, mask, state)
        with collect_losses(model) as losses:
            states = in_segments(model, x.repeat(1, 2), model.begin(), 3)
        return states[:, : x.shape[1]] + 100 * losses.total()

    def with_weights_of(model: CompressiveTransformer) -> TransformerXL:
        parent = TransformerXL(TINY).double()
        parent.load_state_dict(model.state_dict(), strict=False)
        return parent

    def identity() -> tuple[Tensor, Tensor]:
        """Compression of one state to one: a longer memory."""
        model = compressive.compressive(compressive.TINY, ratio=1, compression="mean").double()
        tokens = ROW.repeat(1, 2)
        ours = in_segments(model, tokens, CompressiveMemory(4, 3, 1), 2)
        return ours, in_segments(with_weights_of(model), tokens, Memory(7), 2)

    def nothing_leaves() -> tuple[Tensor, Tensor]:
        model = make().double()
        ours = in_segments(model, ROW, CompressiveMemory(8, 3, 2), 2)
        return ours, with_weights_of(model)(ROW)

    def none_stay() -> tuple[Tensor, Tensor]:
        """No room for compressed states: Transformer-XL."""
        model = make().double()
        ours = in_segments(model, ROW, CompressiveMemory(4, 0, 2), 2)
        return ours, in_segments(with_weights_of(model), ROW, Memory(4), 2)

    return Case(
        make=make,
        run=run,
        begin=lambda model: CompressiveMemory(8, 3, 2),
        vocab=32,
        parity=LOOPS,
        limits={
            "ratio 1: a longer memory": identity,
            "a text no longer than the memory: Transformer-XL": nothing_leaves,
            "no compressed states: Transformer-XL": none_stay,
        },
        refusals={
            "a memory without compression": lambda: make()(ROW, memory=Memory(4)),
            "padding that would be cached": lambda: make()(ROW, ROW > 4, memory=make().begin()),
            "a window that hides them": lambda: compressive.TINY.but(same_length=True),
            "no group": lambda: CompressiveMemory(4, 4, 0),
        },
        laws=ORDER,
    )
