"""The baselines, probes, and tables of the study on medical abstracts."""

from __future__ import annotations

import json

import numpy as np
import pytest
import torch
from checkout import ROOT

from deepdive.evaluate import macro_f1_interval
from deepdive.explain.games.game import margin
from deepdive.published.pretrained import minilm_tokenizer
from deepdive_book.studies.figures import medical_example
from deepdive_book.studies.runs import medical_baselines, medical_probes, medical_results
from deepdive_book.studies.runs.medical_explanations import on_embeddings, small_prediction

RESULTS = ROOT / "chapters/07_explain/results"


def test_a_baseline_gets_the_words_that_fit_in_the_models_tokens() -> None:
    tokenizer = minilm_tokenizer()
    text = "Cervical lymphomata were treated with doxazosin in twelve adults."
    full = len(tokenizer.encode(text)) + 2
    assert medical_baselines.truncated([text], tokenizer, full) == [text]
    [short] = medical_baselines.truncated([text], tokenizer, full - 2)
    assert text.startswith(short)
    assert len(short.split()) == len(text.split()) - 1  # "adults." is two tokens
    assert len(tokenizer.encode(short)) + 2 <= full - 2


@pytest.mark.data("medical_abstracts")
def test_saved_baselines_are_what_the_code_measures() -> None:
    rows = json.loads((RESULTS / "medical_baselines.json").read_text("utf-8"))["rows"]
    point = {"features": "naive Bayes", "tokens": 128, "tuning": "two folds", "sample": None}
    [row] = [row for row in rows if point.items() <= row.items()]
    found = medical_baselines.measure("naive Bayes", 128)
    assert found["chosen"] == row["chosen"]
    same = [a == b for x, y in zip(found["predicted"], row["predicted"], strict=True)
            for a, b in zip(x, y, strict=True)]  # fmt: skip
    assert np.mean(same) > 0.99


def test_every_baseline_is_saved() -> None:
    rows = json.loads((RESULTS / "medical_baselines.json").read_text("utf-8"))["rows"]
    for point in medical_baselines.points():
        assert sum(point.items() <= row.items() for row in rows) == 1


def test_the_negation_probe_sees_a_classifier_that_ignores_no() -> None:
    texts, deaf = ["a b", "c d", "e f"], lambda some: [0 if "cancer" in t else 1 for t in some]
    [row] = medical_probes.negation(deaf, texts, [1, 1, 0], {0: "cancer"})
    assert (row["control"], row["negated"], row["affirmed"]) == ("00", "11", "11")

    def reads_no(some: list[str]) -> list[int]:
        return [0 if "is evidence of cancer" in t and t.endswith("b") else 1 for t in some]

    [row] = medical_probes.negation(reads_no, texts, [1, 1, 0], {0: "cancer"})  # type: ignore[arg-type]
    assert (row["control"], row["negated"], row["affirmed"]) == ("00", "00", "10")


def test_texts_with_two_labels() -> None:
    logits = torch.tensor([[3.0, 2.0, 0.0], [0.0, 1.0, 2.0]])
    row = medical_probes.two_labels(logits, [(0, 1), (0, 2)])
    assert (row["top is a label"], row["top are the labels"]) == ("11", "10")


def test_majority_vote() -> None:
    votes = [np.array([0, 1, 2]), np.array([0, 2, 1]), np.array([1, 2, 0])]
    assert medical_results.majority_vote(votes).tolist() == [0, 2, 0]


def test_calibration_error_by_hand() -> None:
    error = medical_results.calibration_error([0.95, 0.95, 0.55], [1, 0, 1])
    assert error == pytest.approx(2 / 3 * 0.45 + 1 / 3 * 0.45)


def test_a_correction_widens_the_interval_and_keeps_the_difference() -> None:
    draw = np.random.default_rng(0)
    labels = draw.integers(3, size=400)
    a, b = (np.where(draw.random(400) < p, labels, draw.integers(3, size=400)) for p in (0.7, 0.5))
    one, six = (medical_results.difference(a, b, labels, n) for n in (1, 6))
    plain = macro_f1_interval(a, labels, 3, less=b, draws=2000)
    assert tuple(one) == pytest.approx([100 * x for x in plain])
    assert six.value == one.value
    assert (six.high - six.low) / (one.high - one.low) == pytest.approx(2.638 / 1.960, abs=0.001)


def test_the_margin_of_embeddings_is_the_models() -> None:
    asked = small_prediction()
    score, embedded = on_embeddings(asked.model, asked.tokens, asked.label)
    x = embedded(asked.tokens)
    expected = margin(asked.model(asked.tokens), asked.label)
    assert torch.allclose(score(x[None]), expected)
    assert not torch.allclose(score(x[None] + torch.randn_like(x)), expected)


def test_the_interactive_figure_has_every_text_without_one_word() -> None:
    saved = medical_example.load_saved()
    count = len(saved["words"])
    assert np.shape(saved["probabilities"]) == (count + 1, len(saved["names"]))
    assert np.shape(saved["values"]) == (count + 1, len(saved["methods"]), count)
    assert np.sum(saved["probabilities"], axis=1) == pytest.approx(1, abs=1e-3)
    kept = torch.ones(count, dtype=torch.bool)
    assert medical_example.state_of(kept) == 0
    kept[4] = False
    assert medical_example.state_of(kept) == 5
    kept[5] = False
    with pytest.raises(ValueError, match="2 words"):
        medical_example.state_of(kept)
    assert "lymphoma" in medical_example.medical_example().html
