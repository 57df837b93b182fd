"""Sentence vectors: MiniLM's, whitening, and the measures of similarity by their direct sums."""

from __future__ import annotations

import itertools
import json
from pathlib import Path

import pytest
import torch
import torch.nn.functional as F
from scipy.stats import spearmanr
from sentence_transformers import SentenceTransformer

from deepdive.evaluate import similarity
from deepdive.models.bert import sbert
from deepdive.models.bert.whitening import whitening
from deepdive.published import pretrained, sentences
from deepdive.training.objectives import cosine_regression, multiple_negatives, triplet

TEXTS = [
    "A lion.",
    "The cat sat on the mat, and nobody in the house asked it to leave until the evening.",
    "Is a translation of poetry possible?",
    "word " * 300,
    "Yes",
]


def test_minilms_vectors_are_those_of_sentence_transformers() -> None:
    theirs = SentenceTransformer(str(pretrained.minilm()), device="cpu")
    expected = theirs.encode(TEXTS, convert_to_tensor=True, show_progress_bar=False)
    model = sentences.load(pretrained.minilm())
    assert model.pooling is sbert.mean
    assert model.after is sbert.normalize
    found = sbert.encode(model, pretrained.minilm_tokenizer(), TEXTS, batch_size=2)
    assert (found - expected).abs().max() < 1e-5
    first = sbert.encode(
        sbert.SentenceEncoder(model.encoder, sbert.cls, sbert.normalize),
        pretrained.minilm_tokenizer(),
        TEXTS,
    )
    assert (found - first).abs().max() > 0.01  # and it can fail


def test_texts_keep_their_order_and_the_model_its_mode() -> None:
    tokenizer = pretrained.minilm_tokenizer()
    model = sbert.tiny(len(tokenizer)).train()
    together = sbert.encode(model, tokenizer, TEXTS, batch_size=2, max_length=64)
    alone = torch.cat([sbert.encode(model, tokenizer, [t], max_length=64) for t in TEXTS])
    assert (together - alone).abs().max() < 1e-5
    assert model.training
    assert not together.requires_grad
    for texts in ([], "one text"):
        with pytest.raises(ValueError, match="a list of at least one text"):
            sbert.encode(model, tokenizer, texts)


def test_folders_that_hold_something_else_are_refused(tmp_path: Path) -> None:
    steps = [
        {"type": f"sentence_transformers.models.{n}", "path": n} for n in ("Transformer", "Dense")
    ]
    (tmp_path / "modules.json").write_text(json.dumps(steps))
    with pytest.raises(ValueError, match="Transformer, Dense; only"):
        sentences.load(tmp_path)
    assert sentences.pooling_of({"pooling_mode": "max"}) is sbert.maximum
    assert sentences.pooling_of({"pooling_mode_cls_token": True}) is sbert.cls
    assert sentences.pooling_of({"pooling_mode_mean_tokens": True}) is sbert.mean
    for config in (
        {"pooling_mode": ("cls", "mean")},
        {"pooling_mode_mean_sqrt_len_tokens": True},
        {"pooling_mode_mean_tokens": False},
    ):
        with pytest.raises(ValueError, match="expected cls, mean or max"):
            sentences.pooling_of(config)


@pytest.mark.parametrize("k", [5, 2])
def test_whitened_vectors_have_the_identity_as_covariance(k: int) -> None:
    torch.manual_seed(0)
    vectors = torch.randn(200, 5).double() @ torch.randn(5, 5).double() + 4
    white = whitening(vectors, k)(vectors)
    assert white.shape == (200, k)
    assert white.mean(0).abs().max() < 1e-9
    assert (white.T @ white / 200 - torch.eye(k)).abs().max() < 1e-9
    assert similarity.anisotropy(vectors) > 0.3
    assert abs(similarity.anisotropy(white)) < 0.02


def test_the_kept_directions_are_those_in_which_vectors_differ_most() -> None:
    torch.manual_seed(0)
    vectors = torch.randn(500, 3) * torch.tensor([1.0, 9.0, 3.0])
    matrix = whitening(vectors, 2).matrix
    assert matrix.abs().argmax(0).tolist() == [1, 2]


def test_vectors_that_cannot_be_whitened_are_refused() -> None:
    for vectors, k, message in (
        (torch.randn(5, 8), None, "expected 1 to 4"),
        (torch.randn(9, 8), 0, "0 directions"),
        (torch.randn(9, 2).repeat(1, 2), None, "in 2 of 4 directions; pass k=2"),
        (torch.randn(8), None, r"expected \(N, d\)"),
    ):
        with pytest.raises(ValueError, match=message):
            whitening(vectors.double(), k)


def test_anisotropy_is_the_mean_over_all_pairs() -> None:
    torch.manual_seed(0)
    vectors = torch.randn(7, 3) + 1
    pairs = [F.cosine_similarity(a, b, dim=0) for a, b in itertools.combinations(vectors, 2)]
    assert similarity.anisotropy(vectors) == pytest.approx(torch.stack(pairs).mean().item())
    assert similarity.anisotropy(torch.ones(4, 3)) == pytest.approx(1)
    with pytest.raises(ValueError, match="has no direction"):
        similarity.anisotropy(torch.tensor([[1.0, 0.0], [0.0, 0.0]]))


def test_spearman_is_scipys_ties_included() -> None:
    torch.manual_seed(0)
    for values in (torch.rand(30), torch.randint(0, 4, (30,))):
        other = torch.randint(0, 2, (30,))
        expected = spearmanr(values.numpy(), other.numpy()).statistic
        assert similarity.spearman(values, other) == pytest.approx(expected)
    with pytest.raises(ValueError, match="no order to compare"):
        similarity.spearman(torch.ones(3), torch.arange(3))


def test_nearest_keeps_its_order_where_all_cosines_are_near_one() -> None:
    common, angles = torch.tensor([1000.0, 0.0, 0.0]), torch.linspace(0, 6, 60)
    vectors = common + torch.stack([0 * angles, angles.cos(), angles.sin()], dim=1)
    assert similarity.cosines(vectors, vectors).min() > 0.99999  # in float32 the order is lost
    queries = common + torch.stack([0 * angles, angles.cos(), angles.sin()], dim=1) + 0.001
    assert similarity.nearest(queries, vectors).tolist() == list(range(60))
    with pytest.raises(ValueError, match="expected floats"):
        similarity.nearest(torch.ones(2, 3, dtype=torch.long), vectors)


def test_cosines_pairs_and_neighbours() -> None:
    vectors = torch.tensor([[1.0, 0.0], [2.0, 0.1], [0.0, 3.0], [-1.0, 0.0]])
    assert similarity.nearest(vectors[1:2], vectors[[2, 0, 3]]).tolist() == [1]
    expected = torch.stack([F.cosine_similarity(a, vectors) for a in vectors])
    assert torch.allclose(similarity.cosines(vectors, vectors), expected)
    with pytest.raises(ValueError, match="use one encoder for both"):
        similarity.cosines(vectors, torch.ones(2, 3))


def test_the_losses_by_hand() -> None:
    x, y = torch.tensor([[1.0, 0.0]]), torch.tensor([[0.0, 1.0]])
    assert cosine_regression(x, y, torch.tensor([0.5])).item() == pytest.approx(0.25)
    assert triplet(x, x, y).item() == 0.0  # 0 - 1.414 + 1 is below 0
    assert triplet(x, y, x).item() == pytest.approx(2**0.5 + 1)
    pairs = torch.cat((x, y))
    expected = torch.tensor([1.0, 0.0]).log_softmax(0)[0].neg().item()
    assert multiple_negatives(pairs, 3 * pairs, scale=1.0).item() == pytest.approx(expected)


def test_what_does_not_fit_a_loss_is_refused() -> None:
    u = torch.randn(3, 4)
    for call, message in (
        (lambda: triplet(u, u, u[:2]), "anchor, negative"),
        (lambda: triplet(u, u, u, -1.0), "margin"),
        (lambda: cosine_regression(u, u, torch.full((3,), 4.0)), "divide a score"),
        (lambda: cosine_regression(u, u, torch.zeros(2)), "one number a pair"),
        (lambda: multiple_negatives(u[:1], u[:1]), "2 or more"),
        (lambda: multiple_negatives(u, u, 0.0), "scale"),
    ):
        with pytest.raises(ValueError, match=message):
            call()
