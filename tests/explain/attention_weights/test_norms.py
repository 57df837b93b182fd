"""Norms of what attention adds: written out, adding up to the layer's, a row that says nothing."""

from __future__ import annotations

from itertools import product
from typing import Any

import pytest
import torch
from torch import Tensor
from transformers import BertConfig, BertForSequenceClassification

from deepdive.core import MultiHeadAttention
from deepdive.core.hooks import record
from deepdive.explain.attention_weights.norms import _read_off, head_norms, norms
from deepdive.explain.classifiers.adapt import adapt


@pytest.fixture
def layer() -> MultiHeadAttention:
    torch.manual_seed(0)
    return MultiHeadAttention(8, 4).double().eval()


@pytest.fixture
def x() -> Tensor:
    return torch.randn(2, 5, 8, dtype=torch.float64)


def seen_of(layer: MultiHeadAttention, x: Tensor) -> tuple[Tensor, Tensor, Tensor]:
    with record(layer, "*.weights", "values") as seen, torch.no_grad():
        out = layer(x)
    return seen["mechanism.weights"][0], seen["values"][0], out


def test_it_is_the_sum_written_out(layer: MultiHeadAttention, x: Tensor) -> None:
    weights, values, _ = seen_of(layer, x)
    by_head, together = head_norms(weights, values, layer.out.weight), norms(
        weights, values, layer.out.weight
    )  # fmt: skip
    w_v, b_v = (part.chunk(2)[1] for part in (layer.kv.weight, layer.kv.bias))
    for b, t, s in product(range(2), range(5), range(5)):
        added = torch.zeros(8, dtype=torch.float64)
        for h in range(4):
            rows = slice(2 * h, 2 * h + 2)
            value = w_v[rows] @ x[b, s] + b_v[rows]
            taken = weights[b, h, t, s] * (layer.out.weight[:, rows] @ value)
            torch.testing.assert_close(by_head[b, h, t, s], taken.norm())
            added += taken
        torch.testing.assert_close(together[b, t, s], added.norm())


def test_what_is_taken_adds_up_to_what_the_layer_says(layer: MultiHeadAttention, x: Tensor) -> None:
    weights, values, out = seen_of(layer, x)
    added = torch.einsum("bhts,bhsd->btd", weights, _read_off(weights, values, layer.out.weight))
    torch.testing.assert_close(added + layer.out.bias, out)


def test_the_parts_are_no_smaller_than_the_whole(layer: MultiHeadAttention, x: Tensor) -> None:
    weights, values, _ = seen_of(layer, x)
    parts = head_norms(weights, values, layer.out.weight).sum(1)
    whole = norms(weights, values, layer.out.weight)
    assert (whole <= parts + 1e-12).all()
    assert (whole < 0.9 * parts).any()  # heads cancel


def test_a_row_that_says_nothing_gives_nothing_however_it_is_looked_at(
    layer: MultiHeadAttention, x: Tensor
) -> None:
    """Kobayashi et al.'s finding on separators, planted."""
    weights, values, _ = seen_of(layer, x)
    values = values.clone()
    values[:, :, 4] *= 1e-3
    weights = torch.full_like(weights, 0.05)
    weights[..., 4] = 0.8
    for found in (head_norms(weights, values, layer.out.weight).sum(1),
                  norms(weights, values, layer.out.weight)):  # fmt: skip
        assert (found.argmin(-1) == 4).all()
    assert (weights.argmax(-1) == 4).all()


def test_a_layer_of_transformers() -> None:
    config = BertConfig(vocab_size=30, hidden_size=16, num_hidden_layers=1, num_attention_heads=4,
                        intermediate_size=24)  # fmt: skip
    theirs: Any = BertForSequenceClassification(config)
    model = adapt(theirs.double().eval())
    output = theirs.bert.encoder.layer[0].attention.output.dense
    said = []
    output.register_forward_hook(lambda module, given, found: said.append(found))
    with record(model, "*.weights", "*.values") as seen, torch.no_grad():
        model(torch.tensor([[3, 4, 5]]))
    weights = next(calls[0] for name, calls in seen.items() if name.endswith("weights"))
    values = next(calls[0] for name, calls in seen.items() if name.endswith("values"))
    assert norms(weights, values, output.weight).shape == (1, 3, 3)
    added = torch.einsum("bhts,bhsd->btd", weights, _read_off(weights, values, output.weight))
    torch.testing.assert_close(added + output.bias, said[0])


def test_shapes_that_do_not_fit_are_refused() -> None:
    weights, values, out = torch.rand(1, 2, 3, 4), torch.rand(1, 2, 4, 5), torch.rand(6, 10)
    assert norms(weights, values, out).shape == (1, 3, 4)
    for wrong in ((weights.mT, values, out), (weights, values, out.T), (weights[0], values, out)):
        with pytest.raises(ValueError, match="of one layer"):
            norms(*wrong)
