"""Probes of the fine-tuned MiniLM of case study 7: negation, confidence, two labels, one example.

    rows = negation(classify, texts, predicted)     # a sentence in front of texts of other classes
    row = confidence(logits, labels)                # for calibration and abstention

`classify` maps texts to predicted classes, so the same probe runs on MiniLM and on TF-IDF.
"""

import json
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import Any

import torch
from torch import Tensor, nn

from deepdive.explain.side_by_side import METHODS
from deepdive_book.studies.runs.medical_explanations import Tokenized

CONTROL = "There is no evidence of lateness."
NEGATED, AFFIRMED = "There is no evidence of {}.", "There is evidence of {}."
DISEASES = {0: "cancer", 1: "gastritis", 2: "epilepsy", 3: "heart failure"}  # class -> its word
SHOWN = ("occlusion", "integrated gradients", "AttnLRP", "attention x gradient",
         "attention rollout")  # fmt: skip
Classify = Callable[[Sequence[str]], Sequence[int]]


def negation(
    classify: Classify,
    texts: Sequence[str],
    predicted: Sequence[int],
    diseases: Mapping[int, str] = DISEASES,
    most: int = 200,
) -> list[dict[str, Any]]:
    """Per class, whether a sentence in front turns a text of another predicted class into it.

    Each row has the class, its disease word, and for the control, the negated, and the affirmed
    sentence one 0 or 1 per text.
    """
    rows = []
    for label, disease in diseases.items():
        others = [i for i, k in enumerate(predicted) if k != label][:most]
        row: dict[str, Any] = {"label": label, "disease": disease}
        for name, form in (("control", CONTROL), ("negated", NEGATED), ("affirmed", AFFIRMED)):
            sentence = form.format(disease)
            found = classify([f"{sentence} {texts[i]}" for i in others])
            row[name] = "".join(str(int(k == label)) for k in found)
        rows.append(row)
    return rows


def confidence(logits: Tensor, labels: Sequence[int]) -> dict[str, Any]:
    """The largest probability of each text, and whether the predicted class is the label."""
    probability, predicted = logits.softmax(-1).max(-1)
    correct = predicted.cpu() == torch.as_tensor(labels)
    return {
        "confidence": [round(p, 4) for p in probability.tolist()],
        "correct": "".join(str(int(c)) for c in correct.tolist()),
    }


def two_labels(logits: Tensor, labels: Sequence[Sequence[int]]) -> dict[str, Any]:
    """For texts with several labels: the confidence, and how the top classes fit the labels."""
    probabilities = logits.softmax(-1)
    order = probabilities.argsort(dim=-1, descending=True, stable=True).tolist()
    pairs = list(zip(order, labels, strict=True))
    return {
        "confidence": [round(p, 4) for p in probabilities.amax(-1).tolist()],
        "top is a label": "".join(str(int(top[0] in given)) for top, given in pairs),
        "top are the labels": "".join(
            str(int(set(top[: len(given)]) == set(given))) for top, given in pairs
        ),
    }


def example(
    model: nn.Module, text: Tokenized, label: int, mask: int, names: Sequence[str]
) -> dict[str, Any]:
    """What the interactive figure shows: probabilities and attributions, with no word removed
    (first) and with each one removed.
    """
    states = [torch.ones(len(text.words), dtype=torch.bool)]
    for i in range(len(text.words)):
        states.append(states[0].clone())
        states[-1][i] = False
    probabilities, values = [], []
    for kept in states:
        rest = text.without(kept, mask)
        with torch.no_grad():
            probabilities.append(model(rest.tokens)[0].softmax(-1).tolist())
        asked = rest.asked(model, label, mask)
        values.append([METHODS[name](asked).tolist() for name in SHOWN])
    return {
        "words": list(text.words),
        "names": list(names),
        "label": label,
        "methods": list(SHOWN),
        "probabilities": [[round(p, 4) for p in row] for row in probabilities],
        "values": [[[round(v, 4) for v in row] for row in state] for state in values],
    }


def write_example(found: Mapping[str, Any], path: Path) -> None:
    """Save `example` where the figure finds it."""
    path.write_text(json.dumps(found, separators=(",", ":")) + "\n", encoding="utf-8")
