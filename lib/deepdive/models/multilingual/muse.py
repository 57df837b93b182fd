"""mUSE: a multi-task dual encoder of sentences in sixteen languages. Yang et al. 2020,
"Multilingual Universal Sentence Encoder for Semantic Retrieval".

    vector = pooling(states) / |pooling(states)|

Each task has a small network above the shared vectors: answers are ranked for questions,
translations for sentences, and pairs are classified for entailment. Published checkpoints are
TensorFlow's, and cannot be loaded here.

Long because each of three tasks has a head of its own on the encoder.

System: muse
Parent: transformer
What differs:
- a text is one vector: the sum of its states over the square root of their number (`root_sum`), or
  a weighted mean with learned weights (`AttentionPooling`)
- an answer is ranked together with its context, through layers of its own (`answers`); besides
  in-batch negatives, hard negatives are candidates too (`additive_margin`, `hard`)
- entailment is predicted from both vectors, their absolute difference and product (`entails`)
- a translation must be found among those of the batch, as in LaBSE (`translation_ranking`)
Source: Yang et al. 2020, section 2; the pooling: Cer et al. 2018.
Book: 4.1.3.2
"""

from functools import partial

import torch
from torch import Tensor, nn

from deepdive.core import Block, FeedForward, MultiHeadAttention, PostNorm
from deepdive.core.checks import positive
from deepdive.core.embeddings import TokenEmbedding
from deepdive.core.stack import Stack
from deepdive.layers.heads import initialize, pair_features
from deepdive.models.bert.sbert import Pooling, normalize
from deepdive.models.transformer.transformer import Encoder
from deepdive.positions import SinusoidalPosition


def root_sum(states: Tensor, mask: Tensor) -> Tensor:
    """Return sum_t mask_t states_t / sqrt(sum_t mask_t), (B, d). It has the direction of the mean,
    so cosine similarity cannot distinguish them; only a longer text has a longer vector.
    """
    n = mask.sum(1, keepdim=True).to(states.dtype)
    return states.masked_fill(~mask[..., None], 0.0).sum(1) / n.sqrt()


class Muse(nn.Module):
    """The shared encoder, and each task's head. `forward` returns a text's vector."""

    def __init__(self, encoder: Encoder, d_model: int, pooling: Pooling = root_sum) -> None:
        super().__init__()
        positive(d_model=d_model)
        self.encoder, self.pooling = encoder, pooling
        self.answer = nn.Sequential(
            nn.Linear(2 * d_model, d_model), nn.Tanh(), nn.Linear(d_model, d_model)
        )
        self.relation = nn.Sequential(
            nn.Linear(4 * d_model, d_model), nn.ReLU(), nn.Linear(d_model, 3)
        )
        initialize(self.answer)
        initialize(self.relation)

    def forward(self, tokens: Tensor, mask: Tensor | None = None) -> Tensor:
        """Return vectors (B, d) of length 1; mask bool (B, T), True = real token."""
        real = torch.ones_like(tokens, dtype=torch.bool) if mask is None else mask
        return normalize(self.pooling(self.encoder(tokens, mask), real))

    def answers(self, answer: Tensor, context: Tensor) -> Tensor:
        """Return the vectors ranked for a question, (B, d) of length 1, from those of an answer
        and of its context, each (B, d): normalise(answer([answer ; context])).
        """
        return normalize(self.answer(torch.cat((answer, context), -1)))

    def entails(self, premise: Tensor, hypothesis: Tensor) -> Tensor:
        """Return logits (B, 3), entailment, neutral, contradiction, for vectors (B, d) of both, by
        [u ; v ; |u - v| ; u * v].
        """
        features = (pair_features(premise, hypothesis), premise * hypothesis)
        return self.relation(torch.cat(features, -1))


def muse(
    vocab_size: int = 128_000, *, d_model: int = 512, n_heads: int = 8, n_layers: int = 6,
    d_ff: int = 2048, dropout: float = 0.1, pooling: Pooling = root_sum,
) -> Muse:  # fmt: skip
    """Build an encoder with the heads of all tasks; defaults: the Transformer's base size."""

    def block(_layer: int) -> Block:
        return Block(
            MultiHeadAttention(d_model, n_heads), FeedForward(d_model, d_ff, dropout=dropout),
            residual=partial(PostNorm, dropout=dropout),
        )  # fmt: skip

    embedding = TokenEmbedding(vocab_size, d_model, scale=d_model**0.5)
    stack = Stack(block, n_layers)
    return Muse(Encoder(embedding, SinusoidalPosition(d_model), stack, dropout), d_model, pooling)


def tiny(vocab_size: int = 32, pooling: Pooling = root_sum) -> Muse:
    """Return a small model for tests: 2 layers, width 32, 4 heads."""
    return muse(
        vocab_size, d_model=32, n_heads=4, n_layers=2, d_ff=64, dropout=0.0, pooling=pooling
    )
