"""Align word and character labels with subword tokens, in both directions, by offsets.

An extent is [begin, end) in characters of the text. `pieces` are the extents of a text's subword
tokens, in order, as returned by `tokenizer.spans(text)`, without special tokens.
"""

from collections.abc import Sequence
from typing import TypeVar

T = TypeVar("T")
Extent = tuple[int, int]

IGNORED = -100  # torch's cross-entropy ignores this target


def first_pieces(pieces: Sequence[Extent], words: Sequence[Extent]) -> list[int | None]:
    """Return the index of each word's first token that does not belong to an earlier word.

    None for a word without tokens: the tokenizer dropped its characters, or the text was truncated
    before it. A token that spans two words belongs to the first.
    """
    found: list[int | None] = []
    at = 0
    for begin, end in words:
        while at < len(pieces) and pieces[at][1] <= begin:
            at += 1
        if at < len(pieces) and pieces[at][0] < end:
            found.append(at)
            at += 1
        else:
            found.append(None)
    return found


def piece_labels(
    pieces: Sequence[Extent], words: Sequence[Extent], labels: Sequence[int]
) -> list[int]:
    """Return a label per token: the first token of a word has its label, all others `IGNORED`.

    Source: Devlin et al. 2019, section 5.3. Raises ValueError unless each word has a label.
    """
    if len(words) != len(labels):
        raise ValueError(f"labels: {len(labels)} for {len(words)} words, expected one per word")
    found = [IGNORED] * len(pieces)
    for piece, label in zip(first_pieces(pieces, words), labels, strict=True):
        if piece is not None:
            found[piece] = label
    return found


def word_values(
    pieces: Sequence[Extent], words: Sequence[Extent], values: Sequence[T], missing: T
) -> list[T]:
    """Return the value of each word's first token, given `values` of all tokens."""
    if len(values) < len(pieces):
        raise ValueError(f"values: {len(values)} for {len(pieces)} tokens, expected one per token")
    first = first_pieces(pieces, words)
    return [missing if piece is None else values[piece] for piece in first]


def answer_pieces(pieces: Sequence[Extent], start: int, end: int) -> Extent | None:
    """Return the indices of the first and last token that overlap the characters [start, end).

    None if the text was truncated before the end of the answer.
    """
    if not 0 <= start < end:
        raise ValueError(f"start, end: {start}, {end}, expected 0 <= start < end, in characters")
    overlapping = [i for i, (begin, stop) in enumerate(pieces) if begin < end and start < stop]
    if not overlapping or pieces[overlapping[-1]][1] < end:
        return None
    return overlapping[0], overlapping[-1]
