"""Cases of `deepdive.models.before.bilm`."""

from __future__ import annotations

import torch
from torch import Tensor

from deepdive.models.before.bilm import BiLM, DirectedLM, bilm
from deepdive.recurrent import RecurrentState
from deepdive.training.objectives import bilm_loss
from laws import Case, Fails, NotApplicable, Refuses, case, padding_of


@case("DirectedLM", DirectedLM)
def _() -> Case:
    def make(n_layers: int = 2) -> DirectedLM:
        return bilm(32, 12, n_layers).left_to_right

    def one_layer() -> tuple[Tensor, Tensor]:
        model, tokens = make(1).double(), torch.tensor([[4, 9, 5]])
        return model(tokens), model.head(model.lstms[0](model.embedding(tokens)))

    return Case(
        make=make,
        run=lambda model, x, mask=None, state=None: model(x, mask, state),
        begin=lambda model: RecurrentState(),
        vocab=32,
        parity="torch.nn.Embedding, LSTM and Linear",
        limits={"one layer: an LSTM and the head": one_layer},
        refusals={
            "an unknown token": lambda: make()(torch.tensor([[40]])),
            "no layers": lambda: make(0),
        },
        laws={
            "order": Fails("a recurrence reads in order"),
            "hooks": Refuses("no attention: record says that there are no weights"),
        },
    )


@case("BiLM", BiLM)
def _() -> Case:
    def mirrored() -> tuple[Tensor, Tensor]:
        """Exchange the two models and turn the sentence round: the two guesses change places."""
        model, tokens = bilm(32, 12).double(), torch.tensor([[4, 9, 5, 7]])
        expected = model(tokens)
        both = model.left_to_right, model.right_to_left
        model.right_to_left, model.left_to_right = both
        return model(tokens.flip(1)).flip(1, 2), expected

    return Case(
        make=lambda: bilm(32, 12),
        run=lambda model, x, mask=None, state=None: model(x, padding_of(mask)),
        vocab=32,
        parity="torch.nn.LSTM, over packed rows, and over the same turned round",
        limits={"mirrored: the guesses change places": mirrored},
        refusals={
            "an unknown token": lambda: bilm(32, 12)(torch.tensor([[40]])),
            "logits of one direction": lambda: bilm_loss(
                torch.zeros(1, 3, 8), torch.zeros(1, 3).long()
            ),
        },
        laws={
            "no_leak": Fails("half of it reads from the end; test_words.py tries each half"),
            "order": Fails("a recurrence reads in order"),
            "cache": NotApplicable("it reads from both ends, and needs the whole sentence"),
            "hooks": Refuses("no attention: record says that there are no weights"),
        },
    )
