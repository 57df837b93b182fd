"""Groups of rows: Lloyd's algorithm on signs, and means of groups."""

import torch
from torch import Tensor


@torch.no_grad()
def hamming_clusters(
    rows: Tensor, planes: Tensor, real: Tensor, n_clusters: int, iterations: int
) -> Tensor:
    """Return the cluster of each row, integers (B, H, T), for rows (B, H, T, d).

        code[t] = sign(rows[t] @ planes)                     # +1 or -1, (bits,)
        group[t] = argmax over c of code[t] @ centre[c]      # nearest in Hamming distance
        centre[c] = sign(sum of code[t] with group[t] = c)   # the majority; kept where it is a tie

    The centres start at real rows that are evenly spaced (`real` bool (B or 1, T)); only real rows
    move them. Where there are fewer real rows than clusters, some centres are copies, and stay
    empty.
    """
    B, H = rows.shape[:2]
    code = (rows.float() @ planes.float()).sign()  # (B, H, T, bits)
    code = torch.where(code == 0, 1.0, code)
    counts = real.sum(1, keepdim=True)  # (B or 1, 1)
    numbers = torch.arange(n_clusters, device=rows.device)
    rank = torch.where(counts > n_clusters, numbers * counts // n_clusters, numbers)
    order = (~real).long().argsort(dim=1, stable=True)  # real rows first, in their order
    start = order.gather(1, rank.minimum(counts - 1).clamp(min=0))  # (B or 1, n_clusters)
    start = start.expand(B, n_clusters)[:, None, :, None].expand(-1, H, -1, code.shape[-1])
    centre = code.gather(2, start)
    real_code = code * real[:, None, :, None]
    group = (code @ centre.mT).argmax(-1)
    for _ in range(iterations):
        index = group.unsqueeze(-1).expand_as(real_code)
        total = torch.zeros_like(centre).scatter_add(2, index, real_code)
        centre = torch.where(total == 0, centre, total.sign())
        before, group = group, (code @ centre.mT).argmax(-1)
        if torch.equal(before, group):
            break
    return group


def means(rows: Tensor, group: Tensor, real: Tensor, n_clusters: int) -> Tensor:
    """Return the mean of each cluster's real rows, (B, H, n_clusters, d); 0 for an empty one."""
    weight = real[:, None, :, None].to(rows.dtype).expand(*rows.shape[:3], 1)
    index = group.unsqueeze(-1)
    total = rows.new_zeros(*rows.shape[:2], n_clusters, rows.shape[3])
    total = total.scatter_add(2, index.expand_as(rows), rows * weight)
    size = rows.new_zeros(*rows.shape[:2], n_clusters, 1).scatter_add(2, index, weight)
    return total / size.clamp(min=1)


def answers(rows: Tensor, group: Tensor) -> Tensor:
    """Return for each query its cluster's row: (B, H, n_clusters, d) -> (B, H, T, d)."""
    return rows.gather(2, group.unsqueeze(-1).expand(-1, -1, -1, rows.shape[-1]))
