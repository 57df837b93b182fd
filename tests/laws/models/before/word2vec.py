"""Cases of `deepdive.models.before.word2vec`."""

from __future__ import annotations

import torch
from torch import Tensor, nn

from deepdive.evaluate.similarity import neighbours
from deepdive.models.before.word2vec import SkipGram
from deepdive.training.objectives import (
    keep_probability,
    negative_sampling_loss,
    noise,
    skip_gram_pairs,
)
from laws import Case, NotApplicable, case


@case("word2vec", SkipGram)
def _() -> Case:
    def run(model: SkipGram, x: Tensor, mask: object = None, state: object = None) -> Tensor:
        return model(x, torch.stack([x, (x + 1) % 32], dim=-1))

    def make() -> SkipGram:
        return SkipGram(32, 16)

    def all_scores() -> tuple[Tensor, Tensor]:
        model, ids = SkipGram(6, 4).double(), torch.arange(6)
        nn.init.normal_(model.contexts)
        return model(ids, ids.expand(6, 6)), model.words @ model.contexts.T

    alone = NotApplicable("a pair of words has no order, no padding and no state")
    return Case(
        make=make,
        run=run,
        vocab=32,
        parity="the double loop over pairs and drawn words, over torch.nn.Embedding",
        limits={"all pairs: the product of the two tables": all_scores},
        refusals={
            "an unknown word": lambda: make()(torch.tensor([40]), torch.tensor([[1]])),
            "floats": lambda: make()(torch.zeros(1), torch.zeros(1, 2)),
            "contexts of another batch": lambda: make()(torch.tensor([4]), torch.tensor([1, 2])),
            "no drawn words": lambda: negative_sampling_loss(torch.zeros(3), torch.zeros(3)),
            "no counts": lambda: noise(torch.zeros(4)),
            "no threshold": lambda: keep_probability(torch.ones(4), 0.0),
            "a batch of sentences": lambda: skip_gram_pairs(torch.zeros(2, 3).long(), 2),
            "another width": lambda: neighbours(torch.zeros(4, 3), torch.zeros(2)),
        },
        laws={"padding": alone, "cache": alone, "hooks": alone},
    )
