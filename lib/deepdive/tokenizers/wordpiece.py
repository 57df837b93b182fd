"""WordPiece, the subwords of BERT."""

from collections.abc import Iterable, Sequence
from typing import Self

from deepdive.tokenizers.base import SPECIALS, Tokenizer, check_specials, check_text
from deepdive.tokenizers.corpus import check_size, count_words
from deepdive.tokenizers.merges import LikelihoodPairs, learn_vocab
from deepdive.tokenizers.splitting import (
    bert_places,
    bert_words,
    uncased_bert_places,
    uncased_bert_words,
)

INSIDE = "##"  # leads a piece that does not begin a word
LONGEST_WORD = 100  # characters; a longer word is unknown, as in BERT
BERT_SPECIALS = ("[PAD]", "[CLS]", "[SEP]", "[UNK]", "[MASK]")


def join_pieces(left: str, right: str) -> str:
    """`"hu"` and `"##g"` make `"hug"`, `"##u"` and `"##g"` make `"##ug"`."""
    return left + right.removeprefix(INSIDE)


class WordPieceTokenizer(Tokenizer):
    """WordPiece: a word is cut greedily into the longest pieces that the vocabulary holds.

    Inside a word a piece is written with `##` in front. A word that cannot be cut to its end is
    unknown as a whole. Words are those of BERT, in lower case and without accents
    (`uncased_bert_words`), so `decode` gives these words with single spaces, not the text.

    With a published vocabulary, where specials have other ids:
    `WordPieceTokenizer(vocab, specials=BERT_SPECIALS)`; pad, bos, eos are then `[PAD]`, `[CLS]`,
    `[SEP]`.

    System: wordpiece
    Parent: none
    What differs:
    - a word is pieces, cut greedily by the longest match (`encode`), so that few words are unknown
    - pieces are learned by the score `count(a, b) / (count(a) * count(b))`; byte-pair encoding, its
      sister, merges by counts alone and applies the merges again (`BPETokenizer`)
    Source: Schuster and Nakajima, "Japanese and Korean Voice Search", ICASSP 2012; Wu et al.,
      "Google's Neural Machine Translation System", 2016, section 4.1; Devlin et al. 2019, released
      code; Sennrich et al. 2016.
    Book: 3.1

    The trainer that made BERT's vocabulary was not released with it. The score is that of the
    Hugging Face course, chapter 6, "WordPiece tokenization". Two trainers are published; neither
    uses it. TensorFlow Text's (`wordpiece_vocab`, after BERT's) goes from the top down: it keeps
    each part of a word that is frequent even without the longer ones kept before it. `tokenizers`'
    WordPieceTrainer merges by counts, as BPE.
    """

    def __init__(self, vocab: Sequence[str], specials: Sequence[str] = SPECIALS) -> None:
        super().__init__(vocab, specials)
        self._longest = max(map(len, self.vocab))

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

        Each step merges the pair with the highest `count(a, b) / (count(a) * count(b))`: of all
        merges it raises the likelihood under a unigram model of the pieces most, per occurrence.
        Per occurrence, so the score spells out rare strings first: pairs seen less than `min_count`
        times are left, and a higher `min_count` gives shorter encodings. Ties: `learn_merges`.
        Raises ValueError when the texts are blank or `vocab_size` is below specials + characters.
        """
        check_specials(specials)
        words = count_words(texts, cls.split)
        pairs = LikelihoodPairs(
            {(w[0], *(INSIDE + c for c in w[1:])): n for w, n in words.items()}, join_pieces
        )
        vocab = [*specials, *pairs.pieces]
        check_size(vocab_size, len(vocab), "special tokens and single characters")
        learn_vocab(vocab, pairs, vocab_size, min_count)
        return cls(vocab, specials)

    @staticmethod
    def split(text: str) -> list[str]:
        return uncased_bert_words(text)

    @staticmethod
    def places(text: str) -> list[list[int]]:
        """For each word of `split`, where in the text each of its characters stood."""
        return uncased_bert_places(text)

    def spans(self, text: str) -> list[tuple[int, int]]:
        """Start and end in `text` of each token of `encode(text)`: `text[start:end]` made it.

        Offsets count the characters of the text as it was given, before accents and case were
        folded. An accent that is a character of its own belongs to the token only where a later
        character of the same token follows; an unknown word is one token, and has one span.
        """
        check_text("text", text)
        found: list[tuple[int, int]] = []
        for word, places in zip(self.split(text), self.places(text), strict=True):
            start = 0
            for n in self._lengths(word):
                found.append((places[start], places[start + n - 1] + 1))
                start += n
        return found

    def _lengths(self, word: str) -> list[int]:
        """How many characters of the word each of its pieces covers."""
        first, *rest = self._cache.get(word) or self._look_up(word)
        if first == self.unk:
            return [len(word)]
        return [len(self.vocab[first]), *(len(self.vocab[i]) - len(INSIDE) for i in rest)]

    def cut(self, word: str) -> list[str]:
        if len(word) > LONGEST_WORD:
            return [self.vocab[self.unk]]
        pieces: list[str] = []
        start = 0
        while start < len(word):
            piece = self._longest_piece(word[start:], INSIDE if start else "")
            if not piece:
                return [self.vocab[self.unk]]
            pieces.append(piece)
            start += len(piece) - (len(INSIDE) if start else 0)
        return pieces

    def _longest_piece(self, rest: str, mark: str) -> str:
        for end in range(min(len(rest), self._longest), 0, -1):
            if mark + rest[:end] in self._ids:
                return mark + rest[:end]
        return ""

    def join(self, pieces: Sequence[str]) -> str:
        return " ".join(pieces).replace(" " + INSIDE, "")


class CasedWordPieceTokenizer(WordPieceTokenizer):
    """`WordPieceTokenizer` that keeps case and accents, as BERT's cased models do."""

    @staticmethod
    def split(text: str) -> list[str]:
        return bert_words(text)

    @staticmethod
    def places(text: str) -> list[list[int]]:
        return bert_places(text)
