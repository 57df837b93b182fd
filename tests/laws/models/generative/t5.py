"""Cases of `deepdive.models.generative.t5`."""

from __future__ import annotations

from functools import partial

import torch
from torch import Tensor

from deepdive.core import Position, PreNorm, RMSNorm, gelu_tanh
from deepdive.models.generative import byt5, t5
from deepdive.models.generative.t5 import T5
from deepdive.models.transformer.transformer import transformer
from laws import Case, case, random_rows
from laws.models.seq2seq.seq2seq import pair_case
from laws.models.transformer.transformer import ORDER, SOURCE

TARGET = SOURCE.flip(1)


def tiny(**changes: object) -> T5:
    torch.manual_seed(0)
    return t5.t5(t5.TINY, **changes).double().eval()


def without_a_bias() -> tuple[Tensor, Tensor]:
    """Scale and shared matrix are its parent's, written otherwise: with an empty table it is a
    Transformer with other norms, whose places are none.
    """
    model = tiny(d_head=8, n_decoder_layers=2)
    parent = transformer(
        32, d_model=32, n_heads=4, n_layers=2, d_ff=48, dropout=0.0,
        residual=partial(PreNorm, norm=RMSNorm), position=lambda _: Position(),
    ).double().eval()  # fmt: skip
    state = model.state_dict()
    for name, tensor in state.items():
        if name.endswith("table.weight"):
            tensor.zero_()
    for side in (model.encoder, model.decoder):
        side.stack.norm = side.stack.norm[0]
    parent.encoder.stack.norm, parent.decoder.stack.norm = (RMSNorm(32).double() for _ in range(2))
    with torch.no_grad():
        for name, parameter in parent.named_parameters():
            scale = 8**0.5 if name.endswith(".q.weight") else 1.0
            scale = 32**-0.5 if "embedding" in name else scale
            parameter.copy_(scale * model.get_parameter(name) if name in state else parameter)
    return model(SOURCE, TARGET), parent(SOURCE, TARGET)


def moved_on() -> tuple[Tensor, Tensor]:
    """Only distances count: the same rows, all places moved on by 1,000."""
    encoder, rows = tiny().encoder, random_rows(2, 5, 32)
    return encoder.stack(rows), encoder.stack(rows, positions=torch.arange(1000, 1005))


@case("t5", T5)
def _() -> Case:
    limits = {
        "an empty table: a Transformer with RMS norms and no places": without_a_bias,
        "all places moved on: the same": moved_on,
    }
    refusals = {
        "buckets that do not make two sides": lambda: t5.t5(t5.TINY, n_buckets=6),
        "a config of another kind": lambda: t5.t5(32),  # type: ignore[arg-type]
    }
    parity = "transformers T5ForConditionalGeneration, MT5ForConditionalGeneration"
    return pair_case(lambda: t5.t5(t5.TINY), parity, limits, SOURCE, laws=ORDER, refusals=refusals)


@case("t5/version 1.1", T5)
def _() -> Case:
    def the_gate_open() -> tuple[Tensor, Tensor]:
        """A gate whose activation says 1 for every token lets `inner` pass unchanged."""
        model = tiny(feed_forward=t5.gated, activation=torch.ones_like)
        straight = tiny(activation=lambda x: x)
        state = model.state_dict()
        straight.load_state_dict({n: t for n, t in state.items() if ".gate." not in n})
        return model(SOURCE, TARGET), straight(SOURCE, TARGET)

    limits = {"an open gate: a feed-forward layer without activation": the_gate_open}
    parity = "transformers MT5ForConditionalGeneration"
    return pair_case(lambda: t5.t5(t5.TINY_V1_1), parity, limits, SOURCE, laws=ORDER)


@case("byt5", T5)
def _() -> Case:
    def as_deep() -> tuple[Tensor, Tensor]:
        """With the depth and the pieces of its parent, it is its parent."""
        model = byt5.byt5(byt5.TINY, n_layers=2, vocab_size=32).double().eval()
        parent = tiny(feed_forward=t5.gated, head=t5.untied, activation=gelu_tanh)
        parent.load_state_dict(model.state_dict())
        return model(SOURCE, TARGET), parent(SOURCE, TARGET)

    return pair_case(
        lambda: byt5.byt5(byt5.TINY),
        "transformers T5ForConditionalGeneration",
        {"the depth and the pieces of its parent: the same": as_deep},
        SOURCE,
        laws=ORDER,
        refusals={"an unknown token": lambda: byt5.byt5(byt5.TINY)(SOURCE + 400, SOURCE)},
    )
