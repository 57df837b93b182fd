"""Clusters of vectors: Lloyd's algorithm in Hamming distance, and means of clusters."""

import torch
from torch import Tensor


@torch.no_grad()
def hamming_clusters(
    x: Tensor, planes: Tensor, real: Tensor, n_clusters: int, iterations: int
) -> Tensor:
    """Return the cluster of each vector, integers (B, H, T), for x (B, H, T, d).

        code[t] = sign(x[t] @ planes)                        # +1 or -1, (bits,)
        group[t] = argmax over c of code[t] @ centre[c]      # nearest in Hamming distance
        centre[c] = sign(sum of code[t] with group[t] = c)   # the majority; kept where it is a tie

    The centres start at evenly spaced real tokens (`real` bool (B or 1, T)); only real tokens move
    them. Where there are fewer real tokens than clusters, some centres are copies, and stay empty.
    """
    B, H = x.shape[:2]
    code = (x.float() @ planes.float()).sign()  # (B, H, T, bits)
    code = torch.where(code == 0, 1.0, code)
    counts = real.sum(1, keepdim=True)  # (B or 1, 1)
    numbers = torch.arange(n_clusters, device=x.device)
    rank = torch.where(counts > n_clusters, numbers * counts // n_clusters, numbers)
    order = (~real).long().argsort(dim=1, stable=True)  # real tokens first, in their order
    start = order.gather(1, rank.minimum(counts - 1).clamp(min=0))  # (B or 1, n_clusters)
    start = start.expand(B, n_clusters)[:, None, :, None].expand(-1, H, -1, code.shape[-1])
    center = code.gather(2, start)
    real_code = code * real[:, None, :, None]
    group = (code @ center.mT).argmax(-1)
    for _ in range(iterations):
        index = group.unsqueeze(-1).expand_as(real_code)
        total = torch.zeros_like(center).scatter_add(2, index, real_code)
        center = torch.where(total == 0, center, total.sign())
        previous, group = group, (code @ center.mT).argmax(-1)
        if torch.equal(previous, group):
            break
    return group


def means(x: Tensor, group: Tensor, real: Tensor, n_clusters: int) -> Tensor:
    """Return the mean of each cluster's real vectors, (B, H, n_clusters, d); 0 for an empty one."""
    weight = real[:, None, :, None].to(x.dtype).expand(*x.shape[:3], 1)
    index = group.unsqueeze(-1)
    total = x.new_zeros(*x.shape[:2], n_clusters, x.shape[3])
    total = total.scatter_add(2, index.expand_as(x), x * weight)
    size = x.new_zeros(*x.shape[:2], n_clusters, 1).scatter_add(2, index, weight)
    return total / size.clamp(min=1)


def answers(values: Tensor, group: Tensor) -> Tensor:
    """Return for each query its cluster's value: (B, H, n_clusters, d) -> (B, H, T, d)."""
    return values.gather(2, group.unsqueeze(-1).expand(-1, -1, -1, values.shape[-1]))
