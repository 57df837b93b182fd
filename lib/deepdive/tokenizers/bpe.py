"""Byte-pair encoding on characters."""

import math
import operator
from collections.abc import Iterable, Sequence
from itertools import pairwise
from typing import Any, Self

from deepdive.tokenizers.base import SPECIALS, Tokenizer, check_specials, check_strings
from deepdive.tokenizers.corpus import check_size, count_words
from deepdive.tokenizers.merges import Pairs, learn_vocab, merge_pair
from deepdive.tokenizers.splitting import SPACE, marked_words


class BPETokenizer(Tokenizer):
    """Byte-pair encoding (BPE): a word starts as characters, which learned merges join.

    Training repeatedly merges the most frequent pair of adjacent tokens; `encode` applies the same
    merges in the order in which they were learned. Frequent words become one token, rare ones
    several. A space is written as `▁` at the start of the next word (the paper marks the word's
    end; a prefix lets `here` be the same token before a space, a comma and the sentence's end).
    `decode(encode(text)) == squeeze(text)` if training saw every character.

    vocab, specials: see `Tokenizer`. merges: `"left right"`, in the order learned, as in published
    merges files. Raises ValueError if a merge is not of this form.

    Source: Sennrich, Haddow, Birch, "Neural Machine Translation of Rare Words with Subword Units",
    ACL 2016, section 3.2; the space mark is SentencePiece's (Kudo and Richardson 2018).
    """

    def __init__(
        self, vocab: Sequence[str], merges: Sequence[str], specials: Sequence[str] = SPECIALS
    ) -> None:
        super().__init__(vocab, specials)
        check_strings("merges", merges)
        self.merges = list(merges)
        self._ranks: dict[tuple[str, str], int] = {}
        for rank, merge in enumerate(merges):
            left, space, right = merge.partition(" ")
            if not space or not {left, right, left + right} <= self._ids.keys():
                raise ValueError(
                    f'merges[{rank}]: expected "left right" with left, right and leftright in the '
                    f"vocabulary, got {merge!r}"
                )
            self._ranks.setdefault((left, right), rank)

    @classmethod
    def train(
        cls,
        texts: Iterable[str],
        vocab_size: int,
        *,
        min_count: int = 2,
        specials: Sequence[str] = SPECIALS,
    ) -> Self:
        """Learn a vocabulary of at most `vocab_size`, including special tokens and characters.

        It is smaller if no more pairs occur `min_count` times. Ties: see `learn_merges`.
        Raises ValueError if the texts are blank or `vocab_size` is below specials + characters.
        """
        check_specials(specials)
        words = count_words(texts, cls.split)
        vocab = [*specials, *cls.alphabet(words)]
        check_size(vocab_size, len(vocab), "special tokens and single characters")
        pairs = Pairs({tuple(word): count for word, count in words.items()}, operator.add)
        merges = learn_vocab(vocab, pairs, vocab_size, min_count)
        return cls(vocab, [" ".join(pair) for pair in merges], specials)

    @staticmethod
    def alphabet(words: Iterable[str]) -> list[str]:
        """Return the initial vocabulary of training, sorted."""
        return sorted({char for word in words for char in word})

    @staticmethod
    def split(text: str) -> list[str]:
        return marked_words(text)

    def cut(self, word: str) -> list[str]:
        pieces = list(word)
        while len(pieces) > 1:
            first = min(pairwise(pieces), key=lambda pair: self._ranks.get(pair, math.inf))
            if first not in self._ranks:
                break
            pieces = merge_pair(pieces, first, "".join(first))
        return pieces

    def join(self, pieces: Sequence[str]) -> str:
        return "".join(pieces).replace(SPACE, " ").removeprefix(" ")

    def _arguments(self) -> dict[str, Any]:
        return {**super()._arguments(), "merges": self.merges}
