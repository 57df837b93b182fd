"""Characters as tokens."""

from __future__ import annotations

from collections.abc import Sequence

from deepdive.tokenizers.frequency import FrequencyTokenizer


class CharTokenizer(FrequencyTokenizer):
    """One token a character (Unicode code point), most frequent first.

    `decode(encode(text)) == text` as long as training saw every character.

    Source: Lee, Cho, Hofmann, "Fully Character-Level Neural Machine Translation without Explicit
    Segmentation", TACL 2017.
    """

    @staticmethod
    def split(text: str) -> list[str]:
        return list(text)

    def join(self, pieces: Sequence[str]) -> str:
        return "".join(pieces)
