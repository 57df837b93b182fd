"""WordPiece, BERT's subword tokenizer."""

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

INSIDE = "##"  # the prefix of a token that does not begin a word
LONGEST_WORD = 100  # characters; a longer word is unknown, as in BERT
BERT_SPECIALS = ("[PAD]", "[CLS]", "[SEP]", "[UNK]", "[MASK]")


def join_pieces(left: str, right: str) -> str:
    """Merge two tokens: `"hu"` and `"##g"` to `"hug"`, `"##u"` and `"##g"` to `"##ug"`."""
    return left + right.removeprefix(INSIDE)


class WordPieceTokenizer(Tokenizer):
    """WordPiece: greedy longest-match-first segmentation of words into vocabulary tokens.

    Tokens inside a word have the prefix `##`. A word that cannot be segmented completely becomes
    one unknown token. Pre-tokenization is BERT's, in lower case and without accents
    (`uncased_bert_words`), so `decode` returns these words with single spaces, not the text.

    With a published vocabulary, where specials have other ids:
    `WordPieceTokenizer(vocab, specials=BERT_SPECIALS)`; pad, bos, eos are then `[PAD]`, `[CLS]`,
    `[SEP]`.

    System: wordpiece
    Parent: none
    What differs:
    - a word is split into subword tokens, greedily by longest match (`encode`), so few are unknown
    - tokens are learned by the score `count(a, b) / (count(a) * count(b))`; byte-pair encoding
      merges by counts alone and encodes by replaying the merges (`BPETokenizer`)
    Source: Schuster and Nakajima, "Japanese and Korean Voice Search", ICASSP 2012; Wu et al.,
      "Google's Neural Machine Translation System", 2016, section 4.1; Devlin et al. 2019, released
      code; Sennrich et al. 2016.
    Book: 3.1

    The code that trained BERT's vocabulary was not released. The score is that of the Hugging Face
    course, chapter 6, "WordPiece tokenization". Two trainers are published; neither uses it.
    TensorFlow Text's (`wordpiece_vocab`, after BERT's) works top down: it keeps each substring of
    a word that is frequent even without the longer ones already kept. `tokenizers`'
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
        """Learn a vocabulary of at most `vocab_size`, including special tokens and characters.

        Each step merges the pair with the highest `count(a, b) / (count(a) * count(b))`, the merge
        that raises the likelihood under a unigram model of the tokens most per occurrence. Because
        it is per occurrence, the score prefers rare strings: pairs seen fewer than `min_count`
        times are skipped, and a higher `min_count` gives shorter encodings. Ties: `learn_merges`.
        Raises ValueError if the texts are blank or `vocab_size` is below specials + characters.
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
        """Return for each word of `split` the positions of its characters in the text."""
        return uncased_bert_places(text)

    def spans(self, text: str) -> list[tuple[int, int]]:
        """Return the offsets (start, end) in `text` of each token of `encode(text)`.

        Offsets count the characters of the original text, before accents are stripped and case is
        folded. A separate accent character belongs to the token only if a later character of the
        same token follows; an unknown word is one token and has one span.
        """
        check_text("text", text)
        found: list[tuple[int, int]] = []
        for word, positions in zip(self.split(text), self.places(text), strict=True):
            start = 0
            for n in self._lengths(word):
                found.append((positions[start], positions[start + n - 1] + 1))
                start += n
        return found

    def _lengths(self, word: str) -> list[int]:
        """Return the number of characters of the word that each of its tokens covers."""
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
    """`WordPieceTokenizer` that keeps case and accents, as in BERT's cased models."""

    @staticmethod
    def split(text: str) -> list[str]:
        return bert_words(text)

    @staticmethod
    def places(text: str) -> list[list[int]]:
        return bert_places(text)
