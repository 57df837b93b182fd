"""Structural position encodings: positions in the sentence and in its dependency tree."""

import torch
from torch import Tensor, nn

from deepdive.core.masks import describe
from deepdive.core.position import Position
from deepdive.positions.shaw import ShawPosition
from deepdive.positions.sinusoidal import SinusoidalPosition


def ancestors(heads: Tensor) -> Tensor:
    """Return the ancestors of each token, itself included: bool (..., T, T), [i, j] = j is i or
    above i, for heads (..., T): the index of each token's head, a root's its own.

    Follows the heads of all tokens in parallel, as many steps as the tree is deep.
    Raises TypeError unless heads are integers, ValueError for an index outside, and for a circle.
    """
    if heads.dtype not in (torch.int64, torch.int32) or heads.ndim < 1:
        raise TypeError(f"heads must be integers (..., T); got {describe(heads)}")
    T = heads.shape[-1]
    if int(heads.min()) < 0 or int(heads.max()) >= T:
        raise ValueError(f"heads must be indices from 0 to {T - 1}; a root is its own head")
    heads = heads.long()
    current = torch.arange(T, device=heads.device).expand_as(heads)
    above = torch.zeros(*heads.shape, T, dtype=torch.bool, device=heads.device)
    for _ in range(T + 1):
        if bool(above.gather(-1, current.unsqueeze(-1)).all()):  # no new ancestor
            break
        above = above.scatter(-1, current.unsqueeze(-1), True)
        current = heads.gather(-1, current)
    if not torch.equal(heads.gather(-1, current), current):
        raise ValueError("heads contain a cycle: following them must end at a root")
    return above


def depths(heads: Tensor) -> Tensor:
    """Return the depth of each token below its root, (..., T): its absolute position."""
    return ancestors(heads).sum(-1) - 1


def tree_offsets(heads: Tensor) -> Tensor:
    """Return the relative structural position of token j from token i: (..., T, T), [i, j].

    Its size is the difference of their depths where one is above the other, else the sum; its sign
    is + where j comes after i in the sentence, and - where j comes before.
    Source: Wang et al. 2019, the rules of relative structural positions and the signs of figure 1.
    """
    above = ancestors(heads)
    depth = above.sum(-1) - 1
    d_i, d_j = depth.unsqueeze(-1), depth.unsqueeze(-2)
    size = torch.where(above | above.transpose(-2, -1), (d_j - d_i).abs(), d_j + d_i)
    at = torch.arange(heads.shape[-1], device=heads.device)
    return size * (at - at[:, None]).sign()


class StructuralPosition(Position):
    """Positions of two kinds: in the sentence, and in its dependency tree.

        x + tanh(W_order waves(t) + W_tree waves(depth[t]))               # embed
        scale * q_t . keys[clip(tree_offset[t, s], -reach, reach)]        # bias

    `positions` (T,) or (B, T) is a tree here: the index of each token's head, a root's (and
    padding's) its own. Queries must be the full sentence.
    Raises TypeError or ValueError for heads that are no tree, and where queries are not all keys.

    System: structural_position
    Parent: sinusoidal
    What differs:
    - a word has a second position, its depth in the dependency tree (`depths`), with its own waves
    - both pass through a trained layer with tanh (`order`, `tree`)
    - scores have a bias for the offset in the tree (`tree_offsets`), as Shaw's (`ShawPosition`)
    Source: Wang, Tu, Wang and Shi 2019, "Self-Attention with Structural Position Representations".
    Book: KAIST deck 3
    """

    def __init__(self, d_model: int, d_head: int, reach: int, scale: float | None = None) -> None:
        super().__init__()
        self.d_model, self.d_head = d_model, d_head
        self.waves = SinusoidalPosition(d_model)
        self.order = nn.Linear(d_model, d_model, bias=False)
        self.tree = nn.Linear(d_model, d_model, bias=False)
        self.offsets = ShawPosition(d_head, reach, scale=scale)

    def embed(self, x: Tensor, positions: Tensor) -> Tensor:
        """Return x plus both position encodings; `positions` are heads."""
        self.check_rows(x, positions, d_model=x.shape[-1])
        order = torch.arange(x.shape[1], device=x.device)
        encodings = [
            layer(self.waves.table(at).to(x.dtype))
            for layer, at in ((self.order, order), (self.tree, depths(positions)))
        ]
        return x + torch.tanh(encodings[0] + encodings[1])

    def bias(self, q: Tensor, k: Tensor, q_positions: Tensor, k_positions: Tensor) -> Tensor:
        """Return the bias of the offsets in the tree, (B, H, T, T); positions are heads."""
        self.check_pairs(q, k, q_positions, k_positions)
        if q.shape[-2] != k.shape[-2] or not torch.equal(q_positions, k_positions):
            raise ValueError(
                f"{q.shape[-2]} queries and {k.shape[-2]} keys: a tree spans a full sentence; "
                "pass all tokens at once, without a cache"
            )
        offsets = tree_offsets(q_positions)
        offsets = offsets if offsets.ndim == 2 else offsets.unsqueeze(1)
        index = offsets.clamp(-self.offsets.left, self.offsets.right) + self.offsets.left
        products = (self.offsets.scale * q) @ self.offsets.keys.t()  # (B, H, T, 2 * reach + 1)
        return products.gather(-1, index.expand(*products.shape[:-1], -1))
