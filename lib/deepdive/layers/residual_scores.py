"""Attention scores with a residual connection from layer to layer, as in RealFormer (He, Ravula,
Kanagal, and Ainslie 2021). The model is `deepdive.models.transformer.realformer`.
"""

from dataclasses import dataclass
from typing import Any

from torch import Tensor

from deepdive.core import MultiHeadAttention
from deepdive.core.context import FIELDS, Context
from deepdive.core.softmax import SoftmaxAttention
from deepdive.core.stack import Stack


@dataclass(frozen=True, eq=False)
class ScoreContext(Context):
    """A context with the scores of the previous layer: kind of attention -> (B, H, T, S).

    The kinds are "self" and "cross". Each layer replaces its kind's entry in place.
    """

    scores: dict[str, Tensor] | None = None


class ScoreResidualAttention(MultiHeadAttention):
    """Multi-head attention whose scores include those of the layer before.

        scores = scale * q @ k^T + carry * previous      # (B, H, T, S), then the mask, the softmax
        output = join(softmax(scores) @ v) @ W_out       # (B, T, d_model)

    `previous` is the context's, a `ScoreContext`; without one, as in the first layer, this is plain
    attention. The mask acts after the sum, so what a mask hides in every layer stays hidden.
    The other arguments are those of `MultiHeadAttention`. Raises ValueError for a mechanism that
    isn't a `SoftmaxAttention`, or takes no bias of the scores.
    Source: He, Ravula, Kanagal, and Ainslie 2021, the residual attention layer.
    """

    mechanism: SoftmaxAttention

    def __init__(self, d_model: int, n_heads: int, *, carry: float = 1.0, **settings: Any) -> None:
        super().__init__(d_model, n_heads, **settings)
        if not (isinstance(self.mechanism, SoftmaxAttention) and self.mechanism.takes_bias):
            raise ValueError(
                f"mechanism: {type(self.mechanism).__name__} can't add the previous layer's scores "
                "(B, H, T, S) to its own; use SoftmaxAttention"
            )
        self.carry = carry

    def position_bias(self, q: Tensor, k: Tensor, context: Context) -> Tensor | None:
        """Return what is added to the scores: the previous layer's, and the bias, if there is one.

        This layer's sum of scores replaces the previous layer's in the context.
        """
        bias = super().position_bias(q, k, context)
        if not isinstance(context, ScoreContext) or context.scores is None:
            return bias
        kind = "self" if context.memory is None else "cross"
        scale = self.mechanism.default_scale(q.shape[-1]) if self.scale is None else self.scale
        own, previous = self.mechanism.score(q, k, scale), context.scores.get(kind)
        if previous is None:
            context.scores[kind] = own
            return bias
        previous = self.carry * previous
        context.scores[kind] = own + previous
        return previous if bias is None else previous + bias


class RealFormerStack(Stack):
    """A stack whose layers pass their scores on: its blocks have `ScoreResidualAttention`.

    Each call starts without scores. A cached step does too: its queries are new, and their scores
    go through the layers within the step.
    """

    def forward(self, x: Tensor, context: Context) -> Tensor:
        """Return the stream (B, T, d_model) after all blocks."""
        fields = {name: getattr(context, name) for name in FIELDS}
        return super().forward(x, ScoreContext(**fields, scores={}))
