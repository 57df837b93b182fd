"""Tables and checks of page 7.8, attention is not explanation: Jain and Wallace's two tests on real
texts (`agreement`, `other_weights`), and attributions against ground truth (`ground_truth`).
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from functools import cache, partial
from statistics import fmean
from typing import Any

import torch
from torch import Tensor

from deepdive.explain.evaluation.agreement import recovery
from deepdive.models.interpretable.attention_classifier import AttentiveClassifier, attentive
from deepdive_book.ch07.figures.attention_weight_editor import Weighted, contributions
from deepdive_book.ch07.runs.attention_debate import (
    Part,
    Texts,
    fresh,
    from_states,
    run_model,
    train_model,
    verdict_texts,
)
from deepdive_book.ch07.runs.attention_debate_results import (
    LOGIT_CLOSE,
    SEEDS,
    farthest,
    importances_of,
    jain_wallace_tests,
    log_odds,
    logit_tests,
    unpacked,
)
from deepdive_book.kit import rows
from deepdive_book.kit.profile import pick, profile
from deepdive_book.kit.rows import Row

SIZES = {"rt_polarity": {"train": 8000, "epochs": 4},
         "medical_abstracts": {"train": 8000, "epochs": 12}}  # fmt: skip
DATA = "rt_polarity and medical_abstracts"
NAMES = {"rt_polarity": "movie reviews", "medical_abstracts": "medical abstracts",
         "generated": "generated texts"}  # fmt: skip
ENCODERS = {"lstm": "BiLSTM", "words": "embeddings only"}
METHODS = {
    "attention": "attention weights", "held": "gradient × input, attention held fixed",
    "left out": "leave-one-out", "norm": "gradient norm", "x input": "gradient × input",
    "integrated": "integrated gradients",
}  # fmt: skip


# ---- generated reviews, whose deciding words are known


@cache
def generated() -> tuple[Texts, Tensor]:
    """Return generated reviews, and which words of the test decide, bool (N, T)."""
    return verdict_texts(*pick(ci=(600, 60), laptop=(2000, 300), gpu=(2000, 300)))


@cache
def classifier(seed: int) -> AttentiveClassifier:
    """Return a small BiLSTM with attention, trained on the generated reviews."""
    texts = generated()[0]
    model = fresh(texts, seed, partial(attentive, d_model=32, d_hidden=32))
    return train_model(model, texts.train, 4, seed, dropped=0.1)


def tokens_of(review: str) -> Tensor:
    """Return a generated review as token ids (1, T)."""
    return torch.tensor([[generated()[0].words.index(word) for word in review.split()]])


def weighted(review: str) -> Weighted:
    """Return a review with the model's weights, and adversarial ones by both criteria."""
    model, tokens = classifier(0), tokens_of(review)
    seen = run_model(model, Part(tokens, torch.zeros(1, dtype=torch.long)))
    answer, real = from_states(model, seen.states), tokens != 0
    odds = log_odds(answer, seen.shares.argmax(1))
    same_logit = farthest(odds, seen.weights, real, LOGIT_CLOSE)
    same_probability = farthest(answer, seen.weights, real, 0.01)
    with torch.no_grad():
        each, bias = contributions(seen.states[0], model.classify.weight, model.classify.bias)
    return Weighted(f"{review[:26]} ...", review.split(), each, bias, seen.weights[0],
                    same_probability.weights[0], same_logit.weights[0])  # fmt: skip


def torch_weights(model: AttentiveClassifier) -> dict[str, Tensor]:
    """Return the weights of the library's classifier under the names of the page's own."""
    encoder: Any = model.encoder
    found = {"embed.weight": model.embed.weight, "query": model.question}
    for layer, end in ((encoder.left_to_right, ""), (encoder.right_to_left, "_reverse")):
        found |= {f"encoder.weight_ih_l0{end}": layer.W.weight,
                  f"encoder.bias_ih_l0{end}": layer.W.bias,
                  f"encoder.weight_hh_l0{end}": layer.U.weight,
                  f"encoder.bias_hh_l0{end}": layer.U.bias}  # fmt: skip
    for name in ("key", "classify"):
        layer = getattr(model, name)
        found |= {f"{name}.weight": layer.weight, f"{name}.bias": layer.bias}
    return {name: weight.detach().clone() for name, weight in found.items()}


def class_association(part: Part, n_words: int) -> Tensor:
    """Return each word's |log p(word | class 1) / p(word | class 0)| on labeled texts, (V,).

    A baseline that knows no model: naive Bayes weights, with one added to each count.
    """
    counts = torch.ones(2, n_words)
    for row, label in zip(part.tokens, part.labels.tolist(), strict=True):
        counts[label] += row[row != 0].bincount(minlength=n_words)
    return (counts / counts.sum(1, keepdim=True)).log().diff(dim=0)[0].abs()


ADVERSARIAL = {"adversarial weights, same probability": 0.01,
               "adversarial weights, same logit": LOGIT_CLOSE}  # fmt: skip
BASELINE = "naive Bayes weight of the word (no model)"


def ground_truth_test(seed: int, count: int = 100, steps: int = 300) -> Row:
    """Return the AUC of each attribution, of one model: a deciding word ranks above another.

    Mean over the first `count` test reviews. Also the model's test accuracy, and the mean JSD of
    both kinds of adversarial weights.
    """
    texts, cause = generated()
    model, part = classifier(seed), texts.test.take(slice(0, count))
    lengths = part.real.sum(1).tolist()

    def auc(attributions: Sequence[Tensor]) -> float:
        pairs = zip(attributions, cause, lengths, strict=False)
        return round(sum(recovery(a[:n], c[:n]) for a, c, n in pairs) / len(attributions), 4)

    seen = run_model(model, part)
    answer = from_states(model, seen.states)
    odds = log_odds(answer, seen.shares.argmax(1))
    found = importances_of(model, part)
    scores = {METHODS[name]: auc([each[name] for each in found]) for name in METHODS}
    divergence = {}
    for (name, close), predict in zip(ADVERSARIAL.items(), (answer, odds), strict=True):
        away = farthest(predict, seen.weights, part.real, close, steps)
        scores[name] = auc(list(away.weights))
        divergence[name] = round(float(away.apart.mean()), 4)
    association = class_association(texts.train, len(texts.words))
    scores[BASELINE] = auc([association[row] for row in part.tokens])
    predicted = run_model(model, texts.test, False).shares.argmax(1)
    accuracy = float((predicted == texts.test.labels).float().mean())
    return {"accuracy": round(accuracy, 4), "AUC": scores, "divergence": divergence}


def ground_truth() -> list[Row]:
    """Return the rows of `ground_truth_test`: five seeds, saved, or one that is measured now."""
    return rows.load_or_measure(
        ground_truth_test, "07_explain", "attention_ground_truth",
        points=[{"seed": seed} for seed in range(5)],
        few=[{"seed": 0, "count": 10, "steps": 30}],
    ).rows  # fmt: skip


def more_than_attention(found: Sequence[Row], name: str) -> list[float]:
    """Return an attribution's AUC minus that of attention weights, for each seed."""
    theirs, attention = (rows.by_seed(found, "AUC", each) for each in (name, METHODS["attention"]))
    return rows.paired(theirs, attention)


def ground_truth_table(found: Sequence[Row]) -> list[Row]:
    """Return each attribution's AUC with its t interval over training seeds, and the difference
    from attention's AUC times 100, paired by seed and Bonferroni corrected.
    """
    table: list[Row] = []
    for name in found[0]["AUC"]:
        line: Row = {"attribution": name, "AUC": rows.interval(rows.values(found, "AUC", name))}
        if name != METHODS["attention"]:
            gains, others = more_than_attention(found, name), len(found[0]["AUC"]) - 1
            line["difference from attention × 100"] = rows.interval(gains, 100, others)
        table.append(line)
    return table


# ---- real texts


def results() -> tuple[list[Row], list[Row]]:
    """Return the rows of `jain_wallace_tests` and `logit_tests`: saved, or a few short ones."""
    points: list[Mapping[str, Any]] = [
        {"data": data, "seed": seed, "kind": kind, **SIZES[data], "count": 200}
        for data in SIZES for kind in ENCODERS for seed in SEEDS
    ]  # fmt: skip
    few = [{"data": "generated", "seed": 0, "kind": kind, "train": 160, "epochs": 1, "count": 6,
            "steps": 20} for kind in ENCODERS]  # fmt: skip
    read = partial(rows.load_or_measure, chapter="07_explain", points=points, few=few,
                   data=DATA if profile() == "experiment" else "generated")  # fmt: skip
    return (read(jain_wallace_tests, name="attention_accused").rows,
            read(logit_tests, name="attention_logits").rows)  # fmt: skip


def settings(found: Sequence[Row]) -> list[tuple[str, str]]:
    """Return the pairs of data set and encoder that the rows have, in their order."""
    return list(dict.fromkeys((row["data"], row["kind"]) for row in found))


def per_seed(found: Sequence[Row], name: str, data: str, kind: str = "lstm") -> list[float]:
    """Return the mean over texts for each training seed."""
    chosen = rows.values(found, name, data=data, kind=kind)
    return [float(unpacked(text).mean()) for text in chosen]


def summary(found: Sequence[Row], columns: Mapping[str, str]) -> list[Row]:
    """Return a line per data set and encoder: the mean over texts of each column's measure, with
    its t interval over seeds. columns: head -> name in the rows.
    """
    return [
        {"data, classifier": f"{NAMES[data]}, {ENCODERS[kind]}"}
        | {head: rows.interval(per_seed(found, name, data, kind)) for head, name in columns.items()}
        for data, kind in settings(found)
    ]


def classifiers(found: Sequence[Row]) -> list[Row]:
    """Return each classifier's test accuracy, and how far its attention is from uniform."""
    return [
        {"data, classifier": f"{NAMES[data]}, {ENCODERS[kind]}",
         "accuracy": rows.interval(rows.values(found, "accuracy", data=data, kind=kind)),
         "largest weight": rows.interval(per_seed(found, "most", data, kind)),
         "uniform weight": fmean(float((1 / unpacked(text)).mean())
                                 for text in rows.values(found, "length", data=data, kind=kind))}
        for data, kind in settings(found)
    ]  # fmt: skip


AGREEMENT = {
    "attention and gradient": "tau attention / held",
    "attention and leave-one-out": "tau attention / left out",
    "gradient and leave-one-out": "tau held / left out",
    "attention, two seeds": "tau seeds / attention",
    "leave-one-out, two seeds": "tau seeds / left out",
}
REPLACED = {  # of `logit_tests`, all in log-odds
    "model's log-odds": "log-odds", "change of log-odds, permuted": "permuted",
    "change of log-odds, uniform": "uniform",
}  # fmt: skip
ADVERSARIAL_SEARCH = {  # of `logit_tests`
    "TVD ≤ 0.01: JSD": "divergence, tvd 0.01",
    "TVD ≤ 0.01: change of log-odds": "log-odds moved",
    "log-odds ± 0.1: JSD": "divergence",
}


def replaced_weights(tests: Sequence[Row], logits: Sequence[Row]) -> list[Row]:
    """Return how far permuted and uniform attention move predictions, in TVD and in log-odds."""
    distances = summary(tests, {"TVD, permuted": "permuted", "TVD, uniform": "even moves"})
    return [a | b for a, b in zip(distances, summary(logits, REPLACED), strict=True)]


def adversarial_weights(tests: Sequence[Row], logits: Sequence[Row]) -> list[Row]:
    """Return how different adversarial attention is, next to a model from another seed."""
    seeds = summary(tests, {"another seed: JSD": "seeds apart"})
    return [a | b for a, b in zip(summary(logits, ADVERSARIAL_SEARCH), seeds, strict=True)]


# ---- the second page, 7.8b


def rank_correlation(found: Sequence[Row]) -> list[Row]:
    """Return what makes rank correlation fail, of the BiLSTM, all seeds and texts together."""
    table: list[Row] = []
    for data, kind in settings(found):
        if kind != "lstm":
            continue

        def values(name: str, data: str = data) -> Tensor:
            return torch.cat(
                [unpacked(t) for t in rows.values(found, name, data=data, kind="lstm")]
            )

        length, tau = values("length"), values("tau attention / held")
        short = length < length.median()
        table.append({
            "texts": NAMES[data],
            "words per text": round(float(length.mean())),
            "words with leave-one-out < 0.01": float(values("counts little").mean()),
            "top 3 shared: attention, gradient": float(values("first attention / held").mean()),
            "top 3 shared: by chance": float((3 / length).mean()),
            "tau, shorter half": float(tau[short].mean()),
            "tau, longer half": float(tau[~short].mean()),
            "leave-one-out with itself + noise of 0.005: tau": fmean(
                per_seed(found, "tau left out / itself", data)
            ),
        })  # fmt: skip
    return table


def bert_results() -> list[Row]:
    """Return the rows of `jain_wallace_bert`: saved, or one short one."""
    from deepdive_book.ch07.runs.attention_debate_bert import jain_wallace_bert

    points = [{"data": data, "seed": seed, **size, "count": 100}
              for data, size in SIZES.items() for seed in SEEDS]  # fmt: skip
    few = [{"data": "generated", "seed": 0, "train": 64, "epochs": 1, "count": 3, "steps": 5}]
    return rows.load_or_measure(
        jain_wallace_bert, "07_explain", "attention_bert", points=points, few=few,
        data=DATA if profile() == "experiment" else "generated",
    ).rows  # fmt: skip


def bert_table(found: Sequence[Row]) -> list[Row]:
    """Return both tests on a small BERT, for each data set."""
    measures = {
        "tau: attention and gradient": "tau attention / held",
        "tau: attention and leave-one-out": "tau attention / left out",
        "tau: gradient and leave-one-out": "tau held / left out",
        "permuted: TVD": "permuted", "uniform: TVD": "even moves",
        "adversarial: JSD at TVD ≤ 0.01": "far",
    }  # fmt: skip
    sets = list(dict.fromkeys(row["data"] for row in found))
    table: list[Row] = []
    for head, name in measures.items():
        shown: Row = {"test": head}
        for data in sets:
            texts = rows.values(found, name, data=data)
            shown[NAMES[data]] = rows.interval([float(unpacked(text).mean()) for text in texts])
        table.append(shown)
    return table
