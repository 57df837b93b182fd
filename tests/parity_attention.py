"""What proofs of attention share: rows, and multi-head attention with its residual written out."""

from __future__ import annotations

import math

import torch
from parity_proofs import rows
from parity_registry import equal, equal_gradients
from torch import Tensor

from deepdive.core import MultiHeadAttention, PostNorm


def attend(q: Tensor, k: Tensor, v: Tensor, keys: Tensor) -> Tensor:
    """One head, one row at a time: q (T, d), k and v (S, d), keys (S,)."""
    there = keys.nonzero().flatten()
    mixed = []
    for row in q:
        scores = torch.stack([row @ k[j] for j in there]) / math.sqrt(q.shape[1])
        mixed.append(sum(w * v[j] for w, j in zip(scores.softmax(0), there, strict=True)))
    return torch.stack(mixed)


def projected(layer: MultiHeadAttention, x: Tensor, context: Tensor) -> tuple[Tensor, ...]:
    """q, k, v of one text by heads: x (T, 16), context (S, 16) -> (4, T, 4) and (4, S, 4) twice."""
    k, v = (context @ layer.kv.weight.T + layer.kv.bias).chunk(2, -1)
    q = x @ layer.q.weight.T + layer.q.bias
    return tuple(each.view(len(each), 4, 4).transpose(0, 1) for each in (q, k, v))


def joined(layer: MultiHeadAttention, heads: list[Tensor]) -> Tensor:
    return torch.cat(heads, -1) @ layer.out.weight.T + layer.out.bias


def normed(joint: PostNorm, x: Tensor) -> Tensor:
    centered = x - x.mean(-1, keepdim=True)
    size = (centered.pow(2).mean(-1, keepdim=True) + 1e-5).sqrt()
    return centered / size * joint.norm.weight + joint.norm.bias


def leaves(T: int, S: int, d: int = 4) -> list[Tensor]:
    """q (2, 2, T, d), k (2, 2, S, d) and v (2, 2, S, 3), each of its own seed."""
    return [rows(2, 2, n, width, seed=i) for i, (n, width) in enumerate(((T, d), (S, d), (S, 3)))]


def compare(ours: Tensor, theirs: Tensor, given: list[Tensor]) -> None:
    """Outputs agree, and their gradients with respect to q, k and v."""
    equal(ours, theirs)
    equal_gradients(ours, theirs, {name: (x, x) for name, x in zip("qkv", given, strict=True)})
