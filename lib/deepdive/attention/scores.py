"""Score functions other than the scaled dot product: dot, general, and additive attention."""

import torch
from torch import Tensor, nn

from deepdive.core.checks import positive
from deepdive.core.masks import Mask
from deepdive.core.softmax import SoftmaxAttention


class DotAttention(SoftmaxAttention):
    """Dot-product attention: scores = q @ k^T, not scaled.

    System: dot_attention
    Parent: additive_attention
    What differs:
    - the score has no weights: query and key must share one space (`default_scale`)
    - one matrix product scores all pairs; the parent runs a small network for each
    Source: Luong, Pham and Manning 2015, section 3.1, "dot".
    Book: 2.3.2.1
    """

    @staticmethod
    def default_scale(d_head: int) -> float:
        """Return 1: the scores are not divided, so they grow like sqrt(d_head)."""
        return 1.0


class GeneralAttention(DotAttention):
    """General (bilinear) attention: scores = q @ W @ k^T, with W (d_query, d_key).

    It compares spaces of different size: `d_query` need not equal `d_key`.
    Source: Luong, Pham and Manning 2015, section 3.1, "general".
    """

    one_width = False

    def __init__(self, d_query: int, d_key: int | None = None, dropout: float = 0.0) -> None:
        super().__init__(dropout)
        d_key = d_query if d_key is None else d_key
        positive(d_query=d_query, d_key=d_key)
        self.W = nn.Linear(d_query, d_key, bias=False)

    def check(self, q: Tensor, k: Tensor, v: Tensor) -> None:
        """Raise ValueError unless q and k have the widths that W was made for."""
        check_width("q", q, d_query=self.W.in_features)
        check_width("k", k, d_key=self.W.out_features)

    def compute(
        self, q: Tensor, k: Tensor, v: Tensor, mask: Mask | None, bias: Tensor | None, scale: float
    ) -> Tensor:
        """Return the output; the dot product is taken between `q @ W` and `k`."""
        return super().compute(self.W(q), k, v, mask, bias, scale)


class AdditiveAttention(SoftmaxAttention):
    """Additive (MLP) attention: score(q, k) = u . tanh(W_q q + W_k k), with d_hidden rows in W_q
    and W_k.

    Memory is B x H x T x S x d_hidden: it suits short sequences, or a decoder with one query at a
    time. Such a decoder projects its keys once, with `project_keys`, and passes them to
    `attend` at every step.

    System: additive_attention
    Parent: attention_regression
    What differs:
    - the score is learned, a network of one hidden layer (`W_q`, `W_k`, `u`), not a kernel of the
      distance
    - queries and keys may be of different width (`d_query`, `d_key`)
    Source: Bahdanau, Cho and Bengio 2015, section 3.1 and appendix A.1.2.
    Book: 2.3.2.3
    """

    one_width = False

    def __init__(
        self,
        d_query: int,
        d_key: int | None = None,
        d_hidden: int | None = None,
        dropout: float = 0.0,
    ) -> None:
        super().__init__(dropout)
        d_key = d_query if d_key is None else d_key
        d_hidden = d_query if d_hidden is None else d_hidden
        positive(d_query=d_query, d_key=d_key, d_hidden=d_hidden)
        self.W_q = nn.Linear(d_query, d_hidden)
        self.W_k = nn.Linear(d_key, d_hidden, bias=False)
        self.u = nn.Linear(d_hidden, 1, bias=False)

    @staticmethod
    def default_scale(d_head: int) -> float:
        """Return 1: tanh bounds each term already."""
        return 1.0

    def check(self, q: Tensor, k: Tensor, v: Tensor) -> None:
        """Raise ValueError unless the queries have the width that W_q was made for."""
        check_width("q", q, d_query=self.W_q.in_features)

    def compute(
        self, q: Tensor, k: Tensor, v: Tensor, mask: Mask | None, bias: Tensor | None, scale: float
    ) -> Tensor:
        """Return the output (B, H, T, d_v), with projected keys."""
        return super().compute(q, self.project_keys(k), v, mask, bias, scale)

    def project_keys(self, k: Tensor) -> Tensor:
        """Return W_k k, (B, H, S, d_hidden). Raises ValueError for keys of another width."""
        check_width("k", k, d_key=self.W_k.in_features)
        return self.W_k(k)

    def attend(
        self,
        q: Tensor,
        projected: Tensor,
        v: Tensor,
        mask: Mask | Tensor | None = None,
        bias: Tensor | None = None,
        scale: float | None = None,
    ) -> Tensor:
        """Return the output (B, H, T, d_v); `projected` is the output of `project_keys`."""
        mask, bias, scale = self.checked(q, projected, v, mask, bias, scale)
        return super().compute(q, projected, v, mask, bias, scale)

    def score(self, q: Tensor, projected: Tensor, scale: float) -> Tensor:
        """Return scale * u . tanh(W_q q + projected), (B, H, T, S)."""
        hidden = torch.tanh(
            self.W_q(q).unsqueeze(-2) + projected.unsqueeze(-3)
        )  # (B, H, T, S, d_hidden)
        return scale * self.u(hidden).squeeze(-1)


def check_width(name: str, x: Tensor, **made_for: int) -> None:
    """Raise ValueError unless x has the width that a matrix is made for, by its name."""
    for size, width in made_for.items():
        if x.shape[-1] != width:
            raise ValueError(
                f"{name} is {x.shape[-1]} wide, but the scores were built with {size}={width}: "
                f"build them with {size}={x.shape[-1]}"
            )
