"""From tokens to rows, and back from rows to scores over the vocabulary."""

from __future__ import annotations

import torch
import torch.nn.functional as F
from torch import Tensor, nn

from deepdive.masks import describe


class TokenEmbedding(nn.Module):
    """x = scale * weight[tokens], weight (vocab_size, d_model).

    With scale = sqrt(d_model) the rows, drawn with standard deviation 1 / sqrt(d_model), enter the
    stream at variance 1, and the same matrix can serve as the output layer.
    Raises TypeError for tokens that are not integers, ValueError for a token outside the
    vocabulary.
    Source: Vaswani et al. 2017, section 3.4.
    """

    def __init__(self, vocab_size: int, d_model: int, scale: float = 1.0) -> None:
        super().__init__()
        self.vocab_size, self.d_model, self.scale = vocab_size, d_model, scale
        self.weight = nn.Parameter(torch.empty(vocab_size, d_model))
        nn.init.normal_(self.weight, std=d_model**-0.5)

    def forward(self, tokens: Tensor) -> Tensor:
        """Return rows (B, T, d_model) for integer tokens (B, T)."""
        if tokens.ndim != 2 or tokens.dtype not in (torch.int64, torch.int32):
            raise TypeError(f"tokens must be integers (B, T); got {describe(tokens)}")
        if tokens.numel() == 0:
            raise ValueError(
                f"tokens is empty: shape {tuple(tokens.shape)}; leave empty batches and sequences "
                f"out"
            )
        try:
            rows = F.embedding(tokens, self.weight)
        except IndexError:
            low, high = int(tokens.min()), int(tokens.max())
            raise ValueError(
                f"tokens hold ids from {low} to {high}, but vocab_size={self.vocab_size}: "
                "encode with the tokenizer that the model was built for"
            ) from None
        return rows if self.scale == 1.0 else self.scale * rows


class TiedHead(nn.Module):
    """logits = x @ embedding.weight.T (+ bias): the output layer shares the embedding's matrix.

    Source: Press and Wolf 2017; Vaswani et al. 2017, section 3.4.
    """

    def __init__(self, embedding: TokenEmbedding, bias: bool = False) -> None:
        super().__init__()
        self.embedding = embedding
        self.bias = nn.Parameter(torch.zeros(embedding.vocab_size)) if bias else None

    def forward(self, x: Tensor) -> Tensor:
        """Return logits (..., vocab_size) for rows (..., d_model)."""
        return F.linear(x, self.embedding.weight, self.bias)
