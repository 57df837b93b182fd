"""Task heads: one small layer on the states of a pre-trained encoder, fine-tuned together.

The encoder is any module with `encoder(tokens, mask, segments) -> states (B, T, d_model)`. Spans of
a text are predicted by `deepdive.layers.heads.spans`.

System: bert_finetune
Parent: bert
What differs:
- one text or a pair: a layer on the pooled state of [CLS] (`Classifier`); a pair differs from a
  text only by its `segments`
- a label for each token: the same layer on every state (`TokenClassificationHead`)
- an answer inside a passage: two scores for each token, begin and end (`SpanHead`); [CLS] stands
  for no answer (`best_span`)
- one of several endings: each is encoded as a pair, with one score (`MultipleChoiceHead`)
- all weights are trained, also the encoder's, for a few epochs at a small learning rate
Source: Devlin et al. 2019, section 4 and figure 4.
Book: 3.1.3
"""

import torch
from torch import Tensor, nn

from deepdive.core.checks import positive
from deepdive.core.masks import describe
from deepdive.layers.heads.pretraining import Pooler, initialize

Mask = Tensor | None


class Classifier(nn.Module):
    """logits = out(dropout(pooler(encoder(tokens)))), shape (B, n_classes): one text, or a pair
    with its segments. With n_classes = 1 it is a regression.
    """

    def __init__(
        self, encoder: nn.Module, d_model: int, n_classes: int, dropout: float = 0.1
    ) -> None:
        super().__init__()
        positive(d_model=d_model, n_classes=n_classes)
        self.encoder, self.pooler, self.dropout = encoder, Pooler(d_model), nn.Dropout(dropout)
        self.out = nn.Linear(d_model, n_classes)
        initialize(self.out)

    def forward(self, tokens: Tensor, mask: Mask = None, segments: Mask = None) -> Tensor:
        """Return logits (B, n_classes) for tokens (B, T); mask True = real token."""
        return self.out(self.dropout(self.pooler(self.encoder(tokens, mask, segments))))


class ImageClassifier(nn.Module):
    """logits = W x_0 + b, from the state x_0 of the class token, (B, n_classes).

    Source: Dosovitskiy et al. 2021, section 3.1, with one layer, as for fine-tuning.
    """

    def __init__(self, encoder: nn.Module, d_model: int, n_classes: int) -> None:
        super().__init__()
        positive(d_model=d_model, n_classes=n_classes)
        self.encoder, self.out = encoder, nn.Linear(d_model, n_classes)
        initialize(self.out)

    def forward(self, images: Tensor) -> Tensor:
        """Return logits (B, n_classes) for images (B, C, H, W)."""
        return self.out(self.encoder(images)[:, 0])


class TokenClassificationHead(nn.Module):
    """logits = out(dropout(encoder(tokens))), shape (B, T, n_tags): a label for every token."""

    def __init__(self, encoder: nn.Module, d_model: int, n_tags: int, dropout: float = 0.1) -> None:
        super().__init__()
        positive(d_model=d_model, n_tags=n_tags)
        self.encoder, self.dropout = encoder, nn.Dropout(dropout)
        self.out = nn.Linear(d_model, n_tags)
        initialize(self.out)

    def forward(self, tokens: Tensor, mask: Mask = None, segments: Mask = None) -> Tensor:
        """Return logits (B, T, n_tags); those under padding mean nothing."""
        return self.out(self.dropout(self.encoder(tokens, mask, segments)))


class MultipleChoiceHead(nn.Module):
    """logits[b, c] = out(dropout(pooler(encoder(tokens[b, c])))), shape (B, C): which of C?

    Each row of tokens (B, C, T) is the question with one of its endings.
    """

    def __init__(self, encoder: nn.Module, d_model: int, dropout: float = 0.1) -> None:
        super().__init__()
        self.score = Classifier(encoder, d_model, 1, dropout)

    def forward(self, tokens: Tensor, mask: Mask = None, segments: Mask = None) -> Tensor:
        """Return logits (B, C); `mask` and `segments` are (B, C, T), as the tokens are."""
        if tokens.ndim != 3:
            raise ValueError(
                f"tokens must be (B, C, T), C choices for each question; got {describe(tokens)}"
            )
        inputs = (None if x is None else x.flatten(0, 1) for x in (tokens, mask, segments))
        return self.score(*inputs).view(tokens.shape[:2])


def pair_features(u: Tensor, v: Tensor) -> Tensor:
    """Return [u ; v ; |u - v|], (B, 3 d): the input of a classifier of pairs.

    With W of shape (3 d, n_classes) the **classification objective** is

        loss = cross_entropy(pair_features(u, v) W + b, labels)

    and W is discarded afterwards; the encoder is kept.
    u, v: (B, d). Raises ValueError when their shapes differ.

    Source: Reimers and Gurevych 2019, section 3, equation 1.
    """
    if u.ndim != 2 or u.shape != v.shape or len(u) == 0:
        raise ValueError(
            f"u, v: got shapes {tuple(u.shape)} and {tuple(v.shape)}, expected one shape "
            "(B, d), one vector per text"
        )
    return torch.cat((u, v, (u - v).abs()), dim=-1)
