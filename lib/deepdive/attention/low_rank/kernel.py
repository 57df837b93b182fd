"""Linear attention: weights are products of features, so keys and values are summed once."""

import torch
import torch.nn.functional as F
from torch import Tensor

from deepdive._fast.kernel import causal_products, in_parts
from deepdive.attention.structure import StructuredAttention
from deepdive.core.checks import positive


class LinearAttention(StructuredAttention):
    """Linear attention: weights proportional to phi(q) . phi(k), never computed.

        output[t] = phi(q[t]) @ sum_s phi(k[s]) v[s]^T / phi(q[t]) @ sum_s phi(k[s])

    The sums run over all real keys, under `Causal` over s <= t. phi is `of_queries` and `of_keys`,
    here elu(x) + 1; a subclass replaces them. No entry may be negative. `fast` computes the
    features of a few positions at a time; causally, it works in chunks of `chunk`: the sums of the
    chunks before come from one cumulative sum, and the weights inside a chunk are computed.

    Honours `Causal` and `Padding`; refuses every other mask, and a bias. A query with no
    key, or whose features are all 0, has output 0. Step by step it equals one pass. No weights of
    size T x S exist for `record`: `attention(q, k, torch.eye(S))` returns them.

    Raises ValueError when chunk is below 1.
    Source: Katharopoulos et al. 2020, section 3.2, equations 4 and 5; causal: section 3.3.
    """

    queries = "last if causal"

    def __init__(self, chunk: int = 128) -> None:
        super().__init__()
        positive(chunk=chunk)
        self.chunk = chunk

    def extra_repr(self) -> str:
        return f"chunk={self.chunk}"

    @staticmethod
    def default_scale(d_head: int) -> float:
        """Return 1: these features are not those of a softmax."""
        return 1.0

    def shared(self, q: Tensor, k: Tensor, scale: float, real: Tensor | None) -> Tensor | None:
        """Return what `of_keys` needs from all keys; called once, before any feature."""
        return None

    def of_queries(self, q: Tensor, scale: float) -> Tensor:
        """Return phi(scale * q), (..., m)."""
        return F.elu(scale * q) + 1

    def of_keys(
        self, k: Tensor, real: Tensor | None, scale: float, shared: Tensor | None
    ) -> Tensor:
        """Return phi(k) (B, H, S, m) of some keys, 0 where not `real` (B, S)."""
        features = F.elu(k) + 1
        return features if real is None else features * real[:, None, :, None]

    def structured(
        self, q: Tensor, k: Tensor, v: Tensor, real: Tensor | None, causal: bool, scale: float
    ) -> Tensor:
        shared = self.shared(q, k, scale, real)
        queries, keys = self.of_queries(q, scale), self.of_keys(k, real, scale, shared)
        v = with_ones(v)
        if causal:
            weights = (queries @ keys.mT).tril(k.shape[2] - q.shape[2])  # (B, H, T, S)
            return normalize(weights @ v)
        return normalize(queries @ (keys.mT @ v))

    def fast(
        self, q: Tensor, k: Tensor, v: Tensor, real: Tensor | None, causal: bool, scale: float
    ) -> Tensor:
        shared = self.shared(q, k, scale, real)
        v = with_ones(v)
        if causal:
            queries, keys = self.of_queries(q, scale), self.of_keys(k, real, scale, shared)
            return normalize(causal_products(queries, keys, v, self.chunk))
        parts = zip(in_parts(k, real), in_parts(v), strict=True)
        sums = torch.stack(
            [self.of_keys(*keys, scale, shared).mT @ values for keys, (values, _) in parts]
        ).sum(0)  # (B, H, m, d_v + 1)
        mixed = [self.of_queries(queries, scale) @ sums for queries, _ in in_parts(q)]
        return normalize(torch.cat(mixed, dim=2))


def with_ones(v: Tensor) -> Tensor:
    """(B, H, S, d_v) -> (B, H, S, d_v + 1): the ones' output is the sum of the weights."""
    return F.pad(v, (0, 1), value=1.0)


def normalize(mixed: Tensor) -> Tensor:
    """(..., d_v + 1) -> (..., d_v): divide by the last column, the sums; 0 where that is 0."""
    mixed, total = mixed.split([mixed.shape[-1] - 1, 1], dim=-1)
    return mixed / total.masked_fill(total == 0, 1.0)
