"""Case study 7: TF-IDF baselines under the same conditions as the fine-tuned MiniLM.

    measure("words", tokens=128)    # the words that fit in 128 tokens; tokens=0: the full text

MiniLM tries three learning rates on the validation parts of two folds and then uses one in all
five. `cross_validated` does the same with three values of a baseline's hyperparameter. `per_fold`
is more generous: six configurations, chosen again in every fold.

    python -m deepdive_book.studies.runs.medical_baselines    # the saved rows, about six minutes
"""

from collections.abc import Callable, Mapping, Sequence
from typing import Any

import numpy as np

from deepdive.evaluate import macro_f1
from deepdive.published.pretrained import minilm_tokenizer
from deepdive_book.data.medical import abstracts, with_one_label
from deepdive_book.kit.experiments import results_path, sweep
from deepdive_book.studies.runs.medical import Parts, folds
from deepdive_book.studies.runs.medical_explanations import Tokenized

TUNING_FOLDS = (0, 1)  # those on which MiniLM's learning rate was chosen
STRENGTHS = (1.0, 3.0, 10.0)  # C, the inverse of the L2 penalty
SMOOTHING = (0.03, 0.1, 0.3)  # alpha of naive Bayes
Labels = np.ndarray[Any, np.dtype[np.int64]]
Estimator = Callable[[float], Any]


def truncated(texts: Sequence[str], tokenizer: Any, length: int) -> list[str]:
    """The words of each text that fit in `length` tokens, [CLS] and [SEP] included."""
    return [" ".join(Tokenized.of(text, tokenizer, length).words) for text in texts]


def vectorizer(features: str) -> Any:
    """TF-IDF of words and word pairs, or of character sequences inside words."""
    from sklearn.feature_extraction.text import TfidfVectorizer

    if features == "characters":
        return TfidfVectorizer(analyzer="char_wb", ngram_range=(3, 5), sublinear_tf=True, min_df=2)
    return TfidfVectorizer(ngram_range=(1, 2), sublinear_tf=True, min_df=2)


def logistic_regression(C: float, class_weight: str | None = "balanced") -> Any:
    from sklearn.linear_model import LogisticRegression

    return LogisticRegression(C=C, class_weight=class_weight, max_iter=2000, tol=1e-3)


def naive_bayes(alpha: float) -> Any:
    from sklearn.naive_bayes import ComplementNB

    return ComplementNB(alpha=alpha)


MODELS: Mapping[str, tuple[Estimator, tuple[float, ...]]] = {
    "words": (logistic_regression, STRENGTHS),
    "characters": (logistic_regression, STRENGTHS),
    "naive Bayes": (naive_bayes, SMOOTHING),
}


def predictions(
    texts: Sequence[str],
    labels: Sequence[int],
    part: Parts,
    fits: Sequence[Callable[[], Any]],
    features: str = "words",
    sample: int | None = None,
) -> list[tuple[Labels, Labels]]:
    """Each model's predictions for the validation and the test part of one fold.

    `sample` is the seed of a bootstrap sample of the training part (bagging); None takes all.
    """
    from threadpoolctl import threadpool_limits

    words, y = np.array(texts, dtype=object), np.asarray(labels)
    train = np.array(part.train)
    if sample is not None:
        train = np.random.default_rng(sample).choice(train, len(train))
    counts = vectorizer(features)
    seen = counts.fit_transform(words[train])
    valid, test = counts.transform(words[part.valid]), counts.transform(words[part.test])
    with threadpool_limits(1):
        models = [fit().fit(seen, y[train]) for fit in fits]
    return [(model.predict(valid), model.predict(test)) for model in models]


def cross_validated(
    texts: Sequence[str],
    labels: Sequence[int],
    parts: Sequence[Parts],
    name: str = "words",
    sample: int | None = None,
) -> tuple[float, list[Labels]]:
    """The chosen hyperparameter and the test predictions of every fold.

    The value with the best mean macro-F1 on the validation parts of `TUNING_FOLDS` is used for all
    folds, as MiniLM's learning rate is.
    """
    build, values = MODELS[name]
    y, classes = np.asarray(labels), max(labels) + 1
    fits = [lambda value=value: build(value) for value in values]
    found = [predictions(texts, labels, part, fits, name, sample) for part in parts]
    scores = [
        np.mean([macro_f1(found[f][k][0], y[parts[f].valid], classes) for f in TUNING_FOLDS])
        for k in range(len(values))
    ]
    best = int(np.argmax(scores))
    return values[best], [fold[best][1] for fold in found]


def per_fold(
    texts: Sequence[str], labels: Sequence[int], parts: Sequence[Parts]
) -> tuple[list[int], list[Labels]]:
    """The best of six configurations in every fold: three strengths, classes weighted or not."""
    y, classes = np.asarray(labels), max(labels) + 1
    fits = [
        lambda C=C, how=how: logistic_regression(C, how)
        for C in STRENGTHS
        for how in (None, "balanced")
    ]
    chosen, test = [], []
    for part in parts:
        found = predictions(texts, labels, part, fits)
        scores = [macro_f1(valid, y[part.valid], classes) for valid, _ in found]
        chosen.append(int(np.argmax(scores)))
        test.append(found[chosen[-1]][1])
    return chosen, test


def points() -> list[dict[str, Any]]:
    """All settings of `measure` whose rows are saved."""
    inputs = (128, 0)
    found: list[dict[str, Any]] = [
        {"features": name, "tokens": n, "tuning": "two folds", "sample": None}
        for n in inputs
        for name in MODELS
    ]
    found.append({"features": "words", "tokens": 256, "tuning": "two folds", "sample": None})
    for n in inputs:
        found.append({"features": "words", "tokens": n, "tuning": "per fold", "sample": None})
        found += [
            {"features": "words", "tokens": n, "tuning": "two folds", "sample": seed}
            for seed in range(3)
        ]
    return found


def measure(
    features: str, tokens: int = 0, tuning: str = "two folds", sample: int | None = None
) -> dict[str, Any]:
    """The test predictions of one baseline on all five folds, a string of class letters each."""
    every = with_one_label(abstracts())
    texts = truncated(every.texts, minilm_tokenizer(), tokens) if tokens else every.texts
    parts = folds(every.labels)
    chosen: Any
    if tuning == "per fold":
        chosen, found = per_fold(texts, every.labels, parts)
    else:
        chosen, found = cross_validated(texts, every.labels, parts, features, sample)
    return {"chosen": chosen, "predicted": [as_letters(fold) for fold in found]}


def as_letters(classes: Sequence[int] | Labels) -> str:
    return "".join(chr(ord("a") + int(k)) for k in classes)


if __name__ == "__main__":
    sweep(measure, points(), results_path("07_explain", "medical_baselines"),
          data="medical_abstracts")  # fmt: skip
