"""MASS: a run of a sentence is hidden from the encoder, and the decoder writes it, reading of the
sentence no more than that run.
"""

import torch
from torch import Tensor

from deepdive.training.objectives.denoising import check_rate
from deepdive.training.objectives.spans import check_hidden


def mask_span(
    lengths: Tensor, share: float = 0.5, generator: torch.Generator | None = None
) -> Tensor:
    """Return which tokens of B sentences are hidden, bool (B, T), T the longest: of a sentence of n
    tokens one run of round(share * n), at least one; each place for it is as probable as any other.

    lengths: int64 (B,), at least 1 each. Raises ValueError for others, and for a share that is no
    probability.

    Source: Song et al. 2019 (half of the sentence).
    """
    check_rate(share)
    if lengths.ndim != 1 or not len(lengths) or lengths.min() < 1:
        raise ValueError(f"lengths: came as {lengths}, expected (B,), at least 1 each")
    run = (share * lengths).round().clamp(min=1)  # (B,)
    start = (torch.rand(len(lengths), generator=generator) * (lengths - run + 1)).floor()
    place = torch.arange(int(lengths.max()))
    return (place >= start[:, None]) & (place < (start + run)[:, None])


def split_masked_span(
    tokens: Tensor, hidden: Tensor, mask: int, pad: int = 0
) -> tuple[Tensor, Tensor, Tensor]:
    """Return what the encoder reads, what the decoder reads, and what it is to write, each (B, T).

        read     the sentence, masks in place of the run
        fed      place t: token t - 1 where both t - 1 and t are in the run, elsewhere the mask
        written  the run; `pad` elsewhere: the loss is cross_entropy(model(read, fed), written, pad)

    What the encoder sees the decoder does not: it must ask. With a run of one token the decoder
    reads masks alone, and fills a gap as BERT does; with all tokens the encoder reads masks alone,
    and the decoder is a language model (as the paper says).

    tokens: int64 (B, T), padded. hidden: bool (B, T), one run a row. Raises TypeError or ValueError
    for what does not fit, and for a row without a run or with two.

    >>> row, run = torch.tensor([[5, 6, 7, 8, 9]]), torch.tensor([[0, 1, 1, 1, 0]]).bool()
    >>> [x.tolist() for x in split_masked_span(row, run, mask=1)]
    [[[5, 1, 1, 1, 9]], [[1, 1, 6, 7, 1]], [[0, 6, 7, 8, 0]]]

    Source: Song et al. 2019. Their released code lets a tenth of the hidden tokens
    stand and draws a tenth anew, as BERT does, and leaves the decoder's masks out, keeping places.
    """
    check_hidden(tokens, hidden)
    before = torch.nn.functional.pad(hidden, (1, -1))  # whether the token before is hidden
    runs = (hidden & ~before).sum(1)
    if (runs != 1).any():
        raise ValueError(f"hidden: {runs.tolist()} runs in the rows, expected one in each")
    read = tokens.masked_fill(hidden, mask)
    fed = torch.where(hidden & before, tokens.roll(1, 1), mask)
    return read, fed, tokens.masked_fill(~hidden, pad)
