"""Cases of `deepdive.models.transformer.decoder_only`."""

from __future__ import annotations

from typing import Any

import torch
from torch import Tensor

from deepdive.models.transformer.decoder_only import DecoderOnly, tiny
from laws import Case, Fails, case, padding_of


@case("DecoderOnly", DecoderOnly)
def _() -> Case:
    def the_decoder() -> tuple[Tensor, Tensor]:
        model, tokens = tiny().double(), torch.tensor([[4, 9, 6]])
        return model(tokens), model.decoder(tokens) @ model.decoder.embedding.weight.T

    def run(model: DecoderOnly, tokens: Tensor, mask: Any = None, state: Any = None) -> Tensor:
        return model.step(tokens, state) if state else model(tokens, padding_of(mask))

    return Case(
        make=tiny,
        run=run,
        begin=lambda model: model.begin(),
        vocab=32,
        parity="transformers GPT2LMHeadModel",
        limits={"its decoder's states times the embedding": the_decoder},
        refusals={
            "longer than the table": lambda: tiny()(torch.full((1, 65), 4)),
            "a float mask": lambda: tiny()(torch.full((1, 3), 4), torch.ones(1, 3)),
        },
        laws={"order": Fails("positions and the causal mask tell the tokens apart")},
    )
