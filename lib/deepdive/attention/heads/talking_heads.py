"""Talking-heads attention: heads exchange their scores before the softmax, their weights after."""

from __future__ import annotations

import torch
from torch import Tensor, nn

from deepdive.attention.softmax import SoftmaxAttention, mechanism_case
from deepdive.checks import positive
from deepdive.laws import Case, case, random_rows
from deepdive.masks import Causal, Padding


class TalkingHeadsAttention(SoftmaxAttention):
    """Softmax attention whose heads are mixed, by `before` in front of the softmax and by `after`
    behind it.

        scores[h]  = sum_i before[i, h] * scale * q[i] @ k[i]^T + bias[h]     # (B, h, T, S)
        weights[h] = softmax(scores[h])                                       # (B, h, T, S)
        output[j]  = (sum_h after[h, j] * weights[h]) @ v[j]                  # (B, H, T, d_v)

    i and j run over the `n_heads` heads of q, k and v, h over `n_maps` softmaxes (by default
    n_heads). Both mixings start as the identity: plain attention; further maps start even and
    unread. A mask and a bias act on the mixed scores. What meets the values is no distribution:
    `after` may be negative, and its columns need not sum to one. The recorded `weights` are the
    softmaxes.

    Raises ValueError when q or the bias has other heads than it was built for.

    System: talking_heads
    Parent: multi_head
    What differs:
    - the scores of a softmax are a mixture of all heads' scores (`before`, by `score`)
    - the map that meets a head's values is a mixture of all softmaxes (`after`, by `mix`)
    - there may be more or fewer softmaxes than heads (`n_maps`)
    Time: O(T (d_model + n_heads n_maps))
    Memory: O((n_heads + n_maps) T)
    Source: Shazeer et al. 2020, "Talking-Heads Attention"; the paper's h_k and h_v are n_heads
    here, its h is n_maps.
    Book: 5.2.3.1
    Page: 05_efficient/06_better_heads#talking-heads
    Checkpoints: none
    Example: TalkingHeadsAttention(4)
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


@case(TalkingHeadsAttention)
def _() -> Case:
    q, k, v = (random_rows(2, 3, 5, 4, seed=seed) for seed in range(3))
    mask = Causal() & Padding(torch.tensor([[0, 1, 1, 1, 1], [1, 1, 1, 1, 0]]).bool())

    def identity() -> tuple[Tensor, Tensor]:
        talking, bias = TalkingHeadsAttention(3).double(), random_rows(3, 5, 5)
        return talking(q, k, v, mask, bias), SoftmaxAttention()(q, k, v, mask, bias)

    def renamed() -> tuple[Tensor, Tensor]:
        """Two permutations that undo each other: the softmax does not care for the order."""
        talking, order = TalkingHeadsAttention(3).double(), torch.tensor([2, 0, 1])
        with torch.no_grad():
            talking.before.copy_(torch.eye(3)[order])
            talking.after.copy_(torch.eye(3)[order].T)
        return talking(q, k, v, mask), SoftmaxAttention()(q, k, v, mask)

    def one_question() -> tuple[Tensor, Tensor]:
        """Mixed scores are the scores of one long head: heads side by side, no new product."""
        talking, gains = TalkingHeadsAttention(3, 1).double(), torch.tensor([0.5, -1.0, 2.0])
        with torch.no_grad():
            talking.before.copy_(gains[:, None])
            talking.after.fill_(1.0)
        long = [(q * gains.view(3, 1, 1)), k]
        long_q, long_k = (rows.transpose(1, 2).flatten(2).unsqueeze(1) for rows in long)
        values = v.transpose(1, 2).flatten(2).unsqueeze(1)
        one = SoftmaxAttention()(long_q, long_k, values, mask, scale=0.5)
        return talking(q, k, v, mask), one.unflatten(-1, (3, 4)).squeeze(1).transpose(1, 2)

    zeros = [torch.zeros(1, 2, 3, 4)] * 3
    return mechanism_case(
        lambda: TalkingHeadsAttention(4, 3),
        parity="the equations of Shazeer et al. 2020, entry by entry",
        limits={
            "identity mixing: SoftmaxAttention": identity,
            "heads renamed and named back: SoftmaxAttention": renamed,
            "all heads into one map: one long head": one_question,
        },
        refusals={
            "a bias for other maps": lambda: TalkingHeadsAttention(2, 4)(
                *zeros, bias=torch.zeros(2, 3, 3)
            ),
            "no map": lambda: TalkingHeadsAttention(2, 0),
        },
    )
