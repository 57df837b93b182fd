"""Cases of `deepdive.models.efficient.r_transformer`."""

from __future__ import annotations

from typing import Any

import torch
from torch import Tensor

from deepdive.attention import KVCache, MultiHeadAttention
from deepdive.layers import FeedForward
from deepdive.masks import Window
from deepdive.models.efficient.r_transformer import LocalRNN, RBlock, RStack, r_transformer, tiny
from deepdive.models.transformer.decoder_only import DecoderOnly
from deepdive.recurrent import GRU, LSTM, RNN
from laws import Case, Fails, NotApplicable, case, padding_of, random_rows, set_weights

NO_WEIGHTS = NotApplicable("no weights of attention exist in it")


ORDERED = Fails("it reads the rows of a window in their order")


@case("r_transformer/LocalRNN", LocalRNN)
def _() -> Case:
    def far_enough() -> tuple[Tensor, Tensor]:
        x, rnn = random_rows(2, 7, 16), LSTM(16, 16).double()
        return LocalRNN(rnn, 7)(x), rnn(x)

    def one_row() -> tuple[Tensor, Tensor]:
        x, rnn = random_rows(2, 7, 16), RNN(16, 16).double()
        return LocalRNN(rnn, 1)(x), torch.tanh(rnn.W(x) + rnn.U.bias)

    def make() -> LocalRNN:
        return LocalRNN(RNN(16, 16), 3)

    return Case(
        place="layer",
        make=make,
        parity="torch.nn.RNN, LSTM and GRU on every window",
        limits={"a window over everything: the network": far_enough, "of one row": one_row},
        refusals={
            "no row": lambda: LocalRNN(RNN(4, 4), 0),
            "another width": lambda: LocalRNN(RNN(4, 8), 2),
            "another mask": lambda: make()(torch.zeros(1, 3, 16), Window(1)),
        },
        laws={"order": ORDERED, "hooks": NO_WEIGHTS},
    )


@case("r_transformer/RBlock", RBlock)
def _() -> Case:
    def make() -> RBlock:
        local = LocalRNN(RNN(16, 16), 3)
        return RBlock(local, MultiHeadAttention(16, 4), FeedForward(16, 32))

    def run(block: RBlock, x: Tensor, mask: Any = None, state: Any = None) -> Tensor:
        near, far = (None, None) if state is None else (state[0], state[1])
        return block(block.near(x, mask, near), mask=mask, cache=far)

    def silent() -> tuple[Tensor, Tensor]:
        x, block = random_rows(2, 5, 16), make()
        set_weights(block, local__rnn__W__weight=0.0, local__rnn__U__weight=0.0)
        return block.near(x, None, None), block.local_residual(x, torch.zeros_like)

    return Case(
        make=make,
        run=run,
        begin=lambda _: KVCache(),
        parity="torch.nn.RNN, MultiheadAttention and LayerNorm, put together",
        limits={"a silent network: the stream, normalised": silent},
        refusals={
            "another mask": lambda: make().near(torch.zeros(1, 3, 16), Window(1), None),
            "a memory": lambda: make()(torch.zeros(1, 3, 16), torch.zeros(1, 3, 16)),
        },
        laws={"order": ORDERED},
    )


@case("r_transformer/RStack", RStack)
def _() -> Case:
    def make() -> RStack:
        return RStack(
            lambda _: RBlock(
                LocalRNN(GRU(16, 16), 2), MultiHeadAttention(16, 4), FeedForward(16, 32)
            ),
            2,
        )

    def in_a_row() -> tuple[Tensor, Tensor]:
        x, stack = random_rows(2, 5, 16), make().double()
        first, second = stack.blocks
        assert isinstance(first, RBlock)
        assert isinstance(second, RBlock)
        return stack(x), second(second.near(first(first.near(x, None, None)), None, None))

    return Case(
        place="stack",
        make=make,
        parity="none: what it does beside `RBlock`, which is proved, is to hand out slots",
        limits={"its blocks in a row": in_a_row},
        refusals={"a memory": lambda: make()(torch.zeros(1, 3, 16), torch.zeros(1, 3, 16))},
        laws={"order": ORDERED},
    )


@case("r_transformer", DecoderOnly)
def _() -> Case:
    def no_layers() -> tuple[Tensor, Tensor]:
        sizes = {"d_model": 16, "n_heads": 2, "d_ff": 32, "window": 3, "rnn": RNN}
        model, tokens = (
            r_transformer(32, n_layers=0, **sizes).double().eval(),
            torch.tensor([[4, 9, 6]]),
        )
        return model(tokens), model.decoder(tokens) @ model.decoder.embedding.weight.T

    def run(model: DecoderOnly, x: Tensor, mask: Any = None, state: Any = None) -> Tensor:
        return model.step(x, state) if state else model(x, padding_of(mask))

    return Case(
        make=tiny,
        run=run,
        begin=lambda model: model.begin(),
        vocab=32,
        parity="the paper's local networks and blocks, by loops",
        limits={"no layers: the embeddings times themselves": no_layers},
        refusals={"a float mask": lambda: tiny()(torch.full((1, 3), 4), torch.ones(1, 3))},
        laws={"order": Fails("local networks and the causal mask tell the tokens apart")},
    )
