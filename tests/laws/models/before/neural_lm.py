"""Cases of `deepdive.models.before.neural_lm`."""

from __future__ import annotations

import torch
from torch import Tensor, nn

from deepdive.models.before.neural_lm import NeuralLM, tiny
from laws import Case, Fails, NotApplicable, case, padding_of


@case("NeuralLM", NeuralLM)
def _() -> Case:
    def one_word() -> tuple[Tensor, Tensor]:
        """One word and no hidden layer: a table of logits, the bigram model."""
        model, tokens = NeuralLM(8, 4, 3, 1).double(), torch.tensor([[5, 2, 7]])
        nn.init.normal_(model.W.weight)
        nn.init.zeros_(model.U.weight)
        table = model.embedding.weight @ model.W.weight.T + model.U.bias
        return model(tokens), table[tokens]

    def far() -> tuple[Tensor, Tensor]:
        """What stands before the window does not matter."""
        model = tiny().double()
        return (
            model(torch.tensor([[4, 5, 6, 7, 8]]))[:, -1],
            model(torch.tensor([[9, 1, 6, 7, 8]]))[:, -1],
        )

    return Case(
        make=tiny,
        run=lambda model, x, mask=None, state=None: model(x, padding_of(mask)),
        vocab=32,
        parity="torch.nn.Sequential of Embedding, Flatten, Linear and Tanh",
        limits={"one word, no hidden layer: a table of bigrams": one_word, "a window": far},
        refusals={
            "an unknown token": lambda: tiny()(torch.tensor([[40]])),
            "a float mask": lambda: tiny()(torch.tensor([[4]]), torch.ones(1, 1)),
            "no words": lambda: NeuralLM(8, 4, 3, 0),
        },
        laws={
            "order": Fails("each place in the window has weights of its own"),
            "cache": NotApplicable("its whole state is the window: give the last tokens again"),
            "hooks": NotApplicable("no attention: there are no weights to record"),
        },
    )
