"""BigBird's blocks as tiles: neighbors, global blocks, and random blocks per head."""

import torch
import torch.nn.functional as F
from torch import Tensor

from deepdive._fast.tiled_attention import Tile

TOGETHER = 4  # blocks of queries per product: their keys still fit into a core's cache


def block_tiles(n: int, block: int, drawn: Tensor) -> list[Tile]:
    """Return the tiles of n blocks of `block` positions: the first and the last attend to every
    key, the others to their neighbors, the two ends, and those of `drawn` (N, n - 2, n_random).
    """

    def inner(first: int, last: int, *near: int) -> Tile:
        """Return the tile of blocks first ... last - 1, those at distances `near`, and ends."""
        at = torch.arange(first, last, device=drawn.device).unsqueeze(1)
        fixed = at + torch.tensor(near, device=drawn.device)
        fixed = F.pad(F.pad(fixed, (1, 0), value=0), (0, 1), value=n - 1)
        fixed = fixed.expand(len(drawn), -1, -1)
        blocks = torch.cat([fixed, drawn[:, first - 1 : last - 1]], dim=-1)
        return Tile((first * block, last * block), blocks=blocks)

    starts = range(2, n - 2, TOGETHER)
    return [
        Tile((0, block), ((0, n * block),)),
        inner(1, 2, 0, 1),  # the block before it is an end
        *(inner(start, min(start + TOGETHER, n - 2), -1, 0, 1) for start in starts),
        inner(n - 2, n - 1, -1, 0),
        Tile(((n - 1) * block, n * block), ((0, n * block),)),
    ]
