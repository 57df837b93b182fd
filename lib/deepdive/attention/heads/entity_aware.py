"""Attention whose queries depend on the kinds of both tokens, words or entities."""

from __future__ import annotations

import torch
from torch import Tensor, nn

from deepdive.core import MultiHeadAttention
from deepdive.core.masks import Mask
from deepdive.core.multi_head import split_heads


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
