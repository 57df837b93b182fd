"""Two language models over one sentence, one from each end. Peters et al. 2018.

What `deepdive.models.classic.elmo` takes its layers from; `deepdive.training.objectives.bilm_loss`
trains it.
"""

import torch
from torch import Tensor, nn

from deepdive.core.checks import positive
from deepdive.core.embeddings import TokenEmbedding, check_tokens
from deepdive.models.classic.directed_lm import DirectedLM


class BiLM(nn.Module):
    """Two language models, one from each end, that share the words' rows and the output layer.

    Neither sees what it is to guess. Source: Peters et al. 2018, section 3.1.
    """

    def __init__(
        self, embedding: nn.Module, head: nn.Module, d_model: int, n_layers: int, dropout: float
    ) -> None:
        super().__init__()
        self.left_to_right = DirectedLM(embedding, head, d_model, n_layers, dropout)
        self.right_to_left = DirectedLM(embedding, head, d_model, n_layers, dropout)

    def forward(self, tokens: Tensor, mask: Tensor | None = None) -> Tensor:
        """Return logits (B, T, 2, V) for tokens (B, T): [:, :, 0] for the token after each, from
        what is to its left, [:, :, 1] for the one before. `mask` bool (B, T), True = real token.
        """
        back = self.right_to_left(*_turned(tokens, mask)).flip(1)
        return torch.stack([self.left_to_right(tokens, mask), back], dim=2)

    def layers(self, tokens: Tensor, mask: Tensor | None = None) -> list[Tensor]:
        """Return L + 1 tensors (B, T, 2 * d_model), both directions side by side; the first is the
        word's own row, twice.
        """
        back = _turned(tokens, mask)
        pairs = zip(
            self.left_to_right.layers(tokens, mask), self.right_to_left.layers(*back), strict=True
        )
        return [torch.cat([a, b.flip(1)], dim=-1) for a, b in pairs]


def _turned(tokens: Tensor, mask: Tensor | None) -> tuple[Tensor, Tensor | None]:
    if tokens.ndim < 2:  # words may come as (B, T, C) characters too
        check_tokens(tokens)
    return tokens.flip(1), None if mask is None else mask.flip(1)


def bilm(vocab_size: int, d_model: int = 64, n_layers: int = 2, dropout: float = 0.0) -> BiLM:
    """Build a BiLM over a table of words."""
    positive(vocab_size=vocab_size, d_model=d_model)
    head = nn.Linear(d_model, vocab_size)
    return BiLM(TokenEmbedding(vocab_size, d_model), head, d_model, n_layers, dropout)
