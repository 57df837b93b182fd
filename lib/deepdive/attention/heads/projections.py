"""Multi-head attention with other projections: keys without a bias, normalized queries and keys,
queries that depend on the kinds of both tokens.
"""

from collections.abc import Callable
from typing import Any

import torch
from torch import Tensor, nn

from deepdive.core.masks import Mask
from deepdive.core.multi_head import MultiHeadAttention, split_heads


class KeysWithoutBias(MultiHeadAttention):
    """k = x @ W_k, v = x @ W_v + v_bias, the rest as in `MultiHeadAttention`.

    A bias of the keys adds the same to all scores of a query, and softmax does not see it. Where a
    place asks the keys (`DisentangledPosition`) it would meet the place, and DeBERTa has none.
    Source: He et al. 2021, released code.
    """

    def __init__(self, d_model: int, n_heads: int, **options: Any) -> None:
        super().__init__(d_model, n_heads, **options)
        drawn, width = self.kv.weight, self.n_kv_heads * self.d_head
        self.kv = nn.Linear(self.d_context, 2 * width, bias=False)
        self.kv.weight = drawn
        self.v_bias = nn.Parameter(torch.zeros(width))

    def keys_and_values(self, rows: Tensor) -> tuple[Tensor, Tensor]:
        k, v = super().keys_and_values(rows)
        return k, v + self.v_bias.unflatten(0, (self.n_kv_heads, 1, -1))


class QKNormAttention(MultiHeadAttention):
    """q = q_norm(split(x @ W_q)), k = k_norm(split(x @ W_k)): each head's query and key is
    normalized before the position rotates it; the rest as in `MultiHeadAttention`.

    `norm` builds a norm from d_head, such as `RMSNorm`; all heads of a layer share its weights. A
    query's length no longer depends on the hidden state's, so the scores cannot grow with it.
    Source: Dehghani et al. 2023, section 2 (layer norm); Yang et al. 2025 (Qwen3), section 2.
    """

    def __init__(
        self, d_model: int, n_heads: int, *, norm: Callable[[int], nn.Module], **options: Any
    ) -> None:
        super().__init__(d_model, n_heads, **options)
        self.q_norm, self.k_norm = norm(self.d_head), norm(self.d_head)

    def queries(self, x: Tensor) -> Tensor:
        """Return the normalized queries (B, H, T, d_head) of x (B, T, d_model)."""
        normed: Tensor = self.q_norm(super().queries(x))
        return normed

    def keys_and_values(self, rows: Tensor) -> tuple[Tensor, Tensor]:
        """Return normalized keys, and values, two of (B, n_kv_heads, S, d_head), for rows (B, S,
        d_context).
        """
        k, v = super().keys_and_values(rows)
        return self.k_norm(k), v


class EntityAwareAttention(MultiHeadAttention):
    """Attention whose query depends on what it asks: a word (w) or an entity (e).

        scores[t, s] = scale * (W_{kind(t) kind(s)} x_t) . k_s      # W_ww, W_we, W_ew, W_ee

    `q` is W_ww, `w2e`, `e2w` and `e2e` are the others. Keys and values have one matrix each.
    Source: Yamada et al. 2020, section 3.2.
    """

    def __init__(self, d_model: int, n_heads: int, dropout: float = 0.0) -> None:
        super().__init__(d_model, n_heads, dropout=dropout)
        self.w2e, self.e2w, self.e2e = (nn.Linear(d_model, d_model) for _ in range(3))

    def joint(self, x: Tensor, n_words: int, mask: Mask | None = None) -> Tensor:
        """Return (B, T + E, d_model) for x (B, T + E, d_model), whose first `n_words` = T rows are
        words.
        """
        words, entities = x[:, :n_words], x[:, n_words:]
        k, v = self.keys_and_values(x)  # (B, H, T + E, d_head)
        to_words = torch.cat((self.q(words), self.e2w(entities)), 1)
        to_entities = torch.cat((self.w2e(words), self.e2e(entities)), 1)
        heads = (split_heads(to_words, self.n_heads), split_heads(to_entities, self.n_heads))
        # Twice as wide, a key stands in the half of its kind: there a query has what it asks that.
        is_word = (torch.arange(x.shape[1], device=x.device) < n_words)[:, None]
        q, k = torch.cat(heads, -1), torch.cat((k * is_word, k * ~is_word), -1)
        return self.output(self.mechanism(q, k, self.values(v), mask, None, self.d_head**-0.5))
