"""The case of the multilingual Transformer."""

from dataclasses import replace
from typing import Any

import torch
from torch import Tensor

from deepdive.models.multilingual import multilingual_transformer as many
from deepdive.models.multilingual.multilingual_transformer import MultilingualTransformer
from deepdive.models.transformer.transformer import tiny
from laws import Case, Fails, case, padding_of, set_weights
from laws.models.seq2seq.seq2seq import pair_case

SOURCE = torch.tensor([[5, 9, 7, 8], [4, 16, 11, 10], [6, 7, 15, 9]])  # of languages 1, 0, 2
TARGET = torch.tensor([[6, 12, 9], [4, 8, 13], [5, 20, 7]])
WRITTEN = torch.tensor([[6], [4]])


def begun(model: MultilingualTransformer) -> Any:
    """The state that has read which languages are written."""
    state = model.begin(SOURCE[:2])
    model.step(WRITTEN, state)
    return state


def asked(model: MultilingualTransformer, x: Tensor, mask: Any = None, state: Any = None) -> Tensor:
    """Write x, whose languages stand before it, and leave their own places out."""
    if state is not None:
        return model.step(x, state)
    first = WRITTEN.to(x.device)[torch.arange(x.shape[0]) % 2]
    real = padding_of(mask)
    real = None if real is None else torch.cat((first > 0, real), dim=1)
    source = SOURCE[: x.shape[0]].to(x.device)
    return model(source, torch.cat((first, x), dim=1), None, real)[:, 1:]


@case("multilingual_transformer", MultilingualTransformer)
def _() -> Case:
    def not_told() -> tuple[Tensor, Tensor]:
        """Rows of 0: a Transformer that reads the tokens of languages as any other."""
        model, plain = many.tiny().double().eval(), tiny().double().eval()
        set_weights(model, languages__weight=0.0)
        state = {n: t for n, t in model.state_dict().items() if "languages" not in n}
        plain.load_state_dict(state)
        return model(SOURCE, TARGET), plain(SOURCE, TARGET)

    declared = pair_case(
        many.tiny,
        "none: the Transformer is its parent; the rows of languages are added by hand in its test",
        {"rows of 0: the Transformer": not_told},
        SOURCE,
        laws={"order": Fails("positions and the causal mask tell the tokens apart")},
        refusals={
            "a source without its language": lambda: many.tiny()(SOURCE.flip(1), TARGET),
            "a target without its language": lambda: many.tiny()(SOURCE, TARGET.flip(1)),
            "more languages than tokens": lambda: many.tiny(6),
        },
    )
    return replace(declared, run=asked, begin=begun)
