"""Extractive question answering: the answer as a span of the passage, or no answer."""

from dataclasses import dataclass

import torch
from torch import Tensor, nn

from deepdive.core.checks import positive
from deepdive.core.masks import describe
from deepdive.layers.heads.pretraining import initialize
from deepdive.layers.heads.tasks import Mask


class SpanHead(nn.Module):
    """logits = out(encoder(tokens)), shape (B, T, 2): logits[..., 0] scores each token as the first
    of the answer, logits[..., 1] as the last. `best_span` chooses.

    Source: Devlin et al. 2019, sections 4.2 and 4.3.
    """

    def __init__(self, encoder: nn.Module, d_model: int) -> None:
        super().__init__()
        positive(d_model=d_model)
        self.encoder, self.out = encoder, nn.Linear(d_model, 2)
        initialize(self.out)

    def forward(self, tokens: Tensor, mask: Mask = None, segments: Mask = None) -> Tensor:
        """Return logits (B, T, 2) for tokens (B, T), question first, then the passage."""
        return self.out(self.encoder(tokens, mask, segments))


@dataclass(frozen=True)
class Span:
    """An answer: tokens `start` to `end`, both included; (0, 0), the position of [CLS], is none.

    score    start and end logits of the best span that is an answer
    null     those of [CLS]
    """

    start: int
    end: int
    score: float
    null: float

    @property
    def answered(self) -> bool:
        return self.start > 0


def best_span(
    logits: Tensor, passage: Tensor, *, max_length: int = 30, threshold: float | None = None
) -> list[Span]:
    """Return for each example of logits (B, T, 2) the span with the highest score

        score(i, j) = logits[i, 0] + logits[j, 1],   i <= j < i + max_length,

    of all whose ends are in `passage`, bool (B, T), True = token of the passage. With a
    `threshold` the answer is none where score <= score(0, 0) + threshold; it is chosen on held-out
    data. Ties: the first span. Raises ValueError for an example without passage, or one with [CLS],
    and for a max_length below 1.
    """
    positive(max_length=max_length)
    if passage.dtype != torch.bool or passage.shape != logits.shape[:2]:
        raise ValueError(
            f"passage must be bool {tuple(logits.shape[:2])}, True = token of the passage; got "
            f"{describe(passage)}"
        )
    if passage[:, 0].any() or not passage.any(1).all():
        raise ValueError(
            "passage must have a token in every sequence, and never token 0, [CLS], which means no "
            "answer; use (segments == 1) & mask without the last [SEP]"
        )
    T = logits.shape[1]
    scores = logits[:, :, None, 0] + logits[:, None, :, 1]  # (B, T, T), start down, end across
    short = torch.ones(T, T, dtype=torch.bool, device=logits.device).triu().tril(max_length - 1)
    allowed = passage[:, :, None] & passage[:, None, :] & short
    best, at = scores.masked_fill(~allowed, -torch.inf).flatten(1).max(1)
    spans = []
    for score, index, null in zip(
        best.tolist(), at.tolist(), scores[:, 0, 0].tolist(), strict=True
    ):
        no_answer = threshold is not None and score <= null + threshold
        start, end = (0, 0) if no_answer else divmod(index, T)
        spans.append(Span(start, end, score, null))
    return spans
