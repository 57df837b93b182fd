"""Adaptive attention span: blocks of queries, each with its range of reachable keys."""

import torch
import torch.nn.functional as F
from torch import Tensor

from deepdive._fast.tiled_attention import block_of


def stretches(
    q: Tensor, k: Tensor, v: Tensor, real: Tensor, reach: int
) -> tuple[Tensor, Tensor, Tensor, Tensor, Tensor]:
    """Return q (B, H, blocks, block, d), its keys and values (B, H, blocks, block + reach, d),
    which of them are `real` (B or 1, 1, blocks, 1, block + reach), and the distance of each from
    each query (block, block + reach), if the queries are at the last T of the S positions.
    """
    T, S = q.shape[2], k.shape[2]
    block = block_of(reach, 0)
    blocks = -(-T // block)
    # Key j of block i is at position S - T - reach + i * block + j: pad up to the first key's
    # reach, or cut off the keys that no query attends to.
    around = (reach - (S - T), blocks * block - T)
    q = F.pad(q, (0, 0, 0, blocks * block - T)).unflatten(2, (blocks, block))
    k, v = (F.pad(x, (0, 0, *around)).unfold(2, block + reach, block).mT for x in (k, v))
    keys = F.pad(real, around, value=False).unfold(1, block + reach, block)
    behind = torch.arange(reach, reach + block, device=q.device).unsqueeze(1)
    behind = behind - torch.arange(block + reach, device=q.device)
    return q, k, v, keys[:, None, :, None], behind
