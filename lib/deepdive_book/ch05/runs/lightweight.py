"""Lightweight encoders and their simplest rivals, classifying medical abstracts. Page 5.19.

    rows = load()                                             # the saved runs
    row = measure("Funnel", 3e-3, seed=0, steps=200)          # {"test": 0.51, "flops": ...}

2,657 abstracts of PubMed with one of five labels, lower-cased words, the 4,000 most frequent ones
of the training texts, cut or padded to 256. Every encoder is post-norm and classifies the mean of
its final states. Each seed has a split of its own (70% training, 10% to select the learning rate
and the bag of words' C, 20% test) and an initialization of its own.
"""

import re
import time
from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from functools import cache, partial
from statistics import median
from typing import Any, NamedTuple

import torch
import torch.nn.functional as F
from torch import Tensor, nn

from deepdive.core import Block, FeedForward, MultiHeadAttention, PostNorm, gelu
from deepdive.core.embeddings import TokenEmbedding
from deepdive.core.masks import Padding
from deepdive.core.stack import Stack
from deepdive.data.reviews import Labeled
from deepdive.layers.pair_pooling import PairPooling
from deepdive.models.efficient.delight import delight
from deepdive.models.efficient.funnel import SMALL, Funnel, FunnelConfig
from deepdive.models.efficient.lite_transformer import lite_transformer
from deepdive.positions import LearnedPosition
from deepdive.training.optim import adam, cosine
from deepdive_book.data.medical import abstracts, with_one_label
from deepdive_book.kit.experiments import load_rows, results_path, share, sweep
from deepdive_book.kit.flops import count_flops
from deepdive_book.kit.profile import profile

WIDTH, HEADS, LENGTH, VOCABULARY, CLASSES, DROPOUT = 32, 2, 256, 4000, 5, 0.1
BATCH, STEPS = 16, 200
SEEDS, TUNING_SEED = range(5), 100
GRID = (3e-4, 1e-3, 3e-3, 1e-2, 3e-2)
FIRST = (1e-3, 3e-3, 1e-2)
DATA = "medical_abstracts (real)"


class Split(NamedTuple):
    """Token ids (N, 256), 0 = padding, and labels (N,), by part."""

    train: tuple[Tensor, Tensor]
    valid: tuple[Tensor, Tensor]
    test: tuple[Tensor, Tensor]


def words(text: str) -> list[str]:
    """Return the lower-cased words of a text, without numbers."""
    return re.findall("[a-z]+", text.lower())


@cache
def texts() -> Labeled:
    """Return the abstracts with one label; in the profile `ci` generated ones."""
    if profile() != "ci":
        return with_one_label(abstracts())
    generator = torch.Generator().manual_seed(0)
    made, labels = [], []
    for i in range(60):
        topic = i % CLASSES
        draws = torch.randint(40, (50,), generator=generator).tolist()
        made.append(
            " ".join("abcdefghij"[topic if d > 30 else d % 10] * (1 + d % 3) for d in draws)
        )
        labels.append(topic)
    return Labeled(tuple(made), tuple(labels), tuple("vwxyz"), "words (generated)")


@cache
def parts(seed: int) -> list[Labeled]:
    """Return the training, validation, and test texts of a seed."""
    return texts().split((0.7, 0.1, 0.2), seed)


@cache
def split(seed: int) -> Split:
    """Return a seed's parts as token ids; the vocabulary is that of its training texts."""
    counts = Counter(word for text in parts(seed)[0].texts for word in words(text))
    ids = {word: i for i, (word, _) in enumerate(counts.most_common(VOCABULARY), 2)}

    def encoded(part: Labeled) -> tuple[Tensor, Tensor]:
        rows = torch.zeros(len(part), LENGTH, dtype=torch.long)
        for row, text in zip(rows, part.texts, strict=True):
            found = [ids.get(word, 1) for word in words(text)[:LENGTH]] or [1]
            row[: len(found)] = torch.tensor(found)
        return rows, torch.tensor(part.labels)

    return Split(*map(encoded, parts(seed)))


class Classifier(nn.Module):
    """Logits (B, 5): embeddings and positions, perhaps pooled in pairs, a stack, the mean of its
    states, a linear layer.
    """

    def __init__(self, stack: Stack, d_model: int, pooled: bool = False) -> None:
        super().__init__()
        self.embedding = TokenEmbedding(VOCABULARY + 2, d_model, scale=d_model**0.5)
        self.position = LearnedPosition(LENGTH, d_model)
        self.stack, self.out = stack, nn.Linear(d_model, CLASSES)
        self.pooling = PairPooling(separate_cls=False) if pooled else None

    def forward(self, tokens: Tensor) -> Tensor:
        """Return the logits for tokens (B, T)."""
        real: Tensor | None = tokens > 0
        x = self.position.embed(self.embedding(tokens), torch.arange(tokens.shape[1]))
        if self.pooling is not None:
            x, real = self.pooling.mean(x, real)
        assert real is not None
        return self.out(mean_of(self.stack(x, mask=Padding(real)), real))


class FunnelClassifier(nn.Module):
    """Logits (B, 5): a Funnel without a decoder, the mean of its pooled states, a linear layer."""

    def __init__(self, config: FunnelConfig) -> None:
        super().__init__()
        self.encoder, self.out = Funnel(config), nn.Linear(config.d_model, CLASSES)
        # Embeddings and initialization as in the other encoders: a scaled table, Glorot's matrices.
        nn.init.normal_(self.encoder.tokens.weight, std=config.d_model**-0.5)
        self.encoder.tokens.scale = config.d_model**0.5
        for part in self.encoder.modules():
            if isinstance(part, nn.Linear):
                nn.init.xavier_uniform_(part.weight)

    def forward(self, tokens: Tensor) -> Tensor:
        """Return the logits for tokens (B, T)."""
        x, _, _, level = self.encoder.encode(tokens, tokens > 0)
        assert level.real is not None
        return self.out(mean_of(x, level.real))


class EmbeddingMean(nn.Module):
    """Logits (B, 5): the mean of the embeddings, a hidden layer. It ignores the words' order."""

    def __init__(self, d_model: int) -> None:
        super().__init__()
        self.embedding = TokenEmbedding(VOCABULARY + 2, d_model, scale=d_model**0.5)
        self.ff = FeedForward(d_model, 4 * d_model, gelu)
        self.out = nn.Linear(d_model, CLASSES)

    def forward(self, tokens: Tensor) -> Tensor:
        """Return the logits for tokens (B, T)."""
        x = mean_of(self.embedding(tokens), tokens > 0)
        return self.out(x + self.ff(x))


def mean_of(x: Tensor, real: Tensor) -> Tensor:
    """Return the mean (B, d_model) of the real states of x (B, T, d_model)."""
    return (x * real.unsqueeze(-1)).sum(1) / real.sum(1, keepdim=True)


def plain(n_layers: int, d_model: int = WIDTH, pooled: bool = False) -> Classifier:
    """Build a plain Transformer encoder, whose feed-forward layers are 4 d_model wide."""

    def block(_layer: int) -> Block:
        attention = MultiHeadAttention(d_model, HEADS, dropout=DROPOUT)
        ff = FeedForward(d_model, 4 * d_model, gelu)
        return Block(attention, ff, residual=partial(PostNorm, dropout=DROPOUT))

    return Classifier(Stack(block, n_layers), d_model, pooled)


def funnel(*block_sizes: int) -> FunnelClassifier:
    """Build a Funnel classifier with this many layers in each block."""
    return FunnelClassifier(
        SMALL.but(
            vocab_size=VOCABULARY + 2, d_model=WIDTH, n_heads=HEADS, d_head=WIDTH // HEADS,
            d_ff=4 * WIDTH, block_sizes=block_sizes, n_decoder_layers=None, dropout=DROPOUT,
            attention_dropout=DROPOUT, eps=1e-5, separate_cls=False,
        )
    )  # fmt: skip


PLAIN, SHALLOW, NARROW, POOLED = "plain", "plain, shallow", "plain, narrow", "plain, pooled input"
FUNNEL, DELIGHT, LITE = "Funnel", "DeLighT", "Lite Transformer"
MEAN, BAG = "mean of embeddings", "bag of words"
VARIANTS: dict[str, Callable[[], nn.Module]] = {
    PLAIN: partial(plain, 4),
    SHALLOW: partial(plain, 2),
    NARROW: partial(plain, 4, 20),
    POOLED: partial(plain, 4, pooled=True),
    FUNNEL: partial(funnel, 1, 1, 2),
    DELIGHT: lambda: Classifier(
        delight(WIDTH, n_blocks=4, shallowest=2, deepest=4, max_groups=4, dropout=DROPOUT), WIDTH
    ),
    LITE: lambda: Classifier(
        lite_transformer(WIDTH, n_heads=HEADS, kernels=(3, 7, 15, 31), dropout=DROPOUT), WIDTH
    ),
    MEAN: partial(EmbeddingMean, WIDTH),
}


def trimmed(tokens: Tensor) -> Tensor:
    """Return tokens (B, T) without the columns that are padding in every text."""
    return tokens[:, : int((tokens > 0).sum(1).max())]


def batches(tokens: Tensor, steps: int, generator: torch.Generator) -> list[Tensor]:
    """Return the texts of each step: shuffled, but eight batches at a time sorted by length."""
    lengths, found = (tokens > 0).sum(1), list[Tensor]()
    while len(found) < steps:
        for group in torch.randperm(len(tokens), generator=generator).split(8 * BATCH):
            made = group[lengths[group].argsort()].split(BATCH)
            found += [made[i] for i in torch.randperm(len(made), generator=generator).tolist()]
    return found[:steps]


def train(
    model: nn.Module, data: tuple[Tensor, Tensor], rate: float, seed: int, steps: int
) -> None:
    """Train in place with AdamW, a warm-up over a tenth of the steps, and cosine decay."""
    generator = torch.Generator().manual_seed(seed)
    optimizer, rates = (
        adam(model, rate, eps=1e-8),
        cosine(rate, max(1, steps // 10), steps, rate / 10),
    )
    order = batches(data[0], steps, generator)
    model.train()
    for step, rows in enumerate(order, 1):
        for group in optimizer.param_groups:
            group["lr"] = rates(step)
        loss = F.cross_entropy(model(trimmed(data[0][rows])), data[1][rows])
        optimizer.zero_grad()
        loss.backward()
        nn.utils.clip_grad_norm_(model.parameters(), 1.0)
        optimizer.step()


@torch.no_grad()
def evaluate(model: nn.Module, data: tuple[Tensor, Tensor]) -> tuple[float, float]:
    """Return the accuracy and the mean loss in nats."""
    model.eval()
    order = (data[0] > 0).sum(1).argsort()
    logits = torch.cat([model(trimmed(data[0][rows])) for rows in order.split(64)])
    accuracy = (logits.argmax(-1) == data[1][order]).double().mean()
    return float(accuracy), float(F.cross_entropy(logits, data[1][order]))


def sizes(model: nn.Module) -> dict[str, int]:
    """Return the parameters without embeddings and positions, and the FLOPs of one text."""
    tables = ("embedding.", "position.table", "position.weight", "encoder.tokens")
    numbers = {n: p.numel() for n, p in model.named_parameters() if not n.startswith(tables)}
    text = torch.randint(1, VOCABULARY, (1, LENGTH))
    model.eval()
    with torch.no_grad():
        return {"parameters": sum(numbers.values()), "flops": count_flops(lambda: model(text))}


def measure(variant: str, rate: float, seed: int, steps: int) -> dict[str, Any]:
    """Train one classifier.

    test        accuracy on the test texts, with `loss`; `train` on the training texts
    chosen      loss on the validation texts, which selects the learning rate
    """
    data = split(seed)
    torch.manual_seed(seed)
    model = VARIANTS[variant]()
    train(model, data.train, rate, seed, steps)
    test, loss = evaluate(model, data.test)
    return {
        **sizes(model), "test": test, "loss": loss, "chosen": evaluate(model, data.valid)[1],
        "train": evaluate(model, data.train)[0],
    }  # fmt: skip


def bag_of_words(variant: str, seed: int) -> dict[str, Any]:
    """Fit a logistic regression on tf-idf weights of the first 256 words; C by the validation
    texts. `variant` is its name in the rows.
    """
    from sklearn.feature_extraction.text import TfidfVectorizer
    from sklearn.linear_model import LogisticRegression
    from sklearn.pipeline import make_pipeline

    cut = [[" ".join(words(text)[:LENGTH]) for text in part.texts] for part in parts(seed)]
    labels = [part.labels for part in parts(seed)]
    found = []
    for C in (0.1, 1.0, 10.0, 100.0, 1000.0):
        features = TfidfVectorizer(min_df=2, sublinear_tf=True)
        model = make_pipeline(features, LogisticRegression(C=C, max_iter=1000))
        model.fit(cut[0], labels[0])
        found.append((model.score(cut[1], labels[1]), model.score(cut[2], labels[2]), C))
    valid, test, C = max(found, key=lambda each: (each[0], -each[2]))  # of equals the smallest C
    return {"chosen": 1 - valid, "test": test, "C": C}


def best_rate(rows: Sequence[Mapping[str, Any]]) -> float:
    """Return the learning rate of the lowest validation loss."""
    return float(min(rows, key=lambda row: row["chosen"])["rate"])


def run_all(variants: Sequence[str] = tuple(VARIANTS), seeds: Sequence[int] = SEEDS) -> None:
    """Measure every variant: learning rates with a seed of their own, more of them while the best
    is at the edge, then `seeds` at the best one.
    """
    path, steps = results_path("05_efficient", "lightweight"), round(share() * STEPS)
    for variant in variants:
        point = {"variant": variant, "seed": TUNING_SEED, "steps": steps}
        tried = list(FIRST)
        while True:
            rows = sweep(measure, [{**point, "rate": rate} for rate in tried], path, data=DATA)
            best = best_rate(rows)
            place = GRID.index(best)
            beside = {GRID[i] for i in (place - 1, place + 1) if 0 <= i < len(GRID)} - {*tried}
            if not beside:
                break
            tried += sorted(beside)
        points = [{**point, "rate": best, "seed": seed} for seed in seeds]
        sweep(measure, points, path, data=DATA)


def step_times(rounds: int = 7) -> dict[str, list[float]]:
    """Return the milliseconds of a training step of 16 full texts, by variant, one per round. The
    variants take turns; seconds are the processor's, since other programs run on the machine too.
    """
    tokens = torch.randint(1, VOCABULARY, (BATCH, LENGTH))
    labels = torch.randint(CLASSES, (BATCH,))
    models = {name: build().train() for name, build in VARIANTS.items()}
    found: dict[str, list[float]] = {name: [] for name in VARIANTS}
    for turn in range(rounds + 1):
        for name, model in models.items():
            start = time.process_time()
            F.cross_entropy(model(tokens), labels).backward()
            if turn:  # the first is a warm-up
                found[name].append(round(1000 * (time.process_time() - start), 2))
    return found


def measure_times(threads: int) -> dict[str, Any]:
    """Return `step_times` on this many threads."""
    torch.set_num_threads(threads)
    return {"ms": {name: median(times) for name, times in step_times().items()}}


def load() -> list[dict[str, Any]]:
    """Return the saved runs; in the profile `experiment` measure the missing ones first."""
    path = results_path("05_efficient", "lightweight")
    if profile() == "experiment":
        run_all()
        sweep(bag_of_words, [{"variant": BAG, "seed": seed} for seed in SEEDS], path, data=DATA)
        sweep(measure_times, [{"threads": 1}], results_path("05_efficient", "lightweight_times"))
    return load_rows(path)


def load_times() -> dict[str, float]:
    """Return the saved milliseconds of a training step by variant."""
    rows = load_rows(results_path("05_efficient", "lightweight_times"))
    return rows[0]["ms"] if rows else {}
