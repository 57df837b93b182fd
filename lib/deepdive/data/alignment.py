"""Labels from words and characters to the pieces that a tokeniser cut, and back, by offsets.

An extent is [begin, end) in characters of the text. `pieces` are the extents of a text's pieces,
in order, as `tokenizer.spans(text)` gives them, without special tokens.
"""

from collections.abc import Sequence
from typing import TypeVar

T = TypeVar("T")
Extent = tuple[int, int]

IGNORED = -100  # the target that torch's cross-entropy leaves out


def first_pieces(pieces: Sequence[Extent], words: Sequence[Extent]) -> list[int | None]:
    """For each word, the number of the first piece that touches it and no earlier word has.

    None for a word of which no piece is left: the tokeniser dropped its characters, or the text
    was cut before it. A piece that spans two words belongs to the first.
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
    """A label for each piece: the first piece of a word has the word's, all others `IGNORED`.

    Source: Devlin et al. 2019, section 5.3. Raises ValueError unless each word has a label.
    """
    if len(words) != len(labels):
        raise ValueError(f"labels: {len(labels)} for {len(words)} words, expected one each")
    found = [IGNORED] * len(pieces)
    for piece, label in zip(first_pieces(pieces, words), labels, strict=True):
        if piece is not None:
            found[piece] = label
    return found


def word_values(
    pieces: Sequence[Extent], words: Sequence[Extent], values: Sequence[T], missing: T
) -> list[T]:
    """What the first piece of each word has, of `values` for all pieces; the way back."""
    if len(values) < len(pieces):
        raise ValueError(f"values: {len(values)} for {len(pieces)} pieces, expected one each")
    first = first_pieces(pieces, words)
    return [missing if piece is None else values[piece] for piece in first]


def answer_pieces(pieces: Sequence[Extent], start: int, end: int) -> Extent | None:
    """The numbers of the first and the last piece that touch the characters [start, end).

    None where the text was cut before the answer begins, or ends.
    """
    if not 0 <= start < end:
        raise ValueError(f"start, end: {start}, {end}, expected 0 <= start < end, in characters")
    touched = [i for i, (begin, stop) in enumerate(pieces) if begin < end and start < stop]
    if not touched or pieces[touched[-1]][1] < end:
        return None
    return touched[0], touched[-1]
