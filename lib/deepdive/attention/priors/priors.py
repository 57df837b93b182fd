"""Attention with prior: a prior distribution added to the scores."""

import torch
from torch import Tensor, nn

from deepdive.core import Position
from deepdive.core.checks import positive
from deepdive.core.masks import Mask, as_mask
from deepdive.core.position import FIX_NEGATIVE, outside
from deepdive.core.softmax import SoftmaxAttention


class GaussianPrior(Position):
    """Gaussian prior: a score falls with the square of the distance.

        bias[t, s] = -|w d^2 + b|,  d = t - s                      # (n_heads or 1, T, S)

    After the softmax the weights are those of the content times a Gaussian of variance 1 / (2 w).
    In the paper w >= 0 and b <= 0 are two trained numbers: with b < 0 a word's weight on itself is
    below its neighbors', where |w + b| < |b|. Here they are one pair per head, unconstrained;
    the bias is never positive whatever they are. `n_heads=1` shares one pair.

    Raises ValueError when n_heads is not positive.

    System: gaussian_transformer
    Parent: self_attention
    What differs:
    - near words score higher independent of content (`bias`): a Gaussian in the distance
    - its width and its dip at distance 0 are trained (`w`, `b`)
    Source: Guo, Zhang and Liu 2019, "Gaussian Transformer", the additive form; in these symbols
    Lin et al. 2022, "A Survey of Transformers".
    Book: 5.2.4; table 1.2
    """

    def __init__(self, n_heads: int = 1, w: float = 0.1, b: float = 0.0) -> None:
        super().__init__()
        positive(n_heads=n_heads)
        self.n_heads = None if n_heads == 1 else n_heads  # one pair serves any number of heads
        self.w = nn.Parameter(torch.full((n_heads, 1, 1), w))
        self.b = nn.Parameter(torch.full((n_heads, 1, 1), b))

    def bias(self, q: Tensor, k: Tensor, q_positions: Tensor, k_positions: Tensor) -> Tensor:
        """Return -|w d^2 + b|, (n_heads or 1, T, S), with a batch axis where positions have one."""
        self.check_pairs(q, k, q_positions, k_positions)
        distance = q_positions.unsqueeze(-1) - k_positions.unsqueeze(-2)  # (T, S) or (B, T, S)
        squared = distance.square().unsqueeze(-3).to(self.w.dtype)
        return -(self.w * squared + self.b).abs()


class TablePrior(Position):
    """A trained score for each pair of positions, the same for every input.

        bias[h, t, s] = table[h, t, s]                                       # (n_heads, T, S)

    Alone it is the random Synthesizer; added to products of queries and keys it is their prior. It
    starts at 0: no preference. Raises ValueError for positions outside of it.
    """

    def __init__(self, n_heads: int, max_length: int) -> None:
        super().__init__()
        positive(n_heads=n_heads, max_length=max_length)
        self.n_heads = n_heads
        self.table = nn.Parameter(torch.zeros(n_heads, max_length, max_length))

    def bias(self, q: Tensor, k: Tensor, q_positions: Tensor, k_positions: Tensor) -> Tensor:
        """Return the table's rows and columns at the positions."""
        self.check_pairs(q, k, q_positions, k_positions)
        length = self.table.shape[-1]
        for position in (outside(q_positions, length), outside(k_positions, length)):
            if position is not None:
                fix = "build it with a larger max_length, or use GaussianPrior, which has no limit"
                raise ValueError(
                    f"position {position} is outside the table of max_length={length}: "
                    f"{FIX_NEGATIVE if position < 0 else fix}"
                )
        bias = self.table[:, q_positions.unsqueeze(-1), k_positions.unsqueeze(-2)]
        return bias if bias.ndim == 3 else bias.transpose(0, 1)


class LocalAttention(SoftmaxAttention):
    """Softmax attention with a window that each query predicts: a Gaussian prior on its scores.

        hidden = tanh(q @ W_p[h])                                 # (B, H, T, d_head)
        center = I sigmoid(hidden @ u_p[h])                       # P_t, (B, H, T)
        width  = I sigmoid(hidden @ u_d[h])                       # D_t
        prior[t, s] = -(s - center[t])^2 / (2 (width[t] / 2)^2)   # sigma = D / 2
        output = softmax(scale * q @ k^T + bias + prior) @ v

    I is the number of keys that query t may attend to; s counts them from 0: for a sentence this is
    its length, as in the paper. So padding does not move a window, and under a causal mask I = t +
    1, so that decoding step by step gives the same. Both vectors start at 0: a window around the
    middle, half as wide as I.

    System: attention_priors
    Parent: scaled_dot_attention
    What differs:
    - a prior is added to the content's scores: the two distributions multiply
    - each query predicts the centre and the width of its window (`LocalAttention`)
    - or the prior is a number for each pair of positions (`TablePrior`); `GaussianPrior` is another
    Source: Yang et al. 2018, "Modeling Localness for Self-Attention Networks", the query-specific
    window; Lin et al. 2022, "A Survey of Transformers", attention with prior.
    Book: 5.2.4
    """

    def __init__(self, n_heads: int, d_head: int, *, dropout: float = 0.0) -> None:
        super().__init__(dropout)
        positive(n_heads=n_heads, d_head=d_head)
        self.n_heads, self.d_head = n_heads, d_head
        self.hidden = nn.Parameter(torch.empty(n_heads, d_head, d_head))
        for weight in self.hidden:
            nn.init.xavier_uniform_(weight)
        self.window = nn.Parameter(torch.zeros(n_heads, d_head, 2))  # u_p and u_d

    def compute(
        self, q: Tensor, k: Tensor, v: Tensor, mask: Mask | None, bias: Tensor | None, scale: float
    ) -> Tensor:
        prior = self.prior(q, k, mask)
        bias = prior if bias is None else bias + prior
        return super().compute(q, k, v, mask, bias, scale)

    def prior(self, q: Tensor, k: Tensor, mask: Mask | Tensor | None = None) -> Tensor:
        """Return the prior (B, H, T, S)."""
        S, allowed = k.shape[2], self.allowed(as_mask(mask), q, k)
        if allowed is None:
            allowed = torch.ones(1, 1, 1, S, dtype=torch.bool, device=q.device)
        position = (allowed.expand(*allowed.shape[:3], S).cumsum(-1) - 1).to(q.dtype)
        n_seen = position[..., -1] + 1  # I, (B or 1, H or 1, T or 1)
        hidden = torch.tanh(q @ self.hidden)
        center, width = ((hidden @ self.window).sigmoid() * n_seen.unsqueeze(-1)).unbind(-1)
        # A query without keys has width 0: any other number does, since all its scores are masked.
        width = width.masked_fill(n_seen == 0, 1.0)
        return -2 * ((position - center.unsqueeze(-1)) / width.unsqueeze(-1)).square()
