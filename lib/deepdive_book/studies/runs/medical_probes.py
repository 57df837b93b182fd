"""Probes of the fine-tuned MiniLM of case study 7: negation, confidence, two labels, one example.

    rows = negation(classify, texts, predicted)     # a sentence in front of texts of other classes
    row = confidence(logits, labels)                # for calibration and abstention

`classify` maps texts to predicted classes, so the same probe runs on MiniLM and on TF-IDF. Run as a
program, it writes the saved rows and the example of the interactive figure:

    python -m deepdive_book.studies.runs.medical_probes
"""

import json
from collections.abc import Callable, Mapping, Sequence
from functools import cache
from typing import Any

import torch
from torch import Tensor, nn

from deepdive.data.reviews import Labeled
from deepdive.explain.side_by_side import METHODS
from deepdive.published.classifier import begin
from deepdive.published.pretrained import minilm, minilm_tokenizer
from deepdive.training import Keep
from deepdive.training.objectives.masking import mask_id
from deepdive_book.data.medical import abstracts, labels_of, with_one_label
from deepdive_book.kit.experiments import results_path
from deepdive_book.kit.profile import workdir
from deepdive_book.studies.figures.medical_example import SAVED
from deepdive_book.studies.runs.medical import LENGTH, Parts, fine_tune, folds
from deepdive_book.studies.runs.medical_baselines import logistic_regression, truncated, vectorizer
from deepdive_book.studies.runs.medical_explanations import Tokenized
from deepdive_book.studies.runs.medical_results import CLASSES
from deepdive_book.tasks import classification

CONTROL = "There is no evidence of lateness."
NEGATED, AFFIRMED = "There is no evidence of {}.", "There is evidence of {}."
DISEASES = {0: "cancer", 1: "gastritis", 2: "epilepsy", 3: "heart failure"}  # class -> its word
SHOWN = ("occlusion", "integrated gradients", "AttnLRP", "attention x gradient",
         "attention rollout")  # fmt: skip
EXAMPLE = "Mid-line presentation of cervical lymphomata."  # how the text of the figure begins
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


def mistakes(
    model: nn.Module,
    texts: Sequence[str],
    labels: Sequence[int],
    logits: Tensor,
    names: Sequence[str],
    tokenizer: Any,
    most: int = 5,
) -> list[dict[str, Any]]:
    """The most confident wrong predictions, each with its three strongest words by occlusion."""
    probability, predicted = (each.cpu() for each in logits.softmax(-1).max(-1))
    wrong = (predicted != torch.as_tensor(labels)).nonzero().flatten().tolist()
    found = []
    for i in sorted(wrong, key=lambda i: -float(probability[i]))[:most]:
        text, label = Tokenized.of(texts[i], tokenizer), int(predicted[i])
        values = METHODS["occlusion"](text.asked(model, label, mask_id(tokenizer)))
        ranked = (text.words[k] for k in values.argsort(descending=True).tolist())
        strongest = dict.fromkeys(word.strip(".,;:()").lower() for word in ranked)
        found.append({
            "begins": " ".join(texts[i].split()[:6]), "label": names[labels[i]],
            "predicted": names[label], "confidence": round(float(probability[i]), 4),
            "top words": [*strongest][:3],
        })  # fmt: skip
    return found


@cache
def tuned() -> tuple[Labeled, Parts, Any, nn.Module, Tensor]:
    """Texts, the first fold, the tokenizer, MiniLM fine-tuned on it, and its test logits."""
    every, tokenizer = with_one_label(abstracts()), minilm_tokenizer()
    part, ids = folds(every.labels)[0], classification.encode(every.texts, tokenizer, LENGTH)
    torch.manual_seed(0)
    model, _ = fine_tune(begin(minilm(), len(every.names)), ids, every.labels, part,
                         folder=Keep(workdir() / "medical" / "tuned",
                                     of=(every.texts, every.labels, "")))  # fmt: skip
    return every, part, tokenizer, model, classification.predict(model, [ids[i] for i in part.test])


def measure(part: str) -> list[dict[str, Any]]:
    """The rows of one part: "mistake", "confidence", "two labels", or "negation"."""
    every, fold, tokenizer, model, logits = tuned()
    texts, labels = [every.texts[i] for i in fold.test], [every.labels[i] for i in fold.test]

    def minilm_classes(texts: Sequence[str]) -> list[int]:
        found = classification.predict(model, classification.encode(texts, tokenizer, LENGTH))
        return [int(k) for k in found.argmax(1)]

    if part == "mistake":
        return mistakes(model, texts, labels, logits, CLASSES, tokenizer)
    if part == "confidence":
        return [confidence(logits, labels)]
    if part == "two labels":
        several = [(t, given) for t, given in labels_of(abstracts()).items() if len(given) > 1]
        ids = classification.encode([t for t, _ in several], tokenizer, LENGTH)
        both = classification.predict(model, ids)
        return [two_labels(both, [given for _, given in several])]
    short = truncated(every.texts, tokenizer, LENGTH)
    tfidf, counted = vectorizer("words"), logistic_regression(1)
    counted.fit(tfidf.fit_transform([short[i] for i in fold.train]),
                [every.labels[i] for i in fold.train])  # fmt: skip

    def tfidf_classes(texts: Sequence[str]) -> list[int]:
        return [int(k) for k in counted.predict(tfidf.transform(
            truncated(texts, tokenizer, LENGTH)))]  # fmt: skip

    found: list[dict[str, Any]] = []
    for name, classify in (("MiniLM", minilm_classes), ("TF-IDF", tfidf_classes)):
        found += [{"model": name} | row for row in negation(classify, texts, classify(texts))]
    return found


def main() -> None:
    """Write the saved rows, and the example of the interactive figure."""
    rows = [{"part": part} | row for part in ("mistake", "confidence", "two labels", "negation")
            for row in measure(part)]  # fmt: skip
    path = results_path("07_explain", "medical_probes")
    if path is None:
        raise SystemExit("run this in a checkout of the project, which has chapters/07_explain")
    path.write_text(json.dumps({"rows": rows, "data": "medical_abstracts"}, indent=1) + "\n")
    every, fold, tokenizer, model, logits = tuned()
    k = next(k for k, i in enumerate(fold.test) if every.texts[i].startswith(EXAMPLE))
    text = Tokenized.of(every.texts[fold.test[k]], tokenizer)
    found = example(model, text, int(logits[k].argmax()), mask_id(tokenizer), CLASSES)
    SAVED.write_text(json.dumps(found, separators=(",", ":")) + "\n", encoding="utf-8")


if __name__ == "__main__":
    main()
