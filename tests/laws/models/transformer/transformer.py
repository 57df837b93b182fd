"""Cases of `deepdive.models.transformer`."""

from functools import partial
from typing import Any

import torch
from torch import Tensor, nn

from deepdive.core import KVCache
from deepdive.core.stack import Stack
from deepdive.models.transformer import decoder_only, fsmt, marian
from deepdive.models.transformer.decoder_only import DecoderOnly
from deepdive.models.transformer.transformer import Decoder, Encoder, Transformer, tiny
from deepdive.models.transformer.translator import Translator
from laws import (
    ORDERED,
    TWO_SIDED,
    Case,
    Fails,
    case,
    padding_of,
    random_rows,
    set_weights,
    with_padding,
)
from laws.models.seq2seq.seq2seq import pair_case

SOURCE = torch.tensor([[5, 9, 7, 4], [8, 6, 11, 10], [7, 7, 5, 9]])
ROW = torch.tensor([[4, 9, 6]])
ORDER = {"order": Fails("positions and the causal mask tell the tokens apart")}


@case("transformer/Encoder", Encoder)
def _() -> Case:
    def no_layers() -> tuple[Tensor, Tensor]:
        encoder = tiny().encoder.double()
        encoder.stack = Stack(lambda i: nn.Identity(), 0)
        return encoder(ROW), encoder.position.embed(encoder.embedding(ROW), torch.arange(3))

    return Case(
        make=lambda: tiny().encoder,
        run=with_padding,
        vocab=32,
        parity="torch.nn.TransformerEncoder",
        limits={"no layers: embeddings with positions": no_layers},
        refusals={
            "a float mask": lambda: tiny().encoder(SOURCE, torch.ones(3, 4)),
            "an inverted mask": lambda: tiny().encoder(SOURCE, torch.zeros(3, 4).bool()),
            "a mask of another shape": lambda: tiny().encoder(SOURCE, torch.ones(3, 5).bool()),
        },
        laws={**TWO_SIDED, "order": ORDERED},
    )


@case("transformer/Decoder", Decoder)
def _() -> Case:
    def independent() -> tuple[Tensor, Tensor]:
        """A cross-attention that returns 0 leaves a decoder that knows no source."""
        decoder = tiny().decoder.double()
        for i in range(2):
            set_weights(decoder, **{f"stack__blocks__{i}__cross__out__weight": 0.0})
        first, second = (decoder(ROW, random_rows(1, 4, 32, seed=seed)) for seed in range(2))
        return first, second

    def run(decoder: Decoder, x: Tensor, mask: Any = None, state: Any = None) -> Tensor:
        memory = random_rows(3, 4, 32)[:1].to(next(decoder.parameters()).dtype)
        rows = memory.expand(x.shape[0], -1, -1)  # one for all rows: they may be reordered
        return decoder(x, rows, padding_of(mask), cache=state)

    return Case(
        make=lambda: tiny().decoder,
        run=run,
        begin=lambda _: KVCache(),
        vocab=32,
        parity="torch.nn.TransformerDecoder",
        limits={"a silent cross-attention: any memory gives the same": independent},
        refusals={"no memory": lambda: tiny().decoder(SOURCE)},
        laws=ORDER,
    )


def translator(make: Any, parity: str, limit: str = "encoder, decoder, head") -> Case:
    """Return the case of a translator, which is its parts."""

    def its_parts() -> tuple[Tensor, Tensor]:
        model, target = make().double().eval(), SOURCE.flip(1)
        states = model.decoder(target, model.encoder(SOURCE))
        return model(SOURCE, target), model.head(states)

    return pair_case(make, parity, {limit: its_parts}, SOURCE, laws=ORDER)


@case("transformer", Transformer)
def _() -> Case:
    parity = "torch.nn.Transformer, transformers MarianMTModel"
    return translator(tiny, parity, "encoder, decoder, embedding")


FSMT, MARIAN = "transformers FSMTForConditionalGeneration", "transformers MarianMTModel"
case("fsmt", Translator)(partial(translator, lambda: fsmt.fsmt(fsmt.TINY), FSMT))
case("marian", Translator)(partial(translator, lambda: marian.marian(marian.TINY), MARIAN))


def step_or_all(model: DecoderOnly, x: Tensor, mask: Any = None, state: Any = None) -> Tensor:
    """Run a decoder on its next tokens, or on whole texts."""
    return model.step(x, state) if state else model(x, padding_of(mask))


@case("DecoderOnly", DecoderOnly)
def _() -> Case:
    def the_decoder() -> tuple[Tensor, Tensor]:
        model = decoder_only.tiny().double()
        return model(ROW), model.decoder(ROW) @ model.decoder.embedding.weight.T

    return Case(
        make=decoder_only.tiny,
        run=step_or_all,
        begin=lambda model: model.begin(),
        vocab=32,
        parity="transformers GPT2LMHeadModel",
        limits={"its decoder's states times the embedding": the_decoder},
        refusals={
            "longer than the table": lambda: decoder_only.tiny()(torch.full((1, 65), 4)),
            "a float mask": lambda: decoder_only.tiny()(ROW, torch.ones(1, 3)),
        },
        laws=ORDER,
    )
