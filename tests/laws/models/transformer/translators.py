"""Cases of the published translators of the Transformer's form."""

from __future__ import annotations

from typing import Any

from torch import Tensor

from deepdive.models.transformer import fsmt, marian
from deepdive.models.transformer.translator import Translator, TranslatorConfig, translator
from laws import Case, Fails, case, padding_of
from laws.models.transformer.transformer import SOURCE


def case_of(config: TranslatorConfig, parity: str) -> Case:
    """The case of a model from a source and the target so far to the next token."""

    def make() -> Translator:
        return translator(config)

    def its_parts() -> tuple[Tensor, Tensor]:
        model, target = make().double().eval(), SOURCE.flip(1)
        states = model.decoder(target, model.encoder(SOURCE))
        return model(SOURCE, target), model.head(states)

    def run(model: Translator, x: Tensor, mask: Any = None, state: Any = None) -> Tensor:
        if state is not None:
            return model.step(x, state)
        return model(SOURCE[: x.shape[0]], x, None, padding_of(mask))

    return Case(
        make=make,
        run=run,
        begin=lambda model: model.begin(SOURCE[:2]),
        vocab=32,
        parity=parity,
        limits={"encoder, decoder, head": its_parts},
        refusals={"two batches": lambda: make()(SOURCE, SOURCE[:2])},
        laws={"order": Fails("positions and the causal mask tell the tokens apart")},
    )


@case("fsmt", Translator)
def _() -> Case:
    return case_of(fsmt.TINY, "transformers FSMTForConditionalGeneration")


@case("marian", Translator)
def _() -> Case:
    return case_of(marian.TINY, "transformers MarianMTModel")
