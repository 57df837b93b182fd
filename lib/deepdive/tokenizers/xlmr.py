"""XLM-R's tokenizer: one SentencePiece unigram vocabulary for a hundred languages."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from deepdive.tokenizers.base import check_text
from deepdive.tokenizers.splitting import SPACE
from deepdive.tokenizers.unigram import UnigramTokenizer


class XLMRTokenizer(UnigramTokenizer):
    """`UnigramTokenizer` that normalizes texts with a table: character -> replacement.

    The table (`changes`) is part of the vocabulary: SentencePiece stores it in its model file, so
    tokenization is the same everywhere as in training. It folds equivalent characters (a full-width
    `Ａ` is `A`, a newline is a space), drops invisible ones, and keeps the rest. Runs of spaces are
    collapsed to one space, and leading and trailing spaces are dropped.

    Raises ValueError if a key of `changes` is not one character.

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
            raise ValueError(f"changes: {wrong[0]!r} is not one character; give one per key")
        self._changes = str.maketrans(self.changes)

    def encode(self, text: str, *, bos: bool = False, eos: bool = False) -> list[int]:
        check_text("text", text)
        return super().encode(text.translate(self._changes), bos=bos, eos=eos)

    @staticmethod
    def split(text: str) -> list[str]:
        """Return the words, split at spaces only, each with the prefix `▁`."""
        return [SPACE + word for word in text.replace(SPACE, " ").split(" ") if word]

    def _arguments(self) -> dict[str, Any]:
        return {**super()._arguments(), "changes": self.changes}
