"""Cases of DeBERTa, its decoder of gaps, and its later versions."""

from typing import Any

import torch
from torch import Tensor

from deepdive.core import gelu
from deepdive.models.bert import deberta, deberta_v2, mask_decoder
from deepdive.models.bert.bert import Bert, bert, full_attention
from laws import Case, Fails, Refuses, case, random_rows, set_weights
from laws.models.bert.bert import FIVE, SMALL, encoder


@case("deberta", mask_decoder.EnhancedMaskDecoder)
def _() -> Case:
    def a_bert() -> tuple[Tensor, Tensor]:
        """Places that say nothing, in both: queries shorter by the root of 3."""
        model = deberta.deberta(deberta.TINY).double().eval()
        plain = bert(**SMALL, n_segments=0, eps=1e-7).double().eval()
        for block in model.stack.blocks:
            zero = {"keys__weight": 0.0, "queries__weight": 0.0, "queries__bias": 0.0}
            set_weights(block.attn.position, **zero)
        state = {n: t.clone() for n, t in model.state_dict().items()}
        for attn in (f"stack.blocks.{layer}.attn." for layer in range(2)):
            state[attn + "q.weight"] /= 3**0.5
            state[attn + "kv.bias"] = torch.cat([torch.zeros(32), state[attn + "v_bias"]])
        state["embeddings.position.table.weight"] = torch.zeros(64, 32)
        plain.load_state_dict({n: t for n, t in state.items() if n in plain.state_dict()})
        return model(FIVE), plain(FIVE)

    def one_step() -> tuple[Tensor, Tensor]:
        """No absolute places, one step: the encoder and the head."""
        model = mask_decoder.for_pretraining(deberta.deberta(deberta.TINY)).double().eval()
        set_weights(model.positions, table__weight=0.0)
        model.steps = 1
        return model(FIVE), model.masked(model.bert(FIVE))

    limits = {"places that say nothing: BERT": a_bert, "one step, no places": one_step}
    refusals = {
        "nothing to decode with": lambda: mask_decoder.for_pretraining(
            deberta.deberta(deberta.TINY, n_layers=0)
        )
    }
    return encoder("deberta", "DebertaForMaskedLM", limits, refusals)


@case("deberta_v2", mask_decoder.EnhancedMaskDecoder)
def _() -> Case:
    def make(**changes: Any) -> Bert:
        return deberta_v2.deberta_v2(deberta_v2.TINY, **changes).double().eval()

    def a_deberta() -> tuple[Tensor, Tensor]:
        """Five tokens of sixteen buckets, no bias of keys, projections given to both."""
        model = make(n_buckets=16, reach=64, kernel=None)
        plain = deberta.deberta(deberta.TINY, reach=16).double().eval()
        state = model.state_dict()
        for layer in range(2):
            attn = f"stack.blocks.{layer}.attn."
            state[attn + "v_bias"] = state[attn + "kv.bias"][32:]
            state[attn + "position.keys.weight"] = state[attn + "kv.weight"][:32]
            rows = model.stack.blocks[0].attn.position.rows().detach()
            state[attn + "position.rows.table.weight"] = rows
        plain.load_state_dict({n: t for n, t in state.items() if n in plain.state_dict()})
        return model(FIVE), plain(FIVE)

    def no_convolution() -> tuple[Tensor, Tensor]:
        """A convolution of zeros leaves a norm of what is normalised."""
        model, plain = make(), make(kernel=None)
        set_weights(model.stack.blocks[0].convolution, W__weight=0.0, W__bias=0.0)
        state = model.state_dict()
        plain.load_state_dict({n: t for n, t in state.items() if n in plain.state_dict()})
        first, second = plain.stack.blocks
        rows = first(plain.embeddings(FIVE, None, torch.arange(5)))
        return model(FIVE), second(model.stack.blocks[0].norm(rows))

    limits = {"few tokens: DeBERTa": a_deberta, "a convolution of zeros": no_convolution}
    refusals = {
        "an odd number of buckets": lambda: make(n_buckets=5),
        "a reach within the exact buckets": lambda: make(n_buckets=8, reach=5),
        "an even kernel": lambda: make(kernel=2),
    }
    return encoder("deberta_v2", "DebertaV2ForMaskedLM", limits, refusals)


@case("bert/ConvolvedBlock", deberta_v2.ConvolvedBlock)
def _() -> Case:
    def make() -> deberta_v2.ConvolvedBlock:
        config = deberta_v2.TINY.but(d_model=16, attention=full_attention)
        return deberta_v2.ConvolvedBlock(config, 3)

    def its_parts() -> tuple[Tensor, Tensor]:
        layer, x = make().double().eval(), random_rows(2, 5, 16)
        y = layer.attn_residual(x, layer.attn)
        y = layer.ff_residual(y, layer.ff) + gelu(layer.convolution(x))
        return layer(x), layer.norm(y)

    return Case(
        place="layer",
        make=make,
        parity="transformers DebertaV2Model",
        limits={"its parts": its_parts},
        refusals={"an even kernel": lambda: deberta_v2.ConvolvedBlock(deberta_v2.TINY, 4)},
        laws={
            "no_leak": Refuses("its convolution reads a row ahead"),
            "cache": Refuses("its convolution reads a row ahead"),
            "order": Fails("its convolution reads neighbours"),
        },
    )
