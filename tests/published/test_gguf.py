"""GGUF files: laid out by hand, damaged, beside the library `gguf`, and a decoder out of one."""

from __future__ import annotations

import struct
from collections.abc import Callable
from pathlib import Path
from typing import Any
from unittest import mock

import gguf as library
import numpy as np
import pytest
import torch
from gguf_bytes import laid_out, string, value
from hypothesis import given
from hypothesis import strategies as st

from deepdive.models.generative import llama
from deepdive.models.generative.llama import Llama
from deepdive.published import gguf
from deepdive.published.from_gguf import model_of, tokenizer_of
from deepdive.published.quantized import KINDS, quantize
from deepdive.tokenizers.byte_bpe import VISIBLE

SETTINGS: dict[str, Any] = {
    "general.architecture": "llama",
    "a.whole": 7,
    "a.negative": struct.pack("<Ii", 5, -7),
    "a.small": struct.pack("<Ib", 1, -1),
    "a.long": struct.pack("<IQ", 10, 2**40),
    "a.half": 0.5,
    "a.precise": struct.pack("<Id", 12, 0.1),
    "a.flag": True,
    "a.word": "naïve 東",
    "a.list": [1, 2, 3],
    "a.words": ["x", "", "Ġy"],
    "a.lists": [[1, 2], [3]],
}
NUMBERS = np.arange(6, dtype="<f4")
TENSORS = {
    "plain": ((2, 3), 0, NUMBERS.tobytes()),
    "four": ((2, 32), 3, quantize("Q4_1", np.linspace(-1, 1, 64, dtype=np.float32)).tobytes()),
    "half": ((5,), 1, np.arange(5, dtype="<f2").tobytes()),
}
WHOLE = laid_out(SETTINGS, TENSORS)


def written(folder: Path, content: bytes) -> Path:
    file = folder / "model.gguf"
    file.write_bytes(content)
    return file


def test_each_setting_and_each_tensor_is_read(tmp_path: Path) -> None:
    for version, alignment in ((2, 32), (3, 32), (3, 64)):
        told = {**SETTINGS, "general.alignment": alignment}
        content = laid_out(told, TENSORS, version=version, alignment=alignment)
        file = gguf.read(written(tmp_path, content))
        assert file.version == version
        assert file.metadata == {
            "general.architecture": "llama", "a.whole": 7, "a.negative": -7, "a.small": -1,
            "a.long": 2**40, "a.half": 0.5, "a.precise": 0.1, "a.flag": True, "a.word": "naïve 東",
            "a.list": [1, 2, 3], "a.words": ["x", "", "Ġy"], "a.lists": [[1, 2], [3]],
            "general.alignment": alignment,
        }  # fmt: skip
        assert {name: place.shape for name, place in file.tensors.items()} == {
            "plain": (2, 3), "four": (2, 32), "half": (5,)
        }  # fmt: skip
        assert all(place.start % alignment == 0 for place in file.tensors.values())
        assert torch.equal(file.tensor("plain"), torch.arange(6.0).view(2, 3))
        assert torch.equal(file.tensor("half"), torch.arange(5.0))
        step = torch.linspace(-1, 1, 64).view(2, 32) - file.tensor("four")
        assert 0 < step.abs().max() < 1 / 15


def test_the_library_writes_what_we_read(tmp_path: Path) -> None:
    x = np.random.default_rng(0).standard_normal((4, 64)).astype(np.float32)
    writer = library.GGUFWriter(tmp_path / "theirs.gguf", "llama")
    writer.add_block_count(3)
    writer.add_token_list(["a", "b"])
    writer.add_rope_freq_base(5e5)
    for kind in KINDS.values():
        theirs = getattr(library.GGMLQuantizationType, kind.name)
        writer.add_tensor(kind.name, library.quants.quantize(x, theirs), raw_dtype=theirs)
    writer.write_header_to_file()
    writer.write_kv_data_to_file()
    writer.write_tensors_to_file()
    writer.close()
    file = gguf.read(tmp_path / "theirs.gguf")
    assert file.metadata["llama.block_count"] == 3
    assert file.metadata["llama.rope.freq_base"] == 5e5
    assert file.metadata["tokenizer.ggml.tokens"] == ["a", "b"]
    read = library.GGUFReader(tmp_path / "theirs.gguf").tensors
    assert [each.name for each in read] == list(file.tensors)
    for each in read:
        expected = library.quants.dequantize(each.data, each.tensor_type)
        assert np.array_equal(file.tensor(each.name).numpy(), expected), each.name


def test_the_library_reads_what_the_tests_lay_out(tmp_path: Path) -> None:
    theirs = library.GGUFReader(written(tmp_path, WHOLE))
    assert theirs.fields["a.long"].parts[-1][0] == 2**40
    assert np.array_equal(theirs.tensors[0].data, NUMBERS.reshape(2, 3))


def test_what_no_one_asks_for_is_not_read(tmp_path: Path) -> None:
    """A file of 4 GB, all of it a hole but its beginning."""
    content = laid_out(SETTINGS, {"first": ((2, 3), 0, NUMBERS.tobytes())})
    more = {"first": ((2, 3), 0, NUMBERS.tobytes()), "huge": ((1 << 15, 1 << 15), 0, b"")}
    file = written(tmp_path, laid_out(SETTINGS, more))
    with file.open("r+b") as opened:
        opened.truncate(len(content) + 2**32 + 256)
    found = gguf.read(file)
    assert found.tensors["huge"].shape == (1 << 15, 1 << 15)
    assert torch.equal(found.tensor("first"), torch.arange(6.0).view(2, 3))


def test_numbers_may_be_changed_and_the_file_stays(tmp_path: Path) -> None:
    file = gguf.read(written(tmp_path, WHOLE))
    for name in file.tensors:
        file.tensor(name).zero_()
    assert (tmp_path / "model.gguf").read_bytes() == WHOLE


def changed(at: int, new: bytes) -> bytes:
    return WHOLE[:at] + new + WHOLE[at + len(new) :]


DAMAGED: dict[str, tuple[bytes, str]] = {
    "nothing": (b"", "has 0 bytes"),
    "another form": (b"PK\3\4" + WHOLE[4:], r"starts with b'PK\\x03\\x04'; a GGUF file starts"),
    "the first version": (changed(4, struct.pack("<I", 1)), "GGUF version 1"),
    "a later version": (changed(4, struct.pack("<I", 4)), "GGUF version 4"),
    "big-endian": (changed(4, struct.pack(">I", 3)), "big-endian"),
    "a type of setting": (laid_out({"a": struct.pack("<I", 13)}, {}), "the setting a of type 13"),
    "a type in a list": (
        laid_out({"a": struct.pack("<IIQ", 9, 77, 1)}, {}),
        "the setting a of type 77",
    ),
    "lists without end": (
        laid_out({"a": struct.pack("<I", 9) + struct.pack("<IQ", 9, 1) * 50}, {}),
        "nested too deeply",
    ),
    "no UTF-8": (
        laid_out({"a": struct.pack("<IQ", 8, 1) + b"\xff"}, {}),
        "a string in the setting a that is not UTF-8",
    ),
    "more settings than there are": (changed(16, struct.pack("<Q", 2**60)), "is truncated"),
    "more tensors than there are": (changed(8, struct.pack("<Q", 2**60)), "is truncated|dim"),
    "a string longer than the file": (changed(24, struct.pack("<Q", 2**62)), "truncated: the he"),
    "a list longer than the file": (
        laid_out({"a": struct.pack("<IIQ", 9, 4, 2**60)}, {}),
        "is truncated: the setting a ends",
    ),
    "cut in the settings": (WHOLE[:100], "is truncated: the setting"),
    "cut in the numbers": (WHOLE[:-1], "is truncated: half ends at byte"),
    "alignment 0": (laid_out({"general.alignment": 0}, {}), "general.alignment=0"),
    "an alignment that is a word": (laid_out({"general.alignment": "x"}, {}), "alignment='x'"),
    "no sides": (laid_out({}, {"t": ((), 0, b"")}), "0 dimensions for t"),
    "five sides": (laid_out({}, {"t": ((1,) * 5, 0, b"1234")}), "5 dimensions for t"),
    "a side of 0": (laid_out({}, {"t": ((2, 0), 0, b"")}), r"shape \[0, 2\] for t"),
    "rows that end in a block": (
        laid_out({}, {"t": ((2, 16), 3, b"\0" * 20)}),
        r"t of shape \(2, 16\) as Q4_1; .*block size 32",
    ),
    "larger than the file": (laid_out({}, {"t": ((2**60, 4), 0, b"")}), "is truncated: t ends"),
}


@pytest.mark.parametrize("name", DAMAGED)
def test_a_damaged_file_is_refused_by_what_is_wrong(name: str, tmp_path: Path) -> None:
    content, message = DAMAGED[name]
    with pytest.raises(ValueError, match=message):
        gguf.read(written(tmp_path, content))


def test_a_setting_or_a_tensor_that_stands_twice_is_refused(tmp_path: Path) -> None:
    head = b"GGUF" + struct.pack("<IQQ", 3, 0, 2) + (string("a") + value(1)) * 2
    with pytest.raises(ValueError, match="has 'a' twice"):
        gguf.read(written(tmp_path, head))
    one = string("t") + struct.pack("<IQIQ", 1, 1, 0, 0)
    with pytest.raises(ValueError, match="has 't' twice"):
        gguf.read(written(tmp_path, b"GGUF" + struct.pack("<IQQ", 3, 2, 0) + one * 2))


def test_a_kind_that_is_not_read_is_named_when_it_is_asked_for(tmp_path: Path) -> None:
    tensors = {"t": ((1, 256), 14, b"\0" * 210), "plain": TENSORS["plain"]}
    file = gguf.read(written(tmp_path, laid_out({}, tensors)))
    assert file.tensor("plain").shape == (2, 3)
    with pytest.raises(ValueError, match=r"t in ggml's type 14; supported: 0 \(F32\)"):
        file.tensor("t")


def test_no_file_is_said(tmp_path: Path) -> None:
    with pytest.raises(FileNotFoundError, match="does not exist"):
        gguf.read(tmp_path / "none.gguf")


@given(at=st.integers(0, len(WHOLE) - 1), new=st.integers(0, 255), cut=st.booleans())
def test_no_damage_makes_anything_but_a_message(
    tmp_path_factory: pytest.TempPathFactory, at: int, new: int, cut: bool
) -> None:
    folder = tmp_path_factory.mktemp("damaged")
    content = WHOLE[:at] if cut else changed(at, bytes([new]))
    told = ""
    try:
        file = gguf.read(written(folder, content))
        for name in file.tensors:
            file.tensor(name)
    except ValueError as error:
        told = str(error)
    assert len(told) > 30 or not cut


# A decoder out of a file


def named(model: Llama) -> dict[str, torch.Tensor]:
    """The weights of our model as llama.cpp names them, keys and values apart."""
    found = {
        "token_embd.weight": model.decoder.embedding.weight,
        "output_norm.weight": model.decoder.stack.norm.weight,
    }
    if not model.config.tied:
        found["output.weight"] = model.head.weight
    for i, block in enumerate(model.decoder.stack.blocks):
        k, v = block.attn.kv.weight.chunk(2)
        found |= {
            f"blk.{i}.attn_norm.weight": block.attn_residual.norm.weight,
            f"blk.{i}.attn_q.weight": block.attn.q.weight,
            f"blk.{i}.attn_k.weight": k,
            f"blk.{i}.attn_v.weight": v,
            f"blk.{i}.attn_output.weight": block.attn.out.weight,
            f"blk.{i}.ffn_norm.weight": block.ff_residual.norm.weight,
            f"blk.{i}.ffn_gate.weight": block.ff.gate.weight,
            f"blk.{i}.ffn_up.weight": block.ff.inner.weight,
            f"blk.{i}.ffn_down.weight": block.ff.out.weight,
        }
    return {name: tensor.detach() for name, tensor in found.items()}


TOKENS = ["<end>", "<start>", "<stop>", "a", "b", "ab", "1", "2", VISIBLE[32], VISIBLE[32] + "a"]
TOLD: dict[str, Any] = {
    "general.architecture": "llama",
    "llama.embedding_length": 64,
    "llama.attention.head_count": 4,
    "llama.attention.head_count_kv": 2,
    "llama.block_count": 2,
    "llama.feed_forward_length": 32,
    "llama.context_length": 64,
    "llama.rope.freq_base": 500.0,
    "llama.rope.dimension_count": 16,
    "llama.attention.layer_norm_rms_epsilon": 0.125,
    "tokenizer.ggml.model": "gpt2",
    "tokenizer.ggml.pre": "smollm",
    "tokenizer.ggml.tokens": TOKENS,
    "tokenizer.ggml.token_type": [3, 3, 3, *[1] * 7],
    "tokenizer.ggml.merges": [f"{VISIBLE[32]} a", "a b"],
    "tokenizer.ggml.bos_token_id": 1,
    "tokenizer.ggml.eos_token_id": 2,
    "tokenizer.ggml.unknown_token_id": 0,
}
Changes = dict[str, Any]


def model_file(folder: Path, model: Llama, kind: int = 0, **changes: Any) -> gguf.Gguf:
    """A model written as llama.cpp would: matrices in `kind`, norms in float32."""
    tensors = {}
    for name, tensor in named(model).items():
        how = 0 if tensor.ndim == 1 else kind
        numbers = quantize(KINDS[how].name, tensor.numpy())
        tensors[name] = (tuple(tensor.shape), how, numbers.tobytes())
    told = {key: v for key, v in {**TOLD, **changes}.items() if v is not None}
    return gguf.read(written(folder, laid_out(told, tensors)))


def tiny(**changes: Any) -> Llama:
    sizes = {"vocab_size": 10, "d_model": 64, "d_ff": 32, "base": 500.0, "eps": 0.125}
    return llama.llama(llama.TINY, **sizes, **changes).eval()


@pytest.mark.parametrize("tied", [False, True])
def test_a_decoder_is_read_whole(tied: bool, tmp_path: Path) -> None:
    ours, tokens = tiny(tied=tied), torch.tensor([[1, 3, 8, 9, 2]])
    found = model_of(model_file(tmp_path, ours))
    assert found.config == ours.config
    assert not found.training
    assert torch.equal(found(tokens), ours(tokens))
    packed = model_of(model_file(tmp_path, ours, kind=3))  # four bits
    lost = (packed(tokens) - ours(tokens)).abs().max()
    assert 1e-4 < lost < 0.1


def test_turned_rows_lie_as_they_do_here(tmp_path: Path) -> None:
    """llama.cpp writes W_q of transformers' layout with the rows of each pair side by side, so the
    two ways into our model must meet.
    """
    from transformers import LlamaForCausalLM

    from deepdive.published import save

    ours, tokens = tiny(), torch.tensor([[1, 3, 8, 9, 2]])
    theirs = LlamaForCausalLM.from_pretrained(save(ours, tmp_path)).state_dict()
    rows = theirs["model.layers.0.self_attn.q_proj.weight"]
    heads = rows.reshape(4, 2, 8, 64).swapaxes(1, 2).reshape(64, 64)  # as llama.cpp converts
    file = model_file(tmp_path, ours)
    assert torch.equal(file.tensor("blk.0.attn_q.weight"), heads)
    assert torch.equal(model_of(file)(tokens), ours(tokens))


REFUSED: dict[str, tuple[Changes, str]] = {
    "another architecture": ({"general.architecture": "mamba"}, "general.architecture=mamba"),
    "none": ({"general.architecture": None}, "has no general\\.architecture"),
    "experts": ({"llama.expert_count": 8}, "llama.expert_count=8"),
    "stretched angles": ({"llama.rope.scaling.type": "linear"}, "scaling.type=linear"),
    "half a head turned": ({"llama.rope.dimension_count": 8}, "rotates 8 of the 16 entries"),
    "a width of none": ({"llama.embedding_length": 0}, "d_model"),
    "more layers": ({"llama.block_count": 2_000_000}, "2,000,000 layers"),
    "a wider layer": ({"llama.feed_forward_length": 2**20}, "config needs"),
    "a word for a number": ({"llama.block_count": "two"}, "block_count='two'"),
    "fewer layers": ({"llama.block_count": 1}, r"unknown to the model: blk\.1|blk\.1\.attn_q"),
}


@pytest.mark.parametrize("name", REFUSED)
def test_a_model_that_is_not_built_is_refused(name: str, tmp_path: Path) -> None:
    changes, message = REFUSED[name]
    with pytest.raises(ValueError, match=message):
        model_of(model_file(tmp_path, tiny(), **changes))


def test_a_tokeniser_is_read(tmp_path: Path) -> None:
    tokenizer = tokenizer_of(model_file(tmp_path, tiny()))
    assert (tokenizer.pad, tokenizer.bos, tokenizer.eos, tokenizer.unk) == (2, 1, 2, 0)
    assert tokenizer.encode("ab ab 12", bos=True) == [1, 5, 9, 4, 8, 6, 7]
    assert tokenizer.decode([1, 5, 9, 4, 8, 6, 7, 2]) == "ab ab 12"
    for changes, message in (
        ({"tokenizer.ggml.model": "llama"}, "type 'llama'"),
        ({"tokenizer.ggml.pre": "qwen2"}, "pre-tokenizer 'qwen2'"),
        ({"tokenizer.ggml.model": None}, "type None"),
        ({"tokenizer.ggml.merges": None}, "incomplete .*merges"),
        ({"tokenizer.ggml.eos_token_id": 10}, "incomplete .*token id 10 of 10"),
        ({"tokenizer.ggml.token_type": [3]}, "incomplete .*shorter"),
    ):
        with pytest.raises(ValueError, match=message):
            tokenizer_of(model_file(tmp_path, tiny(), **changes))


MUTATIONS: dict[str, tuple[str, Callable[..., Any]]] = {
    "sides in the file's order": (
        "deepdive.published.gguf.reversed",
        lambda sides: iter(sides),
    ),
    "numbers from the end of the header": (
        "deepdive.published.gguf._aligned",
        lambda path, at, alignment: at,
    ),
}


@pytest.mark.parametrize("name", MUTATIONS)
def test_a_mutation_is_seen(name: str, tmp_path: Path) -> None:
    target, wrong = MUTATIONS[name]
    with (
        mock.patch(target, wrong, create=True),
        pytest.raises((AssertionError, ValueError, RuntimeError)),
    ):
        test_each_setting_and_each_tensor_is_read(tmp_path)


def test_tensors_on_the_same_bytes_are_refused(tmp_path: Path) -> None:
    """As the library that writes such files, and safetensors, do."""
    numbers = np.arange(4, dtype="<f4").tobytes()
    content = laid_out({}, {"a": ((4,), 0, numbers), "b": ((4,), 0, numbers)})
    assert set(gguf.read(written(tmp_path, content)).tensors) == {"a", "b"}
    at = content.index(b"b", 24) + 1 + 4 + 8 + 4  # behind name, number of sides, side, and kind
    folded = content[:at] + bytes(8) + content[at + 8 :]
    with pytest.raises(ValueError, match="has a and b at the same bytes"):
        gguf.read(written(tmp_path, folded))


def test_shapes_are_compared_before_anything_is_unpacked(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    file = model_file(tmp_path, tiny(), **{"llama.feed_forward_length": 999})
    unpacked: list[str] = []
    monkeypatch.setattr(gguf.Gguf, "tensor", lambda self, name: unpacked.append(name))
    with pytest.raises(ValueError, match="999"):
        model_of(file)
    assert not unpacked


@pytest.mark.parametrize("number", [-3, True, 4_000_000_000])
def test_a_token_id_that_is_none_is_refused(number: Any, tmp_path: Path) -> None:
    file = gguf.Gguf(
        tmp_path / "a.gguf",
        3,
        {
            "tokenizer.ggml.model": "gpt2",
            "tokenizer.ggml.pre": "gpt-2",
            "tokenizer.ggml.tokens": ["a", "b", "<s>"],
            "tokenizer.ggml.token_type": [1, 1, 3],
            "tokenizer.ggml.merges": [],
            "tokenizer.ggml.eos_token_id": 2,
            "tokenizer.ggml.bos_token_id": number,
        },
        {},
        np.zeros(1, np.uint8),
    )
    with pytest.raises(ValueError, match=rf"incomplete .*token id {number}"):
        tokenizer_of(file)
