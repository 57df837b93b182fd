"""Sentence vectors against sentence-transformers', whitening against scikit-learn's PCA."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from tempfile import TemporaryDirectory
from types import SimpleNamespace
from unittest import mock

import pytest
import torch
from parity_bert import MASK, SIZES, SRC, double_precision
from parity_proofs import alike, rows
from parity_registry import equal, equal_gradients, parity, perturb
from sentence_transformers import SentenceTransformer
from sentence_transformers.sentence_transformer import losses
from sentence_transformers.sentence_transformer.modules import Normalize, Pooling, Transformer
from sklearn.decomposition import PCA
from torch import Tensor, nn
from transformers import BertConfig, BertModel, BertTokenizer

from deepdive.layers import heads
from deepdive.models.bert import sbert, whitening
from deepdive.published import family, sentences
from deepdive.training.objectives import (
    cosine_regression,
    cross_entropy,
    multiple_negatives,
    triplet,
)

VOCAB = ["[PAD]", "[UNK]", "[CLS]", "[SEP]", "[MASK]", *"abcdefghijklmnopqrstuvw"]


def checkpoint(folder: Path, mode: str, *after: nn.Module) -> SentenceTransformer:
    """A tiny random encoder of sentence-transformers, float64, saved into `folder`."""
    torch.manual_seed(0)
    bert = perturb(BertModel(BertConfig(**SIZES)).double().eval())
    source = folder / "source"
    bert.save_pretrained(source)
    (source / "vocab.txt").write_text("\n".join(VOCAB), encoding="utf-8")
    BertTokenizer(str(source / "vocab.txt")).save_pretrained(source)
    reader = Transformer(str(source), model_kwargs={"dtype": torch.float64})
    theirs = SentenceTransformer(modules=[reader, Pooling(16, mode), *after], device="cpu")
    theirs.save(str(folder / "saved"))
    return theirs.eval()


def both(mode: str, *after: nn.Module) -> tuple[SentenceTransformer, sbert.SentenceEncoder]:
    with TemporaryDirectory() as folder, double_precision():
        theirs = checkpoint(Path(folder), mode, *after)
        return theirs, sentences.load(Path(folder) / "saved")


def embedding(theirs: SentenceTransformer, tokens: Tensor, mask: Tensor) -> Tensor:
    """Their vectors, with gradients."""
    given = {"input_ids": tokens, "attention_mask": mask.long()}
    return theirs(given)["sentence_embedding"]


class Unpooled(nn.Module):
    """Theirs without BERT's pooler, which no state passes through."""

    def __init__(self, theirs: SentenceTransformer) -> None:
        super().__init__()
        model = theirs[0].model
        self.embeddings, self.encoder = model.embeddings, model.encoder


RULES = (family("bert").names, (r"^(embeddings|stack)\.", r"encoder.\1."))


@parity(sbert.SentenceEncoder)
def sentence_encoder_agrees() -> None:
    for mode in ("cls", "mean", "max"):
        theirs, ours = both(mode)
        body = Unpooled(theirs)
        alike(ours, body, ours(SRC, MASK), embedding(theirs, SRC, MASK), RULES)
        every = torch.ones_like(MASK)
        equal(ours(SRC), embedding(theirs, SRC, every))
    theirs, ours = both("mean", Normalize())
    assert ours.after is sbert.normalize
    equal(ours(SRC, MASK), embedding(theirs, SRC, MASK))


@parity(whitening.Whitening)
def whitening_agrees() -> None:
    """PCA divides by N - 1 and picks its own signs: products of vectors have no sign."""
    vectors = (rows(40, 7) @ rows(7, 7, seed=1) + 2.0).detach()
    for k in (7, 3):
        ours = whitening.whitening(vectors, k)(vectors)
        theirs = torch.from_numpy(PCA(k, whiten=True).fit_transform(vectors.numpy()))
        equal(ours @ ours.T * 39 / 40, theirs @ theirs.T)


# The losses


def rows_of(n: int, count: int) -> list[Tensor]:
    return [rows(n, 8, seed=seed) for seed in range(count)]


def test_the_regression_and_triplet_losses_are_theirs() -> None:
    model = SentenceTransformer(modules=[nn.Identity()], device="cpu")
    u, v, w = rows_of(5, 3)
    targets = torch.tensor([0.2, -1.0, 1.0, 0.0, 0.7])
    theirs = losses.CosineSimilarityLoss(model)
    ours = cosine_regression(u, v, targets)
    expected = theirs.compute_loss_from_embeddings([u, v], targets.double())
    # theirs turns the targets to float32
    equal(ours[None], expected[None], 1e-6)
    equal_gradients(ours, expected, {"u": (u, u), "v": (v, v)}, 1e-6)
    for margin in (1.0, 5.0):
        theirs = losses.TripletLoss(model, triplet_margin=margin)
        expected = theirs.compute_loss_from_embeddings([u, v, w], targets)
        ours = triplet(u, v, w, margin)
        equal(ours[None], expected[None])
        equal_gradients(ours, expected, {"u": (u, u), "v": (v, v), "w": (w, w)})


def test_the_ranking_loss_is_theirs() -> None:
    model = SentenceTransformer(modules=[nn.Identity()], device="cpu")
    u, v = rows_of(5, 2)
    for scale in (20.0, 3.0):
        expected = losses.MultipleNegativesRankingLoss(model, scale).compute_loss_from_embeddings(
            [u, v], torch.tensor([])
        )
        ours = multiple_negatives(u, v, scale)
        equal(ours[None], expected[None])
        equal_gradients(ours, expected, {"u": (u, u), "v": (v, v)})


def test_the_classification_loss_is_theirs() -> None:
    """Their loss encodes texts itself; the encoder here hands on what it is given."""

    class Given(nn.Module):
        def forward(self, features: dict[str, Tensor]) -> dict[str, Tensor]:
            return {"sentence_embedding": features["input_ids"]}

    u, v = rows_of(6, 2)
    labels = torch.tensor([0, 2, 1, 1, 0, 2])
    theirs = losses.SoftmaxLoss(SentenceTransformer(modules=[Given()], device="cpu"), 8, 3).double()
    with mock.patch(
        "sentence_transformers.sentence_transformer.losses.softmax.embed_columns",
        lambda model, columns: [column["input_ids"] for column in columns],
    ):
        expected = theirs([{"input_ids": u}, {"input_ids": v}], labels)
    ours = cross_entropy(theirs.classifier(heads.pair_features(u, v)), labels, pad=None)
    equal(ours[None], expected[None])
    equal_gradients(ours, expected, {"u": (u, u), "v": (v, v)})


MUTATIONS: dict[str, tuple[Callable[[], None], str, object]] = {
    "the mean over padding too": (
        sentence_encoder_agrees,
        "deepdive.published.sentences.POOLINGS",
        {**sentences.POOLINGS, "mean": lambda states, mask: states.mean(1)},
    ),
    "the maximum over padding too": (
        sentence_encoder_agrees,
        "deepdive.published.sentences.POOLINGS",
        {**sentences.POOLINGS, "max": lambda states, mask: states.amax(1)},
    ),
    "the last token for the first": (
        sentence_encoder_agrees,
        "deepdive.published.sentences.POOLINGS",
        {**sentences.POOLINGS, "cls": lambda states, mask: states[:, -1]},
    ),
    "not centred": (
        whitening_agrees,
        "deepdive.models.bert.whitening.Whitening.forward",
        lambda self, vectors: vectors @ self.matrix,
    ),
    "no absolute value": (
        test_the_classification_loss_is_theirs,
        "deepdive.layers.heads.pair_features",
        lambda u, v: torch.cat((u, v, u - v), dim=-1),
    ),
    "a ranking by plain products": (
        test_the_ranking_loss_is_theirs,
        "deepdive.training.objectives.sentences.F",
        SimpleNamespace(normalize=lambda x, dim: x),
    ),
    "a regression of a plain product": (
        test_the_regression_and_triplet_losses_are_theirs,
        "deepdive.training.objectives.sentences.F",
        SimpleNamespace(cosine_similarity=lambda u, v, dim: (u * v).sum(dim)),
    ),
}


@pytest.mark.parametrize("name", MUTATIONS)
def test_a_mutation_is_seen(name: str) -> None:
    proof, target, wrong = MUTATIONS[name]
    with mock.patch(target, wrong), pytest.raises(AssertionError):
        proof()
