"""Cases of `deepdive.models.efficient.bigbird`."""

from __future__ import annotations

import torch
from torch import Tensor

from deepdive.layers import gelu_tanh
from deepdive.models.bert.bert import Bert
from deepdive.models.efficient.bigbird import TINY, bigbird
from deepdive.published import from_config
from laws import Case, NotApplicable, case, padding_of
from laws.models.bert.bert import ORDERED


@case("bigbird", Bert)
def _() -> Case:
    row = torch.tensor([[4, 9, 6, 8, 5]])

    def short() -> tuple[Tensor, Tensor]:
        """Up to seven blocks here: a text so short is attended in full."""
        from deepdive.models.bert.bert import bert

        model = bigbird(TINY).double()
        plain = bert(
            vocab_size=32,
            d_model=32,
            n_heads=4,
            n_layers=2,
            d_ff=64,
            max_length=64,
            activation=gelu_tanh,
        )
        plain.double().load_state_dict(model.state_dict())
        return model(row), plain.eval()(row)

    two_sided = NotApplicable("every token sees both its sides, on purpose")
    return Case(
        make=lambda: bigbird(TINY),
        run=lambda model, x, mask=None, state=None: model(x, padding_of(mask)),
        vocab=32,
        parity="transformers BigBirdModel",
        limits={"a short text: BERT": short},
        refusals={
            "an inverted mask": lambda: bigbird(TINY)(row, torch.zeros(1, 5).bool()),
            "longer than the table": lambda: bigbird(TINY)(torch.full((1, 65), 4)),
            "a config of full attention": lambda: from_config(
                {
                    **dict.fromkeys(("hidden_dropout_prob", "attention_probs_dropout_prob"), 0.0),
                    "model_type": "big_bird",
                    "hidden_act": "gelu",
                    "layer_norm_eps": 1e-5,
                    **dict.fromkeys(("vocab_size", "hidden_size", "intermediate_size"), 8),
                    **dict.fromkeys(("num_attention_heads", "num_hidden_layers"), 1),
                    "max_position_embeddings": 8,
                    "type_vocab_size": 2,
                    "attention_type": "original_full",
                }
            ),
        },
        laws={"no_leak": two_sided, "cache": two_sided, "order": ORDERED},
    )
