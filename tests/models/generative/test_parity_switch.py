"""Switch Transformers against transformers in float64; its settings; mutations."""

from __future__ import annotations

from pathlib import Path
from typing import Any
from unittest import mock

import pytest
import torch
from parity_bert import MASK, SRC, reference, saved_and_loaded
from parity_proofs import alike, real, tokens
from parity_registry import equal, parity
from torch import Tensor
from transformers import SwitchTransformersConfig, SwitchTransformersForConditionalGeneration
from transformers.models.switch_transformers import modeling_switch_transformers as theirs_code

from deepdive.core.hooks import collect_losses
from deepdive.layers import SparseExperts
from deepdive.models.generative import switch, t5
from deepdive.published import family, from_config, load, save

SIZES: dict[str, Any] = {
    "vocab_size": 28,
    "d_model": 16,
    "d_kv": 6,
    "d_ff": 24,
    "num_layers": 3,
    "num_decoder_layers": 2,
    "num_heads": 4,
    "relative_attention_num_buckets": 8,
    "relative_attention_max_distance": 6,
    "layer_norm_epsilon": 1e-3,
    "num_experts": 3,
    "num_sparse_encoder_layers": 1,
    "num_sparse_decoder_layers": 2,
    "expert_capacity": 64,
    "decoder_start_token_id": 0,
}
TGT, TGT_MASK = tokens(3, 5, vocab=28, seed=1), real([5, 5, 2], 5)


def norm(self: Any, x: Tensor) -> Tensor:
    return self.weight * x * torch.rsqrt(x.pow(2).mean(-1, keepdim=True) + self.variance_epsilon)


@parity("switch")
def switch_agrees() -> None:
    """With room for all, with too little for some, and with fewer experts."""
    for changes in ({}, {"expert_capacity": 2}, {"num_experts": 2}):
        theirs = reference(
            SwitchTransformersForConditionalGeneration, SwitchTransformersConfig, **SIZES | changes
        )
        for module in theirs.modules():
            if isinstance(module, theirs_code.SwitchTransformersTop1Router):
                module.dtype = torch.float64
        ours = saved_and_loaded(theirs, load)
        names = family("switch_transformers").table(config=ours.config)
        with mock.patch.object(theirs_code.SwitchTransformersLayerNorm, "forward", norm):
            expected = theirs(
                input_ids=SRC, attention_mask=MASK.long(), decoder_input_ids=TGT,
                decoder_attention_mask=TGT_MASK.long(),
            ).logits  # fmt: skip
        output = ours(SRC, TGT, MASK, TGT_MASK)
        alike(ours, theirs, output[TGT_MASK], expected[TGT_MASK], [names])


def test_switch_agrees() -> None:
    switch_agrees()


def test_step_by_step_with_room_for_all() -> None:
    torch.manual_seed(0)
    model = switch.switch(switch.TINY).double().eval()
    with torch.no_grad():
        state, whole = model.begin(SRC, MASK), model(SRC, TGT, MASK)
        for a, b in ((0, 2), (2, 3), (3, 5)):
            equal(model.step(TGT[:, a:b], state), whole[:, a:b])


def test_each_layer_with_experts_asks_for_balance() -> None:
    model = switch.switch(switch.TINY, n_sparse_layers=2)
    assert sum(isinstance(m, SparseExperts) for m in model.modules()) == 3
    with collect_losses(model) as extra:
        model(SRC, TGT)
    assert len(extra) == 3
    assert all(0.0 < loss.item() <= 0.01 * 3 for loss in extra)


def test_what_we_write_theirs_reads(tmp_path: Path) -> None:
    for config in (switch.TINY, switch.TINY.but(n_experts=1)):
        ours = switch.switch(config).eval()
        read = SwitchTransformersForConditionalGeneration.from_pretrained(save(ours, tmp_path))
        expected = read.eval()(input_ids=SRC, decoder_input_ids=TGT).logits
        assert torch.allclose(ours(SRC, TGT), expected, atol=1e-4)  # both in float32
        assert load(tmp_path).config == ours.config


@pytest.mark.parametrize(
    ("given", "message"),
    [
        ({"tie_word_embeddings": False}, "tie_word_embeddings=False"),
        ({"router_bias": True}, "router_bias=True"),
        ({"num_sparse_encoder_layers": 4}, "experts in 4 of 3 layers"),
        ({"num_sparse_decoder_layers": 0}, "n_decoder_sparse_layers=0"),
        ({"dense_act_fn": "relu6"}, "'relu6'"),
    ],
)
def test_what_is_not_built_is_refused(given: dict[str, Any], message: str) -> None:
    with pytest.raises(ValueError, match=message):
        from_config({**SIZES, "model_type": "switch_transformers", **given})


def test_a_head_of_its_own_is_not_published(tmp_path: Path) -> None:
    with pytest.raises(ValueError, match=r"head: .* build it with t5\.scaled"):
        save(switch.switch(switch.TINY, head=t5.untied), tmp_path)


def test_published_size() -> None:
    config = SwitchTransformersConfig(
        d_ff=3072, num_sparse_encoder_layers=6, num_sparse_decoder_layers=6
    )
    with torch.device("meta"):
        models = switch.switch(), SwitchTransformersForConditionalGeneration(config)
    ours, theirs = (sum(p.numel() for p in m.parameters()) for m in models)
    assert ours == theirs == 619_339_008


MUTATIONS: dict[str, tuple[str, object]] = {
    "experts in the first layers": (
        "deepdive.models.generative.switch.SwitchConfig.has_experts",
        lambda self, layer, decodes: layer % 3 == 0 or decodes,
    ),
    "no capacity": (
        "deepdive.layers.SparseExperts.served",
        lambda self, experts: torch.ones_like(experts, dtype=torch.bool),
    ),
    "gates that are 1": (
        "deepdive.layers.experts.SwitchRouter.forward",
        lambda self, x: super(type(self), self).forward(x),
    ),
}


@pytest.mark.parametrize("name", MUTATIONS)
def test_a_mutation_is_seen(name: str) -> None:
    target, wrong = MUTATIONS[name]
    with mock.patch(target, wrong), pytest.raises((AssertionError, ValueError)):
        switch_agrees()
