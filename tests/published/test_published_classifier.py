"""A fine-tuned model of ours as a folder: transformers reads it, and both give the same logits."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest
import torch
from parity_registry import perturb
from tokenizers import ByteLevelBPETokenizer
from torch import Tensor
from transformers import (
    BertConfig,
    BertForSequenceClassification,
    BertModel,
    DeiTForImageClassification,
    RobertaConfig,
    RobertaForMaskedLM,
    RobertaForSequenceClassification,
    ViTForImageClassification,
    pipeline,
)

from deepdive.layers.heads import Classifier
from deepdive.published.classifier import begin, form_of, load, published, save
from deepdive.tokenizers.published import byte_bpe
from deepdive.tokenizers.wordpiece import BERT_SPECIALS, WordPieceTokenizer
from deepdive_book.data.synthetic_reviews import generated_reviews
from deepdive_book.tasks.classification import batches, encode, loss, predict

REVIEWS = generated_reviews(400, classes=3)
NAMES = REVIEWS.names
SMALL = {
    "vocab_size": 30, "hidden_size": 32, "num_hidden_layers": 2, "num_attention_heads": 4,
    "intermediate_size": 48, "max_position_embeddings": 40,
}  # fmt: skip
SMALL_VIT = {
    "image_size": 12, "patch_size": 4, "hidden_size": 32, "num_hidden_layers": 2,
    "num_attention_heads": 4, "intermediate_size": 48,
}  # fmt: skip


@pytest.fixture(scope="module")
def tokenizer() -> WordPieceTokenizer:
    return WordPieceTokenizer.train(REVIEWS.texts, 200, specials=BERT_SPECIALS)


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory, tokenizer: WordPieceTokenizer) -> Path:
    """A published encoder: a tiny random one, with its vocabulary."""
    place = tmp_path_factory.mktemp("published")
    torch.manual_seed(0)
    config = BertConfig(
        vocab_size=len(tokenizer), hidden_size=32, num_hidden_layers=2, num_attention_heads=4,
        intermediate_size=48, max_position_embeddings=40, hidden_dropout_prob=0.0,
        attention_probs_dropout_prob=0.0,
    )  # fmt: skip
    perturb(BertModel(config), size=0.05).save_pretrained(place)
    (place / "vocab.txt").write_text("\n".join(tokenizer.vocab) + "\n", encoding="utf-8")
    told = {"tokenizer_class": "BertTokenizer", "do_lower_case": True}
    (place / "tokenizer_config.json").write_text(json.dumps(told), encoding="utf-8")
    return place


@pytest.fixture
def model(folder: Path) -> Classifier:
    torch.manual_seed(1)
    return begin(folder, n_classes=3, dropout=0.0)


def test_it_begins_with_what_is_published(folder: Path, model: Classifier) -> None:
    theirs = BertModel.from_pretrained(folder).eval()
    ids = torch.tensor([[1, 9, 8, 2]])
    model.eval()
    found = theirs(ids)
    torch.testing.assert_close(model.encoder(ids), found.last_hidden_state)
    torch.testing.assert_close(model.pooler(model.encoder(ids)), found.pooler_output)


def test_saved_reloaded_and_served_it_gives_the_same_logits(
    tmp_path: Path, folder: Path, model: Classifier, tokenizer: WordPieceTokenizer
) -> None:
    perturb(model, size=0.3)
    place = save(model, tmp_path / "tuned", like=folder, names=NAMES)
    ids = encode(REVIEWS.texts[:30], tokenizer, 40)
    ours = predict(model, ids)
    assert torch.equal(predict(load(place), ids), ours)
    serve = pipeline("text-classification", model=str(place), top_k=None, device="cpu")
    for text, coded, row in zip(REVIEWS.texts[:30], ids, ours, strict=True):
        given = serve.tokenizer(text, return_tensors="pt")
        assert given["input_ids"][0].tolist() == coded
        torch.testing.assert_close(serve.model(**given).logits[0], row, atol=1e-5, rtol=1e-5)
        scores = {entry["label"]: entry["score"] for entry in serve([text])[0]}
        expected = dict(zip(NAMES, row.softmax(0).tolist(), strict=True))
        assert scores == pytest.approx(expected, abs=1e-5)


def test_what_transformers_saves_is_read(tmp_path: Path, folder: Path) -> None:
    theirs = perturb(BertForSequenceClassification.from_pretrained(folder, num_labels=3)).eval()
    theirs.save_pretrained(tmp_path)
    ids = torch.tensor([[1, 9, 8, 2]])
    torch.testing.assert_close(load(tmp_path)(ids), theirs(ids).logits, atol=1e-5, rtol=1e-5)


@pytest.mark.parametrize(
    ("build", "sizes"),
    [
        (BertForSequenceClassification, SMALL),
        (RobertaForSequenceClassification, SMALL | {"layer_norm_eps": 1e-5}),
        (ViTForImageClassification, SMALL_VIT),
        (DeiTForImageClassification, SMALL_VIT),
    ],
)
@pytest.mark.parametrize("n", [2, 3])
def test_a_folder_says_only_what_differs_from_the_defaults(
    build: Any, sizes: dict[str, Any], n: int, tmp_path: Path
) -> None:
    """With two classes transformers writes no id2label (transformers #13298)."""
    theirs = perturb(build(build.config_class(**sizes, num_labels=n)), size=0.1).eval()
    theirs.save_pretrained(tmp_path)
    said = json.loads((tmp_path / "config.json").read_text("utf-8"))
    assert ("id2label" in said) == (n == 3)
    given = torch.randn(2, 3, 12, 12) if "image_size" in sizes else torch.tensor([[5, 9, 8, 2]])
    found = load(tmp_path)(given)
    assert found.shape == (len(given), n)
    torch.testing.assert_close(found, theirs(given).logits, atol=1e-5, rtol=1e-5)


def test_every_tensor_has_its_published_name(folder: Path, model: Classifier) -> None:
    theirs = BertForSequenceClassification.from_pretrained(folder, num_labels=3).state_dict()
    ours = published(model)
    assert {n: x.shape for n, x in ours.items()} == {n: x.shape for n, x in theirs.items()}


def test_a_roberta_begins_is_saved_and_is_read(tmp_path: Path) -> None:
    config = RobertaConfig(
        vocab_size=60, hidden_size=32, num_hidden_layers=2, num_attention_heads=4,
        intermediate_size=48, max_position_embeddings=42, type_vocab_size=1, layer_norm_eps=1e-5,
    )  # fmt: skip
    perturb(RobertaForMaskedLM(config), size=0.1).save_pretrained(tmp_path / "encoder")
    model = perturb(begin(tmp_path / "encoder", n_classes=3)).eval()
    place = save(model, tmp_path / "tuned", like=tmp_path / "encoder", names=NAMES)
    theirs = RobertaForSequenceClassification.from_pretrained(place).eval()
    assert {*theirs.state_dict()} == {*published(model, "roberta")}
    ids = [[0, 9, 8, 7, 2], [0, 5, 2]]
    found = predict(model, ids, pad=1)
    torch.testing.assert_close(predict(load(place), ids, pad=1), found)
    mask = torch.tensor([[1, 1, 1, 1, 1], [1, 1, 1, 0, 0]])
    padded = torch.tensor([[0, 9, 8, 7, 2], [0, 5, 2, 1, 1]])
    torch.testing.assert_close(
        theirs(padded, attention_mask=mask).logits, found, atol=1e-5, rtol=1e-5
    )


def walk(model: torch.nn.Module, score: object, lessons: list[tuple[Tensor, Tensor]]) -> Tensor:
    """The losses of so many steps of Adam, at a rate that moves the model."""
    optimizer, losses = torch.optim.AdamW(model.parameters(), lr=2e-3), []
    for batch in lessons:
        value = loss(score, batch)  # type: ignore[arg-type]
        value.backward()
        optimizer.step()
        optimizer.zero_grad()
        losses.append(value.item())
    return torch.tensor(losses)


def both_curves(folder: Path, tokenizer: WordPieceTokenizer, eps: float | None = None) -> Tensor:
    """Fifty steps of both, from the same weights over the same padded batches; their gap."""
    torch.manual_seed(1)
    ours = begin(folder, n_classes=3, dropout=0.0).double()
    theirs = BertForSequenceClassification.from_pretrained(folder, num_labels=3).double().train()
    theirs.load_state_dict(published(ours))
    if eps is not None:
        ours.encoder.stack.blocks[0].ff_residual.norm.eps = eps
    few = REVIEWS.take(range(40))  # read many times: they are learned by heart
    epochs = batches(encode(few.texts, tokenizer, 40), few.labels, max_tokens=160)
    lessons = [batch for _ in range(20) for batch in epochs][:50]
    assert len(lessons) == 50
    assert any((tokens == 0).any() for _, tokens in lessons), "no padding to be ignored"
    mine = walk(ours, ours, lessons)
    other = walk(theirs, lambda x, mask: theirs(x, attention_mask=mask.long()).logits, lessons)
    assert mine[-5:].mean() < 0.9 * mine[:5].mean(), "it did not learn: equal curves say little"
    return (mine - other).abs().max()


def test_fifty_steps_of_training_are_those_of_transformers(
    folder: Path, tokenizer: WordPieceTokenizer
) -> None:
    # float64: a key's bias has no effect, so its gradient is rounding noise, which Adam scales up
    # to whole steps; nothing else feels that.
    assert both_curves(folder, tokenizer) < 1e-6
    assert both_curves(folder, tokenizer, eps=0.05) > 1e-4, "a planted fault goes unseen"


def test_what_does_not_fit_is_refused(tmp_path: Path, folder: Path, model: Classifier) -> None:
    with pytest.raises(ValueError, match=r"names: got \['a', 'b'\] for 3 classes"):
        save(model, tmp_path / "x", like=folder, names=("a", "b"))
    with pytest.raises(ValueError, match=r"have no classifier\.weight, so it is not fine"):
        load(folder)
    with pytest.raises(ValueError, match="model_type='t5'; expected bert or roberta"):
        form_of({"model_type": "t5"})
    other = json.loads((folder / "config.json").read_text("utf-8")) | {"num_hidden_layers": 3}
    (tmp_path / "config.json").write_text(json.dumps(other), "utf-8")
    with pytest.raises(ValueError, match=r"like: .* has bert\.encoder\.layer\.2"):
        save(model, tmp_path / "x", like=tmp_path, names=NAMES)
    assert not (tmp_path / "x").exists()


def test_a_published_byte_bpe_cuts_as_the_library_does(tmp_path: Path) -> None:
    library = ByteLevelBPETokenizer()
    specials = ["<s>", "<pad>", "</s>", "<unk>", "<mask>"]
    library.train_from_iterator(REVIEWS.texts, 320, special_tokens=specials)
    library.save(str(tmp_path / "tokenizer.json"))
    ours = byte_bpe(tmp_path)
    assert (ours.bos, ours.pad, ours.eos, ours.unk) == (0, 1, 2, 3)
    for text in (*REVIEWS.texts[:50], "Ünïcode 日本 🎬!", " two  blanks"):
        assert ours.encode(text) == library.encode(text).ids
    (tmp_path / "tokenizer.json").write_text('{"model": {"type": "WordPiece", "vocab": {}}}')
    with pytest.raises(ValueError, match="type 'WordPiece'; expected byte-level BPE"):
        byte_bpe(tmp_path)
