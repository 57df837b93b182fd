"""Encoders of whole film reviews and of their first or last words, on equal compute. Page 5.20.

    rows = load()                                             # the saved runs
    row = measure("HIBERT", split=0, rate=3e-3, seed=0)       # {"accuracy": 0.8, "tokens": 760}

The authors' ten folds of movie_reviews give three splits: split s is tested on folds 2s and 2s + 1
(400 reviews), validated on the next fold (200), and trained on the other seven (1,400), so that
1,200 reviews are test reviews, each once. Words of the training reviews are the vocabulary. Every
model is 32 wide and has dropout of 0.2. A run ends when its compute is spent, or after 15 passes,
and the checkpoint with the lowest validation loss is tested. In the profile `ci` the reviews are
generated.
"""

import random
from collections import Counter
from collections.abc import Callable, Iterator, Sequence
from copy import deepcopy
from functools import cache, partial
from typing import Any, NamedTuple

import torch
import torch.nn.functional as F
from torch import Tensor, nn

from deepdive.data import Labeled, movie_reviews
from deepdive.models.bert.bert import TINY, Bert, bert
from deepdive.models.efficient import hi_transformer, hibert, longformer
from deepdive.training.optim import adam, cosine
from deepdive_book.data.synthetic_reviews import generated_long_reviews
from deepdive_book.kit.experiments import load_rows, results_path, search_rate, share, sweep
from deepdive_book.kit.flops import count_flops
from deepdive_book.kit.profile import profile

PAD, UNKNOWN, END, CLS, FIRST_WORD = range(5)
VOCABULARY, LONGEST, BATCH, POOL = (
    8000,
    32,
    16,
    64,
)  # LONGEST: tokens of a sentence, its end counted
GFLOP, PASSES, CHECKS = 400.0, 15, 10  # a run ends after this compute, or so many passes
WIDTH = 16  # of the sliding window, both sides counted
SPLITS, TUNING_SEED = range(3), 100
FIRST, GRID = (1e-3, 3e-3), (1e-4, 3e-4, 1e-3, 3e-3, 1e-2, 3e-2, 1e-1)
SIZE: dict[str, Any] = {
    "d_model": 32, "n_heads": 4, "d_ff": 64, "n_layers": 2, "max_length": 4096,
    "dropout": 0.2, "attention_dropout": 0.0,
}  # fmt: skip
EACH = {"n_layers": 1, "n_document_layers": 1, "max_sentences": 512}
HIBERT, HI, VECTORS = "HIBERT", "Hi-Transformer", "mean of sentence vectors"
TWO = "mean of sentence vectors, two layers"
WINDOW, WORDS = "sliding window", "mean of word embeddings"

CUTS: dict[str, tuple[int | None, int]] = {
    "first 128": (128, 0), "first 256": (256, 0), "first 512": (512, 0), "last 512": (0, 512),
    "first 256, last 256": (256, 256),
}  # fmt: skip
TUNED_AS = {"last 512": "first 512", "first 256, last 256": "first 512"}  # one learning rate
LINEAR = (*CUTS, WINDOW)  # what the linear classifier reads; the window reads everything
LINEAR_GRID = (0.1, 0.3, 1, 3, 10, 30, 100, 300, 1000)  # C of the logistic regression

Review = list[list[int]]  # sentences of word ids


class Split(NamedTuple):
    """Reviews and labels by part ("train", "valid", "test"), and the size of the vocabulary."""

    reviews: dict[str, list[Review]]
    labels: dict[str, Tensor]
    texts: dict[str, Labeled]
    vocabulary: int


@cache
def split_data(split: int) -> Split:
    """Return the reviews of a split, words of the training part as ids."""
    if profile() == "ci":
        parts = [generated_long_reviews(n, seed=n, sentences=12) for n in (96, 32, 33)]
    else:
        tested, validated = [2 * split, 2 * split + 1], (2 * split + 2) % 10
        trained = [fold for fold in range(10) if fold not in (*tested, validated)]
        parts = [movie_reviews(folds) for folds in (trained, [validated], tested)]
    texts = dict(zip(("train", "valid", "test"), parts, strict=True))
    counts = Counter(word for text in texts["train"].texts for word in text.split())
    common = counts.most_common(VOCABULARY - FIRST_WORD)
    ids = {word: i for i, (word, _) in enumerate(common, start=FIRST_WORD)}
    reviews = {name: [[[ids.get(word, UNKNOWN) for word in line.split()]
                       for line in text.split("\n") if line.strip()] for text in part.texts]
               for name, part in texts.items()}  # fmt: skip
    labels = {name: torch.tensor(part.labels) for name, part in texts.items()}
    return Split(reviews, labels, texts, len(ids) + FIRST_WORD)


def flat(reviews: Sequence[Review], first: int | None, last: int) -> Tensor:
    """Return token ids (B, T): [CLS] and the first and last words of each review; None: all."""
    found = []
    for review in reviews:
        words = [word for sentence in review for word in sentence]
        if first is not None and len(words) > first + last:
            words = words[:first] + words[len(words) - last :]
        found.append(torch.tensor([CLS, *words]))
    return nn.utils.rnn.pad_sequence(found, batch_first=True, padding_value=PAD)


def sentences(reviews: Sequence[Review], shuffle: random.Random | None = None) -> Tensor:
    """Return token ids (B, S, T): sentences of each review with an end token; longer ones are cut
    into several, so that no word is lost. `shuffle` puts the sentences in random order.
    """
    room, found = LONGEST - 1, []
    for review in reviews:
        order = shuffle.sample(review, len(review)) if shuffle else review
        found.append([[*line[i : i + room], END] for line in order
                      for i in range(0, len(line), room)])  # fmt: skip
    S, T = max(map(len, found)), max(len(line) for lines in found for line in lines)
    ids = torch.full((len(found), S, T), PAD)
    for b, lines in enumerate(found):
        for s, line in enumerate(lines):
            ids[b, s, : len(line)] = torch.tensor(line)
    return ids


class Mean(nn.Module):
    """A mean of vectors that a function makes of token ids, over those that are real."""

    def __init__(self, encoder: nn.Module, read: Callable[[Any, Tensor], tuple[Tensor, Tensor]]):
        super().__init__()
        self.encoder, self.read = encoder, read

    def forward(self, ids: Tensor) -> Tensor:
        """Return (B, d_model)."""
        states, real = self.read(self.encoder, ids)
        return (states * real[..., None]).sum(1) / real.sum(1, keepdim=True)


def _tokens(encoder: Bert, ids: Tensor) -> tuple[Tensor, Tensor]:
    return encoder(ids, ids != PAD), ids != PAD


def _window(encoder: longformer.Longformer, ids: Tensor) -> tuple[Tensor, Tensor]:
    return encoder(ids, ids != PAD, global_tokens=ids == CLS), ids != PAD


def _embeddings(encoder: Bert, ids: Tensor) -> tuple[Tensor, Tensor]:
    table = encoder.embeddings
    return table.dropout(table.tokens(ids)), ids >= FIRST_WORD


def _in_context(encoder: hibert.Hibert, ids: Tensor) -> tuple[Tensor, Tensor]:
    return encoder(ids, ids != PAD), (ids != PAD).any(-1)


def _vectors(encoder: hibert.Hibert, ids: Tensor) -> tuple[Tensor, Tensor]:
    found = encoder.read(ids, ids != PAD)
    return found.vectors(), found.real


class HiPooled(nn.Module):
    """A Hi-Transformer's document vector."""

    def __init__(self, encoder: hi_transformer.HiTransformer) -> None:
        super().__init__()
        self.encoder = encoder

    def forward(self, ids: Tensor) -> Tensor:
        """Return (B, d_model)."""
        return self.encoder(ids, ids != PAD)


class Arm(NamedTuple):
    """What a model reads and how it is built: (first, last) words, None for sentences."""

    cut: tuple[int | None, int] | None
    build: Callable[[int], nn.Module]


def _flat(vocabulary: int) -> nn.Module:
    return Mean(bert(TINY, **SIZE, n_segments=0, vocab_size=vocabulary), _tokens)


def _average(vocabulary: int) -> nn.Module:
    encoder = bert(TINY, **{**SIZE, "n_layers": 0, "max_length": 1}, n_segments=0,
                   vocab_size=vocabulary)  # fmt: skip
    return Mean(encoder, _embeddings)


def _hibert(vocabulary: int) -> nn.Module:
    return Mean(hibert.hibert(hibert.TINY, **SIZE | EACH, vocab_size=vocabulary), _in_context)


def _sentence_vectors(vocabulary: int, n_layers: int = 1) -> nn.Module:
    sizes = SIZE | {"n_layers": n_layers, "n_document_layers": 0, "max_sentences": 1}
    return Mean(hibert.hibert(hibert.TINY, **sizes, vocab_size=vocabulary), _vectors)


def _hi(vocabulary: int) -> nn.Module:
    sizes = SIZE | EACH | {"n_again_layers": 1}
    tiny = hi_transformer.TINY
    return HiPooled(hi_transformer.hi_transformer(tiny, **sizes, vocab_size=vocabulary))


def _windowed(vocabulary: int) -> nn.Module:
    config = longformer.TINY.but(**SIZE, n_segments=0, window=WIDTH, unused_positions=0)
    return Mean(longformer.longformer(config, vocab_size=vocabulary), _window)


ARMS: dict[str, Arm] = {
    **{name: Arm(cut, _flat) for name, cut in CUTS.items()},
    WINDOW: Arm((None, 0), _windowed),
    VECTORS: Arm(None, _sentence_vectors),
    TWO: Arm(None, partial(_sentence_vectors, n_layers=2)),
    HIBERT: Arm(None, _hibert),
    HI: Arm(None, _hi),
    WORDS: Arm((None, 0), _average),
}


class Classifier(nn.Module):
    """Logits (B, 2) of a linear layer on a document's vector."""

    def __init__(self, encoder: nn.Module) -> None:
        super().__init__()
        self.encoder, self.out = encoder, nn.Linear(SIZE["d_model"], 2)
        self.dropout = nn.Dropout(SIZE["dropout"])

    def forward(self, ids: Tensor) -> Tensor:
        """Return the logits for token ids."""
        return self.out(self.dropout(self.encoder(ids)))


def build(name: str, vocabulary: int) -> Classifier:
    """Build an arm's classifier."""
    return Classifier(ARMS[name].build(vocabulary))


def prepare(name: str, reviews: Sequence[Review], shuffle: random.Random | None = None) -> Tensor:
    """Return an arm's token ids for a batch of reviews."""
    cut = ARMS[name].cut
    return sentences(reviews, shuffle) if cut is None else flat(reviews, *cut)


def batches(name: str, reviews: Sequence[Review], draw: random.Random) -> Iterator[list[int]]:
    """Yield the indices of one pass: batches of reviews of similar length, in random order."""
    order = draw.sample(range(len(reviews)), len(reviews))
    for at in range(0, len(order), POOL):
        pool = sorted(order[at : at + POOL], key=lambda i: sum(map(len, reviews[i])))
        groups = [pool[i : i + BATCH] for i in range(0, len(pool), BATCH)]
        yield from draw.sample(groups, len(groups))


def loss(model: nn.Module, name: str, data: Split, part: str, chosen: Sequence[int]) -> Tensor:
    """Return the mean cross-entropy of some reviews."""
    ids = prepare(name, [data.reviews[part][i] for i in chosen])
    return F.cross_entropy(model(ids), data.labels[part][list(chosen)])


@cache
def step_gflop(name: str, split: int) -> float:
    """Return the mean GFLOP of a training step, forward and backward, over eight batches."""
    data = split_data(split)
    model, draw = build(name, data.vocabulary), random.Random(0)
    groups = list(batches(name, data.reviews["train"], draw))[:8]
    counts = [
        count_flops(partial(_backward, model, name, data, tuple(group))) / 1e9 for group in groups
    ]
    return sum(counts) / len(counts)


def _backward(model: nn.Module, name: str, data: Split, chosen: Sequence[int]) -> None:
    loss(model, name, data, "train", chosen).backward()


@torch.no_grad()
def predict(
    model: nn.Module, name: str, reviews: Sequence[Review], shuffle: random.Random | None = None
) -> Tensor:
    """Return the logits (N, 2) of all reviews."""
    model.eval()
    order = sorted(range(len(reviews)), key=lambda i: sum(map(len, reviews[i])))
    found = torch.zeros(len(reviews), 2)
    for at in range(0, len(order), BATCH):
        group = order[at : at + BATCH]
        found[group] = model(prepare(name, [reviews[i] for i in group], shuffle))
    return found


def train(
    model: nn.Module, name: str, split: int, rate: float, seed: int, gflop: float
) -> dict[str, Any]:
    """Train in place and leave the best checkpoint in the model: validation loss, epoch, steps."""
    data, draw = split_data(split), random.Random(seed)
    per_step = step_gflop(name, split)
    per_epoch = -(-len(data.labels["train"]) // BATCH)
    steps = max(2, min(round(gflop / per_step), PASSES * per_epoch))
    optimizer = adam(model, rate, eps=1e-8, weight_decay=0.1)
    rates = cosine(rate, max(1, steps // 10), steps, rate / 10)
    best: dict[str, Any] = {"valid": float("inf")}
    state, step = deepcopy(model.state_dict()), 0
    while step < steps:
        for group in batches(name, data.reviews["train"], draw):
            step += 1
            model.train()
            for part in optimizer.param_groups:
                part["lr"] = rates(step)
            optimizer.zero_grad()
            loss(model, name, data, "train", group).backward()
            nn.utils.clip_grad_norm_(model.parameters(), 1.0)
            optimizer.step()
            if step * CHECKS // steps > (step - 1) * CHECKS // steps:
                logits = predict(model, name, data.reviews["valid"])
                now = float(F.cross_entropy(logits, data.labels["valid"]))
                if now < best["valid"]:
                    best = {"valid": now, "best_epoch": round(step / per_epoch, 2)}
                    state = deepcopy(model.state_dict())
            if step == steps:
                break
    model.load_state_dict(state)
    return {**best, "epochs": round(steps / per_epoch, 2), "spent": round(steps * per_step, 1)}


def tune(name: str, split: int, rate: float, seed: int, gflop: float) -> dict[str, Any]:
    """Train one model; only the validation set is evaluated."""
    torch.manual_seed(seed)
    model = build(name, split_data(split).vocabulary)
    return train(model, name, split, rate, seed, gflop)


def measure(name: str, split: int, rate: float, seed: int, gflop: float) -> dict[str, Any]:
    """Train one model and test it.

    accuracy, correct   of the test reviews; `correct` has a character 0 or 1 for each
    shuffled            accuracy with the sentences of each review in random order (sentences only)
    tokens              mean number of words that the model reads of a test review
    """
    data = split_data(split)
    torch.manual_seed(seed)
    model = build(name, data.vocabulary)
    found = train(model, name, split, rate, seed, gflop)
    reviews, labels = data.reviews["test"], data.labels["test"]
    right = predict(model, name, reviews).argmax(1) == labels
    mixed = None
    if ARMS[name].cut is None:
        logits = predict(model, name, reviews, random.Random(seed))
        mixed = float((logits.argmax(1) == labels).double().mean())
    words = [sum(map(len, review)) for review in reviews]
    first, last = ARMS[name].cut or (None, 0)
    most = max(words) if first is None else first + last
    return {
        "parameters": sum(p.numel() for p in model.parameters()), **found,
        "accuracy": float(right.double().mean()), "shuffled": mixed,
        "tokens": sum(min(n, most) for n in words) / len(words),
        "correct": "".join(str(int(x)) for x in right),
    }  # fmt: skip


def cut_words(text: str, first: int | None, last: int) -> str:
    """Return the first and last words of a text, or all of it (None)."""
    words = text.split()
    if first is not None and len(words) > first + last:
        words = words[:first] + words[len(words) - last :]
    return " ".join(words)


def linear(name: str, split: int) -> dict[str, Any]:
    """Fit TF-IDF and logistic regression on the words that the arm `name` reads; the inverse
    regularization is the best of nine on the validation set.
    """
    from sklearn.feature_extraction.text import TfidfVectorizer
    from sklearn.linear_model import LogisticRegression

    data, cut = split_data(split), ARMS[name].cut or (None, 0)
    texts = {part: [cut_words(text, *cut) for text in data.texts[part].texts]
             for part in data.texts}  # fmt: skip
    vectorizer = TfidfVectorizer(
        ngram_range=(1, 2), min_df=2, sublinear_tf=True, token_pattern=r"\S+"
    )
    x = {"train": vectorizer.fit_transform(texts["train"])}
    x |= {part: vectorizer.transform(texts[part]) for part in ("valid", "test")}
    models = [LogisticRegression(C=c, max_iter=1000).fit(x["train"], data.labels["train"])
              for c in LINEAR_GRID]  # fmt: skip
    best = max(models, key=lambda m: m.score(x["valid"], data.labels["valid"]))
    right = best.predict(x["test"]) == data.labels["test"].numpy()
    words = [len(text.split()) for text in texts["test"]]
    return {"parameters": int(best.coef_.size) + 1, "C": best.C, "accuracy": float(right.mean()),
            "tokens": sum(words) / len(words),
            "correct": "".join(str(int(x)) for x in right)}  # fmt: skip


def best_rate(name: str, gflop: float) -> float:
    """Return the learning rate with the lowest validation loss in split 0, with a seed of its own;
    a best rate at an edge of those tried extends the search.
    """
    name, path = TUNED_AS.get(name, name), results_path("05_efficient", "long_documents_tuning")

    def valid(rate: float) -> float:
        point = {"name": name, "split": 0, "rate": rate, "seed": TUNING_SEED, "gflop": gflop}
        return float(sweep(tune, [point], path, data="movie_reviews")[0]["valid"])

    return search_rate(valid, GRID, FIRST)


def run_all(names: Sequence[str] = tuple(ARMS), splits: Sequence[int] = SPLITS) -> None:
    """Measure these arms into results/long_documents.json, each at its own learning rate."""
    path, gflop = results_path("05_efficient", "long_documents"), GFLOP * share()
    for name in names:
        rate = best_rate(name, gflop)
        points = [{"name": name, "split": s, "rate": rate, "seed": s, "gflop": gflop}
                  for s in splits]  # fmt: skip
        sweep(measure, points, path, data="movie_reviews")


def run_longer(splits: Sequence[int] = SPLITS) -> None:
    """Measure the Transformer on the last 512 words with three times the compute, at the same
    learning rate, into results/long_documents_longer.json.
    """
    path, gflop = results_path("05_efficient", "long_documents_longer"), GFLOP * share()
    rate = best_rate("last 512", gflop)
    points = [{"name": "last 512", "split": s, "rate": rate, "seed": s, "gflop": 3 * gflop}
              for s in splits]  # fmt: skip
    sweep(measure, points, path, data="movie_reviews")


def run_linear() -> None:
    """Fit the linear baselines into results/long_documents_linear.json."""
    path = results_path("05_efficient", "long_documents_linear")
    points = [{"name": name, "split": s} for name in LINEAR for s in SPLITS]
    sweep(linear, points, path, data="movie_reviews")


def load() -> list[dict[str, Any]]:
    """Return the saved runs; in the profile `experiment` measure the missing ones first."""
    if profile() == "experiment":
        run_all()
    return load_rows(results_path("05_efficient", "long_documents"))


def load_longer() -> list[dict[str, Any]]:
    """Return the saved runs of `run_longer`, measured first in the profile `experiment`."""
    if profile() == "experiment":
        run_longer()
    return load_rows(results_path("05_efficient", "long_documents_longer"))


def load_linear() -> list[dict[str, Any]]:
    """Return the saved linear baselines, measured first in the profile `experiment`."""
    if profile() == "experiment":
        run_linear()
    return load_rows(results_path("05_efficient", "long_documents_linear"))
