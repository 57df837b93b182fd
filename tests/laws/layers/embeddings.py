"""Cases of `deepdive.layers.embeddings`."""

from __future__ import annotations

import torch
import torch.nn.functional as F
from torch import Tensor

from deepdive.layers.embeddings import TiedHead, TokenEmbedding
from laws import Case, NotApplicable, case, random_rows

LONE = NotApplicable("it looks at one token at a time; no mask, order or state enters")


@case("word_embedding", TokenEmbedding)
def _() -> Case:
    def one_hot() -> tuple[Tensor, Tensor]:
        tokens, embedding = torch.tensor([[3, 1]]), TokenEmbedding(5, 4, scale=2.0).double()
        return embedding(tokens), 2.0 * F.one_hot(tokens, 5).double() @ embedding.weight

    return Case(
        make=lambda: TokenEmbedding(20, 16, scale=4.0),
        run=lambda embedding, x, mask=None, state=None: embedding(x),
        vocab=20,
        parity="torch.nn.Embedding",
        limits={"a one-hot row times the matrix": one_hot},
        refusals={
            "an unknown token": lambda: TokenEmbedding(5, 4)(torch.tensor([[5]])),
            "floats": lambda: TokenEmbedding(5, 4)(torch.zeros(1, 2)),
            "no batch axis": lambda: TokenEmbedding(5, 4)(torch.tensor([3, 1])),
            "an empty batch": lambda: TokenEmbedding(5, 4)(torch.zeros(0, 2, dtype=torch.long)),
        },
        laws={"padding": LONE, "cache": LONE, "hooks": LONE},
    )


@case("TiedHead", TiedHead)
def _() -> Case:
    def scores() -> tuple[Tensor, Tensor]:
        x, embedding = random_rows(2, 3, 4), TokenEmbedding(5, 4).double()
        return TiedHead(embedding)(x), x @ embedding.weight.T

    return Case(
        make=lambda: TiedHead(TokenEmbedding(20, 16), bias=True),
        run=lambda head, x, mask=None, state=None: head(x),
        parity="torch.nn.Linear",
        limits={"the product with the embedding": scores},
        laws={"padding": LONE, "cache": LONE, "hooks": LONE, "refusal": LONE},
    )
