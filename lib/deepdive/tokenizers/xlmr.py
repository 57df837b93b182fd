"""XLM-R's pieces: one unigram vocabulary for a hundred languages, with SentencePiece's rules."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from deepdive.tokenizers.base import check_text
from deepdive.tokenizers.splitting import SPACE
from deepdive.tokenizers.unigram import UnigramTokenizer


class XLMRTokenizer(UnigramTokenizer):
    """`UnigramTokenizer` whose texts are normalised by a table: character -> what stands for it.

    The table (`changes`) is a part of the vocabulary: SentencePiece writes it into its file, so
    that a text is cut everywhere as it was in training. It folds what looks alike (a full-width
    `Ａ` is `A`, a line's end is a space), drops what is not seen, and leaves the rest. Runs of
    spaces are one space, and those at a text's ends are dropped.

    Raises ValueError where a key of `changes` is not one character.

    Source: Kudo and Richardson 2018, "SentencePiece", section 3.2; Conneau et al. 2020, section 3.
    """

    def __init__(
        self,
        vocab: Sequence[str],
        scores: Sequence[float],
        specials: Sequence[str],
        changes: Mapping[str, str] | None = None,
    ) -> None:
        super().__init__(vocab, scores, specials)
        self.changes = dict(changes or {})
        wrong = [key for key in self.changes if len(key) != 1]
        if wrong:
            raise ValueError(f"changes: {wrong[0]!r} is not one character; name one a key")
        self._changes = str.maketrans(self.changes)

    def encode(self, text: str, *, bos: bool = False, eos: bool = False) -> list[int]:
        check_text("text", text)
        return super().encode(text.translate(self._changes), bos=bos, eos=eos)

    @staticmethod
    def split(text: str) -> list[str]:
        """Words, each with its `▁`; what parts them is spaces alone."""
        return [SPACE + word for word in text.replace(SPACE, " ").split(" ") if word]

    def _arguments(self) -> dict[str, Any]:
        return {**super()._arguments(), "changes": self.changes}
