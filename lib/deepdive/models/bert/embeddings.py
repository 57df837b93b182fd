"""Input embeddings of BERT and its relatives: token, position, and segment embeddings (language
embeddings in XLM, hashed code points in CANINE), added and normalized.

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
    """BERT's embeddings: x = dropout(norm(tokens[t] + segments[s] + position[p])), (B, T, d_model).

    `segments` has an embedding for each text of the input, such as question and passage; with
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
        """Build the embeddings from an `EncoderConfig`."""
        tokens = TokenEmbedding(config.vocab_size, config.d_model)
        return cls(tokens, config.position(config), config.n_segments, config.dropout, config.eps)

    def positions(self, tokens: Tensor, mask: Tensor | None) -> Tensor:
        """Return each token's position, (T,) or (B, T): here 0 .. T - 1, padding included."""
        return torch.arange(tokens.shape[1], device=tokens.device)

    def forward(self, tokens: Tensor, segments: Tensor | None, positions: Tensor) -> Tensor:
        """Return embeddings (B, T, d_model) for tokens (B, T), segments (B, T) and positions (T,)
        or (B, T); without segments all tokens belong to segment 0.
        """
        x = self.tokens(tokens)  # raises for invalid token ids
        if segments is not None:
            check_segments(segments, tokens, self.n_segments)
        if self.segments is not None:
            x = x + (self.segments.weight[0] if segments is None else self.segments(segments))
        return self.finish(self.embedded(self.norm(self.position.embed(x, positions))))

    def finish(self, x: Tensor) -> Tensor:
        """Return the encoder's input (B, T, d_model) for the normalized x."""
        return self.dropout(x)


class LanguageEmbeddings(BertEmbeddings):
    """XLM's embeddings: x = dropout(norm(tokens[t] + languages[l] + position[p])), (B, T, d_model).

    `languages` embeds each of `n_languages`; for a single one there is no such table. Hook point:
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
        """Return embeddings (B, T, d_model) for tokens and their languages (B, T), and positions
        (T,) or (B, T); without languages no language embedding is added.
        """
        x = self.tokens(tokens)
        if languages is not None:
            known = 0 if self.languages is None else self.n_languages
            check_segments(languages, tokens, known, "languages")
            assert self.languages is not None  # `check_segments` refuses unknown languages
            x = x + self.languages(languages)
        return self.finish(self.embedded(self.norm(self.position.embed(x, positions))))


class CodePointEmbeddings(BertEmbeddings):
    """`BertEmbeddings` of code points, with hash embeddings instead of token embeddings."""

    @classmethod
    def of(cls, config: Any) -> Self:
        tokens: Any = HashEmbedding(config.d_model, config.n_hashes, config.n_buckets)
        return cls(tokens, config.position(config), config.n_segments, config.dropout, config.eps)
