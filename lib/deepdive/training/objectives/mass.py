"""MASS: masked sequence-to-sequence pretraining. A span is masked in the encoder's input, and the
decoder predicts it, with no other token of the sentence as its own input.
"""

import torch
from torch import Tensor

from deepdive.training.objectives.denoising import check_rate
from deepdive.training.objectives.spans import check_hidden


def mask_span(
    lengths: Tensor, share: float = 0.5, generator: torch.Generator | None = None
) -> Tensor:
    """Return which tokens of B sentences are masked, bool (B, T), T the longest: in a sentence of n
    tokens one span of round(share * n), at least one; each start is equally probable.

    lengths: int64 (B,), at least 1 each. Raises ValueError for others, and for a share that is not
    a probability.

    Source: Song et al. 2019 (half of the sentence).
    """
    check_rate(share)
    if lengths.ndim != 1 or not len(lengths) or lengths.min() < 1:
        raise ValueError(f"lengths: got {lengths}, expected (B,), at least 1 each")
    run = (share * lengths).round().clamp(min=1)  # (B,)
    start = (torch.rand(len(lengths), generator=generator) * (lengths - run + 1)).floor()
    at = torch.arange(int(lengths.max()))
    return (at >= start[:, None]) & (at < (start + run)[:, None])


def split_masked_span(
    tokens: Tensor, hidden: Tensor, mask: int, pad: int = 0
) -> tuple[Tensor, Tensor, Tensor]:
    """Return the encoder's input, the decoder's input, and the decoder's targets, each (B, T).

        read     the sentence, with masks instead of the span
        fed      position t: token t - 1 where both t - 1 and t are in the span, elsewhere the mask
        written  the span; `pad` elsewhere; the loss: cross_entropy(model(read, fed), written, pad)

    The decoder does not see the encoder's tokens: it must attend to them. With a span of one token
    the decoder's input is all masks, as in BERT's MLM; with all tokens the encoder's input is all
    masks, and the decoder is a language model (as the paper says).

    tokens: int64 (B, T), padded. hidden: bool (B, T), one span per sentence. Raises TypeError or
    ValueError for what does not fit, and for a sentence without a span or with two.

    >>> row, run = torch.tensor([[5, 6, 7, 8, 9]]), torch.tensor([[0, 1, 1, 1, 0]]).bool()
    >>> [x.tolist() for x in split_masked_span(row, run, mask=1)]
    [[[5, 1, 1, 1, 9]], [[1, 1, 6, 7, 1]], [[0, 6, 7, 8, 0]]]

    Source: Song et al. 2019. Their released code keeps a tenth of the masked tokens and replaces
    a tenth at random, as BERT does, and drops the decoder's masks, preserving position ids.
    """
    check_hidden(tokens, hidden)
    before = torch.nn.functional.pad(hidden, (1, -1))  # whether the token before is masked
    runs = (hidden & ~before).sum(1)
    if (runs != 1).any():
        raise ValueError(f"hidden: got {runs.tolist()} spans, expected one per sequence")
    read = tokens.masked_fill(hidden, mask)
    fed = torch.where(hidden & before, tokens.roll(1, 1), mask)
    return read, fed, tokens.masked_fill(~hidden, pad)
