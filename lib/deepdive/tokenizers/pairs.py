"""One text or two as the input of an encoder: `[CLS] a [SEP] b [SEP]`, cut to length, in batches.

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
    """The ids of `[CLS] a [SEP]`, or of `[CLS] a [SEP] b [SEP]`, and the segment of each.

    `[CLS]` and `[SEP]` are the tokenizer's `bos` and `eos`. Segments are 0 up to the first `[SEP]`,
    that one included, and 1 from there to the end. Where the whole is longer than `max_length`,
    specials counted, the texts lose tokens at their ends by `longest_first`.

    Raises TypeError where a text is not a string, and ValueError where `max_length` has no room for
    the special tokens.
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
    """How many of the `a` and `b` tokens of two texts stay, with room for `room`.

    Only the longer one loses tokens, until it is no longer than the other; from there on both lose
    in turn. So a text of at most half the room is never cut. Of an odd room the text that
    was the longer keeps one more, the second where both were as long: the rule of the `tokenizers`
    library. Google's own loop always ends with the odd one on the first.
    """
    if a + b <= room:
        return a, b
    half, rest = room // 2, room - room // 2
    if a <= b:
        return (a, room - a) if a <= half else (half, rest)
    return (room - b, b) if b <= half else (rest, half)


def padded(rows: Sequence[Sequence[int]], pad: int = 0) -> tuple[Tensor, Tensor]:
    """Rows of ids as tokens and mask, each (B, T); short rows end in `pad`.

    mask: bool, True = real token, False = padding; pass it on, or the padding is read as text.
    Raises ValueError where there is no row.
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
    """What `encode_pair` gave for several texts, as tokens, mask and segments, each (B, T).

    As `padded`, with segment 0 under the padding. Raises ValueError where there is no row, or where
    a row's ids and segments differ in length.
    """
    for i, (ids, segments) in enumerate(rows):
        if len(ids) != len(segments):
            raise ValueError(
                f"rows[{i}]: {len(ids)} ids and {len(segments)} segments; expected one segment a "
                "token, as encode_pair gives them"
            )
    tokens, mask = padded([ids for ids, _ in rows], pad)
    return tokens, mask, padded([segments for _, segments in rows])[0]
