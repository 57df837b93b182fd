"""Every family that is loaded is saved in its published form, and read by transformers again."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest
import torch
import transformers
from disk import full_after
from fault import fault
from hypothesis import given
from hypothesis import strategies as st
from parity_bert import SIZES, double_precision, reference
from safetensors.torch import save_file
from torch import nn

from deepdive.models.bert.bert import bert
from deepdive.models.efficient import informer, reformer
from deepdive.models.transformer import fsmt, marian, transformer
from deepdive.models.transformer.translator import Translator
from deepdive.published import from_config, load, save
from deepdive.published.families.ibert import MADE
from deepdive.published.folders import FAMILIES
from deepdive.published.names import Names
from deepdive.published.weights import Source, read, read_config

# What a family's config.json needs beside the sizes, or in their place.
NYSTROM = {"num_landmarks": 4, "segment_means_seq_len": 8, "conv_kernel_size": 5}
DISENTANGLED = {
    "relative_attention": True,
    "pos_att_type": ["c2p", "p2c"],
    "position_biased_input": False,
    "legacy": False,
}
BUCKETED = {"position_buckets": 4, "share_att_key": True, "norm_rel_ebd": "layer_norm"}
ROTARY = {"rope_type": "default", "rope_theta": 500.0}
OTHER: dict[str, dict[str, Any]] = {
    "albert": {"embedding_size": 8},
    "luke": {"entity_vocab_size": 9, "entity_emb_size": 8, "type_vocab_size": 1},
    "longformer": {"attention_window": [4, 2], "max_position_embeddings": 70},
    "big_bird": {"block_size": 2, "num_random_blocks": 1},
    "nystromformer": NYSTROM,
    "yoso": {"hash_code_len": 3},
    "roformer": {"embedding_size": 8},
    "electra": {"embedding_size": 8},
    "convbert": {"embedding_size": 8, "conv_kernel_size": 3, "num_groups": 2},
    "deberta-v2": DISENTANGLED | BUCKETED,
    "deberta": {"max_relative_positions": 3, "type_vocab_size": 0} | DISENTANGLED,
    "splinter": {"question_token_id": 5},
    "llama": {"num_key_value_heads": 2, "rope_parameters": ROTARY},
    "xlm-roberta": {"type_vocab_size": 1, "layer_norm_eps": 1e-5},
    "rembert": {"input_embedding_size": 8, "output_embedding_size": 20},
}
DISTIL = {
    "vocab_size": 28,
    "dim": 16,
    "n_layers": 2,
    "n_heads": 4,
    "hidden_dim": 24,
    "max_position_embeddings": 12,
}
REFORMER = {
    "vocab_size": 28,
    "hidden_size": 16,
    "num_attention_heads": 2,
    "attention_head_size": 6,
    "feed_forward_size": 24,
    "attn_layers": ["local", "lsh"],
    "max_position_embeddings": 24,
    "num_hashes": 3,
    "num_buckets": [2, 4],
    "lsh_attn_chunk_length": 4,
    "local_attn_chunk_length": 6,
    "local_num_chunks_after": 1,
}
INFORMER = {
    "prediction_length": 5,
    "lags_sequence": [1, 2],
    "num_time_features": 2,
    "d_model": 16,
    "encoder_layers": 3,
    "attention_dropout": 0.05,
    "activation_dropout": 0.0,
    "encoder_layerdrop": 0.0,
    "decoder_layerdrop": 0.0,
}
PERCEIVER = {
    "num_latents": 5,
    "d_latents": 16,
    "d_model": 12,
    "num_self_attends_per_block": 2,
    "num_self_attention_heads": 4,
    "num_cross_attention_heads": 2,
}
VIT = {
    "hidden_size": 16,
    "num_hidden_layers": 2,
    "num_attention_heads": 4,
    "intermediate_size": 24,
    "image_size": 12,
    "patch_size": 4,
}
SWIN = {
    "image_size": 16,
    "patch_size": 2,
    "embed_dim": 8,
    "depths": [2, 1],
    "num_heads": [2, 4],
    "window_size": 4,
    "mlp_ratio": 2.0,
}
SEGFORMER = {
    "num_encoder_blocks": 2,
    "depths": [1, 2],
    "hidden_sizes": [8, 16],
    "num_attention_heads": [1, 2],
    "patch_sizes": [7, 3],
    "strides": [4, 2],
    "sr_ratios": [2, 1],
    "mlp_ratios": [2, 3],
    "decoder_hidden_size": 12,
    "classifier_dropout_prob": 0.2,
    "num_labels": 5,
}
RESNET = {"model_type": "resnet", "embedding_size": 8, "hidden_sizes": [8, 16], "depths": [2, 1]}
DETR = {
    "backbone_config": {**RESNET, "layer_type": "basic", "out_features": ["stage2"]},
    "use_timm_backbone": False,
    "num_queries": 5,
    "d_model": 16,
    "num_labels": 3,
    **{f"{side}_{n}": k for side in ("encoder", "decoder")
       for n, k in (("layers", 2), ("attention_heads", 4), ("ffn_dim", 24))},
}  # fmt: skip
WAV2VEC2 = {
    "hidden_size": 16,
    "num_hidden_layers": 2,
    "num_attention_heads": 4,
    "intermediate_size": 24,
    "conv_dim": [8, 12],
    "conv_stride": [4, 2],
    "conv_kernel": [8, 3],
    "num_conv_pos_embeddings": 6,
    "num_conv_pos_embedding_groups": 2,
    "vocab_size": 7,
}
CODES = {
    "num_codevectors_per_group": 5,
    "codevector_dim": 8,
    "proj_codevector_dim": 6,
    "num_negatives": 4,
}
LIKE_LARGE = {"feat_extract_norm": "layer", "do_stable_layer_norm": True, "conv_bias": True}
TRANSLATOR = {
    "d_model": 16,
    "encoder_layers": 2,
    "decoder_layers": 1,
    "encoder_attention_heads": 4,
    "decoder_attention_heads": 2,
    "encoder_ffn_dim": 24,
    "decoder_ffn_dim": 20,
    "activation_dropout": 0.2,
}
PROPHETNET = {
    "vocab_size": 28,
    "hidden_size": 16,
    "num_encoder_layers": 2,
    "num_decoder_layers": 1,
    "num_encoder_attention_heads": 4,
    "num_decoder_attention_heads": 2,
    "encoder_ffn_dim": 24,
    "decoder_ffn_dim": 20,
    "max_position_embeddings": 12,
    "ngram": 3,
    "num_buckets": 8,
    "relative_max_distance": 20,
    "activation_dropout": 0.2,
}
XLNET = {
    "vocab_size": 28,
    "d_model": 16,
    "n_layer": 2,
    "n_head": 4,
    "d_inner": 24,
    "mem_len": 5,
    "ff_activation": "relu",
}
SPEECH = {**TRANSLATOR, "vocab_size": 30, "input_feat_per_channel": 6, "conv_channels": 12}
WHISPER = {
    **TRANSLATOR,
    "vocab_size": 30,
    "num_mel_bins": 6,
    "max_source_positions": 9,
    "max_target_positions": 11,
    "pad_token_id": 3,
    "eos_token_id": 3,
    "decoder_start_token_id": 4,
}
T5 = {
    "vocab_size": 28,
    "d_model": 16,
    "d_kv": 6,
    "d_ff": 24,
    "num_layers": 2,
    "num_decoder_layers": 1,
    "num_heads": 4,
    "relative_attention_num_buckets": 8,
    "dropout_rate": 0.2,
    "decoder_start_token_id": 0,
}
SWITCH = T5 | {
    "num_layers": 3,
    "num_experts": 3,
    "expert_capacity": 2,
    "num_sparse_encoder_layers": 1,
    "num_sparse_decoder_layers": 1,
    "router_jitter_noise": 0.2,
}
FSMT = {**TRANSLATOR, "src_vocab_size": 30, "tgt_vocab_size": 34}
MARIAN = {**TRANSLATOR, "vocab_size": 30, "pad_token_id": 29, "decoder_start_token_id": 29}
APART = {**MARIAN, "share_encoder_decoder_embeddings": False, "decoder_vocab_size": 34}
BART = {**TRANSLATOR, "vocab_size": 30}
LONG = {"max_encoder_position_embeddings": 16, "max_decoder_position_embeddings": 12}
LED = {name: n for name, n in BART.items() if name != "scale_embedding"} | LONG
MAE = VIT | {
    "decoder_hidden_size": 8,
    "decoder_num_attention_heads": 2,
    "decoder_num_hidden_layers": 1,
    "decoder_intermediate_size": 12,
    "mask_ratio": 0.5,
    "norm_pix_loss": True,
}
DATA2VEC = VIT | {
    "use_mask_token": True,
    "use_shared_relative_position_bias": True,
    "layer_scale_init_value": 0.01,
}
LIKE_FINE_TUNED = {
    "use_mask_token": False,
    "use_shared_relative_position_bias": False,
    "use_relative_position_bias": True,
}
XLM = {
    "vocab_size": 28, "emb_dim": 16, "n_layers": 2, "n_heads": 4, "max_position_embeddings": 12,
    "n_langs": 3, "layer_norm_eps": 1e-6,
}  # fmt: skip
CANINE = {
    "hidden_size": 16, "num_hidden_layers": 2, "num_attention_heads": 4, "intermediate_size": 24,
    "num_hash_functions": 2, "num_hash_buckets": 24, "local_transformer_stride": 6,
    "downsampling_rate": 3, "upsampling_kernel_size": 5, "type_vocab_size": 3,
}  # fmt: skip
GPT = {
    "vocab_size": 28, "n_embd": 16, "n_layer": 3, "n_head": 4, "n_positions": 12,
    "layer_norm_epsilon": 1e-3,
}  # fmt: skip
GPT_NEO = {
    "vocab_size": 28, "hidden_size": 16, "num_layers": 3, "num_heads": 4, "window_size": 3,
    "attention_types": [[["global", "local"], 1], [["global"], 1]], "max_position_embeddings": 12,
}  # fmt: skip
# The sizes with which a family is tried, where they are not BERT's.
TRIED: dict[str, list[dict[str, Any]]] = {
    "distilbert": [DISTIL],
    # As many landmarks as tokens: full attention.
    "nystromformer": [{**SIZES, **NYSTROM}, {**SIZES, **NYSTROM, "num_landmarks": 8}],
    "marian": [
        MARIAN,
        {**MARIAN, "pad_token_id": 1, "decoder_start_token_id": 2, "scale_embedding": True},
        APART,
        {**APART, "tie_word_embeddings": False, "activation_function": "swish"},
    ],
    "reformer": [
        {**REFORMER, "axial_pos_shape": [4, 6], "axial_pos_embds_dim": [6, 10]},
        {**REFORMER, "axial_pos_embds": False, "attn_layers": ["lsh"], "is_decoder": True},
    ],
    "vit_mae": [MAE],
    "data2vec-vision": [DATA2VEC, {**DATA2VEC, **LIKE_FINE_TUNED}],
    "informer": [INFORMER, {**INFORMER, "distil": False}],
    "perceiver": [PERCEIVER, {**PERCEIVER, "qk_channels": 8, "v_channels": 16}],
    "deit": [VIT],
    "detr": [DETR],
    "timesformer": [
        {**VIT, "num_frames": 3, "attention_type": scheme}
        for scheme in ("divided_space_time", "space_only", "joint_space_time")
    ],
    "vit": [VIT, {**VIT, "num_channels": 1, "hidden_act": "relu"}],
    "segformer": [SEGFORMER],
    "speech_to_text": [
        SPEECH,
        {**SPEECH, "num_conv_layers": 3, "conv_kernel_sizes": [3, 1, 5], "scale_embedding": False},
    ],
    "whisper": [WHISPER, {**WHISPER, "activation_function": "relu", "scale_embedding": True}],
    "swin": [SWIN, {**SWIN, "num_channels": 1, "depths": [1, 2, 2], "num_heads": [2, 2, 8]}],
    "wav2vec2": [{**WAV2VEC2, **CODES}, {**WAV2VEC2, **CODES, **LIKE_LARGE}],
    "hubert": [WAV2VEC2, {**WAV2VEC2, **LIKE_LARGE, "mask_time_prob": 0.0}],
    "data2vec-audio": [{**WAV2VEC2, "num_conv_pos_embeddings": 2, "conv_pos_kernel_size": 5}],
    "xlnet": [XLNET, {**XLNET, "mem_len": None}],
    "t5": [
        T5,
        {**T5, "feed_forward_proj": "gated-gelu"},
        {**T5, "feed_forward_proj": "gated-relu"},
    ],
    "mt5": [T5],
    "switch_transformers": [SWITCH, {**SWITCH, "num_experts": 1}],
    "openai-gpt": [GPT],
    "xlm": [
        XLM,
        {**XLM, "n_langs": 1, "gelu_activation": False, "causal": True},
        {**XLM, "use_lang_emb": False, "sinusoidal_embeddings": True},
    ],
    "canine": [CANINE],
    "gpt2": [GPT, {**GPT, "n_inner": 24, "activation_function": "relu"}],
    "gpt_neo": [GPT_NEO, {**GPT_NEO, "intermediate_size": 24}],
    "ctrl": [{**GPT, "layer_norm_epsilon": 1e-6, "dff": 24}],
    "bart": [BART, {**BART, "scale_embedding": False, "max_position_embeddings": 12}],
    "plbart": [BART],
    "mbart": [BART],
    "prophetnet": [PROPHETNET],
    "pegasus": [{**BART, "pad_token_id": 0, "decoder_start_token_id": 0, "eos_token_id": 1}],
    "led": [{**LED, "attention_window": [4, 8]}],
    "fsmt": [FSMT, {**FSMT, "pad_token_id": 4, "scale_embedding": False}],
}
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
    for sizes in TRIED.get(name, [{**SIZES, **OTHER.get(name, {})}])
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
    with pytest.raises(ValueError, match=r"this Transformer keeps no record .*, marian, fsmt"):
        save(transformer.tiny(), tmp_path)
    with pytest.raises(TypeError, match="config=30: expected TranslatorConfig; give numbers by"):
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
        (reformer.reformer(reformer.TINY), "lsh=LSHAttention: transformers has the released form"),
        (informer.informer(informer.TINY), "series: transformers makes features of a series"),
        (informer.informer(informer.TINY, series=series), "series has categories"),
    ):
        with pytest.raises(ValueError, match=wrong):
            save(model, tmp_path / "none")
    assert not (tmp_path / "none").exists()


def test_a_family_that_is_not_known_is_refused() -> None:
    with pytest.raises(ValueError, match="'gptj'; known here: bert, roberta"):
        from_config({"model_type": "gptj"})
    with pytest.raises(ValueError, match="has none called 'spans'; known: masked_lm, pretraining"):
        from_config({"model_type": "bert", "vocab_size": 8}, head="spans")


def test_a_model_with_another_head_is_not_published(tmp_path: Path) -> None:
    class Odd(nn.Module):
        def __init__(self) -> None:
            super().__init__()
            self.bert, self.spans = from_config({"model_type": "bert"} | SMALL), nn.Linear(16, 2)

    with pytest.raises(ValueError, match="bert publishes no head of spans"):
        save(Odd(), tmp_path)


@fault(
    "The disk is full while a model is published",
    made="no file may grow beyond 50 bytes; an older model stands in the folder",
    happens="an error with path, size and way out",
    kept="the model that stood there",
)
def test_a_full_disk_keeps_the_model_that_stood_there(tmp_path: Path) -> None:
    sizes = {"d_model": 16, "n_heads": 2, "n_layers": 1, "d_ff": 16, "max_length": 8}
    save(bert(vocab_size=28, **sizes), tmp_path)
    old = {path: path.read_bytes() for path in tmp_path.iterdir()}
    told = "path: 0.0 MB of weights cannot be written to .*model.safetensors .*make room"
    with full_after(50), pytest.raises(OSError, match=told):
        save(bert(vocab_size=29, **sizes), tmp_path)
    assert {path: path.read_bytes() for path in tmp_path.iterdir()} == old


def test_a_model_that_keeps_no_record_is_not_published(tmp_path: Path) -> None:
    with pytest.raises(ValueError, match=r"Linear keeps no record .* `from_config` \(bert, rob"):
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
    with pytest.raises(ValueError, match=r"blocks\.0\.kv\.weight is joined .* only layer\.0\.key"):
        TABLE({"layer.0.key.weight": Source(torch.ones(2, 2), "layer.0.key.weight")})
    with pytest.raises(KeyError, match="other has no published name"):
        TABLE.theirs({"other": torch.ones(1)})
