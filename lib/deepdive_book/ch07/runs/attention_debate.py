"""Two papers on attention, run again: texts, models that are trained alike, what is looked at.

    texts = real_texts("rt_polarity", train=5000)
    base  = train_model(fresh(texts, seed=0), texts.train, epochs=4, seed=0)
    seen  = run_model(base, texts.test)              # attention weights, probabilities, states
    other = adversary(base, texts.train, far=0.01, epochs=3, seed=0)

Jain and Wallace 2019 and Wiegreffe and Pinter 2019 used fastText's rows and wider models.
"""

import copy
from collections.abc import Callable, Sequence
from typing import NamedTuple

import torch
import torch.nn.functional as F
from torch import Tensor

from deepdive.core.hooks import record, replace
from deepdive.data.reviews import rt_polarity
from deepdive.data.subjects import medical_abstracts
from deepdive.data.text import split_by
from deepdive.explain.attention_weights.alternatives import Answer
from deepdive.models.interpretable.attention_classifier import AttentiveClassifier, attentive
from deepdive.tokenizers import WordTokenizer
from deepdive.tokenizers.splitting import simplify
from deepdive.training.fit import fit
from deepdive.training.objectives.attention_divergence import divergent_loss
from deepdive.training.optim import adam
from deepdive_book.data.labeled_cause_reviews import generated_verdicts

BATCH = 32
POINT = "attention.weights"
SPREAD = 0.4  # of the words' first rows: with 1 the models learn their texts by heart
DROPPED = 0.5  # of the numbers in a text's rows, while a model learns
OVERLAPPING = "general pathological conditions"  # the class of medical_abstracts left out here


class Part(NamedTuple):
    """Texts as tokens (N, T), 0 after the end of each, and their labels (N,)."""

    tokens: Tensor
    labels: Tensor

    @property
    def real(self) -> Tensor:
        return self.tokens != 0

    def take(self, items: Tensor | slice) -> "Part":
        return Part(self.tokens[items], self.labels[items])


class Texts(NamedTuple):
    """What to train on and to test on, each word by its number, and what the classes are called."""

    train: Part
    test: Part
    words: list[str]
    names: list[str]
    source: str


def real_texts(name: str, train: int = 5000, test: int = 1000, longest: int = 100) -> Texts:
    """rt_polarity, or four of the five classes of medical_abstracts; words from 2 texts up.

    Longer texts are cut after `longest` words; "general pathological conditions", which overlaps
    the other four, is left out. The split is always the same; equal texts share a part.
    """
    if name == "rt_polarity":
        reviews = rt_polarity()
        texts, labels, names = list(reviews.texts), list(reviews.labels), list(reviews.names)
        source = reviews.source
    elif name == "medical_abstracts":
        found = medical_abstracts()
        names = sorted(set(found.labels) - {OVERLAPPING})
        kept = [i for i, label in enumerate(found.labels) if label in names]
        texts = [simplify(found.texts[i]) for i in kept]
        labels, source = [names.index(found.labels[i]) for i in kept], found.source
    else:
        raise ValueError(f"name={name!r}: expected rt_polarity or medical_abstracts")
    order = torch.randperm(len(texts), generator=torch.Generator().manual_seed(0)).tolist()
    share = min(test / len(texts), 0.25)
    parts = split_by(order, lambda i: texts[i], (1 - share, share), 0)
    cut = [[texts[i] for i in part] for part in parts]
    return told_apart(
        (cut[0][:train], [labels[i] for i in parts[0]][:train]),
        (cut[1], [labels[i] for i in parts[1]]),
        names, source, longest,
    )  # fmt: skip


def told_apart(
    train: tuple[Sequence[str], Sequence[int]],
    test: tuple[Sequence[str], Sequence[int]],
    names: Sequence[str],
    source: str,
    longest: int = 100,
) -> Texts:
    """Number the words of texts that come with a label each; the training's words are known."""
    tokenizer = WordTokenizer.train(train[0], 8000, min_count=2)

    def part(texts: Sequence[str], labels: Sequence[int]) -> Part:
        rows = [tokenizer.encode(text)[:longest] for text in texts]
        padded = torch.zeros(len(rows), max(map(len, rows)), dtype=torch.long)
        for row, found in zip(padded, rows, strict=True):
            row[: len(found)] = torch.tensor(found)
        return Part(padded, torch.tensor(list(labels)))

    return Texts(part(*train), part(*test), tokenizer.vocab, list(names), source)


Build = Callable[[int, int], AttentiveClassifier]
Loss = Callable[[Tensor, Tensor, Tensor], Tensor]


def fresh(texts: Texts, seed: int, build: Build = attentive) -> AttentiveClassifier:
    """A new model for these texts, whose first weights the seed draws."""
    torch.manual_seed(seed)
    model = build(len(texts.words), len(texts.names))
    with torch.no_grad():
        model.embed.weight.mul_(SPREAD)
    return model


def train_model(
    model: AttentiveClassifier,
    part: Part,
    epochs: int,
    seed: int,
    loss: Loss | None = None,
    guide: Tensor | None = None,
    dropped: float = DROPPED,
) -> AttentiveClassifier:
    """Train a model, in batches of texts of like length whose order the seed draws.

    loss    of logits, weights (B, T) and the places of the batch in `part`; cross-entropy of the
            labels where none is given
    guide   weights (N, T) that the model has to use instead of its own, in training
    """
    if loss is None:
        loss = lambda logits, _, at: F.cross_entropy(logits, part.labels[at])  # noqa: E731
    batches = _batches(part, epochs, seed)

    def of_batch(net: AttentiveClassifier, batch: tuple[Tensor]) -> Tensor:
        at = batch[0]
        tokens, real = _cut(part, at)
        with replace(net, "embedded", lambda rows: F.dropout(rows, dropped)):
            if guide is not None:
                return loss(guided(net, tokens, real, guide[at]), guide[at], at)
            with record(net, POINT) as seen:
                logits = net(tokens, real)
        return loss(logits, seen[POINT][0][:, 0, 0], at)

    fit(model, batches, of_batch, steps=len(batches), seed=seed, progress=False,
        optimizer=adam(model, lr=2e-3, weight_decay=1e-5))  # fmt: skip
    return model.eval()


def guided(model: AttentiveClassifier, tokens: Tensor, real: Tensor, weights: Tensor) -> Tensor:
    """What the model answers, logits (B, C), with the weights (B, T or more) of another."""
    with replace(model, POINT, weights[:, None, None, : tokens.shape[1]]):
        return torch.as_tensor(model(tokens, real))


def _batches(part: Part, epochs: int, seed: int) -> list[tuple[Tensor]]:
    draw, found = torch.Generator().manual_seed(seed), []
    lengths = part.real.sum(1).float()
    for _ in range(epochs):
        near = lengths + 5 * torch.rand(len(lengths), generator=draw)
        groups = near.argsort().split(BATCH)
        found += [(groups[i],) for i in torch.randperm(len(groups), generator=draw)]
    return found


def _cut(part: Part, at: Tensor) -> tuple[Tensor, Tensor]:
    """The tokens of these places, no wider than the longest of them, and which are real."""
    real = part.real[at]
    width = int(real.sum(1).max())
    return part.tokens[at, :width], real[:, :width]


class Seen(NamedTuple):
    """Of each text: weights (N, T), shares of the classes (N, C), states (N, T, d)."""

    weights: Tensor
    shares: Tensor
    states: Tensor


@torch.no_grad()
def run_model(model: AttentiveClassifier, part: Part, states: bool = True) -> Seen:
    """What a model's attention and its answer are; without `states`, an empty third part."""
    n, width = part.tokens.shape
    weights, shares, kept = torch.zeros(n, width), [], []
    for at in torch.arange(n).split(100):
        tokens, real = _cut(part, at)
        with record(model, POINT, "states") as seen:
            shares.append(model(tokens, real).softmax(-1))
        weights[at, : tokens.shape[1]] = seen[POINT][0][:, 0, 0]
        if states:
            kept.append(F.pad(seen["states"][0], (0, 0, 0, width - tokens.shape[1])))
    return Seen(weights, torch.cat(shares), torch.cat(kept) if kept else torch.zeros(0))


def from_states(model: AttentiveClassifier, states: Tensor) -> Answer:
    """What `reweighted` answers, weights (N, T) -> shares (N, C), without the encoder's time: the
    states do not depend on the weights.
    """

    def answer(weights: Tensor) -> Tensor:
        mixed = torch.einsum("nt,ntd->nd", weights, states)
        return torch.as_tensor(model.classify(mixed)).softmax(-1)

    return answer


def adversary(
    base: AttentiveClassifier,
    part: Part,
    far: float,
    epochs: int,
    seed: int,
    begin: AttentiveClassifier | None = None,
) -> AttentiveClassifier:
    """Train a copy of a model (or `begin`) to answer on these texts as it does, and to look
    elsewhere.
    """
    seen, model = run_model(base, part, states=False), begin or copy.deepcopy(base)

    def loss(logits: Tensor, weights: Tensor, at: Tensor) -> Tensor:
        theirs = seen.weights[at, : weights.shape[1]]
        return divergent_loss(logits.softmax(-1), seen.shares[at], weights, theirs, far)

    return train_model(model.train(), part, epochs, seed, loss, dropped=0.0)


def verdict_texts(train: int, test: int, seed: int = 0) -> tuple[Texts, Tensor]:
    """Generated reviews, and which words of the test decide by the rule, bool (N, T)."""
    found = generated_verdicts(train + test, seed)
    texts = told_apart((found.texts[:train], found.labels[:train]),
                       (found.texts[train:], found.labels[train:]),
                       found.names, found.source)  # fmt: skip
    cause = torch.zeros_like(texts.test.tokens, dtype=torch.bool)
    for row, places in zip(cause, found.deciding[train:], strict=True):
        row[list(places)] = True
    return texts, cause


def even(real: Tensor) -> Tensor:
    """The same weight for each real place, (N, T)."""
    return real / real.sum(1, keepdim=True)
