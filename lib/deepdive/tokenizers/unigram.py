"""SentencePiece's unigram language model: the most probable segmentation of a text."""

from __future__ import annotations

import json
import math
import unicodedata
from collections.abc import Iterable, Sequence
from pathlib import Path
from typing import Any, Self

from deepdive.tokenizers.base import SPECIALS, Tokenizer, check_specials
from deepdive.tokenizers.corpus import check_size, count_words
from deepdive.tokenizers.splitting import SPACE, squeeze
from deepdive.tokenizers.unigram_training import learn


class UnigramTokenizer(Tokenizer):
    """Unigram tokenizer: the segmentation of a word with the highest log-probability (Viterbi).

        best[j] = max over tokens p that end at j of best[j - len(p)] + score(p)

    A space is written as `▁` at the start of the next word. A character outside the vocabulary is
    the unknown token, ten nats below the least probable token; adjacent ones become one. Texts are
    normalized (NFKC). T5's files have no begin token: `bos` is padding, with which its decoder
    starts.

    scores: the log-probability of each token of `vocab`. Raises ValueError if they differ in
    number.

    Source: Kudo 2018, "Subword Regularization", section 3.2.
    """

    def __init__(
        self, vocab: Sequence[str], scores: Sequence[float], specials: Sequence[str]
    ) -> None:
        super().__init__(vocab, specials)
        if len(scores) != len(vocab):
            raise ValueError(f"scores: {len(scores)} for {len(vocab)} tokens, expected one each")
        self.scores = [*map(float, scores)]
        self._score = {piece: self.scores[i] for piece, i in self._ids.items()}
        self._longest = max(map(len, self._score))
        self._unknown = min(self._score.values()) - 10.0

    @classmethod
    def from_folder(cls, folder: str | Path) -> Self:
        """Load a folder's tokenizer.json in T5's format.

        Raises FileNotFoundError without the file, ValueError if it is of another type.
        """
        path = Path(folder) / "tokenizer.json"
        model: dict[str, Any] = json.loads(path.read_text(encoding="utf-8"))["model"]
        if model.get("type", "Unigram") != "Unigram" or not isinstance(model["vocab"], list):
            raise ValueError(f"folder: {path} is of type {model.get('type')!r}; expected Unigram")
        vocab, scores = zip(*model["vocab"], strict=True)
        marks = [piece for piece in vocab if piece.startswith("<extra_id_")]
        return cls(vocab, scores, ["<pad>", "<pad>", "</s>", "<unk>", *marks])

    @classmethod
    def train(
        cls, texts: Iterable[str], vocab_size: int, *, specials: Sequence[str] = SPECIALS
    ) -> Self:
        """Learn at most `vocab_size` tokens, including special tokens and characters.

        Written for clarity (`unigram_training`); for more than about ten thousand words use the
        library `tokenizers`. Raises ValueError if the texts are blank or `vocab_size` is below
        specials + characters.
        """
        check_specials(specials)
        words = count_words(texts, cls.split)
        characters = {char for word in words for char in word}
        check_size(vocab_size, len(specials) + len(characters), "special tokens and characters")
        scores = learn(words, vocab_size - len(specials))
        vocab = [*specials, *(piece for piece in scores if piece not in specials)]
        return cls(vocab, [scores.get(piece, 0.0) for piece in vocab], specials)

    @staticmethod
    def split(text: str) -> list[str]:
        """Return the words, each with the prefix `▁`."""
        return [SPACE + word for word in squeeze(unicodedata.normalize("NFKC", text)).split()]

    def cut(self, word: str) -> list[str]:
        best, last = [0.0] + [-math.inf] * len(word), [0] * (len(word) + 1)
        for end in range(1, len(word) + 1):
            for start in range(max(0, end - self._longest), end):
                score = self._score.get(word[start:end], -math.inf)
                if end - start == 1 and score == -math.inf:
                    score = self._unknown
                if best[start] + score > best[end]:
                    best[end], last[end] = best[start] + score, start
        pieces: list[str] = []
        end = len(word)
        while end:
            piece = word[last[end] : end]
            if pieces and piece not in self._score and pieces[0] not in self._score:
                pieces[0] = piece + pieces[0]
            else:
                pieces.insert(0, piece)
            end = last[end]
        return pieces

    def join(self, pieces: Sequence[str]) -> str:
        return "".join(pieces).replace(SPACE, " ").removeprefix(" ")

    def _arguments(self) -> dict[str, Any]:
        return {**super()._arguments(), "scores": self.scores}
