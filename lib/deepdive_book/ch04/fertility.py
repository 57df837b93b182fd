"""How well a vocabulary serves a language: pieces a word, pieces a sentence, characters known.

Words are what blanks part, so pieces a word say nothing of Chinese, Japanese or Thai. Where texts
are translations of each other, `premium` compares any two languages: pieces for the same meaning.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from typing import NamedTuple

Cut = Callable[[str], Sequence[str]]  # a text's pieces; `known`: those that are not "<unk>"


class Fertility(NamedTuple):
    """pieces, words, characters (blanks left out) of some texts, and unknown characters."""

    pieces: int
    words: int
    characters: int
    unknown: int

    @property
    def per_word(self) -> float:
        """Pieces a word, from 1 on for texts of known words."""
        return self.pieces / self.words

    @property
    def per_character(self) -> float:
        return self.pieces / self.characters

    @property
    def coverage(self) -> float:
        """The share of the characters that some piece spells."""
        return 1 - self.unknown / self.characters


def fertility(cut: Cut, known: Iterable[str], texts: Iterable[str]) -> Fertility:
    """Count the pieces, words and characters of texts.

    cut     the pieces of a text, such as `tokenizer.tokens`
    known   the vocabulary's single characters: any other character is unknown

    Raises ValueError for texts without a word.
    """
    alphabet, pieces, words, characters, unknown = set(known), 0, 0, 0, 0
    for text in texts:
        pieces += len(cut(text))
        parts = text.split()
        words += len(parts)
        characters += sum(map(len, parts))
        unknown += sum(char not in alphabet for part in parts for char in part)
    if not words:
        raise ValueError("texts: there is no word in them")
    return Fertility(pieces, words, characters, unknown)


def premium(of: Fertility, against: Fertility) -> float:
    """How many times as many pieces a language needs as another, for translations of one text."""
    return of.pieces / against.pieces
