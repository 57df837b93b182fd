"""T5's span corruption: sentinel tokens replace masked spans, which the decoder predicts."""

from collections.abc import Iterator, Sequence

import torch
from torch import Tensor


def hidden_counts(length: int, rate: float = 0.15, mean: float = 3.0) -> tuple[int, int]:
    """Return how many of `length` tokens are masked, and in how many spans.

    `rate` of them, in spans of `mean` tokens on average, both rounded; at least one token is
    masked, each span has an unmasked token before it. Raises ValueError for numbers out of range.

    >>> hidden_counts(512)
    (77, 26)
    """
    if length < 2 or not 0.0 < rate < 1.0 or not mean >= 1.0:
        raise ValueError(
            f"length, rate, mean: got {length}, {rate}, {mean}; expected 2 tokens or more, a "
            "rate between 0 and 1, and spans of 1 token or more"
        )
    hidden = min(max(round(length * rate), 1), length - 1)
    return hidden, min(max(round(hidden / mean), 1), length - hidden)


def mask_spans(
    size: tuple[int, int],
    rate: float = 0.15,
    mean: float = 3.0,
    generator: torch.Generator | None = None,
) -> Tensor:
    """Return which tokens of B texts of T are masked, bool (B, T).

    Each text has as many masked tokens and spans as in `hidden_counts`. Their lengths are random:
    each way to cut the masked tokens into spans is equally probable, and so is each way to
    cut the unmasked ones into what precedes each span.

    Source: Raffel et al. 2020, section 3.3.4, and their released code.
    """
    B, T = size
    hidden, spans = hidden_counts(T, rate, mean)
    known = _cut(T - hidden, spans, B, generator)  # (B, spans)
    ends = torch.stack((known, _cut(hidden, spans, B, generator)), dim=2).flatten(1).cumsum(1)
    at = torch.arange(T).expand(B, T).contiguous()
    return torch.searchsorted(ends, at, right=True) % 2 == 1  # (B, T)


def _cut(total: int, parts: int, B: int, generator: torch.Generator | None) -> Tensor:
    """Return (B, parts) lengths of at least 1 whose sum is `total`, all ways equally probable."""
    order = torch.rand(B, total - 1, generator=generator).argsort(1)
    cuts = order[:, : parts - 1].sort(1).values + 1  # (B, parts - 1), distinct, 1 to total - 1
    ends = torch.cat((torch.zeros(B, 1).long(), cuts, torch.full((B, 1), total)), 1)
    return ends.diff(dim=1)


def corrupt_spans(tokens: Tensor, hidden: Tensor, sentinel: int) -> tuple[Tensor, Tensor]:
    """Return the model's input and its target for texts with `hidden` spans.

        read     each span as one token, its sentinel: sentinel, sentinel - 1, sentinel - 2 ...
        written  each sentinel followed by its span, then one final sentinel

    tokens: int64 (B, T). hidden: bool (B, T), as many tokens and spans in every text, so that with
    n tokens in s spans the two are (B, T - n + s) and (B, n + s + 1). sentinel: the first one; T5's
    are the last ids of its vocabulary, in decreasing order.
    Raises TypeError or ValueError for tensors that do not fit, texts that differ in their counts, a
    text that masks nothing, and tokens that are sentinels.

    >>> text = torch.tensor([[5, 6, 7, 8, 9, 10]])
    >>> where = torch.tensor([[False, True, True, False, False, True]])
    >>> [x.tolist() for x in corrupt_spans(text, where, 99)]
    [[[5, 99, 8, 9, 98]], [[99, 6, 7, 98, 10, 97]]]
    """
    check_hidden(tokens, hidden)
    starts = hidden & ~torch.nn.functional.pad(hidden, (1, -1))
    counts = torch.stack((hidden.sum(1), starts.sum(1)), 1)
    n, spans = counts[0].tolist()
    if n == 0 or (counts != counts[0]).any():
        raise ValueError("hidden: each row must mask as many tokens, in as many spans, one at "
                         f"least; got (tokens, spans) {counts.tolist()}")  # fmt: skip
    if ((tokens <= sentinel) & (tokens >= sentinel - spans)).any():
        raise ValueError(
            f"tokens: some are sentinels, {sentinel - spans} to {sentinel}; reserve these ids"
        )
    sentinels = sentinel + 1 - starts.cumsum(1)  # of a masked token: the sentinel of its span
    B = len(tokens)
    read = torch.where(hidden, sentinels, tokens)[starts | ~hidden].view(B, -1)
    both = torch.stack((sentinels, tokens), 2).flatten(1)  # before each token its sentinel
    written = both[torch.stack((starts, hidden), 2).flatten(1)].view(B, -1)
    return read, torch.nn.functional.pad(written, (0, 1), value=sentinel - spans)


def check_hidden(tokens: Tensor, hidden: Tensor) -> None:
    """Raise TypeError or ValueError unless tokens are int64 (B, T), and hidden bool (B, T)."""
    if tokens.dtype != torch.int64 or tokens.ndim != 2:
        raise TypeError(f"tokens: got {tokens.dtype} {tuple(tokens.shape)}, expected int64 "
                        "(B, T)")  # fmt: skip
    if hidden.dtype != torch.bool or hidden.shape != tokens.shape:
        raise ValueError(f"hidden: got {hidden.dtype} {tuple(hidden.shape)}, expected bool "
                         f"{tuple(tokens.shape)}, like tokens")  # fmt: skip


def restore_spans(read: Sequence[int], written: Sequence[int], sentinel: int) -> list[int]:
    """Return the original text: the inverse of `corrupt_spans`, for one text.

    A model's output may be malformed: a span that it did not generate is empty, and what follows
    a sentinel that is not in the input is dropped.

    >>> restore_spans([5, 99, 8, 9, 98], [99, 6, 7, 98, 10, 97], 99)
    [5, 6, 7, 8, 9, 10]
    """
    asked = dict.fromkeys(_sentinels(read, sentinel))
    last = sentinel - len(asked)  # closes the last span
    spans: dict[int, list[int]] = {}
    now: list[int] = []
    for token in written:
        if last <= token <= sentinel:
            now = spans.setdefault(token, [])
        else:
            now.append(token)
    return [t for token in read for t in (spans.get(token, []) if token in asked else [token])]


def _sentinels(read: Sequence[int], sentinel: int) -> Iterator[int]:
    """Yield the sentinels of a text, in decreasing order."""
    for token in read:
        if token == sentinel:
            yield token
            sentinel -= 1
