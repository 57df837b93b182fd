"""Cases of `deepdive.layers.chunked`."""

from __future__ import annotations

from torch import Tensor

from deepdive.layers.chunked import ChunkedFeedForward
from deepdive.layers.feed_forward import FeedForward
from laws import Case, case, random_rows


@case("ChunkedFeedForward", ChunkedFeedForward)
def _() -> Case:
    def at_once() -> tuple[Tensor, Tensor]:
        x, chunked = random_rows(2, 7, 16), ChunkedFeedForward(FeedForward(16, 32), 3).double()
        return chunked(x), chunked.inner(x)

    return Case(
        place="feed_forward",
        make=lambda: ChunkedFeedForward(FeedForward(16, 32), 3),
        parity="transformers ChunkReformerFeedForward",
        limits={"all rows at once": at_once},
        refusals={"no rows": lambda: ChunkedFeedForward(FeedForward(16, 32), 0)},
    )
