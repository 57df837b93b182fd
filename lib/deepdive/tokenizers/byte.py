"""Byte-level tokenizer, as in ByT5: no training, no unknown tokens."""

from collections.abc import Sequence
from typing import Any

from deepdive.tokenizers.base import SPECIALS, Tokenizer, utf8

NAMES = [chr(b) if 0x20 < b < 0x7F else f"<0x{b:02X}>" for b in range(256)]
BYTE = {name: byte for byte, name in enumerate(NAMES)}
BYT5_SPECIALS = ("<pad>", "<pad>", "</s>", "<unk>")  # its decoder starts with padding


class ByteTokenizer(Tokenizer):
    """Encode a text as its UTF-8 bytes: with n special tokens, byte b has id n + b.

    `decode(encode(text)) == text` for every text, with 256 tokens, at the cost of long sequences
    (one token per character in English, two in Greek, three in Chinese). Bytes that are not UTF-8,
    which a model may generate, decode to U+FFFD. Special tokens may be shared (`BYT5_SPECIALS`).

    Source: Xue et al., "ByT5: Towards a Token-Free Future with Pre-trained Byte-to-Byte Models",
    TACL 2022, section 3.
    """

    def __init__(self, specials: Sequence[str] = SPECIALS) -> None:
        super().__init__([*dict.fromkeys(specials), *NAMES], specials)

    @staticmethod
    def split(text: str) -> list[str]:
        return [NAMES[byte] for byte in utf8(text)]

    def join(self, pieces: Sequence[str]) -> str:
        whole = b"".join(bytes([BYTE[p]]) if p in BYTE else p.encode() for p in pieces)
        return whole.decode(errors="replace")

    def _arguments(self) -> dict[str, Any]:
        return {"specials": list(self.specials)}
