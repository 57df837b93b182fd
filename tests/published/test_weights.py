"""Adopting weights: the rules, strictness, files, the hub, and torch's own layers."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
import torch
from checkout import ROOT
from hypothesis import given
from hypothesis import strategies as st
from model_hub import serving
from safetensors.torch import save_file
from torch import Tensor, nn

from deepdive.core.embeddings import TiedHead, TokenEmbedding
from deepdive.published import from_config, load
from deepdive.published.from_torch import from_torch
from deepdive.published.weights import (
    Change,
    Join,
    Split,
    adopt,
    from_hub,
    read,
    read_config,
    translate,
)
from deepdive.training.checkpoint import save_weights


class Tied(nn.Module):
    """An embedding that is the output layer too, and a buffer."""

    def __init__(self) -> None:
        super().__init__()
        self.embedding = TokenEmbedding(5, 3)
        self.head = TiedHead(self.embedding, bias=True)
        self.steps: Tensor
        self.register_buffer("steps", torch.zeros(2))


def tied_tensors() -> dict[str, Tensor]:
    return {
        "embedding.weight": torch.randn(5, 3),
        "head.bias": torch.randn(5),
        "steps": torch.tensor([3.0, 4.0]),
    }


def names(tensors: dict[str, Tensor], rules: Any, leave_out: Any = ()) -> dict[str, list[float]]:
    return {n: s.tensor.tolist() for n, s in translate(tensors, rules, leave_out).items()}


def test_rules_act_in_their_order() -> None:
    tensors = {
        "model.layers.0.q.weight": torch.tensor([1.0]),
        "model.layers.0.k.weight": torch.tensor([2.0]),
        "model.layers.0.v.weight": torch.tensor([3.0]),
        "model.layers.1.qkv": torch.tensor([4.0, 5.0, 6.0]),
        "model.table": torch.tensor([[7.0, 8.0]]),
        "unwanted": torch.tensor([9.0]),
    }
    rules = [
        (r"^model\.", ""),
        (r"layers\.(\d+)", r"blocks.\1"),
        Split(r"\.qkv$", (".q.weight", ".k.weight", ".v.weight")),
        Join((r"\.k\.", r"\.v\."), ".kv."),
        Change(r"^table$", torch.t),
        Change(r"^absent$", torch.t),
    ]
    assert names(tensors, rules, ["unwanted", "absent too"]) == {
        "blocks.0.q.weight": [1.0],
        "blocks.0.kv.weight": [2.0, 3.0],
        "blocks.1.q.weight": [4.0],
        "blocks.1.kv.weight": [5.0, 6.0],
        "table": [[7.0], [8.0]],
    }


@given(st.integers(1, 4), st.integers(1, 4), st.integers(1, 3))
def test_a_split_undoes_a_join(parts: int, size: int, width: int) -> None:
    tensors = {f"part{i}": torch.randn(size, width) for i in range(parts)}
    join = Join([rf"^part{i}$" for i in range(parts)], "all")
    split = Split(r"^all$", [f"part{i}" for i in range(parts)])
    back = translate(tensors, [join, split])
    assert back.keys() == tensors.keys()
    assert all(torch.equal(back[n].tensor, tensors[n]) for n in tensors)


@pytest.mark.parametrize(
    ("rules", "message"),
    [
        ([(r"^[ab]$", "c")], "two tensors map to c: a and b"),
        ([Join(("^a$", "^absent$"), "c")], "c needs 2 tensors to concatenate; got only a"),
        ([Split("^a$", ("x", "y"))], "a has 3 rows, not divisible into 2 parts"),
        ([Split("^a$", ("b", "y", "z"))], r"two tensors map to b: b and a \(part 1 of 3\)"),
        ([Join(("^b$", "^d$"), "a")], "two tensors map to a: a and b, d"),
    ],
)
def test_rules_that_do_not_fit_are_named(rules: Any, message: str) -> None:
    tensors = {"a": torch.zeros(3), "b": torch.zeros(3), "d": torch.zeros(3)}
    with pytest.raises(ValueError, match=message):
        translate(tensors, rules)


def test_adopt_copies_ties_and_buffers() -> None:
    module, tensors = Tied(), tied_tensors()
    adopt(module, tensors)
    assert module.head.embedding.weight is module.embedding.weight
    for name, value in tensors.items():
        assert torch.equal(module.state_dict()[name], value)
    value = tensors.pop("embedding.weight")
    adopt(module, {**tensors, "head.embedding.weight": value + 1})
    assert torch.equal(module.embedding.weight, value + 1)
    adopt(module, {**tensors, "embedding.weight": value, "head.embedding.weight": value.clone()})
    assert torch.equal(module.embedding.weight, value)


def test_adopt_keeps_the_dtype_of_the_module() -> None:
    module = Tied().double()
    adopt(module, {n: t.half() for n, t in tied_tensors().items()})
    assert {t.dtype for t in module.state_dict().values()} == {torch.float64}


@pytest.mark.parametrize(
    ("kind", "told"),
    [
        (torch.int8, "got torch.int8 from head.bias"),
        (torch.int64, "got torch.int64"),
        (torch.bool, "got torch.bool"),
        (torch.complex64, "got torch.complex64"),
        (torch.float8_e4m3fn, "got torch.float8_e4m3fn"),
    ],
)
def test_adopt_refuses_numbers_of_another_kind(kind: torch.dtype, told: str) -> None:
    module, tensors = Tied(), tied_tensors()
    before = {name: x.clone() for name, x in module.state_dict().items()}
    tensors["head.bias"] = torch.tensor([0, 1, 1, 0, 1]).to(kind)
    with pytest.raises(ValueError, match=rf"dtype of head\.bias: expected a float.*{told}"):
        adopt(module, tensors)
    assert all(torch.equal(x, before[name]) for name, x in module.state_dict().items())


def test_adopt_refuses_floats_for_whole_numbers() -> None:
    module = nn.BatchNorm1d(2)
    tensors = {name: x.clone() for name, x in module.state_dict().items()}
    adopt(module, tensors)
    tensors["num_batches_tracked"] = torch.tensor(1.5)
    with pytest.raises(ValueError, match=r"num_batches_tracked: expected torch\.int64, got .*32"):
        adopt(module, tensors)


@pytest.mark.parametrize("bad", [torch.nan, torch.inf, 1e300])
def test_adopt_names_what_is_not_finite(bad: float) -> None:
    module, tensors = Tied(), tied_tensors()
    tensors["head.bias"] = torch.tensor([1.0, bad, 2.0, bad, 3.0], dtype=torch.float64)
    told = r"values of head\.bias: 2 of 5 from head\.bias are not finite as torch\.float32"
    with pytest.raises(ValueError, match=told) as error:
        adopt(module, tensors)
    assert "ties" not in str(error.value)


def test_adopt_lists_everything_that_is_wrong_and_changes_nothing() -> None:
    module = Tied()
    before = {n: t.clone() for n, t in module.state_dict().items()}
    tensors = {
        "tokens": torch.zeros(5, 4),
        "old.name": torch.zeros(2),
        "steps": torch.zeros(2),
    }
    with pytest.raises(ValueError, match="do not fit Tied") as raised:
        adopt(module, tensors, [(r"^tokens$", "embedding.weight")])
    for line in (
        "shape of embedding.weight: expected (5, 3), got (5, 4) from tokens",
        "unknown to the model: old.name, from old.name",
        "missing in the source: head.bias",
    ):
        assert line in str(raised.value)
    assert all(torch.equal(before[n], t) for n, t in module.state_dict().items())


def test_ties_that_differ_are_refused() -> None:
    tensors = {**tied_tensors(), "head.embedding.weight": torch.zeros(5, 3)}
    with pytest.raises(ValueError, match=r"tied in the model, but .*: embedding\.weight, head\."):
        adopt(Tied(), tensors)


def test_read_takes_a_file_a_folder_and_shards(tmp_path: Path) -> None:
    tensors = tied_tensors()
    save_file(tensors, tmp_path / "model.safetensors")
    for path in (tmp_path, str(tmp_path), tmp_path / "model.safetensors"):
        found = read(path)
        assert found.keys() == tensors.keys()
        assert all(torch.equal(found[n], tensors[n]) for n in tensors)

    shards = tmp_path / "shards"
    shards.mkdir()
    where = dict(zip(tensors, ("1.safetensors", "2.safetensors", "1.safetensors"), strict=True))
    for file in set(where.values()):
        save_file({n: t for n, t in tensors.items() if where[n] == file}, shards / file)
    index = shards / "model.safetensors.index.json"
    index.write_text(json.dumps({"metadata": {}, "weight_map": where}))
    assert all(torch.equal(t, tensors[n]) for n, t in read(shards).items())
    assert read(shards).keys() == tensors.keys()

    index.write_text(json.dumps({"weight_map": {"a": "../model.safetensors"}}))
    with pytest.raises((FileNotFoundError, ValueError)):  # no file outside the folder is read
        read(shards)


def test_a_pickle_is_never_opened(tmp_path: Path) -> None:
    class Trap:
        def __reduce__(self) -> Any:
            return (os.system, (f"touch {tmp_path / 'sprung'}",))

    torch.save(Trap(), tmp_path / "pytorch_model.bin")
    for path in (tmp_path, tmp_path / "pytorch_model.bin"):
        with pytest.raises(ValueError, match=r"only in pytorch_model\.bin, a pickle") as raised:
            read(path)
        assert "save_pretrained" in str(raised.value)
    assert not (tmp_path / "sprung").exists()


def test_what_is_not_there_or_damaged_is_named(tmp_path: Path) -> None:
    with pytest.raises(FileNotFoundError, match=r"no safetensors file at .*empty"):
        read(tmp_path / "empty")
    with pytest.raises(FileNotFoundError, match=r"has no config\.json"):
        read_config(tmp_path)
    path = tmp_path / "model.safetensors"
    save_file(tied_tensors(), path)
    path.write_bytes(path.read_bytes()[:-4])
    with pytest.raises(ValueError, match=r"model\.safetensors is not a complete safetensors file"):
        read(tmp_path)


def test_a_checkpoint_in_a_folder(tmp_path: Path) -> None:
    """Written by transformers, read by us, saved by us, loaded again: the same output."""
    from transformers import MarianConfig, MarianMTModel

    sizes = {f"{s}_{k}": 8 for s in ("encoder", "decoder") for k in ("ffn_dim",)}
    layers = {"encoder_layers": 1, "decoder_layers": 1}
    heads = {"encoder_attention_heads": 2, "decoder_attention_heads": 2}
    theirs = MarianMTModel(
        MarianConfig(
            vocab_size=12, d_model=8, pad_token_id=11, decoder_start_token_id=11,
            max_position_embeddings=16, **sizes, **layers, **heads,
        )
    )  # fmt: skip
    theirs.save_pretrained(tmp_path, max_shard_size="4kB")
    assert (tmp_path / "model.safetensors.index.json").exists()
    ours = load(tmp_path)
    src, tgt = torch.tensor([[4, 5, 6]]), torch.tensor([[11, 7]])
    expected = theirs.eval()(input_ids=src, decoder_input_ids=tgt).logits
    assert torch.allclose(ours(src, tgt), expected, atol=1e-6)
    save_weights(ours, tmp_path / "ours.safetensors")
    again = from_config(read_config(tmp_path)).eval()
    adopt(again, read(tmp_path / "ours.safetensors"))
    assert torch.equal(again(src, tgt), ours(src, tgt))


@pytest.fixture
def hub(tmp_path: Path) -> Iterator[dict[str, str]]:
    save_file(tied_tensors(), tmp_path / "model.safetensors")
    files = {
        "config.json": b'{"model_type": "tied"}',
        "model.safetensors": (tmp_path / "model.safetensors").read_bytes(),
        "pytorch_model.bin": b"a pickle",
    }
    with serving(files, tmp_path / "hf") as environment:
        yield environment


FETCH = """
from deepdive.published.weights import from_hub, read, read_config
folder = from_hub("somebody/something")
print(sorted(read(folder)), read_config(folder), sorted(p.name for p in folder.iterdir()))
"""


def test_from_hub_fetches_what_is_safe_and_keeps_it(hub: dict[str, str]) -> None:
    def fetch(**settings: str) -> str:
        environment = {**os.environ, **hub, "PYTHONPATH": str(ROOT / "lib"), **settings}
        run = subprocess.run(
            [sys.executable, "-c", FETCH], env=environment, capture_output=True, text=True
        )
        assert run.returncode == 0, run.stderr[-2000:]
        return run.stdout

    expected = (
        "['embedding.weight', 'head.bias', 'steps'] {'model_type': 'tied'} "
        "['config.json', 'model.safetensors']\n"
    )
    assert fetch() == expected
    assert fetch(HF_HUB_OFFLINE="1") == expected  # the second time, without the network


def test_from_hub_says_what_it_needs(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "huggingface_hub", None)
    with pytest.raises(ImportError, match="pip install huggingface_hub"):
        from_hub("somebody/something")


@pytest.mark.parametrize(
    ("theirs", "message"),
    [
        (lambda: nn.Linear(2, 2), "expected nn.MultiheadAttention"),
        (lambda: nn.MultiheadAttention(8, 2, add_zero_attn=True), "add_zero_attn"),
        (lambda: nn.MultiheadAttention(8, 2, add_bias_kv=True), "add_bias_kv"),
        (lambda: nn.MultiheadAttention(8, 2, kdim=3, vdim=4), "kdim=3 and vdim=4"),
    ],
)
def test_from_torch_refuses_what_ours_lack(theirs: Any, message: str) -> None:
    with pytest.raises((TypeError, ValueError), match=message):
        from_torch(theirs())


def test_from_torch_keeps_dtype_mode_and_dropout() -> None:
    layer = nn.TransformerEncoderLayer(8, 2, 12, dropout=0.25, batch_first=True)
    ours: Any = from_torch(layer.double().eval())
    assert not ours.training
    assert {p.dtype for p in ours.parameters()} == {torch.float64}
    assert {m.p for m in ours.modules() if isinstance(m, nn.Dropout)} == {0.25}
    assert from_torch(layer.train()).training
