"""How a text is cut into words before a tokeniser looks inside them.

The rules speak of kinds of characters (letter, digit, mark), which `re` cannot name for all of
Unicode. So a text is first translated, character by character, into its *shadow*, a string of the
same length in which one ASCII character stands for each kind; the rule is a plain pattern over the
shadow, and what it finds is cut out of the text.

Kinds come from Python's Unicode tables, as in Google's released code. The `tokenizers` library has
those of Unicode 8 for BERT's rule and of Unicode 16 for GPT-2's. With Python 3.11 (Unicode 14)
words differ at 559 code points of 1,112,064: 104 signs of punctuation, 384 accents and 13 format
characters that are younger than 2015, 55 letters that have got a lower case since, and U+1734,
U+166D, U+11938, which were sorted anew; in GPT-2's rule at 9,272 letters younger than Python's
tables. No vocabulary published with BERT or GPT-2 can hold them as pieces of their own, and none
stands in a staged corpus (benchmarks/bench_tokenizers.py counts both).
"""

import re
import string
import unicodedata
from collections.abc import Callable

SPACE = "▁"  # U+2581 stands for a space inside a piece, as in SentencePiece

_WHITE = frozenset("\t\n\v\f\r \x85\xa0\u1680\u2028\u2029\u202f\u205f\u3000") | frozenset(
    map(chr, range(0x2000, 0x200B))
)  # Unicode's White_Space; str.isspace() holds U+001C to U+001F too
_GPT2_NAMES = frozenset(" '" + string.ascii_letters)  # what GPT-2's pattern calls by name
_CJK = (  # the ideographs that BERT sets apart, with the limits that the `tokenizers` library has
    *((0x3400, 0x4DBF), (0x4E00, 0x9FFF), (0xF900, 0xFAFF), (0x20000, 0x2A6DF)),
    *((0x2A700, 0x2B81F), (0x2B920, 0x2CEAF), (0x2F800, 0x2FA1F)),
)


class Table(dict[int, str]):
    """A table for `str.translate` that works out a character's entry when it first meets it."""

    def __init__(self, entry: Callable[[str], str]) -> None:
        super().__init__()
        self.entry = entry

    def __missing__(self, code: int) -> str:
        self[code] = self.entry(chr(code))
        return self[code]


def strip_accents(text: str) -> str:
    """The text without its accents: decomposed (NFD), then without non-spacing marks (Mn)."""
    decomposed = unicodedata.normalize("NFD", text)
    return "".join(c for c in decomposed if unicodedata.category(c) != "Mn")


def simplify(text: str) -> str:
    """Lower case, no accents, `.!?` set apart, everything but a-z and `.!?` a space.

    The normalisation of the PyTorch tutorial "Translation with a Sequence to Sequence Network and
    Attention" (S. Robertson, 2017), meant for English and French.
    """
    text = re.sub(r"([.!?])", r" \1", strip_accents(text.lower().strip()))
    return re.sub(r"[^a-z.!?]+", " ", text).strip()


def squeeze(text: str) -> str:
    """The text with each run of white space (and of `▁`) made one space, and none at its ends."""
    return " ".join(text.replace(SPACE, " ").split())


def _cut_out(text: str, kinds: Table, pattern: re.Pattern[str]) -> list[str]:
    return [text[m.start() : m.end()] for m in pattern.finditer(text.translate(kinds))]


def _word_kind(char: str) -> str:
    return {"P": ".", "S": ".", "Z": " "}.get(unicodedata.category(char)[0], "a")


_WORD_KINDS = Table(_word_kind)
_WORD_PATTERN = re.compile(r" ?(?:a+|\.+)")


def marked_words(text: str) -> list[str]:
    """Words and runs of punctuation, each with a `▁` in front where a space (or the start) was.

    `"Go away!"` gives `["▁Go", "▁away", "!"]`. Joined, with spaces for `▁`, they are
    `" " + squeeze(text)`: nothing else is lost. Vowel signs and other marks belong to words.
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
    """The words of GPT-2: contractions, letters, digits, others, each with one space in front.

    Joined, they are the text. The pattern of Radford et al. 2019 (released code, encoder.py):
    `'s|'t|'re|'ve|'m|'ll|'d| ?\\p{L}+| ?\\p{N}+| ?[^\\s\\p{L}\\p{N}]+|\\s+(?!\\S)|\\s+`.
    """
    return _cut_out(text, _GPT2_KINDS, _GPT2_PATTERN)


def digits_apart(text: str) -> list[str]:
    """The text in parts, each digit or other number (Unicode's N) a part of its own."""
    return [text[m.start() : m.end()] for m in re.finditer("0|[^0]+", text.translate(_DIGITS))]


_DIGITS = Table(lambda char: "0" if unicodedata.category(char)[0] == "N" else "a")


def _bert_entry(char: str) -> str:
    """What BERT makes of one character: nothing, a space, itself, or itself set apart."""
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
_WORD = re.compile("[^ ]+")  # what the tables leave of white space is blanks


def bert_words(text: str) -> list[str]:
    """The words of BERT (cased): control characters dropped, punctuation and ideographs set apart.

    Devlin et al. 2019 (released code, tokenization.py, BasicTokenizer). Every rule looks at one
    character alone, so all of them together are one table.
    """
    return text.translate(_BERT).split()


def uncased_bert_words(text: str) -> list[str]:
    """`bert_words` of the text without accents and in lower case."""
    return unicodedata.normalize("NFD", text).translate(_UNCASED_BERT).split()


def bert_places(text: str) -> list[list[int]]:
    """For each of `bert_words`, where in the text each of its characters stood."""
    return _places(text, _BERT)


def uncased_bert_places(text: str) -> list[list[int]]:
    """For each of `uncased_bert_words`, where in the text each of its characters stood.

    `" Él"` has the word `el` and its places `[1, 2]`, also where the accent is a character of its
    own and the places are `[1, 3]`.
    """
    return _places(text, _UNCASED_BERT)


def _places(text: str, table: Table) -> list[list[int]]:
    parts = [table[ord(char)] for char in text]
    of = [place for place, part in enumerate(parts) for _ in part]
    return [of[m.start() : m.end()] for m in _WORD.finditer("".join(parts))]
