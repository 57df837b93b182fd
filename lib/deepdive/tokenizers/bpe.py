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
    """Byte-pair encoding: a word starts as characters, and learned merges join them.

    Training merges the most frequent pair of neighbours again and again; `encode` applies the same
    merges in the order in which they were learned. Frequent words end as one piece, rare ones as
    several. A space is written `▁` and leads the word after it (the paper marks the word's end; a
    leading mark lets `here` be one piece before a space, a comma and the sentence's end alike).
    `decode(encode(text)) == squeeze(text)` as long as training saw every character.

    vocab, specials: see `Tokenizer`. merges: `"left right"`, first learned first, as in the files
    that models are published with. Raises ValueError when a merge is not of this form.

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
        """Learn a vocabulary of at most `vocab_size`, special tokens and characters included.

        It ends up smaller where no pair occurs `min_count` times any more. Ties: `learn_merges`.
        Raises ValueError when the texts are blank or `vocab_size` is below specials + characters.
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
        """The pieces that training starts from, in order."""
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
