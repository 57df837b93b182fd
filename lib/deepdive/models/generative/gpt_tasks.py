"""GPT's task-specific input transformations, and a linear head on the last token's hidden state.
Radford et al. 2018, section 3.3 and figure 1.

    classification   start text extract
    entailment       start premise $ hypothesis extract
    similarity       start a $ b extract,  start b $ a extract:  their last states are added
    choice           start context $ answer extract,  once per answer:  one score each
"""

from collections.abc import Sequence
from dataclasses import dataclass

import torch
from torch import Tensor, nn

from deepdive.core.checks import positive
from deepdive.core.masks import describe
from deepdive.layers.heads import initialize
from deepdive.models.generative.gpt import GPT

Tokens = Sequence[int]


@dataclass(frozen=True)
class Marks:
    """The three special tokens: they are added to the vocabulary before fine-tuning, with randomly
    initialized embeddings.
    """

    start: int
    delimiter: int
    extract: int

    def one(self, text: Tokens) -> list[int]:
        return [self.start, *text, self.extract]

    def pair(self, first: Tokens, second: Tokens) -> list[int]:
        return [self.start, *first, self.delimiter, *second, self.extract]

    def both_orders(self, a: Tokens, b: Tokens) -> list[list[int]]:
        """Return both orders of two texts, since similarity has no order."""
        return [self.pair(a, b), self.pair(b, a)]

    def choices(self, context: Tokens, answers: Sequence[Tokens]) -> list[list[int]]:
        return [self.pair(context, answer) for answer in answers]


class Answerer(nn.Module):
    """GPT with a linear head: W h, where h is the hidden state of each text's last token.

        tokens (B, T)      -> logits (B, n_classes): one text or a pair
        tokens (B, 2, T)   -> logits (B, n_classes): both orders, their h added (`similar`)
        tokens (B, C, T)   -> logits (B, C), for n_classes = 1: which of C answers? (`choose`)

    Masks are shaped as the tokens are, True = real, with the padding at the end.
    """

    def __init__(self, model: GPT, n_classes: int) -> None:
        super().__init__()
        positive(n_classes=n_classes)
        self.model = model
        self.out = nn.Linear(model.config.d_model, n_classes)
        initialize(self.out)

    def last(self, tokens: Tensor, mask: Tensor | None = None) -> Tensor:
        """Return the hidden state (B, d_model) of the last real token of each text (B, T)."""
        states = self.model.decoder(tokens, mask=mask)
        at = torch.full_like(tokens[:, 0], tokens.shape[1] - 1) if mask is None else mask.sum(1) - 1
        return states[torch.arange(len(tokens), device=tokens.device), at]

    def forward(self, tokens: Tensor, mask: Tensor | None = None) -> Tensor:
        return self.out(self.last(tokens, mask))

    def similar(self, tokens: Tensor, mask: Tensor | None = None) -> Tensor:
        return self.out(self._each(tokens, mask).sum(1))

    def choose(self, tokens: Tensor, mask: Tensor | None = None) -> Tensor:
        return self.out(self._each(tokens, mask))[..., 0]

    def _each(self, tokens: Tensor, mask: Tensor | None) -> Tensor:
        """Return the last hidden states (B, C, d_model) of C texts per example."""
        if tokens.ndim != 3:
            raise ValueError(f"tokens must be (B, C, T) with C texts each; got {describe(tokens)}")
        flat = None if mask is None else mask.flatten(0, 1)
        return self.last(tokens.flatten(0, 1), flat).unflatten(0, tokens.shape[:2])
