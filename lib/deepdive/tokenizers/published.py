"""Tokenizers from the files of published models."""

import json
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from deepdive.tokenizers.byte_bpe import ByteBPETokenizer

ROBERTA_SPECIALS = ("<pad>", "<s>", "</s>", "<unk>", "<mask>")


def byte_bpe(folder: str | Path) -> ByteBPETokenizer:
    """Return the byte-level BPE of a folder's tokenizer.json, with RoBERTa's special tokens.

    So pad, bos, eos, unk are `<pad>`, `<s>`, `</s>`, `<unk>`. Raises FileNotFoundError without the
    file, ValueError if it is of another tokenizer type.
    """
    path = Path(folder) / "tokenizer.json"
    model = json.loads(path.read_text(encoding="utf-8"))["model"]
    if model.get("type", "BPE") != "BPE" or "\u0120" not in model["vocab"]:
        raise ValueError(
            f"folder: {path} is a tokenizer of type {model.get('type')!r}; expected byte-level BPE"
        )
    ids: dict[str, int] = model["vocab"]
    merges = [m if isinstance(m, str) else " ".join(m) for m in model["merges"]]  # both forms occur
    vocab = sorted(ids, key=ids.__getitem__)
    return ByteBPETokenizer(vocab, merges, ROBERTA_SPECIALS)


@dataclass(frozen=True)
class Letters:
    """The decoding vocabulary of a published speech recognizer.

    names  the token of each id: characters, subword tokens, special tokens
    space  the character, or the prefix of a subword, for a space: "|" or "\u2581"
    pad    the id of padding, which is CTC's blank
    silent the ids that decode to nothing
    lower  whether the text is converted to lower case
    """

    names: tuple[str, ...]
    space: str
    pad: int
    silent: frozenset[int]
    lower: bool = False

    def text(self, ids: Sequence[int]) -> str:
        """Return the text of ids, without leading and trailing spaces."""
        found = "".join(self.names[i] for i in ids if i not in self.silent)
        found = found.replace(self.space, " ").strip()
        return found.lower() if self.lower else found


def letters(folder: str | Path) -> Letters:
    """Return a folder's vocab.json for decoding: the characters of wav2vec 2.0 and HuBERT ("|" is
    the space), or the subword tokens of Speech2Text, which decoding only joins.

    As in transformers, characters decode to all tokens but padding, subwords to no special tokens.
    Raises ValueError if ids are missing or padding has none.
    """
    path = Path(folder) / "vocab.json"
    vocab: dict[str, int] = json.loads(path.read_text(encoding="utf-8"))
    if not vocab or sorted(vocab.values()) != list(range(len(vocab))):
        raise ValueError(f"folder: {path} does not have one name for each id 0 to {len(vocab) - 1}")
    config = _told(Path(folder))
    special = {key: _name(config.get(f"{key}_token"), default) for key, default in SPECIAL.items()}
    if special["pad"] not in vocab:
        raise ValueError(f"folder: {path} has no padding token {special['pad']!r}")
    names, pad = tuple(sorted(vocab, key=vocab.__getitem__)), vocab[special["pad"]]
    if any(name.startswith(PIECE) for name in names):
        silent = frozenset(vocab[name] for name in special.values() if name in vocab)
        return Letters(names, PIECE, pad, silent)
    space = _name(config.get("word_delimiter_token"), "|")
    return Letters(names, space, pad, frozenset({pad}), bool(config.get("do_lower_case")))


PIECE = "\u2581"  # SentencePiece's space symbol
SPECIAL = {"pad": "<pad>", "bos": "<s>", "eos": "</s>", "unk": "<unk>"}


def _told(folder: Path) -> dict[str, Any]:
    """Return the tokenizer's settings, from either of the two files that may have them."""
    settings: dict[str, Any] = {}
    for name in ("special_tokens_map.json", "tokenizer_config.json"):
        if (folder / name).is_file():
            settings |= json.loads((folder / name).read_text(encoding="utf-8"))
    return settings


def _name(token: Any, default: str) -> str:
    """Return the name of a special token, given as a string or as a dictionary."""
    if isinstance(token, dict):
        token = token.get("content")
    return token if isinstance(token, str) else default
