"""Words as tokens."""

from collections.abc import Sequence

from deepdive.tokenizers.frequency import FrequencyTokenizer


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
