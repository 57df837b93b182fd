"""Synthesized attention scores: predicted from each token, or trained directly."""

import torch
from torch import Tensor, nn

from deepdive.core.checks import each_at_least, positive


class Scores(nn.Module):
    """Base class of scores for `SynthesizedAttention`: `forward(x, start)` returns (B or 1, H, T,
    max_length) for x (B, T, d_model) at the positions start .. start + T - 1.

    Raises ValueError for sizes that are not positive.
    """

    def __init__(self, n_heads: int, max_length: int) -> None:
        super().__init__()
        positive(n_heads=n_heads, max_length=max_length)
        self.n_heads, self.max_length = n_heads, max_length

    def forward(self, x: Tensor, start: int) -> Tensor:
        """Return the scores (B or 1, H, T, max_length) of x."""
        raise NotImplementedError


class DenseScores(Scores):
    """Each token predicts its score for every position: relu(x W_1 + b_1) W_2 + b_2.

    For each head W_1 is (d_model, d_hidden) and W_2 (d_hidden, max_length); `d_hidden` is
    d_model / n_heads by default.
    Source: Tay et al. 2021, the dense Synthesizer.
    """

    def __init__(
        self, d_model: int, n_heads: int, max_length: int, *, d_hidden: int | None = None
    ) -> None:
        super().__init__(n_heads, max_length)
        d_hidden = d_model // n_heads if d_hidden is None else d_hidden
        positive(d_hidden=d_hidden, d_model=d_model)
        self.inner = nn.Linear(d_model, n_heads * d_hidden)
        self.outer = _ByHead(n_heads, d_hidden, max_length)

    def forward(self, x: Tensor, start: int) -> Tensor:
        return self.outer(self.inner(x).relu())


class RandomScores(Scores):
    """Trained numbers R (H, max_length, max_length), the same for every input.

    They are initialized from a standard normal distribution. Not training them
    (`requires_grad_(False)`) is the paper's fixed random form.
    Source: Tay et al. 2021, the random Synthesizer.
    """

    def __init__(self, n_heads: int, max_length: int) -> None:
        super().__init__(n_heads, max_length)
        self.table = nn.Parameter(torch.randn(n_heads, max_length, max_length))

    def forward(self, x: Tensor, start: int) -> Tensor:
        return self.table[None, :, start : start + x.shape[1]]


class FactorizedDenseScores(Scores):
    """Each token predicts a + b numbers, whose products are its a * b scores.

        A, B = F_A(x), F_B(x)                     # (.., a) and (.., b), networks as in DenseScores
        scores[s] = A[s mod a] * B[s mod b]       # A tiled b times, B tiled a times

    s mod a and s mod b are equal for no two of the first lcm(a, b) positions. So with a and b that
    share no factor all a b scores are different products; with a = b they repeat after a positions.
    Source: Tay et al. 2021, the factorized dense Synthesizer.
    """

    def __init__(
        self, d_model: int, n_heads: int, factors: tuple[int, int], *, d_hidden: int | None = None
    ) -> None:
        a, b = factors
        each_at_least(1, "factors", factors)
        super().__init__(n_heads, a * b)
        d_hidden = d_model // n_heads if d_hidden is None else d_hidden
        positive(d_hidden=d_hidden, d_model=d_model)
        self.factors = a, b
        self.inner = nn.Linear(d_model, 2 * n_heads * d_hidden)
        self.first, self.second = _ByHead(n_heads, d_hidden, a), _ByHead(n_heads, d_hidden, b)

    def forward(self, x: Tensor, start: int) -> Tensor:
        a, b = self.factors
        hidden = self.inner(x).relu().chunk(2, dim=-1)
        return self.first(hidden[0]).repeat(1, 1, 1, b) * self.second(hidden[1]).repeat(1, 1, 1, a)


class FactorizedRandomScores(Scores):
    """Trained numbers of rank `rank`: R[h] = left[h] @ right[h]^T, (max_length, max_length).

    Both factors start as normal numbers, scaled so that a score has size 1.
    Source: Tay et al. 2021, the factorized random Synthesizer.
    """

    def __init__(self, n_heads: int, max_length: int, rank: int) -> None:
        super().__init__(n_heads, max_length)
        positive(rank=rank)
        start = rank**-0.25
        self.left = nn.Parameter(start * torch.randn(n_heads, max_length, rank))
        self.right = nn.Parameter(start * torch.randn(n_heads, max_length, rank))

    def forward(self, x: Tensor, start: int) -> Tensor:
        return (self.left[:, start : start + x.shape[1]] @ self.right.mT).unsqueeze(0)


class _ByHead(nn.Module):
    """A linear map for each head: (B, T, H * d_in) -> (B, H, T, d_out)."""

    def __init__(self, n_heads: int, d_in: int, d_out: int) -> None:
        super().__init__()
        self.weight = nn.Parameter(torch.empty(n_heads, d_in, d_out))
        self.bias = nn.Parameter(torch.zeros(n_heads, 1, d_out))
        for weight in self.weight:
            nn.init.xavier_uniform_(weight)

    def forward(self, x: Tensor) -> Tensor:
        by_head = x.unflatten(-1, (self.weight.shape[0], -1)).transpose(1, 2)
        return by_head @ self.weight + self.bias
