"""Clustered attention: queries sorted by cluster into blocks, one matrix product per block."""

import torch
from torch import Tensor

BLOCK = 32  # queries of one cluster per product


def blocks_of(group: Tensor, n_clusters: int) -> tuple[Tensor, Tensor]:
    """Sort queries by cluster into blocks of `BLOCK` of one cluster each.

    Returns the slot of each query in the blocks, integers (B, H, T), and the cluster of each block,
    integers (B, H, blocks). There are ceil(T / BLOCK) + n_clusters blocks: each cluster's last
    block may be filled partially, and unused blocks are empty.
    """
    T = group.shape[2]
    sizes = torch.zeros(*group.shape[:2], n_clusters, dtype=torch.long, device=group.device)
    sizes = sizes.scatter_add(2, group, torch.ones_like(group))
    ends = (-(-sizes // BLOCK)).cumsum(2)  # (B, H, n_clusters), in blocks
    starts = ends - (-(-sizes // BLOCK))
    order = group.argsort(dim=2, stable=True)
    sorted_group = group.gather(2, order)
    first = sizes.cumsum(2) - sizes  # the number of queries in clusters before
    within = torch.arange(T, device=group.device) - first.gather(2, sorted_group)
    at = starts.gather(2, sorted_group) * BLOCK + within
    slot = torch.empty_like(group).scatter(2, order, at)
    blocks = torch.arange(-(-T // BLOCK) + n_clusters, device=group.device)
    owner = torch.searchsorted(ends, blocks.expand(*group.shape[:2], -1).contiguous(), right=True)
    return slot, owner.clamp(max=n_clusters - 1)


def into_blocks(rows: Tensor, place: Tensor, n_blocks: int) -> Tensor:
    """Scatter (B, H, T, d) to the slots `place` -> (B, H, n_blocks, block, d), 0 if empty."""
    empty = rows.new_zeros(*rows.shape[:2], n_blocks * BLOCK, rows.shape[3])
    laid = empty.scatter(2, place.unsqueeze(-1).expand_as(rows), rows)
    return laid.unflatten(2, (n_blocks, BLOCK))


def of_owner(rows: Tensor, owner: Tensor) -> Tensor:
    """Gather (B, H, n_clusters, n) -> (B, H, blocks, n): for each block, its cluster's vector."""
    return rows.gather(2, owner.unsqueeze(-1).expand(-1, -1, -1, rows.shape[-1]))


def rows_at(rows: Tensor, index: Tensor) -> Tensor:
    """Gather (B, H, S, d) at index (B, H, blocks, top) -> (B, H, blocks, top, d)."""
    flat = index.flatten(2).unsqueeze(-1).expand(-1, -1, -1, rows.shape[-1])
    return rows.gather(2, flat).unflatten(2, index.shape[2:])
