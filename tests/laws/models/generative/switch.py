"""The case of `deepdive.models.generative.switch`."""

from __future__ import annotations

import torch
from torch import Tensor

from deepdive.models.generative import switch, t5
from deepdive.models.generative.t5 import T5
from laws import Case, case
from laws.models.generative.t5 import SOURCE, TARGET
from laws.models.seq2seq.seq2seq import pair_case
from laws.models.transformer.transformer import ORDER


def as_one(state: dict[str, Tensor]) -> dict[str, Tensor]:
    """The weights of a T5 whose feed-forward layers are the only experts."""
    found = {}
    for name, tensor in state.items():
        if ".experts." in name:
            found[name.replace(".experts.", ".")] = tensor[0]
        elif ".router." not in name:
            found[name] = tensor
    return found


@case("switch", T5)
def _() -> Case:
    def one_expert() -> tuple[Tensor, Tensor]:
        """One expert with room for all is a feed-forward layer."""
        torch.manual_seed(0)
        model = switch.switch(switch.TINY, n_experts=1).double().eval()
        parent = t5.t5(t5.TINY).double().eval()
        parent.load_state_dict(as_one(model.state_dict()))
        return model(SOURCE, TARGET), parent(SOURCE, TARGET)

    return pair_case(
        lambda: switch.switch(switch.TINY),
        "transformers SwitchTransformersForConditionalGeneration",
        {"one expert with room for all: T5": one_expert},
        SOURCE,
        laws=ORDER,
        refusals={
            "no expert": lambda: switch.switch(switch.TINY, n_experts=0),
            "a config of T5": lambda: switch.switch(t5.TINY),  # type: ignore[arg-type]
        },
    )
