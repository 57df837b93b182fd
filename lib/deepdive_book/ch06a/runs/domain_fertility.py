"""How finely a vocabulary cuts the words of a text that it was, or was not, made for.

own = BPETokenizer.train([" ".join(words_of(text))], 4000)
fertility(own, words_of(other))             # pieces a word, in each stretch of 100 words
"""

from collections.abc import Sequence

import numpy as np

from deepdive.tokenizers import BPETokenizer, WordPieceTokenizer
from deepdive.tokenizers.splitting import marked_words, uncased_bert_words

STRETCH = 100  # words


def words_of(text: str, most: int | None = None) -> list[str]:
    """The words of a text in lower case, without numbers and signs; the first `most` of them."""
    return [word for word in uncased_bert_words(text) if word.isalpha()][:most]


def pieces(tokenizer: BPETokenizer | WordPieceTokenizer, word: str) -> list[str]:
    """The pieces of one word, without marks of its beginning or inside."""
    if isinstance(tokenizer, WordPieceTokenizer):
        return [piece.removeprefix("##") for piece in tokenizer.cut(word)]
    (marked,) = marked_words(word)
    found = [piece.removeprefix(marked[: -len(word)]) for piece in tokenizer.cut(marked)]
    return [piece for piece in found if piece]


def fertility(tokenizer: BPETokenizer | WordPieceTokenizer, words: Sequence[str]) -> np.ndarray:
    """Return the pieces a word of each whole stretch of 100 words. Raises ValueError for less than
    one stretch.
    """
    if len(words) < STRETCH:
        raise ValueError(f"words: got {len(words)}, expected {STRETCH} or more")
    counts = {word: len(pieces(tokenizer, word)) for word in set(words)}
    whole = len(words) // STRETCH * STRETCH
    each = np.array([counts[word] for word in words[:whole]], dtype=float)
    found: np.ndarray = each.reshape(-1, STRETCH).mean(1)
    return found
