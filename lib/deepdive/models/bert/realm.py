"""REALM: a masked language model that predicts from retrieved documents and trains the retriever
with the same loss. Guu et al. 2020, "REALM: Retrieval-Augmented Language Model Pre-Training".

    scores = query . candidates            p(z | x) = softmax(scores)
    logits = reader([CLS] x [SEP] z [SEP])

The likelihood is a sum over documents (`deepdive.layers.marginal_likelihood`), so a document that
predicts better than average gets a higher score. The null document is one more candidate.

Long because it is three models: two embedders and a masked language model.

System: realm
Parent: bert
What differs:
- an embedder maps a text to a vector: BERT, its pooler, a projection, a norm (`RealmEmbedder`)
- a text's masked tokens are predicted once per candidate document, which follows it as the second
  segment (`Realm.forward`)
- candidates are scored by dot products (`Realm.relevance`); queries and documents share the
  embedder, or have one each
- the loss is summed over candidates and also trains the embedder, which has no labels
  (`sequence_marginal`; transformers' code: `token_marginal`)
Source: Guu et al. 2020, section 3; the embedder as in transformers 4.
Book: blog, REALM
"""

from typing import Any

import torch
from torch import Tensor, nn

from deepdive.core import LayerNorm, gelu_tanh
from deepdive.core.checks import positive
from deepdive.layers.heads import Pooler, initialize
from deepdive.layers.marginal_likelihood import flatten_documents
from deepdive.models.bert import bert
from deepdive.models.bert.bert import Bert
from deepdive.models.bert.pretraining import BertForMaskedLM, for_masked_lm
from deepdive.models.bert.sbert import cls

BASE = bert.BASE.but(activation=gelu_tanh)
TINY = BASE.but(**bert.TOY)


class RealmEmbedder(nn.Module):
    """norm(projection(pooler(bert(tokens)))): tokens (B, T) -> vectors (B, d_embedding)."""

    def __init__(self, encoder: Bert, d_embedding: int = 128) -> None:
        super().__init__()
        positive(d_embedding=d_embedding)
        d_model = encoder.config.d_model
        self.bert, self.pooler = encoder, Pooler(d_model)
        self.projection = nn.Linear(d_model, d_embedding)
        self.norm = LayerNorm(d_embedding, encoder.config.eps)
        initialize(self.projection)

    def forward(self, tokens: Tensor, mask: Tensor | None = None) -> Tensor:
        """Return one vector per text; mask bool (B, T), True = real token; None: all are."""
        real = torch.ones_like(tokens, dtype=torch.bool) if mask is None else mask
        first = cls(self.bert(tokens, mask), real)  # (B, d_model)
        return self.norm(self.projection(self.pooler(first[:, None])))


class Realm(nn.Module):
    """An embedder of documents, one of queries (None: the same), and a masked language model."""

    def __init__(
        self,
        embedder: RealmEmbedder,
        reader: BertForMaskedLM,
        query_embedder: RealmEmbedder | None = None,
    ) -> None:
        super().__init__()
        self.embedder, self.reader = embedder, reader
        self.query_embedder = embedder if query_embedder is None else query_embedder

    def relevance(
        self,
        query: Tensor,
        candidates: Tensor,
        query_mask: Tensor | None = None,
        candidate_mask: Tensor | None = None,
    ) -> Tensor:
        """Return scores (B, K) of candidate documents (B, K, S) for queries (B, T)."""
        rows, real = flatten_documents(candidates, candidate_mask, "candidates")
        vectors = self.embedder(rows, real).unflatten(0, candidates.shape[:2])
        return torch.einsum("bd,bkd->bk", self.query_embedder(query, query_mask), vectors)

    def forward(
        self, joint: Tensor, mask: Tensor | None = None, segments: Tensor | None = None
    ) -> Tensor:
        """Return logits (B, K, L, V) for texts joined with each of their K documents, (B, K, L).

        mask: bool, True = real; segments: 0 = text, 1 = document. Raises ValueError for inputs that
        are not (B, K, L).
        """
        rows, real = flatten_documents(joint, mask, "joint")
        segments = None if segments is None else segments.flatten(0, 1)
        return self.reader(rows, real, segments).unflatten(0, joint.shape[:2])


def realm(
    config: bert.EncoderConfig = BASE, d_embedding: int = 128, shared: bool = True, **changes: Any
) -> Realm:
    """Build a model, `config` with `changes`; `shared`: queries and documents share an embedder."""
    config = bert.EncoderConfig.given(config, changes)
    embedders = [RealmEmbedder(bert.bert(config), d_embedding) for _ in range(1 if shared else 2)]
    reader = for_masked_lm(bert.bert(config))
    return Realm(embedders[0], reader, embedders[-1])


def tiny() -> Realm:
    """Return a small model for tests: 2 layers, 32 wide, vectors of 8."""
    return realm(TINY, 8)
