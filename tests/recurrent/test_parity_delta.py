"""The gated delta rule against transformers in float64, both forms; a mutation."""

from __future__ import annotations

from typing import Any
from unittest import mock

import pytest
import torch
from parity_proofs import rows
from parity_registry import equal, equal_gradients, parity
from torch import Tensor
from transformers.models.qwen3_next import modeling_qwen3_next as theirs

from deepdive.recurrent import delta
from deepdive.recurrent.delta import GatedDelta
from deepdive.recurrent.state import RecurrentState


def inputs() -> list[Tensor]:
    """q, k of length 1, v, the logarithms of what is kept, what is written, a memory; leaves."""
    q, k, v = (rows(2, 3, 7, 4, seed=seed).detach() for seed in range(3))
    k = k / k.norm(dim=-1, keepdim=True)
    keep, write = -rows(2, 3, 7).detach().exp(), rows(2, 3, 7, seed=5).detach().sigmoid()
    S = rows(2, 3, 4, 4, seed=6).detach()
    return [each.requires_grad_() for each in (q, k, v, keep, write, S)]


def asked(form: Any, given: list[Tensor], **options: int) -> Tensor:
    """Theirs in float64: they compute in float32 whatever they are given, and divide q by the
    root of its width.
    """
    q, k, v, keep, write = (each.transpose(1, 2) for each in given[:5])
    with mock.patch.object(theirs.torch, "float32", torch.float64):
        output, S = form(
            2 * q, k, v, keep, write, initial_state=given[5], output_final_state=True, **options
        )
    return torch.cat([output.transpose(1, 2), S], dim=2)


@parity(GatedDelta)
def qwen_agrees() -> None:
    step = theirs.torch_recurrent_gated_delta_rule
    chunk = theirs.torch_chunk_gated_delta_rule
    for ours in (delta.delta_steps, delta.delta_chunk):
        for form, options in ((step, {}), (chunk, {"chunk_size": 3}), (chunk, {"chunk_size": 8})):
            mine, other = inputs(), inputs()
            output, expected = torch.cat(ours(*mine), dim=2), asked(form, other, **options)
            equal(output, expected)
            names = ("q", "k", "v", "keep", "write", "S")
            pairs = dict(zip(names, zip(mine, other, strict=True), strict=True))
            equal_gradients(output, expected, pairs)


def test_it_agrees() -> None:
    qwen_agrees()


@pytest.mark.parametrize("form", ["delta_steps", "delta_chunk"])
def test_a_rule_that_corrects_before_it_forgets_is_seen(form: str) -> None:
    """The memory is asked after it has forgotten; asked before, it says too much."""

    def wrong(q: Tensor, k: Tensor, v: Tensor, keep: Tensor, write: Tensor, S: Tensor) -> Any:
        outputs = []
        for t in range(q.shape[-2]):
            k_t = k[..., t, :, None]
            u = write[..., t, None, None] * (v[..., t, None, :] - k_t.mT @ S)
            S = keep[..., t, None, None].exp() * S + k_t @ u
            outputs.append(q[..., t, None, :] @ S)
        return torch.cat(outputs, dim=-2), S

    with mock.patch.object(delta, form, wrong), pytest.raises(AssertionError):
        qwen_agrees()


def test_the_layer_is_its_projections_and_the_rule() -> None:
    torch.manual_seed(0)
    layer, x = GatedDelta(8, 2, chunk=3).double(), rows(2, 7, 8).detach()
    q, k, v = (
        part(x).unflatten(-1, (2, 4)).transpose(1, 2) for part in (layer.q, layer.k, layer.v)
    )
    q, k = (part / part.norm(dim=-1, keepdim=True) for part in (q, k))
    keep = -(1 + layer.gate(x).exp()).log().mT  # a rate of 1
    write = 1 / (1 + (-layer.write(x).mT).exp())
    state = RecurrentState()
    expected, S = delta.delta_steps(q, k, v, keep, write, torch.zeros(2, 2, 4, 4).double())
    equal(layer(x, None, state), layer.out(expected.transpose(1, 2).flatten(2)))
    assert state.values is not None
    equal(state.values[0], S)


def test_half_precision_keeps_its_memory_in_float32() -> None:
    layer, state = GatedDelta(8, 2).bfloat16(), RecurrentState()
    assert layer(torch.ones(1, 3, 8).bfloat16(), None, state).dtype == torch.bfloat16
    assert state.values is not None
    assert state.values[0].dtype == torch.float32
