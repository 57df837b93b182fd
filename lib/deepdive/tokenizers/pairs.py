"""Encode one text or a pair for BERT: `[CLS] a [SEP] b [SEP]`, with truncation and padding.

Source: Devlin, Chang, Lee, Toutanova, "BERT: Pre-training of Deep Bidirectional Transformers",
NAACL 2019, section 3, "Input/Output Representations", and figure 2.
"""

import operator
from collections.abc import Sequence

import torch
from torch import Tensor

from deepdive.tokenizers.base import Tokenizer


def encode_pair(
    tokenizer: Tokenizer, a: str, b: str | None = None, max_length: int | None = None
) -> tuple[list[int], list[int]]:
    """Return token ids and segment ids of `[CLS] a [SEP]` or `[CLS] a [SEP] b [SEP]`.

    `[CLS]` and `[SEP]` are the tokenizer's `bos` and `eos`. Segment ids are 0 up to and including
    the first `[SEP]`, then 1. A sequence longer than `max_length`, with special tokens, is
    truncated at the ends of the texts by `longest_first`.

    Raises TypeError if a text is not a string, and ValueError if `max_length` is too small for the
    special tokens.
    """
    first = tokenizer.encode(a)
    second = None if b is None else tokenizer.encode(b)
    specials = 2 if second is None else 3
    if max_length is not None:
        room = operator.index(max_length) - specials
        if room < 0:
            raise ValueError(
                f"max_length: {max_length} is too small: the special tokens alone take {specials}; "
                f"pass more than {specials}"
            )
        keep, keep_second = longest_first(len(first), len(second or ()), room)
        first, second = first[:keep], second and second[:keep_second]
    ids = [tokenizer.bos, *first, tokenizer.eos]
    segments = [0] * len(ids)
    if second is not None:
        ids += [*second, tokenizer.eos]
        segments += [1] * (len(second) + 1)
    return ids, segments


def longest_first(a: int, b: int, room: int) -> tuple[int, int]:
    """Return how many of the `a` and `b` tokens of two texts to keep, `room` in total.

    Only the longer text is truncated, until both have the same length; then both lose tokens in
    turn. So a text of at most half the room is never truncated. If the room is odd, the longer text
    keeps one more, or the second if both have the same length, as in the `tokenizers` library. In
    Google's own code the first text always keeps the odd one.
    """
    if a + b <= room:
        return a, b
    half, rest = room // 2, room - room // 2
    if a <= b:
        return (a, room - a) if a <= half else (half, rest)
    return (room - b, b) if b <= half else (rest, half)


def padded(rows: Sequence[Sequence[int]], pad: int = 0) -> tuple[Tensor, Tensor]:
    """Return padded token ids and an attention mask, each (B, T); shorter rows end in `pad`.

    mask: bool, True = token, False = padding; without it, a model attends to the padding.
    Raises ValueError if there are no rows.
    """
    if not rows:
        raise ValueError("rows: expected at least one, got none")
    lengths = torch.tensor([len(row) for row in rows])
    tokens = torch.full((len(rows), int(lengths.max())), pad)
    for filled, row in zip(tokens, rows, strict=True):
        filled[: len(row)] = torch.tensor(row, dtype=torch.long)
    return tokens, torch.arange(tokens.shape[1]) < lengths[:, None]


def pad_batch(
    rows: Sequence[tuple[Sequence[int], Sequence[int]]], pad: int = 0
) -> tuple[Tensor, Tensor, Tensor]:
    """Return a batch of `encode_pair` results as tokens, mask and segments, each (B, T).

    As `padded`, with segment 0 for padding. Raises ValueError if there are no rows, or if a row's
    ids and segments differ in length.
    """
    for i, (ids, segments) in enumerate(rows):
        if len(ids) != len(segments):
            raise ValueError(
                f"rows[{i}]: {len(ids)} ids and {len(segments)} segments; expected one segment per "
                "token, as returned by encode_pair"
            )
    tokens, mask = padded([ids for ids, _ in rows], pad)
    return tokens, mask, padded([segments for _, segments in rows])[0]
