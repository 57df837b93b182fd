"""REALM against what transformers 4.57.6 computed, in float64, with gradients; later versions do
not have it. `golden/make_realm.py` says how the file came about.
"""

from __future__ import annotations

from pathlib import Path
from typing import Any
from unittest import mock

import pytest
import torch
from parity_registry import differs, equal, parity
from safetensors.torch import load_file
from torch import Tensor

from deepdive.layers.marginal_likelihood import (
    sequence_marginal,
    token_log_probs,
    token_marginal,
)
from deepdive.models.bert import realm
from deepdive.models.bert.realm import Realm, RealmEmbedder
from deepdive.published import family
from deepdive.published.names import Names
from deepdive.published.weights import translate

GOLDEN = load_file(Path(__file__).parent / "golden" / "realm.safetensors")
SIZES: dict[str, Any] = {
    "vocab_size": 20, "d_model": 8, "n_heads": 2, "n_layers": 2, "d_ff": 12, "max_length": 12,
    "dropout": 0.0,
}  # fmt: skip
BERT = family("bert")
EMBEDDER = Names({"realm.pooler": "pooler", "cls.dense": "projection", "cls.LayerNorm": "norm"})
MASKED = GOLDEN["masked"].bool()


def tables() -> Names:
    body = BERT.names.within("realm.", "bert.")
    head = {theirs: ours for theirs, ours in BERT.table("masked_lm").pairs.items()
            if str(theirs).startswith("cls.")}  # fmt: skip
    embedder, reader = body | EMBEDDER, body | head
    return (
        embedder.within("scorer.embedder.", "embedder.")
        | embedder.within("scorer.query_embedder.", "query_embedder.")
        | reader.within("encoder.", "reader.")
    )


def named(kind: str) -> dict[str, Tensor]:
    """Return their weights or gradients under our names."""
    found = {n.removeprefix(f"{kind}."): t for n, t in GOLDEN.items() if n.startswith(f"{kind}.")}
    return {name: source.tensor for name, source in translate(found, [tables()]).items()}


def loaded() -> Realm:
    model = realm.realm(realm.BASE, 5, shared=False, **SIZES).double().eval()
    own, weights = dict(model.named_parameters()), named("weight")
    assert set(own) == set(weights), set(own) ^ set(weights)
    with torch.no_grad():
        for name, values in weights.items():
            own[name].copy_(values)
    return model


def loss_of(logits: Tensor, scores: Tensor) -> Tensor:
    """Their loss: per masked token, as a mean over all masked tokens of the batch."""
    log_p = token_log_probs(logits, GOLDEN["labels"])
    return -token_marginal(log_p, scores, MASKED).sum() / MASKED.sum()


@parity("realm", Realm, RealmEmbedder)
def realm_agrees() -> None:
    model = loaded()
    equal(model.query_embedder(GOLDEN["query"]), GOLDEN["query_vectors"])
    scores = model.relevance(
        GOLDEN["query"], GOLDEN["candidates"], None, GOLDEN["candidates_real"].bool()
    )
    equal(scores, GOLDEN["relevance"])
    scores.retain_grad()
    logits = model(GOLDEN["joint"], GOLDEN["joint_real"].bool(), GOLDEN["segments"])
    equal(logits.flatten(0, 1), GOLDEN["logits"])
    loss = loss_of(logits, scores)
    equal(loss.view(1), GOLDEN["loss"])
    loss.backward()
    assert scores.grad is not None
    equal(scores.grad, GOLDEN["relevance_gradient"], 1e-8)
    own = dict(model.named_parameters())
    for name, gradient in named("gradient").items():
        found = own[name].grad
        assert found is not None, name
        assert differs(found, gradient) < 1e-8, name
        # One vector added to all candidates moves all scores alike, so its gradient is zero.
        assert (gradient.abs().max() > 1e-12) == (name != "embedder.norm.bias"), name


def per_sequence(logits: Tensor, scores: Tensor) -> Tensor:
    """The paper's likelihood: one document for all masked tokens of a text."""
    log_p = token_log_probs(logits, GOLDEN["labels"])
    return -sequence_marginal(log_p, scores, MASKED).sum() / MASKED.sum()


def exact_gelu(x: Tensor) -> Tensor:
    return torch.nn.functional.gelu(x)


@pytest.mark.parametrize(("target", "wrong"), [
    ("loss_of", per_sequence),
    ("SIZES", SIZES | {"activation": exact_gelu}),
])  # fmt: skip
def test_a_mutation_is_seen(target: str, wrong: object) -> None:
    realm_agrees()
    with mock.patch.dict(globals(), {target: wrong}), pytest.raises(AssertionError):
        realm_agrees()


def test_both_likelihoods_agree_for_a_text_with_one_masked_token() -> None:
    model = loaded()
    logits = model(GOLDEN["joint"], GOLDEN["joint_real"].bool(), GOLDEN["segments"])
    log_p, scores = token_log_probs(logits, GOLDEN["labels"]), GOLDEN["relevance"]
    pair = [f(log_p, scores, MASKED) for f in (sequence_marginal, token_marginal)]
    assert MASKED.sum(1).tolist() == [2, 1]
    equal(pair[0][1:], pair[1][1:])
    assert (pair[0][0] - pair[1][0]).abs() > 1e-6


def test_the_published_size() -> None:
    """Two BERTs of base size, the projection, and the masked language model's head."""
    with torch.device("meta"):
        model = realm.realm()
        encoder = realm.bert.bert(realm.BASE)
    sizes = [sum(p.numel() for p in part.parameters()) for part in (model, encoder)]
    assert sizes[0] - 2 * sizes[1] == (768 * 769) + (768 * 128 + 3 * 128) + (768 * 771 + 30_522)


def test_sharing_the_embedder() -> None:
    model = realm.realm(realm.TINY, 8)
    assert model.query_embedder is model.embedder
    other = realm.realm(realm.TINY, 8, shared=False)
    assert other.query_embedder is not other.embedder
