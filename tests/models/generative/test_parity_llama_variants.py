"""Mistral, Qwen2, Qwen3, and Gemma against transformers in float64: outputs, gradients, the cache,
what is written; each difference taken away once.
"""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any
from unittest import mock

import pytest
import torch
import transformers
from parity_bert import MASK, SRC, reference, saved_and_loaded
from parity_proofs import alike
from parity_registry import equal, parity, perturb
from parity_text import in_double, step_by_step
from torch import Tensor
from transformers.models.auto.configuration_auto import CONFIG_MAPPING
from transformers.models.gemma.modeling_gemma import GemmaTextScaledWordEmbedding

from deepdive.attention import QKNormAttention, WindowAttention
from deepdive.core import MultiHeadAttention, OffsetRMSNorm, RMSNorm, gelu, gelu_tanh
from deepdive.core.embeddings import ScaledEmbedding
from deepdive.core.multi_head import split_heads
from deepdive.models.generative import llama_variants
from deepdive.models.generative.llama import TINY, llama
from deepdive.models.generative.llama_config import LlamaConfig
from deepdive.published import family, from_config, load, save
from deepdive.published.families.decoders import paired_keys

SIZES: dict[str, Any] = {
    "vocab_size": 28, "hidden_size": 16, "num_hidden_layers": 2, "num_attention_heads": 4,
    "num_key_value_heads": 2, "intermediate_size": 24, "max_position_embeddings": 12,
    "rms_norm_eps": 1e-3, "rope_parameters": {"rope_type": "default", "rope_theta": 100.0},
    "bos_token_id": 1, "eos_token_id": 2, "pad_token_id": None,
}  # fmt: skip
NEAR = {"use_sliding_window": True, "sliding_window": 3}
SECOND_FULL = {"layer_types": ["sliding_attention", "full_attention"]}
PRESETS = {
    "mistral": llama_variants.MISTRAL, "qwen2": llama_variants.QWEN2,
    "qwen3": llama_variants.QWEN3, "gemma": llama_variants.GEMMA,
}  # fmt: skip
# The settings with which each is compared: with what it has, and without.
TRIED: dict[str, list[dict[str, Any]]] = {
    "mistral": [
        {"sliding_window": 3, "head_dim": 6, "tie_word_embeddings": True},
        {"sliding_window": None},
        {"sliding_window": 2},
    ],
    "qwen2": [{}, NEAR | {"max_window_layers": 1}, NEAR | {"max_window_layers": 0}],
    "qwen3": [
        {"head_dim": 6},
        NEAR | SECOND_FULL | {"attention_bias": True, "tie_word_embeddings": True, "head_dim": 8},
    ],
    # sqrt(20) is no number of float32, and 20 is no multiple of its heads' width.
    "gemma": [
        {"hidden_size": 20, "head_dim": 6, "num_key_value_heads": 1},
        {"attention_bias": True, "tie_word_embeddings": False, "head_dim": 8},
    ],
    "llama": [{"attention_bias": True}],
}


def theirs_of(model_type: str, changes: dict[str, Any]) -> Any:
    kind = getattr(transformers, family(model_type).architecture)
    return reference(kind, CONFIG_MAPPING[model_type], **SIZES | changes)


def agrees(model_type: str) -> None:
    for changes in TRIED[model_type]:
        theirs = theirs_of(model_type, changes)
        ours = saved_and_loaded(theirs, load)
        for mask in (MASK, MASK.flip(1)):  # padding at the end, and at the start
            with in_double(model_type=model_type):
                output = ours(SRC, mask)
                expected = theirs(SRC, attention_mask=mask.long()).logits
                names = family(model_type).table(config=ours.config)
                alike(ours, theirs, output[mask], expected[mask], [names])
        with torch.no_grad():
            equal(ours(SRC), theirs(SRC).logits, 1e-5)  # theirs rounds norms and angles to float32
        # The prompt is shorter than the window, the text longer.
        step_by_step(ours, theirs, ((0, 2), (2, 3), (3, 6), (6, 7)), model_type)


@parity(QKNormAttention)
def qwen3_agrees() -> None:
    agrees("qwen3")


@parity(OffsetRMSNorm, ScaledEmbedding)
def gemma_agrees() -> None:
    agrees("gemma")


@pytest.mark.parametrize("model_type", TRIED)
def test_it_agrees(model_type: str) -> None:
    agrees(model_type)


# What takes one difference away, the family whose parity then fails, and where it is.
class PlainHeads(QKNormAttention):
    def queries(self, x: Tensor) -> Tensor:
        return MultiHeadAttention.queries(self, x)


class KeysAsTheyAre(QKNormAttention):
    def keys_and_values(self, rows: Tensor) -> tuple[Tensor, Tensor]:
        return MultiHeadAttention.keys_and_values(self, rows)


class NormedValues(QKNormAttention):
    def keys_and_values(self, rows: Tensor) -> tuple[Tensor, Tensor]:
        k, v = super().keys_and_values(rows)
        return k, self.k_norm(v)


class NormedAfter(QKNormAttention):
    def queries(self, x: Tensor) -> Tensor:
        return MultiHeadAttention.queries(self, x)

    def keys_and_values(self, rows: Tensor) -> tuple[Tensor, Tensor]:
        return MultiHeadAttention.keys_and_values(self, rows)

    def turned(self, q: Tensor, k: Tensor, at: Tensor) -> tuple[Tensor, Tensor]:
        q, k = super().turned(q, k, at)
        return self.q_norm(q), self.k_norm(k)


def window(more: int) -> Callable[..., WindowAttention]:
    return lambda left, **options: WindowAttention(left + more, **options)


split = MultiHeadAttention.keys_and_values


def keys_without_bias(self: MultiHeadAttention, rows: Tensor) -> tuple[Tensor, Tensor]:
    k, v = split(self, rows)
    return k if self.kv.bias is None else k - self.kv.bias[:8].view(2, 1, 4), v


HERE = "deepdive.models.generative.llama"
MUTATIONS: dict[str, tuple[str, str, object]] = {
    "a window wider by one": ("mistral", f"{HERE}.WindowAttention", window(1)),
    "a window in the wrong layers": (
        "qwen2", "deepdive.models.generative.llama_config.LlamaConfig.window_of",
        lambda self, layer: self.window if layer in self.full_layers else None,
    ),
    "a window in every layer": (
        "qwen3", "deepdive.models.generative.llama_config.LlamaConfig.window_of",
        lambda self, layer: self.window,
    ),
    "no bias of the queries": (
        "qwen2",
        "deepdive.core.MultiHeadAttention.queries",
        lambda self, x: split_heads(x @ self.q.weight.T, self.n_heads),
    ),
    "no bias of the keys": (
        "qwen2",
        "deepdive.core.MultiHeadAttention.keys_and_values",
        keys_without_bias,
    ),
    "rows of the keys' bias in another order": (
        "qwen2", "deepdive.published.families.decoders.paired_keys",
        lambda n: tuple(
            (lambda rows, change=change: rows if rows.ndim == 1 else change(rows))
            for change in paired_keys(n)
        ),
    ),
    "no norm of the queries": ("qwen3", f"{HERE}.QKNormAttention", PlainHeads),
    "no norm of the keys": ("qwen3", f"{HERE}.QKNormAttention", KeysAsTheyAre),
    "a norm of the values too": ("qwen3", f"{HERE}.QKNormAttention", NormedValues),
    "norms behind the rotation": ("qwen3", f"{HERE}.QKNormAttention", NormedAfter),
    "a norm without the 1": (
        "gemma", "deepdive.core.OffsetRMSNorm.forward", RMSNorm.forward
    ),
    "embeddings that are not scaled": (
        "gemma", "deepdive.core.embeddings.ScaledEmbedding.forward",
        lambda self, tokens: self.weight[tokens],
    ),
    "a factor that is not rounded": (
        "gemma", "deepdive.core.embeddings.ScaledEmbedding.forward",
        lambda self, tokens: self.d_model**0.5 * self.weight[tokens],
    ),
    "GELU without its approximation": (
        "gemma", "deepdive.published.form.ACTIVATIONS", {"gelu_pytorch_tanh": gelu}
    ),
}  # fmt: skip


@pytest.mark.parametrize("name", MUTATIONS)
def test_a_mutation_is_seen(name: str) -> None:
    model_type, target, wrong = MUTATIONS[name]
    with mock.patch(target, wrong), pytest.raises(AssertionError, match=r"differ|assert"):
        agrees(model_type)


# config.json as published, without what says nothing about the function.
PUBLISHED: dict[str, dict[str, Any]] = {
    "mistral": {  # mistralai/Mistral-7B-v0.1
        "hidden_act": "silu", "hidden_size": 4096, "intermediate_size": 14336,
        "max_position_embeddings": 32768, "model_type": "mistral", "num_attention_heads": 32,
        "num_hidden_layers": 32, "num_key_value_heads": 8, "rms_norm_eps": 1e-05,
        "rope_theta": 10000.0, "sliding_window": 4096, "tie_word_embeddings": False,
        "vocab_size": 32000,
    },
    "qwen2": {  # Qwen/Qwen2-0.5B
        "attention_dropout": 0.0, "hidden_act": "silu", "hidden_size": 896,
        "intermediate_size": 4864, "max_position_embeddings": 131072, "max_window_layers": 24,
        "model_type": "qwen2", "num_attention_heads": 14, "num_hidden_layers": 24,
        "num_key_value_heads": 2, "rms_norm_eps": 1e-06, "rope_theta": 1000000.0,
        "sliding_window": 131072, "tie_word_embeddings": True, "use_sliding_window": False,
        "vocab_size": 151936,
    },
    "qwen3": {  # Qwen/Qwen3-0.6B
        "attention_bias": False, "attention_dropout": 0.0, "head_dim": 128, "hidden_act": "silu",
        "hidden_size": 1024, "intermediate_size": 3072, "max_position_embeddings": 40960,
        "max_window_layers": 28, "model_type": "qwen3", "num_attention_heads": 16,
        "num_hidden_layers": 28, "num_key_value_heads": 8, "rms_norm_eps": 1e-06,
        "rope_scaling": None, "rope_theta": 1000000, "sliding_window": None,
        "tie_word_embeddings": True, "use_sliding_window": False, "vocab_size": 151936,
    },
    "gemma": {  # google/gemma-2b
        "attention_bias": False, "attention_dropout": 0.0, "head_dim": 256, "hidden_act": "gelu",
        "hidden_activation": "gelu_pytorch_tanh", "hidden_size": 2048, "intermediate_size": 16384,
        "max_position_embeddings": 8192, "model_type": "gemma", "num_attention_heads": 8,
        "num_hidden_layers": 18, "num_key_value_heads": 1, "rms_norm_eps": 1e-06,
        "rope_scaling": None, "rope_theta": 10000.0, "vocab_size": 256000,
    },
}  # fmt: skip
PARAMETERS = {
    "mistral": 7_241_732_096, "qwen2": 494_032_768, "qwen3": 596_049_920, "gemma": 2_506_172_416,
}  # fmt: skip


@pytest.mark.parametrize("model_type", PUBLISHED)
def test_a_preset_is_the_published_config(model_type: str) -> None:
    preset = PRESETS[model_type]
    kind = family(model_type)
    assert kind.config(PUBLISHED[model_type]).but(d_head=preset.d_head) == preset
    assert kind.config(kind.published(preset)).but(d_head=preset.d_head) == preset
    theirs = CONFIG_MAPPING[model_type].from_dict(dict(PUBLISHED[model_type]))
    with torch.device("meta"):
        models = llama(preset), getattr(transformers, kind.architecture)(theirs)
    mine, other = (sum(p.numel() for p in model.parameters()) for model in models)
    assert mine == other == PARAMETERS[model_type]


SMALL: list[LlamaConfig] = [
    preset.but(
        vocab_size=28, d_model=16, n_heads=4, n_kv_heads=2, d_head=6, n_layers=3, d_ff=24,
        max_length=12, window=3 if preset.window else None,
    )
    for preset in PRESETS.values()
]  # fmt: skip
SMALL += [
    SMALL[1].but(window=2, full_layers=(0, 2)),
    SMALL[2].but(window=3, full_layers=(0,), qkv_bias=True, out_bias=True),
    TINY.but(vocab_size=28, qkv_bias=True, out_bias=True, d_head=8),
]


@pytest.mark.parametrize("config", SMALL, ids=lambda config: config.family)
def test_what_we_write_theirs_reads(config: LlamaConfig, tmp_path: Path) -> None:
    ours = perturb(llama(config)).eval()
    kind = getattr(transformers, family(config.family).architecture)
    theirs, report = kind.from_pretrained(save(ours, tmp_path), output_loading_info=True)
    assert not report["missing_keys"]
    assert not report["unexpected_keys"]
    with torch.no_grad():
        assert torch.allclose(ours(SRC), theirs.eval()(SRC).logits, atol=1e-5)
    again = load(tmp_path)
    assert again.config == config
    for name, tensor in again.state_dict().items():
        assert torch.equal(tensor, ours.state_dict()[name]), name


def test_what_a_family_has_no_setting_for_is_not_written(tmp_path: Path) -> None:
    """Theirs would read another function."""
    for config, changes, message in (
        (TINY, {"window": 3}, "window=3: llama is published with window=None; change the field"),
        (TINY, {"qk_norm": True}, "qk_norm=True: llama"),
        (TINY, {"norm": OffsetRMSNorm}, "norm=.*OffsetRMSNorm.*: llama"),
        (TINY, {"embedding": ScaledEmbedding}, "embedding=.*: llama"),
        (TINY, {"qkv_bias": True}, "out_bias=False: llama is published with out_bias=True"),
        (SMALL[0], {"full_layers": (1,)}, r"full_layers=\(1,\): mistral"),
        (SMALL[1], {"qkv_bias": False}, "qkv_bias=False: qwen2 is published with qkv_bias=True"),
        (SMALL[1], {"out_bias": True}, "out_bias=True: qwen2"),
        (SMALL[2], {"qk_norm": False}, "qk_norm=False: qwen3"),
        (SMALL[3], {"norm": RMSNorm}, "norm=.*RMSNorm.*: gemma"),
        (SMALL[3], {"activation": gelu}, "activation=gelu: transformers reads gelu as its tanh"),
    ):
        with pytest.raises(ValueError, match=message):
            save(llama(config, **changes), tmp_path / "none")
    assert not (tmp_path / "none").exists()


@pytest.mark.parametrize(
    ("model_type", "given", "message"),
    [
        ("mistral", {"sliding_window": 0}, "sliding_window=0; expected a number above 0, or null"),
        ("mistral", {"sliding_window": "4"}, "sliding_window='4'"),
        ("mistral", SECOND_FULL, "in this family all are 'sliding_attention', from sliding_win"),
        ("mistral", {"rope_scaling": {"type": "yarn", "factor": 2.0}}, "'yarn'"),
        ("qwen2", SECOND_FULL, "with sliding_window=None, expected a list of 'full_attention'"),
        ("qwen2", NEAR | {"layer_types": ["full_attention"]}, "1 layer_types and num_hidden_laye"),
        ("qwen2", NEAR | {"layer_types": ["chunked_attention"] * 2}, "'chunked_attention'"),
        ("qwen2", NEAR | {"layer_types": "full_attention"}, "layer_types='full_attention'"),
        ("qwen2", NEAR | {"max_window_layers": None}, "max_window_layers=None; expected a whole"),
        ("qwen2", NEAR | {"sliding_window": -1, "max_window_layers": 0}, "sliding_window=-1"),
        ("qwen3", {"head_dim": None}, "head_dim=None; expected the width of a head"),
        ("gemma", {"head_dim": None}, "head_dim=None; expected the width of a head"),
        ("gemma", {"hidden_activation": "silu"}, "hidden_activation='silu' and hidden_act='gelu_"),
        ("gemma", {"hidden_act": "mish"}, "the activation 'mish'"),
        ("gemma", {"use_bidirectional_attention": True}, "bidirectional_attention=True; only Fal"),
        ("gemma2", {}, "'gemma2', which is not supported: .* caps scores and logits; supported"),
        ("gemma3", {}, "'gemma3', which is not supported: .* RoPE with two bases; supported"),
        ("gemma3_text", {}, "'gemma3_text', which is not supported"),
        ("mixtral", {}, "'mixtral', which is not supported: .* mixtures of experts; supported"),
        ("qwen2_moe", {}, "'qwen2_moe', which is not supported: .* mixtures of experts"),
        ("qwen3_moe", {}, "'qwen3_moe', which is not supported: .* mixtures of experts"),
    ],
)
def test_what_is_not_built_is_refused(model_type: str, given: dict[str, Any], message: str) -> None:
    with pytest.raises(ValueError, match=message):
        from_config({**SIZES, "model_type": model_type, **given})


def test_a_record_that_says_two_things_is_refused() -> None:
    with pytest.raises(ValueError, match=r"full_layers=\(0,\) with window=None: every layer is"):
        llama(TINY, full_layers=(0,))
    with pytest.raises(ValueError, match="full_layers has 2; with n_layers=2, expected 0 to 1"):
        llama(TINY, window=3, full_layers=(2,))
    with pytest.raises(ValueError, match="window"):
        llama(TINY, window=0)


def test_gelu_means_its_approximation_in_gemma_alone() -> None:
    for given in ({"hidden_act": "gelu"}, {"hidden_activation": "gelu_pytorch_tanh"}, {}):
        model = from_config({**SIZES, "model_type": "gemma", **given})
        assert model.config.activation is gelu_tanh
    assert (
        from_config({**SIZES, "model_type": "qwen3", "hidden_act": "gelu"}).config.activation
        is gelu
    )


def test_older_qwen2_files_say_windowed_layers_by_their_number() -> None:
    told = {**SIZES, "num_hidden_layers": 4, **NEAR, "max_window_layers": 3}
    config = family("qwen2").config(told)
    assert (config.window, config.full_layers) == (3, (0, 1, 2))
    assert [config.window_of(layer) for layer in range(4)] == [None, None, None, 3]
    assert family("qwen2").config({**told, "max_window_layers": 9}).window is None
    assert family("qwen2").published(config)["max_window_layers"] == 3


@pytest.mark.parametrize("dtype", [torch.bfloat16, torch.float16, torch.float32, torch.float64])
def test_embeddings_are_scaled_to_the_bit(dtype: torch.dtype) -> None:
    """The factor is rounded first: sqrt(20) has other digits in each dtype."""
    theirs = GemmaTextScaledWordEmbedding(28, 20, 0, embed_scale=20**0.5).to(dtype)
    ours = ScaledEmbedding(28, 20).to(dtype)
    with torch.no_grad():
        ours.weight.copy_(theirs.weight)
        assert torch.equal(ours(SRC), theirs(SRC))
        if dtype == torch.bfloat16:
            assert not torch.equal(20**0.5 * theirs.weight[SRC], theirs(SRC))
