"""Character-level tokenizer."""

from collections.abc import Sequence

import torch
from torch import Tensor

from deepdive.tokenizers.base import PAD
from deepdive.tokenizers.word import FrequencyTokenizer


class CharTokenizer(FrequencyTokenizer):
    """One token per character (Unicode code point), most frequent first.

    `decode(encode(text)) == text` if training saw every character.

    Source: Lee, Cho, Hofmann, "Fully Character-Level Neural Machine Translation without Explicit
    Segmentation", TACL 2017.
    """

    @staticmethod
    def split(text: str) -> list[str]:
        return list(text)

    def join(self, pieces: Sequence[str]) -> str:
        return "".join(pieces)


def spell(words: list[list[str]], alphabet: str, length: int = 12) -> Tensor:
    """Return character ids (B, T, length) of a batch of words, for a character-level model.

    A character's id is its index in `alphabet` plus 2; 1 is any other character, 0 padding. Longer
    words are truncated. Raises ValueError if the sequences differ in number of words.
    """
    if len({len(row) for row in words}) > 1:
        raise ValueError("words: got rows of different lengths; pad them with empty words")
    index = {letter: i for i, letter in enumerate(alphabet, start=2)}
    rows = [[[index.get(c, 1) for c in word[:length]] for word in row] for row in words]
    return torch.tensor([[ids + [PAD] * (length - len(ids)) for ids in row] for row in rows])
