"""Heads on an encoder's states: pooling by the first state or by attention, and the masked language
model head.
"""

import torch
from torch import Tensor, nn

from deepdive.core import LayerNorm, gelu
from deepdive.core.checks import positive
from deepdive.core.embeddings import TiedHead, TokenEmbedding
from deepdive.core.feed_forward import Activation
from deepdive.core.hooks import HookPoint


def initialize(model: nn.Module, std: float = 0.02) -> None:
    """Initialize every matrix from a normal distribution truncated at two deviations; biases are 0.

    Source: Devlin et al. 2019, released code.
    """
    for part in model.modules():
        if isinstance(part, nn.Linear | nn.Embedding | TokenEmbedding):
            nn.init.trunc_normal_(part.weight, std=std, a=-2 * std, b=2 * std)
        if isinstance(part, nn.Linear) and part.bias is not None:
            nn.init.zeros_(part.bias)


class Pooler(nn.Module):
    """y = tanh(W x[:, 0] + b): the state of the first token, [CLS], represents the full input.

    Source: Devlin et al. 2019, section 3 (C), and their released code.
    """

    def __init__(self, d_model: int) -> None:
        super().__init__()
        positive(d_model=d_model)
        self.dense = nn.Linear(d_model, d_model)
        initialize(self.dense)

    def forward(self, states: Tensor) -> Tensor:
        """Return (B, d_model) for states (B, T, d_model)."""
        return torch.tanh(self.dense(states[:, 0]))


class MaskedHead(nn.Module):
    """logits = norm(activation(dense(x))) @ embedding.weight.T + bias: the masked token's logits.

    The output layer shares the embedding's matrix; the layer before it lets hidden states differ
    from embeddings. `d_model` is the states' width where it is not the embedding's.
    Source: Devlin et al. 2019, released code.
    """

    def __init__(
        self,
        embedding: TokenEmbedding,
        d_model: int | None = None,
        activation: Activation = gelu,
        eps: float = 1e-12,
    ) -> None:
        super().__init__()
        positive(d_model=d_model)
        self.dense = nn.Linear(embedding.d_model if d_model is None else d_model, embedding.d_model)
        self.activation = activation
        self.norm = LayerNorm(embedding.d_model, eps)
        self.head = TiedHead(embedding, bias=True)
        initialize(self.dense)

    def forward(self, states: Tensor) -> Tensor:
        """Return logits (..., vocab_size) for states (..., d_model)."""
        return self.head(self.norm(self.activation(self.dense(states))))


class AttentionPooling(nn.Module):
    """vector = sum over t of weights_t x_t,  weights = softmax over real t of (w . x_t)

    Hook point: `weights` (B, T).
    """

    def __init__(self, d_model: int) -> None:
        super().__init__()
        positive(d_model=d_model)
        self.score, self.weights = nn.Linear(d_model, 1, bias=False), HookPoint()
        initialize(self.score)

    def forward(self, states: Tensor, mask: Tensor) -> Tensor:
        """Return (B, d) for states (B, T, d) and mask bool (B, T), True = real."""
        scores = self.score(states).squeeze(-1).masked_fill(~mask, -torch.inf)
        return (self.weights(scores.softmax(-1))[:, None] @ states).squeeze(1)
