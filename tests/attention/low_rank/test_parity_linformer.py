"""Linformer against its equation, written out in float64."""

from __future__ import annotations

import torch
from parity_attention import compare, leaves
from parity_proofs import real
from parity_registry import parity

from deepdive.attention.low_rank.linformer import LengthProjection, LinformerAttention
from deepdive.core.masks import Padding


@parity(LinformerAttention)
def linformer() -> None:
    """Sums over positions one by one, softmax by its definition, three ways to share."""
    torch.manual_seed(0)
    for heads in (1, 2):
        E, G = (LengthProjection(heads, 9, 3).double() for _ in range(2))
        for attention in (LinformerAttention(E, G), LinformerAttention(E)):
            given = leaves(4, 7)
            q, k, v = given
            keys, out = real([7, 5], 7), []
            for b in range(2):
                for h in range(2):
                    by_k, by_v = (m.weight[h % heads] for m in (attention.E, attention.F))
                    seen = [s for s in range(7) if keys[b, s]]
                    sums = [sum(by_k[j, s] * k[b, h, s] for s in seen) for j in range(3)]
                    means = [sum(by_v[j, s] * v[b, h, s] for s in seen) for j in range(3)]
                    for t in range(4):
                        e = [(q[b, h, t] @ one / 2).exp() for one in sums]
                        out.append(sum(x * m for x, m in zip(e, means, strict=True)) / sum(e))
            compare(attention(q, k, v, Padding(keys)), torch.stack(out).view(2, 2, 4, 3), given)
