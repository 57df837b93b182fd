"""Talking-heads attention: linear projections across heads before and after the softmax."""

import torch
from torch import Tensor, nn

from deepdive.core.checks import positive
from deepdive.core.softmax import SoftmaxAttention


class TalkingHeadsAttention(SoftmaxAttention):
    """Softmax attention whose heads are mixed, by `before` before the softmax and by `after` after
    it.

        scores[h]  = sum_i before[i, h] * scale * q[i] @ k[i]^T + bias[h]     # (B, h, T, S)
        weights[h] = softmax(scores[h])                                       # (B, h, T, S)
        output[j]  = (sum_h after[h, j] * weights[h]) @ v[j]                  # (B, H, T, d_v)

    i and j run over the `n_heads` heads of q, k and v, h over `n_maps` softmaxes (by default
    n_heads). Both mixings start as the identity: plain attention; further maps start even and
    unread. A mask and a bias act on the mixed scores. The mixed weights are no distribution:
    `after` may be negative, and its columns need not sum to one. The recorded `weights` are the
    softmaxes.

    Raises ValueError when q or the bias has other heads than it was built for.

    System: talking_heads
    Parent: multi_head
    What differs:
    - the scores of a softmax are a mixture of all heads' scores (`before`, by `score`)
    - a head's weights on its values are a mixture of all softmaxes (`after`, by `mix`)
    - there may be more or fewer softmaxes than heads (`n_maps`)
    Source: Shazeer et al. 2020, "Talking-Heads Attention"; the paper's h_k and h_v are n_heads
    here, its h is n_maps.
    Book: 5.2.3.1
    """

    def __init__(self, n_heads: int, n_maps: int | None = None, *, dropout: float = 0.0) -> None:
        super().__init__(dropout)
        n_maps = n_heads if n_maps is None else n_maps
        positive(n_heads=n_heads, n_maps=n_maps)
        self.n_heads = n_heads
        self.before = nn.Parameter(torch.eye(n_heads, n_maps))
        self.after = nn.Parameter(torch.eye(n_maps, n_heads))

    def score_shape(self, q: Tensor, k: Tensor) -> tuple[int, int, int, int]:
        """Return (B, n_maps, T, S): a mask or bias by head is one by softmax map."""
        return q.shape[0], self.before.shape[1], q.shape[2], k.shape[2]

    def score(self, q: Tensor, k: Tensor, scale: float) -> Tensor:
        """Return the mixed scores (B, n_maps, T, S)."""
        return across(self.before, super().score(q, k, scale))

    def mix(self, weights: Tensor, v: Tensor) -> Tensor:
        """Mix the maps (B, n_maps, T, S), then the values by them: (B, H, T, d_v)."""
        return super().mix(across(self.after, weights), v)


def across(mixing: Tensor, maps: Tensor) -> Tensor:
    """Return sum_i mixing[i, j] maps[:, i]: (B, I, T, S) -> (B, J, T, S), in one product."""
    return (mixing.T @ maps.flatten(2)).unflatten(2, maps.shape[2:])
