"""The Sparse Transformer's two patterns in chunks of one stride."""

import torch
import torch.nn.functional as F
from torch import Tensor

from deepdive._fast.tiled_attention import Tile, shut


def near_and_far(
    q: Tensor, k: Tensor, v: Tensor, real: Tensor, stride: int
) -> tuple[Tensor, Tensor, Tensor, Tensor, Tensor, Tensor]:
    """Return q (B, H, chunks, stride, d), k and v in all their chunks, the near keys and values
    (B, H, chunks, 2 stride, d), and which of the 2 stride near and all far keys each query attends
    to, (B or 1, 1, chunks, stride, 2 stride + all chunks). Queries are the last of the positions.
    """
    T, S = q.shape[2], k.shape[2]
    front, back = (S - T) % stride, -S % stride
    q = F.pad(q, (0, 0, front, back)).unflatten(2, (-1, stride))
    k, v = (F.pad(x, (0, 0, 0, back)).unflatten(2, (-1, stride)) for x in (k, v))
    chunks = q.shape[2]
    near_k, near_v = (_with_the_one_before(x)[:, :, -chunks:] for x in (k, v))
    real = F.pad(real, (0, back)).unflatten(1, (-1, stride)).unsqueeze(1)
    behind = torch.arange(stride, 2 * stride, device=q.device).unsqueeze(1)
    behind = behind - torch.arange(2 * stride, device=q.device)
    near = (behind >= 0) & (behind <= stride)
    near = near & _with_the_one_before(real.unsqueeze(-1))[:, :, -chunks:].mT
    chunk = torch.arange(real.shape[2], device=q.device)
    far = chunk <= chunk[-chunks:].unsqueeze(1) - 2  # nearer ones are among the near keys
    far = far.unsqueeze(1) & real.transpose(2, 3).unsqueeze(2)
    allowed = torch.cat([near, far.expand(*near.shape[:4], -1)], dim=-1)
    return q, k, v, near_k, near_v, allowed


def _with_the_one_before(rows: Tensor) -> Tensor:
    """(B, H, chunks, l, d) -> (B, H, chunks, 2 l, d): each chunk preceded by the previous one."""
    before = F.pad(rows, (0, 0, 0, 0, 1, 0))[:, :, :-1]
    return torch.cat([before, rows], dim=3)


def chunk_tiles(q: Tensor, S: int, stride: int, summary: int) -> list[Tile]:
    """Return the tiles of q (B, H, T, d), the last of S positions: its own chunk up to the query,
    and, appended after the S keys, the last `summary` keys of every earlier chunk.
    """
    T = q.shape[2]
    ahead = shut(q.dtype) * q.new_ones(stride, stride).triu(1)
    tiles = []
    for chunk in range((S - T) // stride, -(-S // stride)):
        first, last = chunk * stride, min((chunk + 1) * stride, S)
        low = max(first, S - T)  # the first query
        before = chunk * summary
        bias = F.pad(ahead[low - first : last - first, : last - first], (0, before))
        tiles.append(Tile((low - (S - T), last - (S - T)), ((first, last), (S, S + before)), bias))
    return tiles
