"""Cases of `deepdive.models.bert.electra`."""

from dataclasses import replace
from typing import Any

import torch
from torch import Tensor

from deepdive.models.bert.bert import bert
from deepdive.models.bert.electra import TINY, Electra, electra, is_masked_lm, pair
from deepdive.models.bert.pretraining import ElectraDiscriminator
from laws import case, with_padding
from laws.models.bert.bert import ROW, SMALL, encoder


@case("electra", ElectraDiscriminator)
def _() -> Any:
    def make(**changes: Any) -> ElectraDiscriminator:
        return ElectraDiscriminator(electra(TINY, **changes))

    def a_bert() -> tuple[Tensor, Tensor]:
        """Tables as wide as the stream: no projection, and the states are BERT's."""
        model, plain = make(d_embedding=None).double().eval(), bert(**SMALL).double().eval()
        plain.load_state_dict(model.bert.state_dict())
        return model(ROW), model.out(model.activation(model.dense(plain(ROW))))[..., 0]

    return encoder(
        make,
        "ElectraForPreTraining",
        {"tables as wide as the stream: BERT, judged": a_bert},
        {"a record of another family": lambda: electra(bert(**SMALL).config)},
    )


@case("electra/Electra", Electra)
def _() -> Any:
    def make(**changes: Any) -> Electra:
        return pair(TINY, **changes)

    def run(model: Electra, x: Tensor, mask: Any = None, state: Any = None) -> Tensor:
        """Both networks on one text: (B, T, V) and (B, T) side by side."""
        gaps = with_padding(model.generator, x, mask)
        return torch.cat((gaps, with_padding(model, x, mask)[..., None]), -1)

    def as_wide() -> tuple[Tensor, Tensor]:
        """A generator as wide as the discriminator, and with its weights, is its encoder."""
        model = make(narrower=1).double().eval()
        model.generator.bert.load_state_dict(model.discriminator.bert.state_dict())
        return model.generator.bert(ROW), model.discriminator.bert(ROW)

    def other_tables(**changes: Any) -> Any:
        small = is_masked_lm(electra(TINY, **changes))
        return lambda: Electra(small, ElectraDiscriminator(electra(TINY)))

    made = encoder(
        make,
        "",
        {"as wide, with the same weights: one encoder": as_wide},
        {
            "a generator of another vocabulary": other_tables(vocab_size=40),
            "a generator of narrower tables": other_tables(d_embedding=8),
            "a generator of shorter texts": other_tables(max_length=32),
        },
    )
    oracle = "none: two networks, each with an oracle of its own; that they share their tables is "
    return replace(made, run=run, parity=oracle + "tests/models/bert/test_parity_electra.py")
