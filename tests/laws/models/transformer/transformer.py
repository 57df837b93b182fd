"""Cases of `deepdive.models.transformer.transformer`."""

from __future__ import annotations

from typing import Any

import torch
from torch import Tensor, nn

from deepdive.attention import KVCache
from deepdive.layers.stacks import Stack
from deepdive.models.transformer.transformer import Decoder, Encoder, Transformer, tiny
from laws import Case, Fails, NotApplicable, case, padding_of, random_rows, set_weights
from laws.models.seq2seq.seq2seq import unpaired

SOURCE = torch.tensor([[5, 9, 7, 4], [8, 6, 11, 10], [7, 7, 5, 9]])


@case("transformer/Encoder", Encoder)
def _() -> Case:
    def no_layers() -> tuple[Tensor, Tensor]:
        encoder, tokens = tiny().encoder.double(), torch.tensor([[4, 9, 6]])
        encoder.stack = Stack(lambda i: nn.Identity(), 0)
        embedded = encoder.embedding(tokens)
        return encoder(tokens), encoder.position.embed(embedded, torch.arange(3))

    return Case(
        make=lambda: tiny().encoder,
        run=lambda encoder, x, mask=None, state=None: encoder(x, padding_of(mask)),
        vocab=32,
        parity="torch.nn.TransformerEncoder",
        limits={"no layers: embeddings with positions": no_layers},
        refusals={
            "a float mask": lambda: tiny().encoder(SOURCE, torch.ones(3, 4)),
            "an inverted mask": lambda: tiny().encoder(SOURCE, torch.zeros(3, 4).bool()),
            "a mask of another shape": lambda: tiny().encoder(SOURCE, torch.ones(3, 5).bool()),
        },
        laws={
            "no_leak": NotApplicable("every token sees every token, on purpose"),
            "cache": NotApplicable("a new token changes the states of all"),
            "order": Fails("positions tell the tokens apart"),
        },
    )


@case("transformer/Decoder", Decoder)
def _() -> Case:
    def independent() -> tuple[Tensor, Tensor]:
        """A cross-attention that returns 0 leaves a decoder that knows no source."""
        decoder, tokens = tiny().decoder.double(), torch.tensor([[4, 9, 6]])
        for i in range(2):
            set_weights(decoder, **{f"stack__blocks__{i}__cross__out__weight": 0.0})
        memories = (random_rows(1, 4, 32, seed=seed) for seed in range(2))
        first, second = (decoder(tokens, memory) for memory in memories)
        return first, second

    def run(decoder: Decoder, x: Tensor, mask: Any = None, state: Any = None) -> Tensor:
        memory = random_rows(3, 4, 32)[: x.shape[0]].to(next(decoder.parameters()).dtype)
        rows = memory[:1].expand(
            x.shape[0], -1, -1
        )  # one memory for all rows: rows may be reordered
        return decoder(x, rows, padding_of(mask), cache=state)

    return Case(
        make=lambda: tiny().decoder,
        run=run,
        begin=lambda _: KVCache(),
        vocab=32,
        parity="torch.nn.TransformerDecoder",
        limits={"a silent cross-attention: any memory gives the same": independent},
        refusals={"no memory": lambda: tiny().decoder(SOURCE)},
        laws={"order": Fails("positions and the causal mask tell the tokens apart")},
    )


@case("transformer", Transformer)
def _() -> Case:
    def its_parts() -> tuple[Tensor, Tensor]:
        model, tgt = tiny().double(), SOURCE.flip(1)
        states = model.decoder(tgt, model.encoder(SOURCE))
        return model(SOURCE, tgt), states @ model.decoder.embedding.weight.T

    def run(model: Transformer, x: Tensor, mask: Any = None, state: Any = None) -> Tensor:
        if state is not None:
            return model.step(x, state)
        return model(SOURCE[: x.shape[0]], x, None, padding_of(mask))

    return Case(
        make=tiny,
        run=run,
        begin=lambda model: model.begin(SOURCE[:2]),
        vocab=32,
        parity="torch.nn.Transformer, transformers MarianMTModel",
        limits={"encoder, decoder, embedding": its_parts},
        refusals=unpaired(tiny),
        laws={"order": Fails("positions and the causal mask tell the tokens apart")},
    )
