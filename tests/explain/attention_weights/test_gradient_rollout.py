"""Gradient-weighted rollout: by hand, all paths by brute force, a planted row, models."""

from __future__ import annotations

from itertools import product
from typing import Any

import pytest
import torch
from parity_registry import perturb
from torch import Tensor, nn
from transformers import BertConfig, BertForSequenceClassification

from deepdive.core.hooks import HookPoint, record
from deepdive.explain.attention_weights.gradient_rollout import gradient_rollout, positive_gradient
from deepdive.explain.classifiers.adapt import adapt
from deepdive.explain.rollout import rollout
from deepdive.layers.heads import Classifier
from deepdive.models.bert import albert, bert
from deepdive.published.classifier import published

TOKENS = torch.tensor([[1, 9, 8, 22, 5, 2]])


class Looks(nn.Module):
    """Layers of fixed weights (L, 1, H, T, T), and any reading of them."""

    def __init__(self, weights: Tensor, read: Any) -> None:
        super().__init__()
        self.weights, self.read = weights, read
        self.points = nn.ModuleList(HookPoint() for _ in weights)

    def forward(self) -> Tensor:
        pairs = zip(self.points, self.weights, strict=True)
        return self.read([point(layer) for point, layer in pairs])


def noise(*shape: int) -> Tensor:
    return torch.randn(*shape, dtype=torch.float64).softmax(-1)


def test_one_layer_by_hand() -> None:
    """What speaks for it counts, what speaks against it does not, and heads are averaged."""
    weights, slopes = noise(1, 1, 2, 3, 3), torch.randn(2, 3, 3).double()
    model = Looks(weights, lambda layers: (layers[0][0] * slopes).sum()[None])
    found = gradient_rollout(model, "*", model)
    expected = torch.eye(3)[0] + (weights[0, 0] * slopes).clamp(min=0).mean(0)[0]
    torch.testing.assert_close(found[0], expected)
    assert (positive_gradient(weights[0], -slopes[None].abs()) == 0).all()


def test_it_is_the_sum_over_all_paths() -> None:
    weights = noise(3, 1, 2, 3, 3)
    slopes = torch.randn_like(weights)
    model = Looks(weights, lambda layers: (torch.stack(layers) * slopes).sum()[None])
    found = gradient_rollout(model, "*", model, state=2)[0]
    steps = (weights * slopes).clamp(min=0).mean(2)[:, 0] + torch.eye(3)
    for source in range(3):
        total = sum(
            steps[2][2, b] * steps[1][b, a] * steps[0][a, source]
            for a, b in product(range(3), repeat=2)
        )
        torch.testing.assert_close(found[source], total)


def test_an_output_that_reads_no_weights_leaves_the_identity() -> None:
    model = Looks(noise(2, 1, 2, 3, 3), lambda layers: 0 * layers[0].sum()[None])
    assert gradient_rollout(model, "*", model).tolist() == [[1, 0, 0]]


def test_two_classes_have_two_pictures_where_rollout_has_one() -> None:
    """Head 0 takes row 1 for the first class, head 1 takes row 2 for the second."""
    even = torch.full((1, 1, 2, 3, 3), 1 / 3, dtype=torch.float64)
    read = lambda layers: torch.stack([layers[0][0, 0, 0, 1], layers[0][0, 1, 0, 2]])  # noqa: E731
    model = Looks(even, read)
    found = gradient_rollout(model, "*", model)
    assert [row[1:].argmax().item() for row in found] == [0, 1]
    plain = rollout([even[0]])[-1][0, 0]
    assert plain[1] == plain[2]


def ours(kind: Any = bert) -> Classifier:
    torch.manual_seed(0)
    encoder = kind.bert(kind.TINY, vocab_size=30) if kind is bert else kind.albert(
        kind.TINY, vocab_size=30
    )  # fmt: skip
    return perturb(Classifier(encoder, 32, 3).double().eval(), size=0.1)  # type: ignore[return-value]


def test_a_model_of_transformers_is_explained_as_ours() -> None:
    settings: dict[str, Any] = {
        "vocab_size": 30, "hidden_size": 32, "num_hidden_layers": 2, "num_attention_heads": 4,
        "intermediate_size": 64, "max_position_embeddings": 64, "num_labels": 3,
    }  # fmt: skip
    their_own: Any = BertForSequenceClassification(BertConfig(**settings))
    theirs = adapt(their_own.double().eval())
    model = ours()
    theirs.model.load_state_dict(published(model))
    found = [
        gradient_rollout(each, "*.weights", lambda: each(TOKENS)[0])  # noqa: B023
        for each in (model, theirs.requires_grad_(False))
    ]
    assert found[0].shape == (3, 6)
    assert (found[0] >= 0).all()
    torch.testing.assert_close(*found)


def test_a_shared_layer_counts_at_each_call() -> None:
    model: Any = ours(albert)
    with record(model, "*.weights") as seen:
        model(TOKENS)
    assert [len(calls) for calls in seen.values()] == [model.encoder.config.n_layers]
    once = gradient_rollout(model, "*.weights", lambda: model(TOKENS)[0])
    assert once.shape == (3, 6)


def test_what_does_not_fit_is_refused() -> None:
    model = ours()
    with pytest.raises(ValueError, match="explain one input at a time"):
        gradient_rollout(model, "*.weights", lambda: model(TOKENS.expand(2, -1))[0])
    with pytest.raises(ValueError, match=r"returned \(1, 3\)"):
        gradient_rollout(model, "*.weights", lambda: model(TOKENS))
