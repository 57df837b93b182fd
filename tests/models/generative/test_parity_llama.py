"""Llama against transformers in float64, cached and uncached; its settings; mutations."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any
from unittest import mock

import pytest
import torch
from parity_bert import MASK, SRC, reference, saved_and_loaded
from parity_proofs import alike
from parity_registry import equal, parity
from parity_text import in_double, step_by_step
from torch import Tensor
from transformers import LlamaConfig, LlamaForCausalLM
from transformers.modeling_rope_utils import ROPE_INIT_FUNCTIONS

from deepdive.core import RMSNorm, gelu
from deepdive.models.generative import llama
from deepdive.positions import RopeScaling, RotaryPosition
from deepdive.published import family, from_config, load, save

PIECES = ((0, 3), (3, 4), (4, 7))
SIZES: dict[str, Any] = {
    "vocab_size": 28,
    "hidden_size": 16,
    "num_hidden_layers": 2,
    "num_attention_heads": 4,
    "num_key_value_heads": 2,
    "intermediate_size": 24,
    "max_position_embeddings": 12,
    "rms_norm_eps": 1e-3,
    "rope_parameters": {"rope_type": "default", "rope_theta": 100.0},
    "bos_token_id": 1,
    "eos_token_id": 2,  # and no padding's: theirs gives its row no gradient
}


@parity("modern_decoder")
def llama_agrees() -> None:
    for changes in ({}, {"tie_word_embeddings": True, "head_dim": 6, "num_key_value_heads": 1}):
        theirs = reference(LlamaForCausalLM, LlamaConfig, **SIZES | changes)
        ours = saved_and_loaded(theirs, load)
        for mask in (MASK, MASK.flip(1)):  # padding at the end, and at the start
            output = ours(SRC, mask)
            equal(output[mask], theirs(SRC, attention_mask=mask.long()).logits[mask], 1e-5)
            with in_double():
                expected = theirs(SRC, attention_mask=mask.long()).logits
                names = family("llama").table(config=ours.config)
                alike(ours, theirs, output[mask], expected[mask], [names])
        step_by_step(ours, theirs, PIECES)


def test_llama_agrees() -> None:
    llama_agrees()


@pytest.mark.parametrize("tied", [False, True])
def test_what_we_write_theirs_reads(tied: bool, tmp_path: Path) -> None:
    ours = llama.llama(llama.TINY, tied=tied, base=5e4).eval()
    theirs = LlamaForCausalLM.from_pretrained(save(ours, tmp_path)).eval()
    assert torch.allclose(ours(SRC), theirs(SRC).logits, atol=1e-5)
    assert theirs.config.rope_parameters["rope_theta"] == 5e4
    assert load(tmp_path).config == ours.config.but(d_head=8)


def test_the_base_of_the_angles_is_read_from_old_settings_and_new() -> None:
    told = {**SIZES, "model_type": "llama"}
    del told["rope_parameters"]
    for given, base in (
        ({"rope_theta": 50.0, "rope_scaling": None}, 50.0),
        ({"rope_parameters": {"rope_type": "default", "rope_theta": 500_000}}, 500_000.0),
        ({}, 10_000.0),
    ):
        assert from_config({**told, **given}).config.base == base


@pytest.mark.parametrize(
    ("given", "message"),
    [
        ({"rope_scaling": {"type": "dynamic", "factor": 2.0}}, "'dynamic'"),
        ({"rope_parameters": {"rope_type": "yarn", "rope_theta": 5e5}}, "'yarn'"),
        ({"rope_parameters": {"rope_type": "llama3"}}, "'llama3' without factor"),
        ({"rope_scaling": {"type": "linear", "factor": -2.0}}, "factor=-2"),
        ({"rope_parameters": {"rope_theta": -1.0}}, r"rope_theta=-1\.0"),
        ({"mlp_bias": True}, "mlp_bias=True"),
        ({"num_key_value_heads": 3}, "n_kv_heads=3"),
        ({"hidden_act": "relu6"}, "'relu6'"),
    ],
)
def test_what_is_not_built_is_refused(given: dict[str, Any], message: str) -> None:
    with pytest.raises(ValueError, match=message):
        from_config({**SIZES, "model_type": "llama", **given})


LLAMA_3 = {
    "rope_type": "llama3", "factor": 8.0, "low_freq_factor": 1.0, "high_freq_factor": 4.0,
    "original_max_position_embeddings": 64,
}  # fmt: skip
SCALED: list[dict[str, Any]] = [LLAMA_3, {"rope_type": "linear", "factor": 4.0}]


@pytest.mark.parametrize("scaled", SCALED, ids=["llama3", "linear"])
def test_scaled_angles_agree(scaled: dict[str, Any], tmp_path: Path) -> None:
    """With d_head = 8 the four rates are kept, mixed and divided: all three cases of llama3."""
    angles = {"rope_parameters": {"rope_theta": 50.0, **scaled}, "head_dim": 8}
    theirs = reference(LlamaForCausalLM, LlamaConfig, **SIZES | angles)
    ours = saved_and_loaded(theirs, load)
    inverse, _ = ROPE_INIT_FUNCTIONS[scaled["rope_type"]](theirs.config, torch.device("cpu"))
    equal(ours.config.scaling(50.0 ** (-torch.arange(4).double() / 4)), inverse.double(), 1e-6)
    with torch.no_grad():
        equal(ours(SRC), theirs(SRC).logits, 1e-5)  # their angles in float32
    with in_double(50.0, ours.config.scaling):
        names = family("llama").table(config=ours.config)
        alike(ours, theirs, ours(SRC), theirs(SRC).logits, [names])
    again = load(save(ours.float(), tmp_path))
    assert again.config == ours.config
    assert LlamaConfig.from_pretrained(tmp_path).rope_parameters["rope_type"] == scaled["rope_type"]
    plain = load(tmp_path, scaling=None)
    assert not torch.allclose(plain(SRC), again(SRC), atol=1e-3), "the scaling is felt"


@pytest.mark.parametrize("scaled", SCALED, ids=["llama3", "linear"])
def test_scaled_angles_write_as_they_read(scaled: dict[str, Any]) -> None:
    """Cached in pieces as in one pass."""
    told = {**SIZES, "model_type": "llama", "rope_parameters": {"rope_theta": 50.0, **scaled}}
    ours = from_config(told).double().eval()
    state = ours.begin()
    with torch.no_grad():
        pieces = [ours.step(SRC[:, a:b], state) for a, b in PIECES]
        equal(torch.cat(pieces, 1), ours(SRC))


def test_old_files_say_the_scaling_by_rope_scaling() -> None:
    told = {**SIZES, "model_type": "llama", "rope_theta": 5e5, "rope_scaling": LLAMA_3}
    del told["rope_parameters"]
    config = from_config(told).config
    assert (config.base, config.scaling) == (5e5, RopeScaling(8.0, 1.0, 4.0, 64))
    rates = 50.0 ** (-torch.arange(4, dtype=torch.float64) / 4)
    kept = config.scaling(rates) / rates
    assert kept[0] == 1
    assert kept[-1] == 1 / 8
    assert ((kept > 1 / 8) & (kept < 1)).sum() == 2


def test_published_sizes() -> None:
    with torch.device("meta"):
        pairs = [
            (llama.llama(), LlamaForCausalLM(LlamaConfig())),
            (
                llama.llama(llama.SMOLLM2),
                LlamaForCausalLM(
                    LlamaConfig(
                        vocab_size=49_152, hidden_size=576, num_attention_heads=9,
                        num_key_value_heads=3, num_hidden_layers=30, intermediate_size=1536,
                        tie_word_embeddings=True,
                    )
                ),
            ),
        ]  # fmt: skip
    for ours, theirs in pairs:
        mine, other = (sum(p.numel() for p in m.parameters()) for m in (ours, theirs))
        assert mine == other
    assert sum(p.numel() for p in pairs[1][0].parameters()) == 134_515_008


rotate, rms = RotaryPosition.rotate, RMSNorm.forward
MUTATIONS: dict[str, tuple[str, object]] = {
    "places from 1, for queries alone": (
        "deepdive.core.MultiHeadAttention.rotated",
        lambda self, q, k, at: (rotate(self.position, q, at + 1), rotate(self.position, k, at)),
    ),
    "the other pairs turned": (
        "deepdive.published.families.decoders.paired",
        lambda n_heads: (lambda rows: rows, lambda rows: rows),
    ),
    "another base": (
        "deepdive.positions.RotaryPosition.angles",
        lambda self, at: (
            at.double().unsqueeze(-1)
            * 101.0 ** -(torch.arange(0, self.d_head, 2).double() / self.d_head)
        ),
    ),
    "a norm that takes the mean away": (
        "deepdive.core.RMSNorm.forward",
        lambda self, x: rms(self, x - x.mean(-1, keepdim=True)),
    ),
    "another epsilon": (
        "deepdive.core.RMSNorm.forward",
        lambda self, x: torch.nn.functional.rms_norm(x, x.shape[-1:], self.weight, 1e-5),
    ),
    "the gate's activation": ("deepdive.published.form.ACTIVATIONS", {"silu": gelu}),
    "gate and inner exchanged": (
        "deepdive.core.GatedFeedForward.forward",
        lambda self, x: self.out(self.activation(self.inner(x)) * self.gate(x)),
    ),
    "groups in another order": (
        "deepdive.core.MultiHeadAttention.to_all_heads",
        lambda self, k, v: tuple(
            x.repeat(1, self.n_heads // self.n_kv_heads, 1, 1) for x in (k, v)
        ),
    ),
}


@pytest.mark.parametrize("name", MUTATIONS)
def test_a_mutation_is_seen(name: str) -> None:
    target, wrong = MUTATIONS[name]
    with mock.patch(target, wrong), pytest.raises(AssertionError):
        llama_agrees()


def test_a_cache_that_forgets_its_length_is_seen() -> None:
    """Without it each piece is counted from 0."""
    wrong: Callable[..., Tensor] = lambda x, context: torch.arange(x.shape[1])  # noqa: E731
    theirs = reference(LlamaForCausalLM, LlamaConfig, **SIZES)
    ours = saved_and_loaded(theirs, load)
    step_by_step(ours, theirs, PIECES)
    with (
        mock.patch("deepdive.core.multi_head.query_positions", wrong),
        pytest.raises(AssertionError),
    ):
        step_by_step(ours, theirs, PIECES)
