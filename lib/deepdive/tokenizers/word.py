"""Words as tokens: a vocabulary of the most frequent ones."""

from collections.abc import Iterable, Sequence
from typing import Self

from deepdive.tokenizers.base import SPECIALS, Tokenizer, check_specials
from deepdive.tokenizers.corpus import check_size, count_words


class FrequencyTokenizer(Tokenizer):
    """What word and character tokenisers share: they keep whatever `split` gives most often."""

    @classmethod
    def train(
        cls,
        texts: Iterable[str],
        vocab_size: int | None = None,
        *,
        min_count: int = 1,
        specials: Sequence[str] = SPECIALS,
    ) -> Self:
        """Keep what occurs `min_count` times, most frequent first, until `vocab_size` is reached.

        The size counts the special tokens; None keeps all. Ties go by code point. Raises
        ValueError when the texts are empty or `vocab_size` leaves no room beside the specials.
        """
        check_specials(specials)
        counts = count_words(texts, cls.split)
        if vocab_size is not None:
            check_size(vocab_size, len(specials) + 1, "the special tokens and one more")
        kept = sorted((-count, word) for word, count in counts.items() if count >= min_count)
        return cls([*specials, *(word for _, word in kept)][:vocab_size], specials)


class WordTokenizer(FrequencyTokenizer):
    """One token a word, words being what white space separates, most frequent first.

    Normalise the texts first, for training and for `encode` alike (`simplify` for English and
    French). `decode(encode(text))` is the text with single spaces as long as every word is known;
    any other becomes the one unknown token, which is what subwords were invented to mend.

    Source: the word vocabularies of Sutskever, Vinyals, Le 2014, section 3.1, and of Bahdanau, Cho,
    Bengio 2015, section 4.1 (both keep the most frequent words).
    """

    @staticmethod
    def split(text: str) -> list[str]:
        return text.split()

    def join(self, pieces: Sequence[str]) -> str:
        return " ".join(pieces)
