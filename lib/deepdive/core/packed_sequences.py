"""Sequence packing: texts of mixed length in one sequence, without padding."""

from collections.abc import Callable
from dataclasses import dataclass
from itertools import groupby

import torch
from torch import Tensor

from deepdive.core.masks import Mask, Segments


@dataclass(frozen=True)
class PackedSequences(Mask):
    """`Segments` of a single sequence in which text i is `lengths[i]` tokens, one after the other.

    Because the boundaries are known, exact attention needs no scores between texts: neighboring
    texts of one length become a batch (`per_sequence`). Sort by length to have few such runs.
    Raises ValueError unless every length is positive.
    """

    lengths: tuple[int, ...]

    def __post_init__(self) -> None:
        if not self.lengths or min(self.lengths) < 1:
            raise ValueError(
                f"lengths: got {self.lengths}, expected numbers of tokens, each at least 1; drop "
                f"empty sequences"
            )

    @property
    def runs(self) -> list[tuple[int, int]]:
        """Runs of consecutive texts of one length: (n, T), their number and length, for each."""
        return [(len(list(same)), T) for T, same in groupby(self.lengths)]

    def allowed(self, T: int, S: int, device: torch.device | None) -> Tensor | None:
        lengths = torch.tensor(self.lengths, device=device)
        ids = torch.arange(len(self.lengths), device=device).repeat_interleave(lengths)
        return Segments(ids[None]).allowed(T, S, device)


def per_sequence(
    attend: Callable[[Tensor, Tensor, Tensor], Tensor],
    q: Tensor,
    k: Tensor,
    v: Tensor,
    mask: PackedSequences,
) -> Tensor:
    """Return attention within each text, (1, H, N, d_v), with one `attend` per run of one length.

    q, k, v are (1, H, N, d), N = sum(lengths). Cost: the sum of T^2 over the texts, instead of
    N^2. Raises ValueError where q and k are not of the N tokens that the mask describes.
    """
    N = sum(mask.lengths)
    if q.shape[0] != 1 or q.shape[2] != N or k.shape[2] != N:
        raise ValueError(
            f"the mask describes {len(mask.lengths)} texts of {N} tokens in one sequence, but "
            f"there are {q.shape[2]} queries and {k.shape[2]} keys in a batch of {q.shape[0]}"
        )
    runs = mask.runs
    parts = zip(*(x[0].split([n * T for n, T in runs], 1) for x in (q, k, v)), strict=True)
    outputs = []
    for (n, T), states in zip(runs, parts, strict=True):
        sequences = (x.unflatten(1, (n, T)).transpose(0, 1) for x in states)  # (n, H, T, d)
        outputs.append(attend(*sequences).transpose(1, 2).flatten(0, 1))  # (n T, H, d_v)
    return torch.cat(outputs)[None].transpose(1, 2)
