"""What enters BERT and its kin: embeddings of tokens, positions, and segments (or languages: XLM;
or hashed code points: CANINE), added and normalized.

Long because three kinds of embeddings are here, each as its difference from BERT's.
"""

from typing import Any, Self

import torch
from torch import Tensor, nn

from deepdive.core import LayerNorm, Position
from deepdive.core.checks import not_negative, positive
from deepdive.core.embeddings import TokenEmbedding, check_segments
from deepdive.core.hooks import HookPoint
from deepdive.layers.hashed import HashEmbedding


class BertEmbeddings(nn.Module):
    """x = dropout(norm(tokens[t] + segments[s] + position[p])), shape (B, T, d_model).

    `segments` holds a row for each text of the input, such as question and passage; with
    `n_segments` = 0 there is none. Hook point: `embedded` (B, T, d_model), after the norm.
    Source: Devlin et al. 2019, section 3, figure 2.
    """

    def __init__(
        self, tokens: TokenEmbedding, position: Position, n_segments: int = 2,
        dropout: float = 0.0, eps: float = 1e-12,
    ) -> None:  # fmt: skip
        super().__init__()
        not_negative(n_segments=n_segments)
        self.tokens, self.position, self.n_segments = tokens, position, n_segments
        self.segments = nn.Embedding(n_segments, tokens.d_model) if n_segments else None
        self.norm, self.dropout = LayerNorm(tokens.d_model, eps), nn.Dropout(dropout)
        self.embedded = HookPoint()

    @classmethod
    def of(cls, config: Any) -> Self:
        """Build them from the numbers of an `EncoderConfig`."""
        tokens = TokenEmbedding(config.vocab_size, config.d_model)
        return cls(tokens, config.position(config), config.n_segments, config.dropout, config.eps)

    def positions(self, tokens: Tensor, mask: Tensor | None) -> Tensor:
        """Return where each token stands, (T,) or (B, T): here 0 .. T - 1, padding included."""
        return torch.arange(tokens.shape[1], device=tokens.device)

    def forward(self, tokens: Tensor, segments: Tensor | None, positions: Tensor) -> Tensor:
        """Return x (B, T, d_model) for tokens (B, T), segments (B, T) and positions (T,) or
        (B, T); without segments all tokens belong to segment 0.
        """
        x = self.tokens(tokens)  # it checks the tokens
        if segments is not None:
            check_segments(segments, tokens, self.n_segments)
        if self.segments is not None:
            x = x + (self.segments.weight[0] if segments is None else self.segments(segments))
        return self.finish(self.embedded(self.norm(self.position.embed(x, positions))))

    def finish(self, x: Tensor) -> Tensor:
        """Return what enters the stack, (B, T, d_model), for the normalized x."""
        return self.dropout(x)


class LanguageEmbeddings(BertEmbeddings):
    """x = dropout(norm(tokens[t] + languages[l] + position[p])), shape (B, T, d_model).

    `languages` has a row for each of `n_languages`; for a single one there is none. Hook point:
    `embedded` (B, T, d_model), after the norm. Source: Conneau and Lample 2019, figure 1.
    """

    def __init__(
        self, tokens: TokenEmbedding, position: Position, n_languages: int, dropout: float = 0.0,
        eps: float = 1e-12,
    ) -> None:  # fmt: skip
        super().__init__(tokens, position, 0, dropout, eps)
        positive(n_languages=n_languages)
        self.n_languages = n_languages
        self.languages = nn.Embedding(n_languages, tokens.d_model) if n_languages > 1 else None

    @classmethod
    def of(cls, config: Any) -> Self:
        tokens = TokenEmbedding(config.vocab_size, config.d_model)
        return cls(tokens, config.position(config), config.n_languages, config.dropout, config.eps)

    def forward(self, tokens: Tensor, languages: Tensor | None, positions: Tensor) -> Tensor:
        """Return x (B, T, d_model) for tokens and their languages (B, T), and positions (T,) or
        (B, T); without languages none is told.
        """
        x = self.tokens(tokens)
        if languages is not None:
            known = 0 if self.languages is None else self.n_languages
            check_segments(languages, tokens, known, "languages")
            assert self.languages is not None  # `check_segments` refuses languages without a row
            x = x + self.languages(languages)
        return self.finish(self.embedded(self.norm(self.position.embed(x, positions))))


class CodePointEmbeddings(BertEmbeddings):
    """`BertEmbeddings` whose tokens are code points: what is added to place and text is hashed."""

    @classmethod
    def of(cls, config: Any) -> Self:
        tokens: Any = HashEmbedding(config.d_model, config.n_hashes, config.n_buckets)
        return cls(tokens, config.position(config), config.n_segments, config.dropout, config.eps)
