"""ProbSparse attention (Informer): queries with peaked weights attend, the others take the mean."""

import math

import torch
from torch import Tensor

from deepdive.attention.by_content.clusters import answers
from deepdive.attention.structure import StructuredAttention, all_real
from deepdive.core.checks import positive
from deepdive.core.softmax import SoftmaxAttention


class ProbSparseAttention(StructuredAttention, SoftmaxAttention):
    """Softmax attention for the `u` queries with the largest sampled measure, a mean for the
    rest.

        measure[t] = max over the sample of (q[t] @ k[j]) - sum over the sample of (q[t] @ k[j]) / S
        active     = the u queries of largest measure, u = factor * ceil(ln(1 + T))
        output[t]  = softmax(scale * q[t] @ k^T) @ v     for the active t      # (B, H, u, S)
        output[t]  = mean of v                           for the others, the lazy ones

    Each query has its own sample of factor * ceil(ln(1 + S)) keys. In evaluation the sample is the
    same at every call; in training torch's generator draws a new one. A sample that would exceed
    the number of keys has each once; u = T is softmax attention. No gradient passes through the
    choice. Cost: O((T ln S + S ln T) d factor).

    Honours `Padding` (padded keys are not sampled and not in the mean; where there are as many
    queries as keys, padded queries are lazy) and `Causal`, in which a lazy query takes the sum of
    the values so far, as in the authors' code. **The causal form looks ahead once**: which queries
    are active is decided over the full sequence. Refuses other masks and a bias. Hook points:
    `scores`, `weights` (B, H, u, S), those of the active queries.

    Raises ValueError when `factor` is not positive.
    Source: Zhou et al. 2021, ProbSparse self-attention, and the released code for what it samples.
    """

    queries = "last if causal"

    def __init__(self, factor: int = 5, dropout: float = 0.0) -> None:
        super().__init__(dropout)
        positive(factor=factor)
        self.factor = factor

    def extra_repr(self) -> str:
        return f"factor={self.factor}"

    def structured(
        self, q: Tensor, k: Tensor, v: Tensor, real: Tensor | None, causal: bool, scale: float
    ) -> Tensor:
        T, S = q.shape[2], k.shape[2]
        active = self.active(q, k, real)  # (B, H, u)
        allowed = None if real is None else real[:, None, None]  # (B, 1, 1, S)
        if causal:
            past = torch.arange(S, device=q.device) <= active.unsqueeze(-1) + S - T
            allowed = past if allowed is None else allowed & past  # (B, H, u, S)
        active_outputs = self.steps(answers(q, active), k, v, allowed, None, scale)
        index = active.unsqueeze(-1).expand_as(active_outputs)
        return self._lazy(v, real, causal, T).scatter(2, index, active_outputs)

    @torch.no_grad()
    def active(self, q: Tensor, k: Tensor, real: Tensor | None = None) -> Tensor:
        """Return the positions of the u active queries, integers (B, H, u), u = T where all are."""
        T, S = q.shape[2], k.shape[2]
        u = min(T, self.factor * math.ceil(math.log1p(T)))
        if u == T:
            return torch.arange(T, device=q.device).expand(*q.shape[:2], T)
        measure = self.measure(q, k, real)
        if real is not None and T == S:
            measure = measure.masked_fill(~real[:, None], -math.inf)
        return measure.topk(u, dim=-1).indices

    def measure(self, q: Tensor, k: Tensor, real: Tensor | None = None) -> Tensor:
        """Return the sampled max-mean measure of each query, (B, H, T)."""
        is_real = all_real(real, k)
        sample = self.sample(q.shape[2], k.shape[2]).to(q.device)  # (T, m)
        scores = torch.stack([(q * k[:, :, keys]).sum(-1) for keys in sample.unbind(1)], dim=-1)
        sampled_real = is_real[:, sample].unsqueeze(1)  # (B or 1, 1, T, m)
        largest = scores.masked_fill(~sampled_real, -math.inf).amax(-1)
        size = is_real.sum(1).clamp(min=1)[:, None, None]
        return largest - scores.masked_fill(~sampled_real, 0.0).sum(-1) / size

    def sample(self, T: int, S: int) -> Tensor:
        """Return the keys that each query samples, integers (T, m)."""
        m = self.factor * math.ceil(math.log1p(S))
        if m >= S:
            return torch.arange(S).expand(T, S)
        generator = None if self.training else torch.Generator().manual_seed(0)
        return torch.randint(S, (T, m), generator=generator)

    def _lazy(self, v: Tensor, real: Tensor | None, causal: bool, T: int) -> Tensor:
        """Return a lazy query's output, (B, H, T, d_v): the mean, or causally the sum so far."""
        values = v if real is None else v * real[:, None, :, None]
        if causal:
            return values.cumsum(2)[:, :, -T:]
        size = all_real(real, v).sum(1).clamp(min=1)[:, None, None, None]
        return (values.sum(2, keepdim=True) / size).to(v.dtype).expand(-1, -1, T, -1)
