"""A text classifier with one attention layer: a recurrent encoder and one learned query. With this
kind of model two papers asked whether attention is explanation. Jain and Wallace 2019; Wiegreffe
and Pinter 2019.

    h       = encoder(embeddings)               # (B, T, d_states): two LSTMs, one per direction
    k       = tanh(W h + b)                     # (B, T, d_hidden)
    weights = softmax over t of  u . k_t        # (B, 1, 1, T) at the hook point attention.weights
    logits  = C (sum over t of weights_t h_t) + c                                 # (B, n_classes)

The output depends on the states only through the weights: `replace` them to measure what the same
model predicts with other attention. `UniformAttention` instead of the attention weights all words
equally; `nn.Identity()` instead of the encoder keeps each state independent of its neighbors.

Not as in the papers: word embeddings are learned from a random start, not set to fastText's.

Long because the papers' baselines are here as well: uniform weights, and no encoder.
"""

import torch
from torch import Tensor, nn

from deepdive.attention.scores import DotAttention
from deepdive.core.checks import positive
from deepdive.core.hooks import HookPoint
from deepdive.core.softmax import SoftmaxAttention
from deepdive.recurrent.layers import LSTM
from deepdive.recurrent.stacked import Bidirectional


class UniformAttention(DotAttention):
    """Every key that may be attended to gets the same weight. Wiegreffe and Pinter 2019, 3.2."""

    def score(self, q: Tensor, k: Tensor, scale: float) -> Tensor:
        """Return zeros (B, H, T, S), whatever the query."""
        return super().score(q, k, 0.0)


class AttentiveClassifier(nn.Module):
    """Texts (B, T) -> logits (B, n_classes), through one attention over the encoder's states.

    encoder    embeddings (B, T, d_model) and a bool mask -> states (B, T, d_states)
    attention  the mechanism that weights the states, `DotAttention()` by default
    """

    def __init__(
        self,
        vocab_size: int,
        n_classes: int,
        d_model: int,
        encoder: nn.Module,
        d_states: int,
        d_hidden: int,
        attention: SoftmaxAttention | None = None,
    ) -> None:
        super().__init__()
        positive(d_model=d_model, d_states=d_states, d_hidden=d_hidden)
        positive(vocab_size=vocab_size, n_classes=n_classes)
        self.embed = nn.Embedding(vocab_size, d_model)
        self.embedded = HookPoint()
        self.encoder = encoder
        self.states = HookPoint()
        self.key = nn.Linear(d_states, d_hidden)
        self.question = nn.Parameter(torch.randn(d_hidden) / d_hidden**0.5)
        self.attention = attention or DotAttention()
        self.classify = nn.Linear(d_states, n_classes)

    def forward(self, tokens: Tensor, mask: Tensor | None = None) -> Tensor:
        """Return logits (B, n_classes); `mask` bool (B, T), True = real token."""
        real = torch.ones_like(tokens, dtype=torch.bool) if mask is None else mask
        h = self.states(self.encoder(self.embedded(self.embed(tokens)), real))
        k = self.key(h).tanh()
        q = self.question.expand(len(h), 1, 1, -1)
        mixed = self.attention(q, k[:, None], h[:, None], real[:, None, None])
        return self.classify(mixed[:, 0, 0])


class EmbeddingEncoder(nn.Module):
    """The identity: an encoder whose states do not depend on their neighbors."""

    def forward(self, x: Tensor, mask: Tensor | None = None) -> Tensor:
        return x


def attentive(
    vocab_size: int,
    n_classes: int = 2,
    d_model: int = 64,
    d_hidden: int = 64,
    attention: SoftmaxAttention | None = None,
) -> AttentiveClassifier:
    """Return the papers' form: a BiLSTM of `d_hidden`, and a key layer of `d_hidden`."""
    positive(d_model=d_model, d_hidden=d_hidden)
    encoder = Bidirectional(LSTM(d_model, d_hidden), LSTM(d_model, d_hidden))
    return AttentiveClassifier(
        vocab_size, n_classes, d_model, encoder, 2 * d_hidden, d_hidden, attention
    )


def no_rnn(
    vocab_size: int, n_classes: int = 2, d_model: int = 64, d_hidden: int = 64
) -> AttentiveClassifier:
    """Return one without an encoder: attention over the word embeddings."""
    return AttentiveClassifier(
        vocab_size, n_classes, d_model, EmbeddingEncoder(), d_model, d_hidden
    )
