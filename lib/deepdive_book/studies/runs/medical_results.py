"""Tables of the saved rows of case study 7 and of its second page.

    results = load_results()
    results.table("accuracy", "caption")

Macro-F1 and comprehensiveness have bootstrap intervals over texts. Differences that are read
together are corrected for their number (Bonferroni).
"""

from __future__ import annotations

from collections.abc import Sequence
from itertools import combinations
from typing import Any

import numpy as np

from deepdive.evaluate import Interval, bootstrap, macro_f1, macro_f1_interval
from deepdive_book.kit.markup import Html
from deepdive_book.kit.rows import Row, load, select
from deepdive_book.kit.tables import NOT_HERE, table

CLASSES = ("neoplasms", "digestive", "nervous", "cardiovascular", "general")
FILES = ("medical_tuning", "medical_baselines", "medical_reading", "medical_reasons",
         "medical_probes")  # fmt: skip
FINE_TUNED = {"data": "abstracts", "length": 128, "weighted": False, "rate": 1e-4}
MINILM = 22_715_141  # parameters with the classification head
SHOWN = {  # method of the faithfulness table -> model calls for one text of W words
    "AttnLRP": "1, and 1 backward",
    "attention x gradient": "1, and 1 backward",
    "LIME": "300",
    "integrated gradients": "32, and 32 backward",
    "kernel SHAP": "300",
    "occlusion": "W + 1",
    "attention rollout": "1",
    "random": "0",
}
Labels = np.ndarray[Any, np.dtype[np.int64]]


def load_results() -> Results:
    """The saved rows of all five files; none in the profile `ci`."""
    return Results({name: load("07_explain", name) for name in FILES})


def classes(letters: str) -> list[int]:
    """Saved predictions: "a" is class 0."""
    return [ord(letter) - ord("a") for letter in letters]


def majority_vote(predictions: Sequence[Labels]) -> Labels:
    """The class that most models predict for each text; of tied ones the first."""
    return np.array([np.bincount(column).argmax() for column in np.array(predictions).T])


def difference(a: Any, b: Any, labels: Labels, comparisons: int = 1) -> Interval:
    """Macro-F1 of a minus b in points, for the same texts, corrected for several comparisons.

    The interval is the paired bootstrap of `macro_f1_interval`, widened to the level
    1 - 0.05 / comparisons by the ratio of normal quantiles.
    """
    from scipy.stats import norm

    found = macro_f1_interval(a, labels, int(labels.max()) + 1, less=b, draws=2000)
    wider = norm.ppf(1 - 0.025 / comparisons) / norm.ppf(0.975)
    low, high = (found.value + wider * (bound - found.value) for bound in (found.low, found.high))
    return Interval(*(100 * x for x in (found.value, low, high)))


def calibration_error(confidence: Sequence[float], correct: Sequence[int], bins: int = 10) -> float:
    """Expected calibration error with `bins` equal bins (Guo et al. 2017)."""
    p, hit = np.asarray(confidence), np.asarray(correct, dtype=float)
    bin_of = np.minimum((p * bins).astype(int), bins - 1)
    gaps = [abs(hit[bin_of == b].mean() - p[bin_of == b].mean()) * (bin_of == b).sum()
            for b in np.unique(bin_of)]  # fmt: skip
    return float(sum(gaps) / len(p))


def _entry(name: str, found: Interval) -> dict[str, Any]:
    return {name: round(found.value, 4),
            f"{name}_interval": [round(found.low, 4), round(found.high, 4)]}  # fmt: skip


class Results:
    """The saved rows, by file."""

    POINTS = "macro-F1, points [corrected interval]"

    def __init__(self, rows: dict[str, list[Row]]) -> None:
        self.rows = rows

    def table(self, name: str, caption: str) -> Html:
        """One of the tables below, or why it's absent."""
        if not all(self.rows.values()):
            return Html(f"<p>{NOT_HERE}</p>", NOT_HERE)
        found, formats = getattr(self, name)()
        return table(found, formats=formats, caption=caption)

    # -- predictions

    def minilm(self, seed: int = 0, field: str = "predicted", **changed: Any) -> Labels:
        """Predictions (or labels) of a fine-tuning on all folds, in the order of the folds."""
        asked = {**FINE_TUNED, "arm": "published", "seed": seed, **changed}
        found = sorted(select(self.rows["medical_tuning"], **asked), key=lambda row: row["fold"])
        return np.array([k for row in found for k in classes(row[field])])

    def seeds(self, **changed: Any) -> list[Labels]:
        return [self.minilm(seed, **changed) for seed in range(3)]

    def labels(self) -> Labels:
        return self.minilm(field="labels")

    def tfidf(
        self, features: str = "words", tokens: int = 0, tuning: str = "two folds",
        sample: int | None = None,
    ) -> Labels:  # fmt: skip
        """Test predictions of a baseline; tokens=0 is the full text."""
        [row] = select(self.rows["medical_baselines"], features=features, tokens=tokens,
                       tuning=tuning, sample=sample)  # fmt: skip
        return np.array([k for fold in row["predicted"] for k in classes(fold)])

    def tfidf_ensemble(self, tokens: int = 0) -> Labels:
        """Majority vote of the three baselines."""
        return majority_vote([self.tfidf(name, tokens) for name in
                              ("words", "characters", "naive Bayes")])  # fmt: skip

    def bagged(self, tokens: int = 0) -> Labels:
        """Majority vote of three TF-IDF word models on bootstrap samples."""
        return majority_vote([self.tfidf("words", tokens, sample=seed) for seed in range(3)])

    # -- tables

    def _line(self, model: str, text: str, size: str, runs: str, found: Any) -> dict[str, Any]:
        return {"model": model, "input": text, "parameters": size, "models trained per fold": runs,
                "macro-F1 [95% interval]": self._macro_f1(found)}  # fmt: skip

    def _macro_f1(self, found: Any) -> Interval:
        return macro_f1_interval(found, self.labels(), 5, draws=2000)

    def accuracy(self) -> Any:
        """The main table."""
        big = f"{MINILM / 1e6:.1f} million"
        words, letters = "TF-IDF words", "TF-IDF characters"
        found = [
            self._line(words, "128 tokens", "0.2 million", "1", self.tfidf("words", 128)),
            self._line(words, "full text", "0.2 million", "1", self.tfidf("words")),
            self._line(letters, "128 tokens", "0.3 million", "1", self.tfidf("characters", 128)),
            self._line(letters, "full text", "0.3 million", "1", self.tfidf("characters")),
            self._line("TF-IDF ensemble", "128 tokens", "0.7 million", "3",
                       self.tfidf_ensemble(128)),
            self._line("TF-IDF ensemble", "full text", "0.7 million", "3", self.tfidf_ensemble()),
            self._line("MiniLM, mean of 3 seeds", "128 tokens", big, "1", self.seeds()),
            self._line("MiniLM ensemble, 3 seeds", "128 tokens", f"3 × {big}", "3",
                       majority_vote(self.seeds())),
        ]  # fmt: skip
        return found, {"macro-F1 [95% interval]": ".1%"}

    def differences(self) -> Any:
        """Like-for-like differences, corrected for their number."""
        seeds, vote = self.seeds(), majority_vote(self.seeds())
        same, full, points = "both 128 tokens", "MiniLM 128 tokens, TF-IDF full text", self.POINTS
        pairs = [
            ("MiniLM − TF-IDF words", same, seeds, self.tfidf("words", 128)),
            ("MiniLM − TF-IDF characters", same, seeds, self.tfidf("characters", 128)),
            ("MiniLM − TF-IDF characters", full, seeds, self.tfidf("characters")),
            ("ensembles: MiniLM − TF-IDF", same, vote, self.tfidf_ensemble(128)),
            ("ensembles: MiniLM − TF-IDF", full, vote, self.tfidf_ensemble()),
            ("medical pretraining − none", same, self.seeds(arm="medical"), seeds),
        ]  # fmt: skip
        found = [{"difference": name, "input": text, points:
                  difference(a, b, self.labels(), len(pairs))}
                 for name, text, a, b in pairs]  # fmt: skip
        return found, {points: "+.1f"}

    def explained(self, arm: str = "published", seed: int = 0) -> list[Row]:
        return select(self.rows["medical_reasons"], arm=arm, seed=seed)

    def scores(self, method: str, field: str, seed: int = 0) -> list[float]:
        """One value per text, of a fine-tuned model."""
        return [row[field][self.methods.index(method)] for row in self.explained(seed=seed)]

    @property
    def methods(self) -> list[str]:
        """The order of the methods in the saved rows."""
        from deepdive.explain.side_by_side import METHODS

        return list(METHODS)

    def faithfulness(self) -> Any:
        """Comprehensiveness and sufficiency of eight methods."""
        found, level = [], 1 - 0.05 / (len(SHOWN) - 1)
        for method, calls in SHOWN.items():
            mine = self.scores(method, "comprehensiveness")
            lead = np.subtract(self.scores("AttnLRP", "comprehensiveness"), mine)
            found.append({
                "method": method, "model calls per text": calls,
                "comprehensiveness": bootstrap(mine),
                "AttnLRP's lead": None if method == "AttnLRP"
                else bootstrap(lead, draws=10000, level=level),
                "two other seeds": ", ".join(
                    f"{np.mean(self.scores(method, 'comprehensiveness', seed)):.2f}"
                    for seed in (1, 2)),
                "sufficiency": bootstrap(self.scores(method, "sufficiency")),
            })  # fmt: skip
        return found, dict.fromkeys(("comprehensiveness", "AttnLRP's lead", "sufficiency"), ".2f")

    def negation(self) -> Any:
        """How many abstracts a sentence in front turns into a class."""
        found = []
        for row in select(self.rows["medical_probes"], part="negation"):
            control, negated, affirmed = (
                np.array([int(x) for x in row[name]]) for name in ("control", "negated", "affirmed")
            )
            found.append({
                "model": row["model"], "disease": row["disease"],
                "its class": CLASSES[row["label"]],
                "control": float(control.mean()),
                "“no evidence of”": float(negated.mean()),
                "“evidence of”": float(affirmed.mean()),
                "with “no” minus without, points [corrected interval]":
                self._points(negated - affirmed, 8),
            })  # fmt: skip
        heads = list(found[0])[3:]
        return found, dict.fromkeys(heads[:-1], ".1%") | {heads[-1]: ".1f"}

    def _points(self, values: Any, comparisons: int) -> Interval:
        found = bootstrap(values, draws=10000, level=1 - 0.05 / comparisons)
        return Interval(*(100 * bound for bound in found))

    def confidence(self) -> tuple[list[float], list[int]]:
        """The probability of each predicted class on the first fold, and whether it is correct."""
        [row] = select(self.rows["medical_probes"], part="confidence")
        return row["confidence"], [int(x) for x in row["correct"]]

    def coverage(self) -> Any:
        """Accuracy on the texts whose confidence is highest."""
        p, correct = (np.array(x) for x in self.confidence())
        order, found = np.argsort(-p, kind="stable"), []
        for share in (1, 0.75, 0.5, 0.25):
            some = order[: round(share * len(p))]
            found.append({
                "texts that get a prediction": f"{share:.0%}",
                "lowest confidence": float(p[some].min()),
                "mean confidence": float(p[some].mean()),
                "accuracy [95% interval]": bootstrap(correct[some]),
            })  # fmt: skip
        return found, dict.fromkeys(list(found[0])[1:], ".1%")

    def mistakes(self) -> Any:
        """The most confident mistakes on the first fold."""
        found = [{"text begins": f"{row['begins']} ...", "label": row["label"],
                  "predicted": f"{row['predicted']}, {row['confidence']:.0%}",
                  "three strongest words (occlusion)": ", ".join(row["top words"])}
                 for row in select(self.rows["medical_probes"], part="mistake")]  # fmt: skip
        return found, {}

    def two_labels(self) -> Any:
        """Predictions for the texts with several labels."""
        [row] = select(self.rows["medical_probes"], part="two labels")
        one = self.confidence()[0]
        numbers = {
            "the top class is one of the labels": [int(x) for x in row["top is a label"]],
            "the top classes are exactly the labels":
            [int(x) for x in row["top are the labels"]],
            "mean confidence": row["confidence"],
            "mean confidence on texts with one label": one,
        }  # fmt: skip
        found = [{"quantity": name, "mean [95% interval]":
                  bootstrap(values)}
                 for name, values in numbers.items()]  # fmt: skip
        return found, {"mean [95% interval]": ".1%"}

    def pretraining(self) -> Any:
        """Masked-LM loss and macro-F1 after continued pretraining."""
        corpora = {row["corpus"]: row for row in self.rows["medical_reading"]}
        before = bootstrap(next(iter(corpora.values()))["before"])
        arms = {"none": "published", "film reviews": "films", "medical text": "medical"}
        plain, found = self.seeds(), []
        for name, arm in arms.items():
            loss = bootstrap(corpora[arm]["losses"]) if arm in corpora else before
            found.append({
                "continued pretraining": name, "masked-LM loss (nats)": loss,
                "macro-F1": self._macro_f1(self.seeds(arm=arm)),
                "minus none, points": None if arm == "published"
                else difference(self.seeds(arm=arm), plain, self.labels(), 2),
            })  # fmt: skip
        return found, {"masked-LM loss (nats)": ".2f", "macro-F1": ".1%",
                       "minus none, points": "+.1f"}  # fmt: skip

    def variants(self) -> Any:
        """Changes of the input, the loss, and the baseline."""
        one, y = self.minilm(), self.labels()
        words, bag = self.tfidf("words"), self.bagged()
        pairs = [
            ("MiniLM: 256 tokens − 128", self.minilm(length=256), one),
            ("MiniLM at 256 tokens − TF-IDF words at 256", self.minilm(length=256),
             self.tfidf("words", 256)),
            ("MiniLM: class weights in the loss − none", self.minilm(weighted=True), one),
            ("TF-IDF words: tuned in every fold − on two folds", self.tfidf(tuning="per fold"),
             words),
            ("TF-IDF words: three bagged models − one", bag, words),
        ]  # fmt: skip
        found = [{"difference": name, "macro-F1, points [corrected interval]":
                  difference(a, b, y, len(pairs))} for name, a, b in pairs]  # fmt: skip
        return found, {"macro-F1, points [corrected interval]": "+.1f"}

    def stability(self) -> Any:
        """How many of the five strongest words two explanations share."""
        base = {row["text"]: row for row in self.explained()}
        found, others = [], [m for m in SHOWN if m not in ("random", "attention rollout")]
        for method in SHOWN:
            k = self.methods.index(method)
            same = [self._shared(base[row["text"]], k, row, k) for seed in (1, 2)
                    for row in self.explained(seed=seed)
                    if row["predicted"] == base[row["text"]]["predicted"]]  # fmt: skip
            other = [self._shared(row, k, row, self.methods.index(name))
                     for row in base.values() for name in others if name != method]  # fmt: skip
            found.append({
                "method": method,
                "shared with the same method, another seed":
                None if method == "random" else bootstrap(same),
                "shared with other methods, same model": float(np.mean(other)),
                "comprehensiveness": float(np.mean(self.scores(method, "comprehensiveness"))),
            })  # fmt: skip
        return found, dict.fromkeys(list(found[0])[1:3], ".0%") | {"comprehensiveness": ".2f"}

    def agreement(self) -> tuple[float, float]:
        """Percent of five words that two methods on one model share, and one method on two."""
        good = [m for m in self.methods if m not in ("random", "attention rollout")]
        index = [self.methods.index(m) for m in good]
        base = {row["text"]: row for row in self.explained()}
        between = [self._shared(row, i, row, j) for row in base.values()
                   for i, j in combinations(index, 2)]  # fmt: skip
        seeds = [self._shared(base[row["text"]], i, row, i) for seed in (1, 2)
                 for row in self.explained(seed=seed) for i in index
                 if row["predicted"] == base[row["text"]]["predicted"]]  # fmt: skip
        return 100 * float(np.mean(between)), 100 * float(np.mean(seeds))

    @staticmethod
    def _shared(a: Row, i: int, b: Row, j: int) -> float:
        return len(set(a["top_words"][i].split()) & set(b["top_words"][j].split())) / 5

    # -- numbers in running text, and for RESULTS.md

    def metrics(self) -> dict[str, Any]:
        """The study's part of casestudies/results/07_medical.json."""
        seeds, y, found = self.seeds(), self.labels(), {}
        arms = {
            "TFIDF_words_128": self.tfidf("words", 128), "TFIDF_words_full": self.tfidf("words"),
            "TFIDF_characters_128": self.tfidf("characters", 128),
            "TFIDF_characters_full": self.tfidf("characters"),
            "TFIDF_ensemble_full": self.tfidf_ensemble(), "MiniLM": seeds,
            "MiniLM_ensemble": majority_vote(seeds), "MiniLM_medical": self.seeds(arm="medical"),
            "MiniLM_film_reviews": self.seeds(arm="films"),
        }  # fmt: skip
        for name, arm in arms.items():
            found[name] = _entry("macro_f1", macro_f1_interval(arm, y, 5, draws=2000))
        found["comprehensiveness"] = {
            method.replace(" ", "_"): _entry(
                "logits", bootstrap(self.scores(method, "comprehensiveness"))
            )
            for method in SHOWN
        }
        return found

    def text(self, name: str) -> str:
        """`seeds`, `errors`, or `calibration` as a line of text, or why it's absent."""
        if not all(self.rows.values()):
            return NOT_HERE
        if name == "seeds":
            low, *_, high = sorted(self.seed_scores())
            return f"macro-F1 of the three MiniLM seeds: {low:.1f}% to {high:.1f}%"
        if name == "errors":
            wrong, general = self.general()
            return f"one MiniLM seed: {wrong} errors, {general} with label or prediction general"
        error = 100 * calibration_error(*self.confidence())
        return f"expected calibration error, ten bins: {error:.1f} points"

    def seed_scores(self) -> list[float]:
        """Macro-F1 (%) of each training seed."""
        return [100 * macro_f1(found, self.labels(), 5) for found in self.seeds()]

    def general(self) -> tuple[int, int]:
        """Mistakes of the first seed, and those in which the label or the prediction is general."""
        wrong = self.minilm() != self.labels()
        either = (self.minilm() == 4) | (self.labels() == 4)
        return int(wrong.sum()), int((wrong & either).sum())
