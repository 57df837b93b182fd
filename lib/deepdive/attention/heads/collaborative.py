"""Collaborative attention: all heads share one query and one key projection."""

import torch
from torch import Tensor, nn

from deepdive.attention.by_content.shared_columns import share
from deepdive.core.checks import positive
from deepdive.core.multi_head import MultiHeadAttention, split_heads
from deepdive.core.softmax import SoftmaxAttention


class CollaborativeAttention(MultiHeadAttention):
    """Multi-head attention whose heads share query and key columns, each with a mixing vector.

        q, k = x @ W_q, context @ W_k                             # (B, T or S, d_shared), one each
        scores[h] = scale * ((q * mixing[h]) @ k^T + context @ content[h])   # (B, H, T, S)
        output    = join(softmax(scores[h]) @ v[h]) @ W_out                  # (B, T, d_model)

    `mixing` is (H, d_shared). One-hot rows that cut the columns into d_head for each head are
    plain attention (d_shared = H d_head). `content` is what a query bias adds to a key's score; a
    key bias shifts all scores of a query equally, so there is none. Both are columns of `kv`,
    behind the d_shared keys and before the values; the bias of those columns changes no weight, and
    stays 0. `scale` is 1 / sqrt(d_shared / H) by default. A cache stores one key of d_shared + H
    numbers for all heads.

    The shared columns allow no position scheme: add positions to the embeddings.
    Raises ValueError when d_shared is not positive.

    System: collaborative_heads
    Parent: multi_head
    What differs:
    - queries and keys are projected once for all heads, to `d_shared` columns
    - a head is a vector of weights on these columns (`mixing`), so heads may share or split them
    - a trained layer becomes one of fewer columns by a tensor decomposition (`collaborative`)
    Source: Cordonnier, Loukas and Jaggi 2020, "Multi-Head Attention: Collaborate Instead of
    Concatenate".
    Book: 1.2.1.2
    """

    def __init__(
        self,
        d_model: int,
        n_heads: int,
        d_shared: int,
        *,
        d_context: int | None = None,
        bias: bool = True,
        dropout: float = 0.0,
        scale: float | None = None,
        mechanism: nn.Module | None = None,
    ) -> None:
        positive(d_model=d_model, n_heads=n_heads, d_shared=d_shared)
        positive(d_context=d_model if d_context is None else d_context)
        scale = (d_shared / n_heads) ** -0.5 if scale is None else scale
        super().__init__(
            d_model,
            n_heads,
            d_context=d_context,
            bias=bias,
            dropout=dropout,
            scale=scale,
            mechanism=mechanism,
        )
        self.d_shared = d_shared
        self.q = nn.Linear(d_model, d_shared, bias=False)
        columns = [d_shared, n_heads, n_heads * self.d_head]
        self.kv = nn.Linear(self.d_context, sum(columns), bias=bias)
        self.mixing = nn.Parameter(torch.empty(n_heads, d_shared))
        k, content, v = self.kv.weight.split(columns)
        for weight in (self.q.weight, k, v):
            nn.init.xavier_uniform_(weight)
        nn.init.zeros_(content)
        if bias:
            nn.init.zeros_(self.kv.bias)
        nn.init.normal_(self.mixing)

    def queries(self, x: Tensor) -> Tensor:
        """Return (B, H, T, d_shared + H): the mixed columns, and a 1 that selects the content."""
        shared = self.q(x).unsqueeze(1) * self.mixing.unsqueeze(1)  # (B, H, T, d_shared)
        one_hot = torch.eye(self.n_heads, dtype=shared.dtype, device=shared.device).unsqueeze(1)
        return torch.cat([shared, one_hot.expand(*shared.shape[:3], -1)], dim=-1)

    def keys_and_values(self, states: Tensor) -> tuple[Tensor, Tensor]:
        """Return one key for all heads (B, 1, S, d_shared + H), values (B, H, S, d_head)."""
        keys = self.d_shared + self.n_heads
        k, v = self.kv(states).split([keys, self.n_heads * self.d_head], dim=-1)
        return k.unsqueeze(1), split_heads(v, self.n_heads)

    def to_all_heads(self, k: Tensor, v: Tensor) -> tuple[Tensor, Tensor]:
        return k.expand(-1, self.n_heads, -1, -1), v


@torch.no_grad()
def collaborative(
    layer: MultiHeadAttention, d_shared: int, *, rounds: int = 20
) -> tuple[CollaborativeAttention, float]:
    """Return a trained layer as a collaborative one of `d_shared` columns, and the relative error
    of its score matrices.

        W_q[h] @ W_k[h]^T  ~  Q @ diag(mixing[h]) @ K^T      for all heads h
        error = |difference| / |W_q W_k^T|, Frobenius norms over all heads

    The decomposition is computed in float64 (`shared_columns.share`); it reads no data. The query
    bias is kept exactly, as `content`. With d_shared = H d_head the two layers are equal. `layer`
    is not changed.
    Raises ValueError for a layer whose scores are more than scaled products of its projections.
    """
    if type(layer.mechanism) is not SoftmaxAttention or layer.position is not None:
        raise ValueError(
            "collaborative converts only layers with SoftmaxAttention and no position scheme: "
            "shared projections allow no other operation before the softmax"
        )
    if layer.n_kv_heads != layer.n_heads:
        raise ValueError(
            f"{layer.n_heads} query heads already share {layer.n_kv_heads} key heads: convert a "
            "layer with n_kv_heads = n_heads"
        )
    H, d = layer.n_heads, layer.d_head
    if layer.d_model != H * d:
        raise ValueError(f"d_head={d} expected d_model / n_heads = {layer.d_model / H}")
    w_q = layer.q.weight.double().unflatten(0, (H, d))  # (H, d, d_model)
    w_k, w_v = layer.kv.weight.double().chunk(2)
    w_k = w_k.unflatten(0, (H, d))  # (H, d, d_context)
    queries, keys, mixing, error = share(w_q.mT, w_k.mT, d_shared, rounds=rounds)
    scale = layer.mechanism.default_scale(d) if layer.scale is None else layer.scale
    has_bias = layer.kv.bias is not None
    result = CollaborativeAttention(
        layer.d_model,
        H,
        d_shared,
        d_context=layer.d_context,
        bias=has_bias,
        dropout=layer.mechanism.dropout.p,
        scale=scale,
    ).to(layer.q.weight)
    content = torch.zeros(H, layer.d_context, dtype=torch.float64, device=w_k.device)
    if has_bias:
        content = torch.einsum("hde,hd->he", w_k, layer.q.bias.double().view(H, d))
        result.kv.bias[-H * d :] = layer.kv.bias.chunk(2)[1]
        result.out.bias.copy_(layer.out.bias)
    result.q.weight.copy_(queries.T)
    result.kv.weight.copy_(torch.cat([keys.T, content, w_v]))
    result.mixing.copy_(mixing)
    result.out.weight.copy_(layer.out.weight)
    return result.train(layer.training), error
