"""Continued pretraining, fine-tuning, and evaluating attributions (case study 7), tiny BERT."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest
import torch
from sklearn.metrics import f1_score
from small_bert import a_bert

from deepdive.evaluate import macro_f1, macro_f1_interval
from deepdive.explain.evaluation.faithfulness import random_orders
from deepdive.published.classifier import begin
from deepdive.published.folders import load
from deepdive.tokenizers.wordpiece import BERT_SPECIALS, WordPieceTokenizer
from deepdive.training.objectives.masking import mask_id
from deepdive_book.data.synthetic_reviews import generated_reviews
from deepdive_book.studies.runs import medical
from deepdive_book.studies.runs.medical_explanations import Tokenized, attributions, evaluate
from deepdive_book.studies.runs.medical_probes import mistakes
from deepdive_book.tasks.classification import encode, predict

REVIEWS = generated_reviews(240, seed=3)


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return a_bert(tmp_path_factory.mktemp("bert"), REVIEWS.texts)


@pytest.fixture(scope="module")
def tokenizer(folder: Path) -> WordPieceTokenizer:
    return WordPieceTokenizer((folder / "vocab.txt").read_text("utf-8").split(), BERT_SPECIALS)


@pytest.fixture(scope="module")
def tuned(folder: Path, tokenizer: WordPieceTokenizer) -> torch.nn.Module:
    torch.manual_seed(0)
    ids, part = encode(REVIEWS.texts, tokenizer), medical.folds(REVIEWS.labels)[0]
    return medical.fine_tune(
        begin(folder, 2), ids, REVIEWS.labels, part, rate=2e-3, epochs=12, progress=False
    )[0]


def test_each_text_is_tested_once_and_each_part_has_the_classes_shares() -> None:
    labels = [0] * 200 + [1] * 100 + [2] * 50
    parts = medical.folds(labels)
    assert sorted(i for part in parts for i in part.test) == [*range(350)]
    for part in parts:
        assert sorted([*part.train, *part.valid, *part.test]) == [*range(350)]
        for some in part:
            counts = np.bincount([labels[i] for i in some]) / len(some)
            assert np.abs(counts - np.array([4, 2, 1]) / 7).max() < 1.5 / len(some)


def test_with_weights_each_class_weighs_the_same() -> None:
    labels = [0] * 6 + [1] * 3 + [2]
    weights = medical.weights_of(labels, 3)
    totals = [float(sum(weights[y] for y in labels if y == k)) for k in range(3)]
    assert totals == pytest.approx([10 / 3] * 3)


def test_it_learns(tuned: torch.nn.Module, tokenizer: WordPieceTokenizer) -> None:
    part = medical.folds(REVIEWS.labels)[0]
    ids = encode([REVIEWS.texts[i] for i in part.test], tokenizer)
    said = predict(tuned, ids, progress=False).argmax(1).tolist()
    assert macro_f1(said, [REVIEWS.labels[i] for i in part.test], 2) > 0.75


def test_packed_sequences_are_the_texts_concatenated(tokenizer: WordPieceTokenizer) -> None:
    rows = medical.packed(REVIEWS.texts[:40], tokenizer, length=32)
    assert rows.shape[1] == 32
    assert (rows[:, 0] == tokenizer.bos).all()
    assert (rows[:, -1] == tokenizer.eos).all()
    flow = [piece for text in REVIEWS.texts[:40] for piece in tokenizer.encode(text)]
    assert rows[:, 1:-1].flatten().tolist() == flow[: 30 * len(rows)]
    assert len(flow) - 30 * len(rows) < 30


def test_only_the_head_is_trained_while_the_encoder_is_frozen(
    folder: Path, tokenizer: WordPieceTokenizer
) -> None:
    rows = medical.packed(REVIEWS.texts, tokenizer, length=32)
    asked = encode(REVIEWS.texts[:20], tokenizer)
    model = medical.with_head(folder, rows, tokenizer, 1)
    before = medical.masked_losses(model, asked, tokenizer)
    model = medical.with_head(folder, rows, tokenizer, 60)
    for mine, theirs in zip(model.bert.parameters(), load(folder).parameters(), strict=True):
        assert torch.equal(mine, theirs)
    held = medical.masked_losses(model, asked, tokenizer)
    assert held.mean() < before.mean() - 0.3
    medical.continue_pretraining(model, rows, tokenizer, 60, progress=False)
    assert medical.masked_losses(model, asked, tokenizer).mean() < held.mean()
    moved = next(model.bert.stack.parameters())
    assert not torch.equal(moved, next(load(folder).stack.parameters()))


def test_an_encoder_pretrained_further_loads_like_the_published_one(
    folder: Path, tokenizer: WordPieceTokenizer, tmp_path: Path
) -> None:
    encoder = load(folder)
    with torch.no_grad():
        next(encoder.stack.parameters()).add_(0.1)
    place = medical.saved(encoder, tmp_path / "on", folder)
    torch.manual_seed(1)
    again = begin(place, 3)
    first = begin(folder, 3)
    states = again.encoder.state_dict()
    assert all(torch.equal(x, states[name]) for name, x in encoder.state_dict().items())
    assert torch.equal(again.pooler.dense.weight, first.pooler.dense.weight)


def test_occlusion_is_more_comprehensive_than_random(
    tuned: torch.nn.Module, tokenizer: WordPieceTokenizer
) -> None:
    """Occlusion measures the effect of each word, so it beats a random order."""
    blank, gains = mask_id(tokenizer), []
    for text in REVIEWS.texts[:12]:
        one = Tokenized.of(text, tokenizer)
        assert list(one.words) == text.split()
        asked = one.asked(tuned, int(tuned(one.tokens).argmax()), blank)
        values = attributions(asked, ("occlusion",))
        values["chance"] = random_orders(len(one.words), 1)[0]
        told = evaluate(asked, values)
        gains.append(told["occlusion"][0] - told["chance"][0])
    assert np.mean(gains) > 0.3


def test_the_most_confident_mistakes_come_first_with_different_words(
    tuned: torch.nn.Module, tokenizer: WordPieceTokenizer
) -> None:
    texts = [f"{text} {text}" for text in REVIEWS.texts[:12]]  # every word twice
    flipped = [1 - label for label in REVIEWS.labels[:12]]
    logits = predict(tuned, encode(texts, tokenizer), progress=False)
    rows = mistakes(tuned, texts, flipped, logits, ("bad", "good"), tokenizer, most=3)
    found = [row["confidence"] for row in rows]
    assert found == sorted(found, reverse=True)
    assert found[0] == pytest.approx(float(logits.softmax(-1).amax()), abs=1e-4)
    for row in rows:
        assert row["label"] != row["predicted"]
        assert len(set(row["top words"])) == 3


def test_a_long_text_ends_with_a_whole_word(tokenizer: WordPieceTokenizer) -> None:
    text = " ".join(REVIEWS.texts[:30])
    one = Tokenized.of(text, tokenizer, 40)
    assert one.tokens.shape[1] <= 40
    assert one.tokens[0].tolist() == encode([" ".join(one.words)], tokenizer)[0]
    assert int(one.owner.max()) + 1 == len(one.words) < len(text.split())


def test_macro_f1_s_interval_is_that_of_drawn_texts() -> None:
    draw = np.random.default_rng(0)
    true = draw.integers(3, size=300)
    said = np.where(draw.random((2, 300)) < 0.7, true, draw.integers(3, size=(2, 300)))
    other = np.where(draw.random(300) < 0.5, true, draw.integers(3, size=300))
    found = macro_f1_interval(said, true, 3)
    mean = np.mean([f1_score(true, row, average="macro") for row in said])
    assert found.value == pytest.approx(mean)
    drawn = []
    for _ in range(1500):
        some = draw.integers(300, size=300)
        drawn.append(np.mean([macro_f1(row[some], true[some], 3) for row in said]))
    assert (found.low, found.high) == pytest.approx(np.quantile(drawn, (0.025, 0.975)), abs=0.012)
    less = macro_f1_interval(said, true, 3, less=other)
    assert less.value == pytest.approx(mean - macro_f1(other, true, 3))
    assert less.low > 0
    same = macro_f1_interval(said, true, 3, less=said)
    assert (same.value, same.low, same.high) == (0, 0, 0)
    with pytest.raises(ValueError, match="n_classes"):
        macro_f1_interval([3, 0], [0, 1], 3)
