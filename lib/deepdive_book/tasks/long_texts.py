"""Texts longer than a model's positions: cut to one piece, or read in chunks that are pooled.

    rows, owners = in_chunks(texts, size=128)           # token ids; whose chunk each row is
    logits = pool(model(...), owners, len(texts))       # (N, k) -> (B, k)

Ids come without special tokens; [CLS] and [SEP] are put around each piece, whose size counts them.
"""

from collections.abc import Sequence

import torch
from torch import Tensor

WAYS = ("mean", "max")


def truncate(
    ids: Sequence[int], size: int, *, cls: int, sep: int, head: int | None = None
) -> list[int]:
    """Return [CLS] piece [SEP], at most `size` long: the first `head` tokens and the last ones.

    By default the beginning alone (head-only); 0 keeps the end alone (tail-only). A text that fits
    is kept whole. Source: Sun et al. 2019, "How to Fine-Tune BERT for Text Classification?",
    section 5.3.1.
    """
    room = _room(size)
    first = room if head is None else head
    if not 0 <= first <= room:
        raise ValueError(f"head: got {head}, expected 0 to {room}: size={size} less 2 specials")
    kept = list(ids)
    if len(kept) > room:
        kept = kept[:first] + kept[len(kept) - (room - first) :]
    return [cls, *kept, sep]


def chunks(
    ids: Sequence[int], size: int, *, cls: int, sep: int, overlap: int = 0
) -> list[list[int]]:
    """Cut into [CLS] piece [SEP], each at most `size` long; neighbours share `overlap` tokens.

    Nothing is lost, and no chunk holds only what its neighbour has; an empty text gives one.
    """
    room = _room(size)
    if not 0 <= overlap < room:
        raise ValueError(f"overlap: got {overlap}, expected 0 to {room - 1}")
    step = room - overlap
    starts = range(0, max(len(ids) - overlap, 1), step)
    return [[cls, *ids[start : start + room], sep] for start in starts]


def in_chunks(
    texts: Sequence[Sequence[int]], size: int, *, cls: int, sep: int, overlap: int = 0
) -> tuple[list[list[int]], Tensor]:
    """Return the chunks of all texts, and for each (N,) the text that it comes from."""
    found = [chunks(ids, size, cls=cls, sep=sep, overlap=overlap) for ids in texts]
    owners = torch.arange(len(found)).repeat_interleave(torch.tensor([len(c) for c in found]))
    return [chunk for text in found for chunk in text], owners


def pool(rows: Tensor, owners: Tensor, n_texts: int, how: str = "mean") -> Tensor:
    """Return (n_texts, d): the mean (or largest value) of the rows (N, d) of each text.

        y[b] = mean of rows[n] over all n with owners[n] == b

    Rows may be states or logits; behind a linear layer the mean of either gives the same logits.
    Raises ValueError for a text without a row. Source: Sun et al. 2019, section 5.3.1.
    """
    if rows.ndim != 2 or owners.shape != rows.shape[:1]:
        raise ValueError(
            f"rows, owners: got shapes {tuple(rows.shape)} and {tuple(owners.shape)}, "
            "expected (N, d) and (N,)"
        )
    if how not in WAYS:
        raise ValueError(f"how: got {how!r}, expected one of {', '.join(WAYS)}")
    counts = torch.bincount(owners, minlength=n_texts)
    if len(counts) != n_texts or not bool(counts.all()):
        raise ValueError(
            f"owners: {int((counts == 0).sum())} of n_texts={n_texts} texts have no row, and the "
            f"highest text is {len(counts) - 1}; give every row of every text"
        )
    if how == "max":
        index = owners[:, None].expand_as(rows)
        start = rows.new_full((n_texts, rows.shape[1]), -torch.inf)
        return start.scatter_reduce(0, index, rows, "amax")
    summed = rows.new_zeros(n_texts, rows.shape[1]).index_add(0, owners, rows)
    return summed / counts[:, None].to(rows.dtype)


def _room(size: int) -> int:
    if size < 3:
        raise ValueError(f"size: got {size}, expected 3 or more: [CLS], a token, [SEP]")
    return size - 2
