"""Word-level tokenizer with a vocabulary of the most frequent words."""

from collections.abc import Iterable, Sequence
from typing import Self

from deepdive.tokenizers.base import SPECIALS, Tokenizer, check_specials
from deepdive.tokenizers.corpus import check_size, count_words


class FrequencyTokenizer(Tokenizer):
    """Base class of word and character tokenizers: the vocabulary is the most frequent units."""

    @classmethod
    def train(
        cls,
        texts: Iterable[str],
        vocab_size: int | None = None,
        *,
        min_count: int = 1,
        specials: Sequence[str] = SPECIALS,
    ) -> Self:
        """Build a vocabulary of the most frequent units that occur at least `min_count` times.

        `vocab_size` includes the special tokens; None keeps all. Ties are sorted by code point.
        Raises ValueError if the texts are empty or `vocab_size` is not above the special tokens.
        """
        check_specials(specials)
        counts = count_words(texts, cls.split)
        if vocab_size is not None:
            check_size(vocab_size, len(specials) + 1, "the special tokens and one more")
        kept = sorted((-count, word) for word, count in counts.items() if count >= min_count)
        return cls([*specials, *(word for _, word in kept)][:vocab_size], specials)


class WordTokenizer(FrequencyTokenizer):
    """One token per whitespace-separated word, most frequent first.

    Normalize the texts first, both for training and for `encode` (`simplify` for English and
    French). `decode(encode(text))` is the text with single spaces if every word is known;
    out-of-vocabulary words become the one unknown token, the problem that subwords solve.

    Source: the word vocabularies of Sutskever, Vinyals, Le 2014, section 3.1, and of Bahdanau, Cho,
    Bengio 2015, section 4.1 (both keep the most frequent words).
    """

    @staticmethod
    def split(text: str) -> list[str]:
        return text.split()

    def join(self, pieces: Sequence[str]) -> str:
        return " ".join(pieces)
