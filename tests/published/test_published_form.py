"""Every family that is loaded is saved in its published form, and read by transformers again."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest
import torch
import transformers
from disk import full_after
from hypothesis import given
from hypothesis import strategies as st
from parity_bert import double_precision, reference
from published_sizes import INFORMER, PERCEIVER, REFORMER, TRIED, tried
from safetensors.torch import save_file
from torch import nn

from deepdive.models.bert.bert import bert
from deepdive.models.efficient import informer, reformer
from deepdive.models.transformer import fsmt, marian, transformer
from deepdive.models.transformer.translator import Translator
from deepdive.published import from_config, load, save
from deepdive.published.families.bert_relatives import MADE
from deepdive.published.folders import FAMILIES
from deepdive.published.names import Names
from deepdive.published.weights import Source, read, read_config

# Given numbers that say nothing here: of a table that is computed, of heads where there are none.
SILENT = {
    "roformer": {"max_position_embeddings"},
    "fnet": {"num_attention_heads"},
}
# Of these transformers has a part alone; their own tests read and write them.
HERE_ALONE = {("deberta", "pretraining"), ("deberta-v2", "pretraining"), ("ernie_m", None)}
FORMS = [
    (name, head, sizes)
    for name, one in FAMILIES.items()
    for head in (None, *one.heads)
    if (name, head) not in HERE_ALONE
    for sizes in tried(name)
]


def is_computed(name: str, sizes: dict[str, Any]) -> bool:
    """Whether a table is of waves, and so no weight."""
    waves = ("embed_positions", *["position_embeddings"] * sizes.get("sinusoidal_embeddings", 0))
    return any(each in name for each in waves)


def stirred(build: Any, sizes: dict[str, Any]) -> transformers.PreTrainedModel:
    """One of theirs with every weight off its special values, but for what is computed."""
    theirs = reference(build, build.config_class, **sizes)
    fresh = build(theirs.config)
    for name, tensor in theirs.state_dict().items():
        if name == "final_logits_bias":
            tensor.normal_()
        elif is_computed(name, sizes):
            tensor.copy_(fresh.state_dict()[name])
    return theirs


def plain(setting: Any) -> Any:
    """A setting; of those of a part, the dtype that it was read in is none."""
    if not isinstance(setting, dict):
        return setting
    return {key: value for key, value in setting.items() if key != "dtype"}


@pytest.mark.parametrize(("name", "head", "sizes"), FORMS)
def test_out_and_back(name: str, head: str | None, sizes: dict[str, Any], tmp_path: Path) -> None:
    """Theirs saved, loaded as ours, saved by us, read by theirs: the same weights to the bit, and
    the same settings.
    """
    kind = FAMILIES[name]
    build = getattr(transformers, kind.heads[head].architecture if head else kind.architecture)
    theirs = stirred(build, sizes).float().double()  # Reformer's folded tables stay float32
    with double_precision():
        theirs.save_pretrained(tmp_path / "theirs")
        ours = load(tmp_path / "theirs", head)
        save(ours, tmp_path / "ours")
        back, report = build.from_pretrained(
            tmp_path / "ours", output_loading_info=True, dtype=torch.float64
        )
        again = load(tmp_path / "ours", head)
    assert not report["unexpected_keys"]
    missing = report["missing_keys"]
    computed = {n for n in missing if "pooler" in n or is_computed(n, sizes)}
    # What I-BERT's last run made of its weights is no weight: our files leave it out.
    made = {n for n in report["missing_keys"] if name == "ibert" and n.rpartition(".")[2] in MADE}
    assert not made & dict(back.named_parameters()).keys()
    computed |= made
    assert set(report["missing_keys"]) == computed  # a pooler is no part of an encoder; waves
    expected = theirs.state_dict()
    for each, tensor in back.state_dict().items():
        assert each in computed or torch.equal(tensor.double(), expected[each].double()), each
    for each, tensor in again.state_dict().items():
        assert torch.equal(tensor, ours.state_dict()[each]), each
    settings, written = theirs.config.to_dict(), read_config(tmp_path / "ours")
    for each in (written.keys() | sizes.keys()) & settings.keys() - SILENT.get(name, set()):
        assert plain(back.config.to_dict()[each]) == plain(settings[each]), each


@pytest.mark.parametrize("model", [marian.marian(marian.TINY), fsmt.fsmt(fsmt.TINY)])
def test_a_new_translator_is_read_by_theirs(model: Translator, tmp_path: Path) -> None:
    """The same logits, up to their waves in float32; padding and the first token as we say."""
    kind = FAMILIES[model.config.family]
    theirs = getattr(transformers, kind.architecture).from_pretrained(save(model, tmp_path)).eval()
    pad, start = theirs.config.pad_token_id, theirs.config.decoder_start_token_id
    assert (pad, start) == {"marian": (31, 31), "fsmt": (1, 2)}[kind.model_type]
    src, tgt = torch.tensor([[4, 5, 6]]), torch.tensor([[start, 7]])
    expected = theirs(input_ids=src, decoder_input_ids=tgt, use_cache=False).logits
    assert torch.allclose(model.eval()(src, tgt), expected, atol=1e-5)


def test_what_translators_have_no_setting_for_is_refused(tmp_path: Path) -> None:
    for changes, message in (
        ({"scale": 2.0}, r"scale=2\.0"),
        ({"activation": torch.tanh}, "no published name"),
        ({"vocabularies": marian.untied}, "tie_word_embeddings=false"),
    ):
        with pytest.raises(ValueError, match=message):
            save(marian.marian(marian.TINY, **changes), tmp_path / "none")
    assert not (tmp_path / "none").exists()
    with pytest.raises(ValueError, match=r"this Transformer has no config; .*, marian, fsmt"):
        save(transformer.tiny(), tmp_path)
    with pytest.raises(TypeError, match="config=30: expected TranslatorConfig; pass sizes by"):
        marian.marian(30)


@pytest.mark.parametrize("name", ["reformer", "informer", "perceiver"])
def test_each_setting_is_written(name: str) -> None:
    kind = FAMILIES[name]
    for sizes in TRIED[name]:
        theirs = getattr(transformers, kind.architecture).config_class(**sizes).to_dict()
        published = json.loads(json.dumps(kind.published(kind.config(theirs))))
        assert {key: published[key] for key in sizes} == sizes


AROUND: list[tuple[str, dict[str, Any]]] = [
    ("ReformerForMaskedLM", {**REFORMER, "axial_pos_embds": False}),
    ("InformerForPrediction", {**INFORMER, "num_static_categorical_features": 1, "cardinality": [3],
                               "embedding_dimension": [2]}),
    ("PerceiverForMaskedLM", {**PERCEIVER, "d_model": 16, "vocab_size": 28}),
    ("PerceiverForImageClassificationLearned", {**PERCEIVER, "num_cross_attention_heads": 1}),
]  # fmt: skip


@pytest.mark.parametrize(("name", "sizes"), AROUND, ids=[name for name, _ in AROUND])
def test_what_stands_around_a_model_stays_in_the_file(
    name: str, sizes: dict[str, Any], tmp_path: Path
) -> None:
    """Heads, and what makes rows; so do constants that older files of Reformer hold."""
    build = getattr(transformers, name)
    theirs = build(build.config_class(**sizes))
    theirs.save_pretrained(tmp_path)
    tensors, kind = read(tmp_path), FAMILIES[theirs.config.model_type]
    if kind.model_type == "reformer":
        constant = "reformer.encoder.layers.0.attention.self_attention.mask_value_float32"
        save_file({**tensors, constant: torch.tensor(-1e9)}, tmp_path / "model.safetensors")
    ours = load(tmp_path)
    for each, tensor in kind.table(config=ours.config).theirs(ours.state_dict()).items():
        assert torch.equal(tensor, tensors[kind.prefix + each]), each
    save_file(
        {**tensors, kind.prefix + "encoder.other": torch.ones(1)}, tmp_path / "model.safetensors"
    )
    with pytest.raises(ValueError, match=r"unknown to the model: encoder\.other"):
        load(tmp_path)


def test_what_transformers_could_not_read_back_is_not_published(tmp_path: Path) -> None:
    series = {"prediction_length": 2, "num_static_categorical_features": 1}
    for model, wrong in (
        (reformer.reformer(reformer.TINY), "lsh=LSHAttention: transformers has only the released"),
        (informer.informer(informer.TINY), "series: got none, but transformers needs"),
        (informer.informer(informer.TINY, series=series), "series: num_static_categorical"),
    ):
        with pytest.raises(ValueError, match=wrong):
            save(model, tmp_path / "none")
    assert not (tmp_path / "none").exists()


def test_a_family_that_is_not_known_is_refused() -> None:
    with pytest.raises(ValueError, match="'gptj'; supported: bert, roberta"):
        from_config({"model_type": "gptj"})
    with pytest.raises(ValueError, match="has no head 'spans'; expected: masked_lm, pretraining"):
        from_config({"model_type": "bert", "vocab_size": 8}, head="spans")


def test_a_model_with_another_head_is_not_published(tmp_path: Path) -> None:
    class Odd(nn.Module):
        def __init__(self) -> None:
            super().__init__()
            self.bert, self.spans = from_config({"model_type": "bert"} | SMALL), nn.Linear(16, 2)

    with pytest.raises(ValueError, match="bert publishes no head of spans"):
        save(Odd(), tmp_path)


def test_a_full_disk_keeps_the_model_that_stood_there(tmp_path: Path) -> None:
    sizes = {"d_model": 16, "n_heads": 2, "n_layers": 1, "d_ff": 16, "max_length": 8}
    save(bert(vocab_size=28, **sizes), tmp_path)
    old = {path: path.read_bytes() for path in tmp_path.iterdir()}
    told = "path: 0.0 MB of weights cannot be written to .*model.safetensors .*free"
    with full_after(50), pytest.raises(OSError, match=told):
        save(bert(vocab_size=29, **sizes), tmp_path)
    assert {path: path.read_bytes() for path in tmp_path.iterdir()} == old


def test_a_model_that_keeps_no_record_is_not_published(tmp_path: Path) -> None:
    with pytest.raises(ValueError, match=r"Linear has no config; .* `from_config` \(bert, rob"):
        save(nn.Linear(2, 2), tmp_path / "none")
    assert not (tmp_path / "none").exists()


SMALL = {"vocab_size": 8, "hidden_size": 16, "num_attention_heads": 2, "num_hidden_layers": 1}
TABLE = Names(
    {
        "layer.{}.query": "blocks.{}.q",
        ("layer.{}.key", "layer.{}.value"): "blocks.{}.kv",
        "norm": "norm",
    }
)


@given(st.integers(0, 20), st.integers(1, 4), st.integers(1, 3))
def test_names_go_there_and_back(layer: int, rows: int, columns: int) -> None:
    theirs = {
        f"layer.{layer}.{part}.weight": torch.randn(rows, columns)
        for part in ("query", "key", "value")
    } | {"norm.bias": torch.randn(rows)}
    ours = {n: s.tensor for n, s in TABLE({n: Source(t, n) for n, t in theirs.items()}).items()}
    assert set(ours) == {f"blocks.{layer}.q.weight", f"blocks.{layer}.kv.weight", "norm.bias"}
    assert ours[f"blocks.{layer}.kv.weight"].shape == (2 * rows, columns)
    back = TABLE.theirs(ours)
    assert set(back) == set(theirs)
    assert all(torch.equal(back[name], theirs[name]) for name in theirs)


def test_a_half_of_a_joined_tensor_is_not_enough() -> None:
    with pytest.raises(ValueError, match=r"blocks\.0\.kv\.weight is conc.* only layer\.0\.key"):
        TABLE({"layer.0.key.weight": Source(torch.ones(2, 2), "layer.0.key.weight")})
    with pytest.raises(KeyError, match="other: not in the name table"):
        TABLE.theirs({"other": torch.ones(1)})
