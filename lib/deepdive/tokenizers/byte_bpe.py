"""Byte-level BPE, as in GPT-2."""

from collections.abc import Iterable, Sequence
from itertools import accumulate

from deepdive.tokenizers.base import utf8
from deepdive.tokenizers.bpe import BPETokenizer
from deepdive.tokenizers.splitting import digits_apart, gpt2_words


def _visible_bytes() -> dict[int, str]:
    """Return a printable character for each byte: the Latin-1 one, or one from U+0100 on."""
    own = [*range(0x21, 0x7F), *range(0xA1, 0xAD), *range(0xAE, 0x100)]
    others = [byte for byte in range(256) if byte not in own]
    return {byte: chr(byte) for byte in own} | {b: chr(256 + i) for i, b in enumerate(others)}


VISIBLE = _visible_bytes()  # a space is "Ġ", a line's end "Ċ"
BYTE = {char: byte for byte, char in VISIBLE.items()}


class ByteBPETokenizer(BPETokenizer):
    """BPE whose alphabet is the 256 bytes, so there are no unknown tokens.

    Text is split by GPT-2's pattern (`gpt2_words`) and encoded as UTF-8, and each byte is mapped to
    a printable character (`VISIBLE`). `decode(encode(text)) == text` for every text; bytes that are
    not UTF-8, which a model may generate, decode to U+FFFD.

    With GPT-2's files: `ByteBPETokenizer(vocab, merges, specials=["<|endoftext|>"] * 4)`.

    Source: Radford et al., "Language Models are Unsupervised Multitask Learners", 2019, section
    2.2, and its released code.
    """

    @staticmethod
    def alphabet(words: Iterable[str]) -> list[str]:
        return sorted(BYTE)

    @staticmethod
    def split(text: str) -> list[str]:
        return [utf8(word).decode("latin-1").translate(VISIBLE) for word in gpt2_words(text)]

    def join(self, pieces: Sequence[str]) -> str:
        whole = b"".join(
            bytes([BYTE[char]]) if char in BYTE else char.encode()  # "<unk>" may have any character
            for char in "".join(pieces)
        )
        return whole.decode(errors="replace")

    def spans(self, text: str) -> list[tuple[int, int]]:
        """Return each token's (start, end) in `text`; split characters count fully."""
        owner = [i for i, char in enumerate(text) for _ in utf8(char)]  # each byte's character
        lengths = [len(token) for token in self.tokens(text)]
        ends = accumulate(lengths)
        return [(owner[end - n], owner[end - 1] + 1) for end, n in zip(ends, lengths, strict=True)]


class DigitBPETokenizer(ByteBPETokenizer):
    """`ByteBPETokenizer` that splits off each digit first: `" 2026"` becomes a space and four
    digits.

    Source: Ben Allal et al. 2025, "SmolLM2", and its tokenizer.json.
    """

    @staticmethod
    def split(text: str) -> list[str]:
        return [word for part in digits_apart(text) for word in ByteBPETokenizer.split(part)]
