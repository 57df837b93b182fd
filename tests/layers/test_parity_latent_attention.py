"""Latent attention against transformers in float64, plain and absorbed, cached; mutations."""

from __future__ import annotations

from typing import Any
from unittest import mock

import pytest
import torch
from parity_proofs import alike, rows
from parity_registry import equal, parity, perturb
from parity_text import norm
from torch import Tensor
from transformers import DeepseekV3Config
from transformers.models.deepseek_v3 import modeling_deepseek_v3
from transformers.models.deepseek_v3.modeling_deepseek_v3 import DeepseekV3Attention

from deepdive.core import Slot
from deepdive.core.masks import Causal
from deepdive.layers.latent_attention import AbsorbedLatentAttention, LatentAttention
from deepdive.published.names import Names

SIZES: dict[str, Any] = {"d_head": 4, "rank": 6, "d_rotary": 2, "base": 100.0}


def reference(q_rank: int | None) -> Any:
    config = DeepseekV3Config(
        hidden_size=16, num_attention_heads=4, num_key_value_heads=4, q_lora_rank=q_rank,
        kv_lora_rank=6, qk_nope_head_dim=4, qk_rope_head_dim=2, v_head_dim=4,
    )  # fmt: skip
    config._attn_implementation = "sdpa"
    torch.manual_seed(0)
    return perturb(DeepseekV3Attention(config, 0).double().eval())


def names(q_rank: int | None) -> Names:
    queries = {"q_proj": "q"} if q_rank is None else {"q_a_proj": "q.0", "q_a_layernorm": "q.1",
                                                      "q_b_proj": "q.2"}  # fmt: skip
    return Names(
        {**queries, "kv_a_proj_with_mqa": "kv", "kv_a_layernorm": "norm", "kv_b_proj": "up",
         "o_proj": "out"}
    )  # fmt: skip


def theirs_of(layer: Any, x: Tensor) -> Tensor:
    """Causal, at places from 0, with their norms in float64."""
    T = x.shape[1]
    angles = torch.arange(T).double()[:, None] * 100.0 ** -(torch.arange(0, 2, 2).double() / 2)
    both = torch.cat([angles, angles], -1)[None]
    hidden = torch.full((T, T), -1e300, dtype=torch.float64).triu(1)
    with mock.patch.object(modeling_deepseek_v3.DeepseekV3RMSNorm, "forward", norm):
        answer: Tensor = layer(x, (both.cos(), both.sin()), hidden[None, None])[0]
    return answer


@parity("LatentAttention", "AbsorbedLatentAttention")
def deepseek_agrees() -> None:
    for kind in (LatentAttention, AbsorbedLatentAttention):
        for q_rank in (None, 5):
            theirs, table = reference(q_rank), names(q_rank)
            ours = kind(16, 4, **SIZES, q_rank=q_rank).double()
            fill(ours, theirs, table)
            x, y = rows(2, 7, 16), rows(2, 7, 16)
            output, expected = ours(x, mask=Causal()), theirs_of(theirs, y)
            alike(ours, theirs, output, expected, [table], inputs=[(x, y)])
            step_by_step(ours, expected)


def fill(ours: LatentAttention, theirs: Any, table: Names) -> None:
    """Give ours the weights of theirs."""
    weights = theirs.state_dict()
    named = {f"{table.pairs[n.rpartition('.')[0]]}.weight": w for n, w in weights.items()}
    ours.load_state_dict(named)


def step_by_step(ours: LatentAttention, expected: Tensor) -> None:
    """Through a cache that holds 8 numbers a token, in pieces."""
    x, slot = rows(2, 7, 16).detach(), Slot()
    with torch.no_grad():
        pieces = [ours(x[:, a:b], mask=Causal(), cache=slot) for a, b in ((0, 3), (3, 4), (4, 7))]
    equal(torch.cat(pieces, 1), expected)
    assert slot.keys is not None
    assert slot.values is not None
    assert (
        slot.keys.shape[1] * slot.keys.shape[3] + slot.values.shape[1] * slot.values.shape[3] == 8
    )


def test_it_agrees() -> None:
    deepseek_agrees()


halves = AbsorbedLatentAttention.halves
LATENT = "deepdive.layers.latent_attention"
MUTATIONS: dict[str, tuple[str, object]] = {
    "the latent without its norm": (
        f"{LATENT}.LatentAttention.keys_and_values",
        lambda self, rows: tuple(
            part[:, None] for part in self.kv(rows).split([6, 2], dim=-1)[::-1]
        ),
    ),
    "keys and values exchanged": (
        f"{LATENT}.AbsorbedLatentAttention.halves",
        lambda self: halves(self)[::-1],
    ),
    "the first entries turned": (
        "deepdive.positions.TailRotaryPosition.rotate",
        lambda self, rows, at: torch.cat(
            [super(type(self), self).rotate(rows[..., :2], at), rows[..., 2:]], -1
        ),
    ),
}


@pytest.mark.parametrize("name", MUTATIONS)
def test_a_mutation_is_seen(name: str) -> None:
    target, wrong = MUTATIONS[name]
    with mock.patch(target, wrong), pytest.raises(AssertionError):
        deepseek_agrees()


def test_another_scale_is_seen() -> None:
    """Scores are divided by the root of both widths together."""
    theirs, table = reference(None), names(None)
    ours = LatentAttention(16, 4, **SIZES).double()
    fill(ours, theirs, table)
    x = rows(2, 7, 16)
    equal(ours(x, mask=Causal()), theirs_of(theirs, x))
    ours.scale = 4**-0.5
    with pytest.raises(AssertionError):
        equal(ours(x, mask=Causal()), theirs_of(theirs, x))
