"""Cases of `deepdive.models.multilingual.veco`."""

from __future__ import annotations

from typing import Any

import torch
from torch import Tensor

from deepdive.core import Block, FeedForward, KVCache, MultiHeadAttention
from deepdive.models.bert import roberta
from deepdive.models.multilingual.veco import TINY, CrossAttentionBlock, Veco, veco
from deepdive.models.multilingual.veco_seq2seq import VecoDecoder, veco_encoder_decoder
from laws import ORDERED, TWO_SIDED, Case, Refuses, case, padding_of, random_rows
from laws.models.bert.bert import ROW, encoder
from laws.models.transformer.transformer import ORDER, SOURCE

ORACLE = "transformers RobertaModel with add_cross_attention"


def block(kind: type[Block] = CrossAttentionBlock) -> Block:
    return kind(MultiHeadAttention(16, 4), FeedForward(16, 32), MultiHeadAttention(16, 4))


def other(model: torch.nn.Module, batch: int) -> Tensor:
    """The states of another sentence, one for all rows."""
    rows = random_rows(1, 4, 32).to(next(model.parameters()).dtype)
    return rows.expand(batch, -1, -1)


@case("veco/PluggedBlock", CrossAttentionBlock)
def _() -> Case:
    def plugged_in() -> tuple[Tensor, Tensor]:
        ours, plain = block().double(), block(Block).double()
        plain.load_state_dict(ours.state_dict())
        x, memory = random_rows(2, 5, 16), random_rows(2, 3, 16, seed=1)
        return ours(x, memory=memory), plain(x, memory=memory)

    def plugged_out() -> tuple[Tensor, Tensor]:
        ours, x = block().double(), random_rows(2, 5, 16)
        plain = Block(MultiHeadAttention(16, 4), FeedForward(16, 32)).double()
        plain.load_state_dict(ours.state_dict(), strict=False)
        return ours(x), plain(x)

    silent = {
        name: "plugged out: nothing is read beside"
        for name, _ in block().named_parameters()
        if name.startswith("cross")
    }
    return Case(
        place="layer",
        make=block,
        parity=ORACLE,
        limits={"with a memory: a Block": plugged_in, "without: one without cross": plugged_out},
        refusals={"a memory of another width": lambda: block()(torch.zeros(1, 2, 16), ROW.float())},
        silent=silent,
        laws={"hooks": Refuses("plugged out, the second attention has no weights to record")},
    )


@case("veco/Veco", Veco)
def _() -> Case:
    def make() -> Any:
        return veco(TINY)

    def plugged_out() -> tuple[Tensor, Tensor]:
        ours, plain = make().double().eval(), roberta.roberta(roberta.TINY).double().eval()
        plain.load_state_dict(ours.state_dict(), strict=False)
        return ours(ROW), plain(ROW)

    declared = encoder(make, "", {"plugged out: RoBERTa": plugged_out})

    def run(model: Any, x: Tensor, mask: Any = None, state: Any = None) -> Tensor:
        return model.beside(x, padding_of(mask), other(model, len(x)), None)

    inverted = torch.zeros(1, 4).bool()
    return Case(
        make=make,
        run=run,
        vocab=32,
        parity=ORACLE,
        limits=declared.limits,
        refusals={
            **declared.refusals,
            "an inverted mask beside": lambda: make().beside(
                ROW, None, torch.zeros(1, 4, 32), inverted
            ),
        },
        laws={**TWO_SIDED, "order": ORDERED},
    )


@case("veco/VecoDecoder", VecoDecoder)
def _() -> Case:
    def make() -> VecoDecoder:
        return VecoDecoder(veco(TINY))  # type: ignore[arg-type]

    def the_last_token_sees_all() -> tuple[Tensor, Tensor]:
        """In one layer the last token of a text reads as it does plugged in."""
        model = veco(TINY, n_layers=1).double().eval()
        memory = random_rows(3, 4, 32)
        written = VecoDecoder(model)(SOURCE, memory)  # type: ignore[arg-type]
        return written[:, -1], model.beside(SOURCE, None, memory, None)[:, -1]

    def begins_as_it() -> tuple[Tensor, Tensor]:
        """A translator made of it reads as it does, and writes with the same weights."""
        model = veco(TINY).double().eval()
        ours, memory = veco_encoder_decoder(model).eval(), model(SOURCE)
        state = ours.begin(SOURCE)
        return ours.decode(SOURCE, state), VecoDecoder(model)(SOURCE, memory)

    def run(decoder: Any, x: Tensor, mask: Any = None, state: Any = None) -> Tensor:
        return decoder(x, other(decoder, len(x)), padding_of(mask), cache=state)

    return Case(
        make=make,
        run=run,
        begin=lambda _: KVCache(),
        vocab=32,
        parity=ORACLE,
        limits={
            "the last token, one layer: Veco beside": the_last_token_sees_all,
            "a translator of it: the same states": begins_as_it,
        },
        refusals={"longer than the table": lambda: make()(torch.full((1, 65), 4))},
        laws=ORDER,
    )
