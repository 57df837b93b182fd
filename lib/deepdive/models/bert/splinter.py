"""Splinter: BERT pretrained with recurring span selection. Ram et al. 2021, "Few-Shot Question
Answering by Pretraining Span Selection".

All but one occurrence of a span that recurs in a text are masked, and the model selects the
remaining one (`deepdive.training.objectives.recurring_span_selection`). Question answering has the
same form: `[QUESTION]` replaces the answer.

Long because the head handles several questions per text, and rejects a text without one.

System: splinter
Parent: bert
What differs:
- the answer's start and end are scored against the hidden state of a `[QUESTION]` token, so one
  text may hold several questions, each with its own answer (`SpanSelector`, `Splinter`)
- the head is pretrained with the encoder, and is reused in fine-tuning (`Splinter`)
- the vocabulary is BERT's cased one, in which `[QUESTION]` is token 104 (`BASE`, `question`)
Source: Ram et al. 2021, and their released code.
Book: 3.1.3
"""

from dataclasses import dataclass
from typing import Any

import torch
from torch import Tensor, nn

from deepdive.core import LayerNorm
from deepdive.core.checks import positive
from deepdive.core.masks import describe
from deepdive.layers.heads import initialize
from deepdive.models.bert.bert import TOY, Bert, EncoderConfig, bert


@dataclass(frozen=True)
class SplinterConfig(EncoderConfig):
    """BERT's config with `question`, the id of the `[QUESTION]` token."""

    question: int = 104


BASE = SplinterConfig(vocab_size=28_996, family="splinter")
LARGE = BASE.but(d_model=1024, n_heads=16, n_layers=24, d_ff=4096)
TINY = BASE.but(**TOY | {"question": 3})


def splinter(config: SplinterConfig = BASE, **changes: Any) -> Bert:
    """Build an encoder without its head; defaults are the paper's base model."""
    return bert(SplinterConfig.given(config, changes))


class SpanSelector(nn.Module):
    """Span scores[b, k, t] = ask(x[b, q[b, k]])^T W answer(x[b, t]), where x are hidden states and
    q the positions of the questions; `ask` and `answer` are norm(gelu(dense(.))).

    Source: Ram et al. 2021, "question-aware span selection".
    """

    def __init__(self, d_model: int) -> None:
        super().__init__()
        positive(d_model=d_model)
        self.ask, self.answer = (
            nn.Sequential(nn.Linear(d_model, d_model), nn.GELU(), LayerNorm(d_model, 1e-5))
            for _ in range(2)
        )
        self.product = nn.Linear(d_model, d_model, bias=False)
        initialize(self)

    def forward(self, states: Tensor, questions: Tensor) -> Tensor:
        """Return scores (B, K, T) for states (B, T, d_model) and question positions (B, K)."""
        batch = torch.arange(len(states), device=states.device)[:, None]
        queries = self.product(self.ask(states[batch, questions]))  # (B, K, d_model)
        return queries @ self.answer(states).transpose(1, 2)


class Splinter(nn.Module):
    """Encoder with one span selector for the start and one for the end of each answer.

    `best_span(logits[:, k], passage)` returns the answer to question k.
    """

    def __init__(self, bert: Bert) -> None:
        super().__init__()
        config: Any = bert.config
        d_model, self.question = config.d_model, config.question
        self.bert, self.start, self.end = bert, SpanSelector(d_model), SpanSelector(d_model)

    def forward(
        self,
        tokens: Tensor,
        mask: Tensor | None = None,
        segments: Tensor | None = None,
        questions: Tensor | None = None,
    ) -> Tensor:
        """Return logits (B, K, T, 2) for tokens (B, T) with questions at positions (B, K); None:
        one per text, at its first `[QUESTION]`. Logits of padding are meaningless.

        Raises ValueError for a text without that token, and for a position outside the text.
        """
        states = self.bert(tokens, mask, segments)
        if questions is None:
            asks = tokens == self.question
            if not asks.any(1).all():
                raise ValueError(
                    f"tokens: sequence {int((~asks.any(1)).nonzero()[0])} has no [QUESTION], token "
                    f"{self.question}: put it at the position of the answer, or "
                    "pass the question positions, questions=(B, K)"
                )
            questions = asks.int().argmax(1, keepdim=True)
        if len(questions) != len(tokens) or not 0 <= questions.min() <= questions.max() < len(
            tokens[0]
        ):
            raise ValueError(
                f"questions: got {describe(questions)}, from {int(questions.min())} to "
                f"{int(questions.max())}; expected positions (B, K) in the tokens "
                f"{tuple(tokens.shape)}, 0 for sequences with fewer questions"
            )
        return torch.stack((self.start(states, questions), self.end(states, questions)), -1)
