"""Maps as bytes for the explorer's page: rounded, pooled, and for long sequences thinned out."""

import json
from dataclasses import dataclass, field
from typing import Any

import torch
import torch.nn.functional as F
from torch import Tensor

from deepdive_book.kit.explorer.maps import Maps

WHOLE = 256_000  # cells up to which every map is kept whole
LINKS = 240_000  # bytes for the links of long sequences, three a link
THUMBNAIL = 24  # the longer side of a pooled map
MASKED = 255


def to_bytes(weights: Tensor, masked: Tensor) -> Tensor:
    """Return uint8: 254 * sqrt(weight) rounded, 255 where masked.

    By the root, small weights keep their order: the step is 1.6e-5 at 0 and 0.008 at 1.
    """
    levels = (254 * weights.clamp(0, 1).sqrt()).round().to(torch.uint8)
    return levels.masked_fill(masked, MASKED)


def pooled(weights: Tensor, masked: Tensor) -> Tensor:
    """Return maps (..., T, S) as bytes (..., t, s), each side 24 at most.

    A cell is the share of its queries' weight that falls on its keys; masked where all of it is.
    """
    queries, keys = (_blocks(count) for count in weights.shape[-2:])  # (T, t), (S, s)
    shares = (queries / queries.sum(0)).T @ weights @ keys
    open_ = queries.T @ (~masked).to(weights.dtype) @ keys
    return to_bytes(shares, open_ == 0)


def _blocks(count: int) -> Tensor:
    """Return (count, blocks), 1 where a place belongs to a block."""
    size = min(count, THUMBNAIL)
    return F.one_hot(torch.arange(count) * size // count, size).float()


@dataclass
class Packed:
    """The head, a list of what is where, and the bytes."""

    parts: list[dict[str, Any]] = field(default_factory=list)
    data: bytearray = field(default_factory=bytearray)

    def add(self, values: Tensor) -> int:
        """Append bytes; return where they begin."""
        start = len(self.data)
        self.data += values.contiguous().numpy().tobytes()
        return start

    def head(self, **more: Any) -> str:
        return json.dumps({"parts": self.parts, **more}, ensure_ascii=False)


def pack(maps: list[Maps], whole: tuple[int, int, int]) -> Packed:
    """Pack all maps whole where they are small; else links, and one map whole.

    whole    part, layer and head whose map is kept whole in any case
    Each part names its sizes L, H, T, S and where its bytes are: `thumbs` (of size `t`, `s`) of
    maps too large to be their own; `all` maps, or `links` (k a query, of three bytes: key, low byte
    first, and weight), `mask` (one bit a cell, if it is the same in every head) and the map `one`
    (of head number `n`).
    """
    packed = Packed()
    long = sum(part.weights.numel() for part in maps) > WHOLE
    queries = sum(part.weights[..., 0].numel() for part in maps)
    for number, part in enumerate(maps):
        levels = to_bytes(part.weights, part.masked)
        L, H, T, S = levels.shape
        entry: dict[str, Any] = {"name": part.name, "L": L, "H": H, "T": T, "S": S}
        if max(T, S) > 2 * THUMBNAIL:
            small = pooled(part.weights, part.masked)
            entry |= {"thumbs": packed.add(small), "t": small.shape[2], "s": small.shape[3]}
        if not long:
            entry["all"] = packed.add(levels)
        else:
            k = max(1, min(8, S, LINKS // (3 * queries)))
            best = levels.masked_fill(levels == MASKED, 0).topk(k, dim=-1, sorted=True)
            links = torch.stack([best.indices % 256, best.indices // 256, best.values], dim=-1)
            entry |= {"links": packed.add(links.to(torch.uint8)), "k": k}
            mask = part.masked[0, 0]
            if mask.any() and bool((part.masked == mask).all()):
                entry["mask"] = packed.add(_bits(mask))
            if number == whole[0]:
                entry |= {"one": packed.add(levels[whole[1:]]), "n": whole[1] * H + whole[2]}
        packed.parts.append(entry)
    return packed


def _bits(mask: Tensor) -> Tensor:
    """Return a bool map as bytes, eight cells each, the first in the lowest bit."""
    cells = F.pad(mask.flatten().to(torch.uint8), (0, -mask.numel() % 8)).view(-1, 8)
    return (cells << torch.arange(8, dtype=torch.uint8)).sum(-1).to(torch.uint8)


def say(maps: Maps) -> list[list[str]]:
    """Return, for each layer and head, in words where most of its weight goes."""
    W = maps.weights.double()
    T, S = W.shape[2:]
    rows = W.sum(-1).gt(0).sum(-1).clamp(min=1)  # queries that see anything
    shares = {"to the first key": W[..., 0].sum(-1), "to the last key": W[..., -1].sum(-1)}
    if T == S:
        places = {"to the token itself": 0, "to the token before": -1, "to the token after": 1}
        diagonals = {n: W.diagonal(at, -2, -1).sum(-1) for n, at in places.items() if abs(at) < T}
        shares = diagonals | shares
    entropy = -(W * W.clamp(min=1e-12).log()).sum(-1)  # of each query, nats
    spread = (entropy.sum(-1) / rows).exp()

    def head(layer: int, h: int) -> str:
        name, total = max(shares.items(), key=lambda share: float(share[1][layer, h]))
        share = float(total[layer, h] / rows[layer, h])
        if share >= 0.4:
            return f"{share:.0%} {name}"
        return f"no fixed place, about {float(spread[layer, h]):.1f} keys a query"

    return [[head(layer, h) for h in range(W.shape[1])] for layer in range(W.shape[0])]
