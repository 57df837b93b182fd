"""The base class of all tokenizers: special tokens, `encode`, `decode`, and a JSON file format."""

import json
import operator
import os
from abc import ABC, abstractmethod
from collections.abc import Iterable, Sequence
from pathlib import Path
from typing import Any, Self, TypeVar

T = TypeVar("T")

PAD, BOS, EOS, UNK = 0, 1, 2, 3
SPECIALS = ("<pad>", "<bos>", "<eos>", "<unk>")

_CACHE_SIZE = 1 << 17  # the number of words whose ids are cached


class Tokenizer(ABC):
    """Convert text to token ids and back, with three methods that each subclass implements.

    `split(text)` splits a text into words (pre-tokenization), `cut(word)` splits a word into
    subword tokens, and `join(pieces)` inverts both. A token outside the vocabulary becomes unk.

    vocab: the tokens; a token's index is its id. specials: the names, all in `vocab`, of pad, bos,
    eos, unk and any others (such as `"<mask>"`), in this order. Tokenizers trained here put them
    first, so that pad = 0, bos = 1, eos = 2, unk = 3 (`PAD`, `BOS`, `EOS`, `UNK`).
    Text is never encoded as a special token, even if it contains one's name.

    Raises TypeError or ValueError if the vocabulary is not a list of distinct strings, or lacks a
    special token.
    """

    def __init__(self, vocab: Sequence[str], specials: Sequence[str] = SPECIALS) -> None:
        check_strings("vocab", vocab)
        check_specials(specials)
        missing = [name for name in specials if name not in vocab]
        if missing:
            raise ValueError(
                f"specials: {missing} are not in the vocabulary of {len(vocab)} tokens; "
                "give its names of pad, bos, eos, unk, in this order"
            )
        self.vocab = list(vocab)
        self.specials = tuple(specials)
        special_ids = [self.vocab.index(name) for name in specials]
        self.pad, self.bos, self.eos, self.unk = special_ids[:4]
        special = frozenset(special_ids)
        self._hidden = special - {self.unk}  # skipped by `decode`
        self._ids = {piece: i for i, piece in enumerate(self.vocab) if i not in special}
        if len(self._ids) + len(special) != len(self.vocab):
            twice = sorted(p for i, p in enumerate(self.vocab) if self._ids.get(p, i) != i)
            raise ValueError(f"vocab: {twice[:5]} occur more than once; each token needs one id")
        self._cache: dict[str, tuple[int, ...]] = {}

    @staticmethod
    @abstractmethod
    def split(text: str) -> list[str]:
        """Return the words of a text, in order."""

    def cut(self, word: str) -> list[str]:
        """Return the subword tokens of one word; here the word itself."""
        return [word]

    @abstractmethod
    def join(self, pieces: Sequence[str]) -> str:
        """Return the text of these tokens."""

    def encode(self, text: str, *, bos: bool = False, eos: bool = False) -> list[int]:
        """Return the token ids of a text, with begin and end tokens if requested."""
        check_text("text", text)
        ids = [self.bos] if bos else []
        for word in self.split(text):
            ids.extend(self._cache.get(word) or self._look_up(word))
        if eos:
            ids.append(self.eos)
        return ids

    def decode(self, ids: Iterable[int]) -> str:
        """Return the text of a list, array or 1-D tensor of ids.

        Special tokens are skipped, except the unknown token, which appears as its name.
        """
        return self.join([self._piece(i) for i in _integers(ids) if i not in self._hidden])

    def tokens(self, text: str) -> list[str]:
        """Return the tokens of a text as strings, those of the ids from `encode`."""
        return [self.vocab[i] for i in self.encode(text)]

    def id_of(self, token: str) -> int:
        """Return the id of a token, including special tokens."""
        if token in self.specials:
            return self.vocab.index(token)
        if token not in self._ids:
            raise ValueError(f"token: {token!r} is not one of the {len(self)} in the vocabulary")
        return self._ids[token]

    def __len__(self) -> int:
        return len(self.vocab)

    def __repr__(self) -> str:
        return f"{type(self).__name__}({len(self)} tokens)"

    def save(self, path: str | os.PathLike[str]) -> None:
        """Save the tokenizer as JSON: its class and constructor arguments."""
        whole = json.dumps(
            {"tokenizer": type(self).__name__, **self._arguments()}, ensure_ascii=False, indent=1
        )
        part = Path(f"{os.fspath(path)}.part")  # renamed when complete: never half a file
        part.write_text(whole + "\n", encoding="utf-8")
        part.replace(path)

    @classmethod
    def load(cls, path: str | os.PathLike[str]) -> Self:
        """Load a file from `save`; `Tokenizer.load` returns whichever class was saved."""
        try:
            arguments = json.loads(Path(path).read_text(encoding="utf-8"))
            kind = {c.__name__: c for c in _family(cls)}[arguments.pop("tokenizer")]
            return kind(**arguments)
        except (ValueError, TypeError, KeyError, AttributeError) as error:
            raise ValueError(
                f"path: {path} does not hold a {cls.__name__} ({type(error).__name__}: {error}); "
                "expected a JSON file that its save() wrote"
            ) from error

    def _arguments(self) -> dict[str, Any]:
        return {"specials": list(self.specials), "vocab": self.vocab}

    def _look_up(self, word: str) -> tuple[int, ...]:
        ids = tuple(self._ids.get(piece, self.unk) for piece in self.cut(word))
        if len(self._cache) >= _CACHE_SIZE:
            self._cache.clear()
        self._cache[word] = ids
        return ids

    def _piece(self, i: int) -> str:
        if not 0 <= i < len(self.vocab):
            raise ValueError(
                f"ids: {i} is outside the vocabulary, whose ids are 0 to {len(self) - 1}"
            )
        return self.vocab[i]


def check_text(name: str, text: object) -> None:
    """Raise TypeError unless `text` is a string."""
    if not isinstance(text, str):
        raise TypeError(f"{name}: expected one string, got {type(text).__name__}")


def utf8(text: str) -> bytes:
    """Return the text in UTF-8. Raises ValueError for a lone surrogate, not valid in UTF-8."""
    try:
        return text.encode()
    except UnicodeEncodeError as error:
        raise ValueError(
            f"text: {text[error.start]!r} at {error.start} is half of a surrogate pair, not a "
            'character; clean the text with text.encode("utf-8", "replace").decode()'
        ) from error


def check_strings(name: str, strings: object) -> None:
    """Raise TypeError unless `strings` is a list or tuple of strings."""
    if not isinstance(strings, (list, tuple)):
        raise TypeError(f"{name}: expected a list of strings, got {type(strings).__name__}")
    for i, string in enumerate(strings):
        check_text(f"{name}[{i}]", string)


def check_specials(specials: Sequence[str]) -> None:
    """Raise ValueError unless `specials` names at least pad, bos, eos and unk."""
    check_strings("specials", specials)
    if len(specials) < 4:
        raise ValueError(f"specials: expected names for pad, bos, eos, unk, got {list(specials)}")


def _integers(ids: Iterable[int]) -> list[int]:
    if hasattr(ids, "tolist"):
        ids = ids.tolist()  # one copy instead of one tensor per id
    try:
        return [operator.index(i) for i in ids]
    except TypeError as error:
        raise TypeError(f"ids: expected a flat list of integers, got {ids!r:.60}") from error


def _family(cls: type[T]) -> list[type[T]]:
    return [cls, *(member for child in cls.__subclasses__() for member in _family(child))]
