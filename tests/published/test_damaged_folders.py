"""Checkpoints whose files are cut, changed or absurd: refused by name, before anything is made."""

from __future__ import annotations

import json
import re
import shutil
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
import torch
from safetensors.torch import save_file

from deepdive.attention import ReleasedLSHAttention
from deepdive.models.bert import albert, bert, distilbert, roberta
from deepdive.models.efficient import bigbird, perceiver, reformer
from deepdive.models.transformer import fsmt, marian
from deepdive.published import classifier, load, save, sentences
from deepdive.published.weights import LARGEST, read, read_config

MODELS: dict[str, Callable[[], Any]] = {
    "bert": lambda: bert.bert(bert.TINY),
    "roberta": lambda: roberta.roberta(roberta.TINY),
    "albert": lambda: albert.albert(albert.TINY),
    "distilbert": lambda: distilbert.distilbert(distilbert.TINY),
    "big_bird": lambda: bigbird.bigbird(bigbird.TINY),
    "reformer": lambda: reformer.reformer(reformer.TINY.but(lsh=ReleasedLSHAttention)),
    "perceiver": lambda: perceiver.perceiver(perceiver.TINY),
    "marian": lambda: marian.marian(marian.TINY),
    "fsmt": lambda: fsmt.fsmt(fsmt.TINY),
}
LAYERS = {
    "bert": ["num_hidden_layers"],
    "albert": ["num_hidden_layers"],
    "distilbert": ["n_layers"],
    "perceiver": ["num_self_attends_per_block", "num_blocks"],
    "marian": ["encoder_layers", "decoder_layers"],
    "fsmt": ["encoder_layers", "decoder_layers"],
}
SIZES = {
    "bert": ["vocab_size", "hidden_size", "intermediate_size", "max_position_embeddings"],
    "roberta": ["vocab_size", "max_position_embeddings"],
    "albert": ["embedding_size"],
    "big_bird": ["hidden_size"],
    "reformer": ["attention_head_size", "feed_forward_size"],
    "perceiver": ["num_latents", "self_attention_widening_factor"],
    "marian": ["vocab_size", "d_model"],
    "fsmt": ["src_vocab_size", "tgt_vocab_size", "decoder_ffn_dim"],
}
Changed = Callable[..., Path]


@pytest.fixture(scope="module")
def published(tmp_path_factory: pytest.TempPathFactory) -> Callable[[str], Path]:
    """The folder of a small model of a family."""
    root = tmp_path_factory.mktemp("published")
    return lambda name: root / name if (root / name).is_dir() else save(MODELS[name](), root / name)


@pytest.fixture
def changed(published: Callable[[str], Path], tmp_path: Path) -> Changed:
    """A folder of such a model whose config.json has these settings otherwise."""

    def change(name: str, **settings: Any) -> Path:
        folder = shutil.copytree(published(name), tmp_path / name)
        config = read_config(folder) | settings
        (folder / "config.json").write_text(json.dumps(config), encoding="utf-8")
        return folder

    return change


@pytest.mark.parametrize(("name", "key"), [(n, key) for n, keys in LAYERS.items() for key in keys])
def test_more_layers_than_the_weights_have_are_not_built(
    changed: Changed, monkeypatch: pytest.MonkeyPatch, name: str, key: str
) -> None:
    folder = changed(name, **{key: 300_000})
    monkeypatch.setattr("torch.nn.Module.__init__", lambda *_, **__: pytest.fail("a part is built"))
    with pytest.raises(ValueError, match=rf"config has 300,000 layers in {key}; the file's \d+ te"):
        load(folder)


@pytest.mark.parametrize(("name", "key"), [(n, key) for n, keys in SIZES.items() for key in keys])
def test_sizes_that_the_weights_have_not_are_not_made(
    changed: Changed, name: str, key: str
) -> None:
    with pytest.raises(ValueError, match=r"weights have [\d,]+:\n  \S+: \(.*\d{9}.*file \("):
        load(changed(name, **{key: 1_000_000_000}))


def test_a_size_that_no_address_counts_is_refused(changed: Changed) -> None:
    with pytest.raises(ValueError, match="config has sizes that are too large for any model"):
        load(changed("bert", hidden_size=10**12))


def test_padding_beyond_the_table_of_positions_is_refused(changed: Changed) -> None:
    folder = changed("fsmt", pad_token_id=1000)
    tensors = {**read(folder), "model.encoder.embed_positions.weight": torch.zeros(8, 16)}
    save_file(tensors, folder / "model.safetensors")
    with pytest.raises(ValueError, match=r"embed_positions\.weight has 8 rows.*pad_token_id=1000"):
        load(folder)


@pytest.mark.parametrize(
    ("key", "value"),
    [
        *(("vocab_size", value) for value in ("28", None, 1.5, True, [28])),
        *(("layer_norm_eps", value) for value in ("small", float("nan"), None)),
    ],
)
def test_a_setting_that_is_no_number_is_named(changed: Changed, key: str, value: Any) -> None:
    with pytest.raises(ValueError, match=re.escape(f"config has {key}={value!r}; expected a ")):
        load(changed("bert", **{key: value}))


def test_a_size_below_one_is_named(changed: Changed) -> None:
    with pytest.raises(ValueError, match="vocab_size=-1: expected a whole number, 1 or more"):
        load(changed("bert", vocab_size=-1))


def test_a_classifier_is_held_to_its_weights_too(changed: Changed) -> None:
    folder = changed("bert", num_hidden_layers=300_000, id2label={"0": "a", "1": "b"})
    for read_folder in (classifier.load, lambda folder: classifier.begin(folder, 2)):
        with pytest.raises(ValueError, match="300,000 layers in num_hidden_layers"):
            read_folder(folder)


@pytest.mark.parametrize(
    ("text", "told"),
    [
        (b'{"model_type": "bert", "vocab', r"config\.json is truncated or not JSON \(Unterm"),
        (b"", r"config\.json is truncated or not JSON .*: download it again"),
        (b"\xff\xfe\x00", r"config\.json is truncated or not JSON \('utf-8' codec"),
        (b"[1, 2]", r"config\.json: got a list, expected a JSON object"),
        (b"[" * 200_000, r"config\.json is truncated or not JSON \(maximum rec"),
        (b" " * (LARGEST + 1), r"config\.json has 16,777,217 bytes, expected at most 16,777,216"),
        (b'{"model_type": ["bert"]}', r"model_type=\['bert'\]; supported: bert"),
    ],
)
def test_a_config_that_is_cut_is_named(tmp_path: Path, text: bytes, told: str) -> None:
    (tmp_path / "config.json").write_bytes(text)
    with pytest.raises(ValueError, match=told):
        load(tmp_path)


@pytest.mark.parametrize(
    ("text", "told"),
    [
        ('{"weight_map": {"a": "one.saf', r"index\.json is truncated or not JSON"),
        ("{}", r"index\.json has no weight_map"),
        ('{"weight_map": {"a": 1}}', r"index\.json has no weight_map"),
        ('{"weight_map": {"a": "../b.safetensors"}}', r"b\.safetensors, listed in .*index"),
    ],
)
def test_a_part_of_the_weights_is_missing(tmp_path: Path, text: str, told: str) -> None:
    (tmp_path / "model.safetensors.index.json").write_text(text)
    with pytest.raises((ValueError, FileNotFoundError), match=told):
        read(tmp_path)


@pytest.mark.parametrize("text", ['[{"type"', '[{"type": 1}]', "{}", '[{"type": "a.Pooling"}]'])
def test_the_steps_of_a_sentence_model_are_named(tmp_path: Path, text: str) -> None:
    (tmp_path / "modules.json").write_text(text)
    with pytest.raises(ValueError, match=r"modules\.json (is truncated|lists no two modules)"):
        sentences.load(tmp_path)


def test_folders_of_other_tools_say_what_to_open(tmp_path: Path) -> None:
    (tmp_path / "adapter_config.json").write_text('{"base_model_name_or_path": "gpt2"}')
    with pytest.raises(FileNotFoundError, match="a LoRA adapter; merge it into gpt2"):
        load(tmp_path)
    run = tmp_path / "run"
    for step in (500, 1500):
        (run / f"checkpoint-{step}").mkdir(parents=True)
        (run / f"checkpoint-{step}" / "config.json").write_text("{}")
    with pytest.raises(FileNotFoundError, match=r"a training run; load .*checkpoint-1500"):
        load(run)


@pytest.mark.parametrize("prefix", ["module.", "_orig_mod."])
def test_a_wrapper_s_prefix_is_taken_off(tmp_path: Path, prefix: str) -> None:
    save_file({f"{prefix}{name}": torch.ones(2) for name in ("a.weight", "b.weight")},
              tmp_path / "model.safetensors")  # fmt: skip
    assert set(read(tmp_path)) == {"a.weight", "b.weight"}
    save_file({f"{prefix}a": torch.ones(2), "b": torch.ones(2)}, tmp_path / "model.safetensors")
    assert set(read(tmp_path)) == {f"{prefix}a", "b"}, "only where every name has it"
