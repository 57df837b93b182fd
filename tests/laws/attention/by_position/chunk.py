"""Cases of `deepdive.attention.by_position.chunk`."""

from __future__ import annotations

import torch
from torch import Tensor

from deepdive.attention.by_position.chunk import ChunkAttention
from deepdive.attention.softmax import SoftmaxAttention
from deepdive.masks import Causal, Padding
from laws import Case, Fails, Refuses, case, random_rows
from laws.attention.softmax import mechanism_case


def ring(T: int, chunk: int, before: int, after: int) -> Tensor:
    """Return how often each query meets each key, (T, T)."""
    at = torch.arange(T) // chunk
    n = int(at[-1]) + 1
    shifts = [shift if abs(shift) <= n else 0 for shift in range(-after, before + 1)]
    back = (at[:, None] - at) % n
    return torch.stack([back == shift % n for shift in shifts]).sum(0)


@case("ChunkAttention", ChunkAttention)
def _() -> Case:
    q, k, v = (random_rows(2, 2, 23, 4, seed=seed) for seed in range(3))
    real = torch.ones(2, 23).bool()
    real[1, 5:16] = False
    masks = (None, Causal(), Padding(real), Causal() & Padding(real))

    def its_mask(chunk: int, before: int, after: int) -> tuple[Tensor, Tensor]:
        """A key that is met n times has a score that is raised by log n."""
        attention, often = ChunkAttention(chunk, before, after), ring(23, chunk, before, after)
        ours = [attention(q, k, v, mask) for mask in masks]
        bias = often.double().log()
        return torch.cat(ours), torch.cat(
            [SoftmaxAttention()(q, k, v, mask, bias) for mask in masks]
        )

    return mechanism_case(
        lambda: ChunkAttention(2, 1, 0),
        parity="transformers LocalSelfAttention",
        limits={
            "the ring of chunks as a mask": lambda: its_mask(4, 2, 1),
            "a ring of three chunks, met four times": lambda: its_mask(8, 2, 1),
            "a ring of two chunks, one step too far": lambda: its_mask(12, 3, 1),
            "one chunk: SoftmaxAttention": lambda: (
                ChunkAttention(23)(q, k, v, masks[-1]),
                SoftmaxAttention()(q, k, v, masks[-1]),
            ),
        },
        refusals={"no chunk": lambda: ChunkAttention(0)},
        laws={
            "order": Fails("who is near depends on the order"),
            "cache": Refuses("a key for each query: a chunk is met whole"),
        },
    )
