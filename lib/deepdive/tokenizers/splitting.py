"""Pre-tokenization: splitting a text into words before subword tokenization.

The rules use character categories (letter, digit, punctuation), which `re` cannot match for all of
Unicode. So a text is first translated, character by character, into a string of the same length
with one ASCII character per category; the rule is a plain regular expression on that string, and
its match positions give the substrings of the text.

Categories come from Python's Unicode tables, as in Google's released code. The `tokenizers` library
has those of Unicode 8 for BERT's rule and of Unicode 16 for GPT-2's. With Python 3.11 (Unicode 14)
words differ at 559 code points of 1,112,064: 104 punctuation characters, 384 accents and 13 format
characters added since 2015, 55 letters that have gained a lower case since, and U+1734, U+166D,
U+11938, which were recategorized; in GPT-2's rule at 9,272 letters newer than Python's tables. No
vocabulary published with BERT or GPT-2 can have them as separate tokens, and none occurs in a
staged corpus (benchmarks/bench_tokenizers.py counts both).
"""

import re
import string
import unicodedata
from collections.abc import Callable

SPACE = "▁"  # U+2581 represents a space inside a token, as in SentencePiece

_WHITE = frozenset("\t\n\v\f\r \x85\xa0\u1680\u2028\u2029\u202f\u205f\u3000") | frozenset(
    map(chr, range(0x2000, 0x200B))
)  # Unicode's White_Space; str.isspace() also includes U+001C to U+001F
_GPT2_NAMES = frozenset(" '" + string.ascii_letters)  # the literals in GPT-2's pattern
_CJK = (  # the ideographs that BERT splits off, with the ranges of the `tokenizers` library
    *((0x3400, 0x4DBF), (0x4E00, 0x9FFF), (0xF900, 0xFAFF), (0x20000, 0x2A6DF)),
    *((0x2A700, 0x2B81F), (0x2B920, 0x2CEAF), (0x2F800, 0x2FA1F)),
)


class Table(dict[int, str]):
    """A table for `str.translate` that computes a character's entry on first use."""

    def __init__(self, entry: Callable[[str], str]) -> None:
        super().__init__()
        self.entry = entry

    def __missing__(self, code: int) -> str:
        self[code] = self.entry(chr(code))
        return self[code]


def strip_accents(text: str) -> str:
    """Return the text without accents: decomposed (NFD), without non-spacing marks (Mn)."""
    decomposed = unicodedata.normalize("NFD", text)
    return "".join(c for c in decomposed if unicodedata.category(c) != "Mn")


def simplify(text: str) -> str:
    """Return the text in lower case without accents, `.!?` as words, all but a-z and `.!?` a space.

    The normalization of the PyTorch tutorial "Translation with a Sequence to Sequence Network and
    Attention" (S. Robertson, 2017), meant for English and French.
    """
    text = re.sub(r"([.!?])", r" \1", strip_accents(text.lower().strip()))
    return re.sub(r"[^a-z.!?]+", " ", text).strip()


def squeeze(text: str) -> str:
    """Return the text with runs of white space and `▁` collapsed to one space, stripped."""
    return " ".join(text.replace(SPACE, " ").split())


def _cut_out(text: str, kinds: Table, pattern: re.Pattern[str]) -> list[str]:
    return [text[m.start() : m.end()] for m in pattern.finditer(text.translate(kinds))]


def _word_kind(char: str) -> str:
    return {"P": ".", "S": ".", "Z": " "}.get(unicodedata.category(char)[0], "a")


_WORD_KINDS = Table(_word_kind)
_WORD_PATTERN = re.compile(r" ?(?:a+|\.+)")


def marked_words(text: str) -> list[str]:
    """Return words and runs of punctuation, with the prefix `▁` after a space or at the start.

    `"Go away!"` gives `["▁Go", "▁away", "!"]`. Joined, with spaces for `▁`, they are
    `" " + squeeze(text)`: nothing else is lost. Vowel signs and combining marks belong to words.
    """
    words = _cut_out(" " + squeeze(text), _WORD_KINDS, _WORD_PATTERN)
    return [word.replace(" ", SPACE) for word in words]


def _gpt2_kind(char: str) -> str:
    if char in _GPT2_NAMES:
        return char
    if char in _WHITE:
        return "\t"
    return {"L": "L", "N": "0"}.get(unicodedata.category(char)[0], ".")


_GPT2_KINDS = Table(_gpt2_kind)
_GPT2_PATTERN = re.compile(
    r"'(?:s|t|re|ve|m|ll|d)| ?[A-Za-z]+| ?0+| ?[^ \tA-Za-z0]+|[ \t]+(?![^ \t])|[ \t]+"
)


def gpt2_words(text: str) -> list[str]:
    """Split by GPT-2's rule: contractions, letters, digits, others, with one space in front.

    Joined, they are the text. The pattern of Radford et al. 2019 (released code, encoder.py):
    `'s|'t|'re|'ve|'m|'ll|'d| ?\\p{L}+| ?\\p{N}+| ?[^\\s\\p{L}\\p{N}]+|\\s+(?!\\S)|\\s+`.
    """
    return _cut_out(text, _GPT2_KINDS, _GPT2_PATTERN)


def digits_apart(text: str) -> list[str]:
    """Split the text at each digit or other number (Unicode's N), a separate part each."""
    return [text[m.start() : m.end()] for m in re.finditer("0|[^0]+", text.translate(_DIGITS))]


_DIGITS = Table(lambda char: "0" if unicodedata.category(char)[0] == "N" else "a")


def _bert_entry(char: str) -> str:
    """Return BERT's replacement of a character: nothing, a space, itself, or itself with spaces."""
    category = unicodedata.category(char)
    if char in "\t\n\r" or category[0] == "Z":
        return " "
    if char == "\ufffd" or category in ("Cc", "Cf", "Cs", "Co"):
        return ""
    ideograph = any(first <= ord(char) <= last for first, last in _CJK)
    if ideograph or char in string.punctuation or category[0] == "P":
        return f" {char} "
    return char


def _uncased_bert_entry(char: str) -> str:
    return "".join(map(_bert_entry, strip_accents(char).lower()))


_BERT = Table(_bert_entry)
_UNCASED_BERT = Table(_uncased_bert_entry)
_WORD = re.compile("[^ ]+")  # the tables map all white space to spaces


def bert_words(text: str) -> list[str]:
    """Split by BERT's rule (cased): no control characters, punctuation and ideographs as words.

    Devlin et al. 2019 (released code, tokenization.py, BasicTokenizer). Every rule depends on one
    character only, so one table contains them all.
    """
    return text.translate(_BERT).split()


def uncased_bert_words(text: str) -> list[str]:
    """Return `bert_words` of the text without accents and in lower case."""
    return unicodedata.normalize("NFD", text).translate(_UNCASED_BERT).split()


def bert_places(text: str) -> list[list[int]]:
    """Return for each of `bert_words` the positions of its characters in the text."""
    return _places(text, _BERT)


def uncased_bert_places(text: str) -> list[list[int]]:
    """Return for each of `uncased_bert_words` the positions of its characters in the text.

    `" Él"` has the word `el` with the positions `[1, 2]`, or `[1, 3]` if the accent is a separate
    character.
    """
    return _places(text, _UNCASED_BERT)


def _places(text: str, table: Table) -> list[list[int]]:
    parts = [table[ord(char)] for char in text]
    origin = [position for position, part in enumerate(parts) for _ in part]
    return [origin[m.start() : m.end()] for m in _WORD.finditer("".join(parts))]
