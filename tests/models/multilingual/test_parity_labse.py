"""LaBSE against sentence-transformers, in float64, with gradients; its folder out and back."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path
from tempfile import TemporaryDirectory
from unittest import mock

import pytest
import torch
from parity_bert import MASK, SIZES, SRC, double_precision
from parity_proofs import alike
from parity_registry import equal, parity, perturb
from sentence_transformers import SentenceTransformer
from sentence_transformers.sentence_transformer.modules import (
    Dense,
    Normalize,
    Pooling,
    Transformer,
)
from torch import Tensor, nn
from transformers import BertConfig, BertModel, BertTokenizer

from deepdive.models.bert import sbert
from deepdive.models.multilingual import labse
from deepdive.models.multilingual.labse import Squashed
from deepdive.published import family, sentences

VOCAB = ["[PAD]", "[UNK]", "[CLS]", "[SEP]", "[MASK]", *"abcdefghijklmnopqrstuvw"]


def checkpoint(folder: Path) -> SentenceTransformer:
    """A tiny random LaBSE of sentence-transformers, float64, saved into `folder`."""
    torch.manual_seed(0)
    bert = perturb(BertModel(BertConfig(**SIZES)).double().eval())
    source = folder / "source"
    bert.save_pretrained(source)
    (source / "vocab.txt").write_text("\n".join(VOCAB), encoding="utf-8")
    BertTokenizer(str(source / "vocab.txt")).save_pretrained(source)
    reader = Transformer(str(source), model_kwargs={"dtype": torch.float64})
    dense = perturb(Dense(16, 12).double(), seed=1)
    theirs = SentenceTransformer(
        modules=[reader, Pooling(16, "cls"), dense, Normalize()], device="cpu"
    )
    theirs.save(str(folder / "saved"))
    return theirs.eval()


def embedding(theirs: SentenceTransformer, tokens: Tensor, mask: Tensor) -> Tensor:
    given = {"input_ids": tokens, "attention_mask": mask.long()}
    return theirs(given)["sentence_embedding"]


class Unpooled(nn.Module):
    """Theirs without BERT's pooler, which no state passes through."""

    def __init__(self, theirs: SentenceTransformer) -> None:
        super().__init__()
        model = theirs[0].model
        self.embeddings, self.encoder, self.after = model.embeddings, model.encoder, theirs[2]


RULES = (
    family("bert").names,
    (r"^(embeddings|stack)\.", r"encoder.\1."),
    (r"^after\.linear\.", "after.dense."),
)


@parity(Squashed)
def labse_agrees() -> None:
    with TemporaryDirectory() as folder, double_precision():
        theirs = checkpoint(Path(folder))
        ours = sentences.load(Path(folder) / "saved")
    assert ours.pooling is sbert.cls
    alike(ours, Unpooled(theirs), ours(SRC, MASK), embedding(theirs, SRC, MASK), RULES)
    equal(ours(SRC), embedding(theirs, SRC, torch.ones_like(MASK)))


def test_labse_agrees() -> None:
    labse_agrees()


def test_out_and_back(tmp_path: Path) -> None:
    """Ours saved is read by ours and by theirs: the same vectors."""
    for after in (None, sbert.normalize, Squashed(32, 8)):
        encoder = labse.labse(labse.TINY).encoder
        model = sbert.SentenceEncoder(encoder, sbert.cls, after).eval()
        folder = sentences.save(model, tmp_path / type(after).__name__)
        (folder / "vocab.txt").write_text("\n".join(VOCAB), encoding="utf-8")
        BertTokenizer(str(folder / "vocab.txt")).save_pretrained(folder)
        again = sentences.load(folder)
        assert torch.equal(again(SRC, MASK), model(SRC, MASK))
        theirs = SentenceTransformer(str(folder), device="cpu").eval()
        assert (embedding(theirs, SRC, MASK) - model(SRC, MASK)).abs().max() < 1e-6


def test_what_has_no_published_form_is_refused(tmp_path: Path) -> None:
    model = labse.labse(labse.TINY)
    model.pooling = lambda states, mask: states[:, -1]
    with pytest.raises(ValueError, match="expected cls, mean, max"):
        sentences.save(model, tmp_path / "none")
    assert not (tmp_path / "none").exists()
    folder = sentences.save(labse.labse(labse.TINY), tmp_path / "some")
    config = folder / "2_Dense" / "config.json"
    settings = json.loads(config.read_text("utf-8"))
    for change in ({"activation_function": "torch.nn.Identity"}, {"bias": False}):
        config.write_text(json.dumps({**settings, **change}), encoding="utf-8")
        with pytest.raises(ValueError, match=r"only .* is supported"):
            sentences.load(folder)


def test_the_published_size() -> None:
    """BERT base with 501,153 pieces and a pooler."""
    with torch.device("meta"):
        model = labse.labse()
    assert sum(p.numel() for p in model.parameters()) == 470_926_848


MUTATIONS: dict[str, tuple[Callable[[], None], str, object]] = {
    "no tanh": (
        labse_agrees, "deepdive.models.multilingual.labse.Squashed.forward",
        lambda self, vectors: sbert.normalize(self.dense(vectors))),
    "not normalised": (
        labse_agrees, "deepdive.models.multilingual.labse.Squashed.forward",
        lambda self, vectors: torch.tanh(self.dense(vectors))),
    "the mean for [CLS]": (
        labse_agrees, "deepdive.published.sentences.POOLINGS",
        {**sentences.POOLINGS, "cls": sbert.mean}),
}  # fmt: skip


@pytest.mark.parametrize("name", MUTATIONS)
def test_a_mutation_is_seen(name: str) -> None:
    proof, target, wrong = MUTATIONS[name]
    with mock.patch(target, wrong), pytest.raises(AssertionError):
        proof()
