"""Four pretraining objectives for one encoder at equal compute: masked language modeling (BERT),
replaced token detection (ELECTRA), permuted language modeling (MPNet), and recurring span selection
(Splinter). Page 3.14.

`corpus` reads the text, `build` makes an encoder with what an objective needs, `loss_of` computes
its loss on a batch, `flops_per_step` counts a step, and `measure` is one run: pretraining within a
budget, then probes of the frozen encoder and fine-tuning.
"""

from __future__ import annotations

import random
from collections import Counter
from collections.abc import Mapping, Sequence
from copy import deepcopy
from dataclasses import dataclass
from functools import cache, partial
from statistics import mean
from typing import Any

import torch
import torch.nn.functional as F
from scipy.stats import rankdata
from torch import Tensor, nn

from deepdive.data.documents import generated_documents, web_documents
from deepdive.data.reviews import Labeled, rt_polarity
from deepdive.data.tasks import Single, Tagged, entities
from deepdive.data.trees import Tree, treebank
from deepdive.evaluate import Interval
from deepdive.evaluate.answers import entity_f1
from deepdive.explain.probes import tag_accuracy
from deepdive.explain.words import cut, read, word_states
from deepdive.layers.heads import Classifier, TokenClassificationHead, initialize
from deepdive.models.bert.bert import Bert, bert
from deepdive.models.bert.electra import ElectraConfig, pair
from deepdive.models.bert.mpnet import MPNet
from deepdive.models.bert.pretraining import for_masked_lm
from deepdive.models.bert.splinter import Splinter, SplinterConfig
from deepdive.tokenizers.wordpiece import BERT_SPECIALS, WordPieceTokenizer
from deepdive.training import fit
from deepdive.training.objectives import (
    cross_entropy,
    electra_loss,
    electra_losses,
    make_recurring_span_questions,
    mask_tokens,
    permute,
    recurring_spans,
    sample_replacements,
    span_selection_loss,
    special_ids,
    word_ids,
)
from deepdive.training.optim import adam, linear
from deepdive_book.data.synthetic_reviews import generated_reviews
from deepdive_book.data.synthetic_tasks import generated_entities
from deepdive_book.data.tree_grammar import tree_sentences
from deepdive_book.kit import rows
from deepdive_book.kit.cost import count_flops
from deepdive_book.kit.profile import pick, profile
from deepdive_book.kit.rows import Row
from deepdive_book.tasks.finetuning import encode, finetune, predict, read_tags

OBJECTIVES = ["masked LM", "replaced tokens", "permuted LM", "recurring spans"]
RATES = (1e-4, 3e-4, 1e-3, 3e-3, 1e-2)
# Tried too, since the best of the others was at the edge.
MORE_RATES = {"masked LM": (3e-2,), "replaced tokens": (3e-5,)}
BATCH = 8  # sequences
WIDTH = 64  # d_model
QUESTION = "[QUESTION]"
INITIAL_STD = 0.1  # of all weights; a narrow ELECTRA doesn't learn from BERT's 0.02
NAMES = ["B-name", "I-name", "O"]  # the six entity types as one


@dataclass(frozen=True)
class Corpus:
    """The pretraining text: sequences (N, T), shuffled batches of their indices, and the tokenizer.

    clusters   of each sequence, the spans that recur in it
    """

    tokenizer: WordPieceTokenizer
    sequences: Tensor
    batches: list[Tensor]
    clusters: list[list[list[tuple[int, int]]]]
    n_sentences: int
    n_tokens: int

    @property
    def length(self) -> int:
        """Tokens in a sequence."""
        return int(self.sequences.shape[1])


@cache
def corpus() -> Corpus:
    """Return the English Web Treebank as sequences of 128 tokens; in `ci`, generated text."""
    real, length = profile() != "ci", pick(ci=48, laptop=128, gpu=128)
    documents = web_documents() if real else generated_documents(100)
    texts = [sentence for document in documents for sentence in document]
    tokenizer = WordPieceTokenizer.train(
        texts, 2000 if real else 400, min_count=50 if real else 2,
        specials=(*BERT_SPECIALS, QUESTION),
    )  # fmt: skip
    stream = [token for text in texts for token in tokenizer.encode(text)]
    starts = range(0, len(stream) - length + 2, length - 2)
    sequences = torch.tensor(
        [[tokenizer.bos, *stream[i : i + length - 2], tokenizer.eos] for i in starts]
    )
    order = torch.randperm(len(sequences), generator=torch.Generator().manual_seed(0))
    batches = [batch for batch in order.split(BATCH) if len(batch) == BATCH]
    frequent = [token for token, _ in Counter(stream).most_common(100 if real else 8)]
    stop = {*frequent, *special_ids(tokenizer).tolist()}
    words = word_ids(sequences, tokenizer).tolist()
    clusters = [recurring_spans(tokens, stop, of_word)
                for tokens, of_word in zip(sequences.tolist(), words, strict=True)]  # fmt: skip
    return Corpus(tokenizer, sequences, batches, clusters, len(texts), len(stream))


def build(objective: str, seed: int, narrower: int = 4) -> tuple[Any, Bert]:
    """Return the model that is trained, and the encoder in it, of the same shape for all.

    The encoder is MPNet's class without relative position biases, since that class can also encode
    a permuted text. narrower: by how much ELECTRA's generator is narrower than the encoder.
    """
    text = corpus()
    size: dict[str, Any] = {
        "vocab_size": len(text.tokenizer), "d_model": WIDTH, "n_heads": 2, "n_layers": 2,
        "d_ff": 4 * WIDTH, "max_length": text.length, "n_segments": 0, "dropout": 0.0,
    }  # fmt: skip
    torch.manual_seed(seed)
    model: Any
    if objective == "replaced tokens":
        model = pair(ElectraConfig(**size, narrower=narrower))
        encoder = model.discriminator.bert
    else:
        question = text.tokenizer.vocab.index(QUESTION)
        encoder = bert(SplinterConfig(**size, question=question, model=MPNet))
        model = Splinter(encoder) if objective == "recurring spans" else for_masked_lm(encoder)
    initialize(model, INITIAL_STD)
    return model, encoder


def questions(batch: Tensor) -> tuple[Tensor, Tensor, Tensor, Tensor, Tensor]:
    """Return tokens and mask (B, T), and positions, starts and ends (B, K) of the questions."""
    text = corpus()
    question, draw = text.tokenizer.vocab.index(QUESTION), random.Random(random.random())
    found = [
        make_recurring_span_questions(
            text.sequences[i].tolist(), text.clusters[i], question, 10, draw
        )
        for i in batch.tolist()
    ]
    pad = nn.utils.rnn.pad_sequence
    tokens = pad([torch.tensor(one.tokens) for one in found], True, text.tokenizer.pad)
    places, starts, ends = (
        pad([torch.tensor(getattr(one, name), dtype=torch.long) for one in found], True)
        for name in ("places", "starts", "ends")
    )
    return tokens, tokens != text.tokenizer.pad, places, starts, ends


def loss_of(objective: str, model: Any, batch: Tensor) -> Tensor:
    """Return an objective's loss on the sequences with these indices, in nats."""
    tokenizer, tokens = corpus().tokenizer, corpus().sequences[batch]
    if objective == "replaced tokens":
        return electra_loss(*electra_losses(model, tokens, tokenizer))
    if objective == "recurring spans":
        tokens, mask, places, starts, ends = questions(batch)
        return span_selection_loss(model(tokens, mask, questions=places), starts, ends, mask)
    if objective == "permuted LM":
        order = permute(tokens, tokenizer)
        states = model.bert.permuted(order.tokens, order.positions, order.seen)
        states, targets = states[:, -order.targets.shape[1] :], order.targets
    else:
        inputs, targets, chosen = mask_tokens(tokens, tokenizer)
        states, targets = model.bert(inputs)[chosen], targets[chosen]
    return cross_entropy(model.masked_logits(states), targets, pad=None)


@cache
def flops_per_step(objective: str, narrower: int = 4) -> float:
    """Return the FLOPs of a step, forward and backward: the mean over four batches."""
    model, _ = build(objective, 0, narrower)
    random.seed(0)

    def step(batch: Tensor) -> float:
        return float(count_flops(lambda: loss_of(objective, model, batch).backward()))

    return mean(step(batch) for batch in corpus().batches[:4])


def pretrain(
    objective: str, rate: float, seed: int, gigaflops: float, narrower: int = 4
) -> tuple[Any, Bert]:
    """Train within a budget; the learning rate rises for 50 steps, then decays linearly to 0."""
    model, encoder = build(objective, seed, narrower)
    batches = corpus().batches
    steps = max(2, round(gigaflops * 1e9 / flops_per_step(objective, narrower)))
    order = torch.randperm(len(batches), generator=torch.Generator().manual_seed(seed)).tolist()
    fit(model, [batches[i] for i in order], lambda m, batch: loss_of(objective, m, batch),
        steps=steps, seed=seed, progress=False,
        optimizer=adam(model, lr=rate, betas=(0.9, 0.999), eps=1e-6, weight_decay=0.01),
        schedule=linear(rate, min(50, steps // 2), steps + 1))  # fmt: skip
    return model, encoder


# ---- labeled data: `part` is 0 to fit a probe or fine-tune, 1 to choose a rate, 2 to test


@cache
def trees() -> list[list[Tree]]:
    """Return tagged sentences of 4 to 30 words, of the treebank's train, dev, and test parts."""
    real, text = profile() != "ci", corpus()
    sizes = pick(ci=(40, 40, 40), laptop=(300, 300, 600), gpu=(300, 300, 600))
    found = []
    for seed, (part, n) in enumerate(zip(("train", "dev", "test"), sizes, strict=True)):
        given = treebank(part) if real else tree_sentences(2 * n, seed=seed)
        short = (tree for tree in given if 4 <= len(tree) <= 30)
        encoded = (t for t in short
                   if len(text.tokenizer.encode(" ".join(t.words))) < text.length - 2)  # fmt: skip
        found.append(list(encoded)[:n])
    return found


@cache
def reviews() -> list[Labeled]:
    """Return movie reviews: to fit, to choose a rate, and to test."""
    given = rt_polarity() if profile() != "ci" else generated_reviews(200)
    n = pick(ci=100, laptop=2000, gpu=2000)
    train, dev, test = given.held_out(n, 600)
    return [train.take(range(min(n, len(train)))), dev, test]


@cache
def posts() -> list[list[Tagged]]:
    """Return posts with entity tags, to fine-tune and to test; the six types count as one."""
    both = entities() if profile() != "ci" else [generated_entities(40, seed) for seed in (0, 1)]
    return [[Tagged(row.words, [tag if tag == "O" else f"{tag[0]}-name" for tag in row.tags])
             for row in part] for part in both]  # fmt: skip


def states(encoder: Bert, ids: Sequence[Tensor]) -> list[list[Tensor]]:
    """Return each sequence's hidden states (T, d_model), after each layer."""
    found = dict(read(encoder.eval(), [row[: corpus().length] for row in ids], "*.stream"))
    return [found[i] for i in range(len(ids))]


def word_features(encoder: Bert, part: int) -> tuple[list[Tensor], list[str]]:
    """Return each layer's word states (N, d_model), and the words' part-of-speech tags."""
    tokenizer = corpus().tokenizer
    special = (tokenizer.bos, tokenizer.eos, tokenizer.unk)
    aligned = [cut(tokenizer.encode, tree.words, *special) for tree in trees()[part]]
    found = states(encoder, [ids for ids, _ in aligned])
    layers = [
        torch.cat([word_states(x, owner[: len(x)])[1:-1]
                   for x, (_, owner) in zip(layer, aligned, strict=True)])
        for layer in zip(*found, strict=True)
    ]  # fmt: skip
    return layers, [tag for tree in trees()[part] for tag in tree.tags]


def review_features(encoder: Bert, part: int) -> tuple[list[Tensor], list[int]]:
    """Return each layer's mean states of the reviews (N, d_model), and the reviews' labels."""
    tokenizer, length, given = corpus().tokenizer, corpus().length, reviews()[part]
    ids = [torch.tensor([tokenizer.bos, *tokenizer.encode(text)[: length - 2], tokenizer.eos])
           for text in given.texts]  # fmt: skip
    found = states(encoder, ids)
    layers = [torch.stack([x.mean(0) for x in layer]) for layer in zip(*found, strict=True)]
    return layers, [int(label) for label in given.labels]


def probe(encoder: Bert, part: int) -> dict[str, list[float]]:
    """Return a linear probe's accuracy in percent, fitted on part 0, for each layer's states."""
    found: dict[str, list[float]] = {}
    for name, features in (("part of speech", word_features), ("sentiment", review_features)):
        (layers, y), (test_layers, test_y) = features(encoder, 0), features(encoder, part)
        found[name] = []
        for x, test_x in zip(layers, test_layers, strict=True):
            correct = tag_accuracy((x / x.std(), y), (test_x / x.std(), test_y), penalty=10.0)
            found[name].append(round(100 * correct.double().mean().item(), 2))
    return found


class WithoutSegments(nn.Module):
    """A copy of an encoder without segment embeddings, for heads that pass segments on."""

    def __init__(self, encoder: Bert) -> None:
        super().__init__()
        self.encoder = deepcopy(encoder)

    def forward(self, tokens: Tensor, mask: Tensor, segments: Tensor) -> Tensor:
        """Return hidden states (B, T, d_model)."""
        found: Tensor = self.encoder(tokens, mask)
        return found


def finetuned(encoder: Bert, seed: int) -> dict[str, float]:
    """Return test accuracy on sentiment and F1 of named entities, in percent, after fine-tuning."""
    tokenizer, length = corpus().tokenizer, corpus().length
    recipe: dict[str, Any] = {"lr": 1e-3, "epochs": pick(ci=1, laptop=4, gpu=4), "size": 16}

    def outputs(head: nn.Module, train: Sequence[Any], test: Sequence[Any]) -> list[Tensor]:
        items = [[encode(tokenizer, row, length, NAMES) for row in part] for part in (train, test)]
        finetune(head, items[0], seed=seed, progress=False, **recipe)
        return predict(head, items[1])

    train, test = (
        [Single(text, int(label)) for text, label in zip(part.texts, part.labels, strict=True)]
        for part in (reviews()[0], reviews()[2])
    )
    logits = outputs(Classifier(WithoutSegments(encoder), WIDTH, 2), train, test)
    correct = [row.label == z.argmax().item() for row, z in zip(test, logits, strict=True)]

    seen, unseen = posts()
    logits = outputs(TokenClassificationHead(WithoutSegments(encoder), WIDTH, 3), seen, unseen)
    tags = [read_tags(tokenizer, row, z, NAMES) for row, z in zip(unseen, logits, strict=True)]
    f1 = entity_f1(tags, [row.tags for row in unseen]).f1
    return {"sentiment": round(100 * mean(correct), 2), "entities": round(100 * f1, 2)}


@torch.no_grad()
def detection(model: Any, seed: int = 0, n_batches: int = 20) -> dict[str, float]:
    """Return what ELECTRA's two networks do on n batches of its training text.

    generator loss   MLM loss at masked tokens, in nats
    replaced         percent of masked tokens whose sample isn't the original token
    AUC              of the discriminator's logits, at masked tokens: replaced against original
    """
    text, generator = corpus(), torch.Generator().manual_seed(seed)
    losses, labels, scores = [], [], []
    for batch in text.batches[:n_batches]:
        tokens = text.sequences[batch]
        inputs, _, chosen = mask_tokens(
            tokens, text.tokenizer, mask=1.0, random=0.0, generator=generator
        )
        logits = model.generator.masked_logits(model.generator.bert(inputs)[chosen])
        losses.append(F.cross_entropy(logits, tokens[chosen], reduction="none"))
        filled, replaced = sample_replacements(logits, tokens, chosen, generator)
        labels.append(replaced[chosen])
        scores.append(model.discriminator(filled)[chosen])
    label, score = torch.cat(labels), torch.cat(scores)
    ranks = torch.as_tensor(rankdata(score))  # from 1; equal scores share a rank
    n, m = int(label.sum()), int((~label).sum())
    auc = (ranks[label].sum() - n * (n + 1) / 2) / max(1, n * m)
    return {
        "generator loss": round(torch.cat(losses).mean().item(), 3),
        "replaced": round(100 * label.double().mean().item(), 2),
        "AUC": round(auc.item(), 4),
    }


def unigram_entropy() -> float:
    """Return the entropy of the text's token frequencies, in nats."""
    counts = torch.bincount(corpus().sequences[:, 1:-1].flatten()).double()
    shares = counts[counts > 0] / counts.sum()
    return float(-(shares * shares.log()).sum())


def measure(
    objective: str, seed: int, rate: float = 0.0, gigaflops: float = 0.0, narrower: int = 4
) -> dict[str, Any]:
    """Return one run's probes and fine-tuning; tuning seeds: probes on the dev parts alone.

    objective "none" is the randomly initialized encoder, which is not pretrained.
    """
    if objective == "none":
        model, encoder = build("masked LM", seed)
    else:
        model, encoder = pretrain(objective, rate, seed, gigaflops, narrower)
    tuning = seed in TUNING_SEEDS
    found: dict[str, Any] = {"frozen": probe(encoder, 1 if tuning else 2)}
    if objective == "replaced tokens":
        found |= {"detection": detection(model.eval())}
    if not tuning:
        found |= {"fine-tuned": finetuned(encoder, seed)}
    return found


# ---- all runs of the page

BUDGET = 1200.0  # GFLOPs
DATA = "ud_english_ewt, rt_polarity, wnut17"
# An objective, and how much narrower ELECTRA's generator is than its discriminator.
ARMS = [(objective, 4) for objective in OBJECTIVES] + [("replaced tokens", 2)]


TUNING_SEEDS = (0, 100)  # they choose the rates, on the dev parts; no result is theirs


def tuning() -> list[dict[str, Any]]:
    """Return the runs of the first tuning seed, with all learning rates."""
    return [
        {"objective": objective, "narrower": narrower, "rate": rate, "gigaflops": BUDGET, "seed": 0}
        for objective, narrower in ARMS
        for rate in RATES + MORE_RATES.get(objective, ())
    ]


def second_tuning(found: Sequence[Row]) -> list[dict[str, Any]]:
    """Return the runs of the second tuning seed, with each arm's two best rates: a high rate may
    train with one seed and diverge with another.
    """
    best = _tag_accuracy([row for row in found if row["seed"] == TUNING_SEEDS[0]])
    return [
        {"objective": arm[0], "narrower": arm[1], "rate": rate, "gigaflops": BUDGET,
         "seed": TUNING_SEEDS[1]}
        for arm in ARMS
        for rate in sorted(best[arm], key=lambda rate: -best[arm][rate])[:2]
    ]  # fmt: skip


def chosen_rates(found: Sequence[Row]) -> dict[tuple[str, int], float]:
    """Return each arm's rate with the highest part-of-speech accuracy, mean of both tuning seeds.

    Sentiment doesn't choose: with 600 reviews its standard error is 2 points, more than the rates
    differ by.
    """
    first, second = (
        _tag_accuracy([row for row in found if row["seed"] == seed]) for seed in TUNING_SEEDS
    )
    return {arm: max(second[arm], key=lambda rate: first[arm][rate] + second[arm][rate])
            for arm in ARMS}  # fmt: skip


def _tag_accuracy(found: Sequence[Row]) -> dict[tuple[str, int], dict[float, float]]:
    """Return, for each arm and rate, the part-of-speech accuracy of the better layer."""
    scores: dict[tuple[str, int], dict[float, float]] = {arm: {} for arm in ARMS}
    for row in found:
        layers = row["frozen"]["part of speech"]
        scores[row["objective"], row["narrower"]][row["rate"]] = max(layers)
    return scores


def points(rates: Mapping[tuple[str, int], float]) -> list[dict[str, Any]]:
    """Return the runs of seeds 1 to 5, and of the random encoder."""
    found: list[dict[str, Any]] = [{"objective": "none", "seed": seed} for seed in range(1, 6)]
    return found + [
        {"objective": objective, "narrower": narrower, "rate": rates[objective, narrower],
         "gigaflops": BUDGET, "seed": seed}
        for seed in range(1, 6) for objective, narrower in ARMS
    ]  # fmt: skip


def results() -> list[Row]:
    """Return the page's rows: read from its file, measured in `experiment`, or a few short ones."""
    few = [{"objective": objective, "narrower": narrower, "rate": 1e-3, "gigaflops": 1.0, "seed": 1}
           for objective, narrower in ARMS] + [{"objective": "none", "seed": 1}]  # fmt: skip
    read = partial(rows.load_or_measure, measure, "03_bert", "objectives", few=few, data=DATA)
    found = read(points=tuning())
    if profile() == "experiment":
        found = read(points=second_tuning(found.rows))
        found = read(points=points(chosen_rates(found.rows)))
    return found.rows


# ---- the page's tables


def name(objective: str, narrower: int) -> str:
    """Return an arm's name in a table."""
    if objective == "replaced tokens":
        return f"{objective}, generator 1/{narrower} as wide"
    return "random initialization" if objective == "none" else objective


SCORES: dict[str, tuple[str | int, ...]] = {
    "part of speech, layer 1": ("frozen", "part of speech", 0),
    "part of speech, layer 2": ("frozen", "part of speech", 1),
    "sentiment, frozen": ("frozen", "sentiment", 1),
    "sentiment, fine-tuned": ("fine-tuned", "sentiment"),
    "entities, fine-tuned (F1)": ("fine-tuned", "entities"),
}


def _values(found: Sequence[Row], arm: tuple[str, int], *path: str | int) -> list[float]:
    fields = {"objective": arm[0]} | ({} if arm[0] == "none" else {"narrower": arm[1]})
    return rows.values([r for r in found if r["seed"] not in TUNING_SEEDS], *path, **fields)


def scores(found: Sequence[Row]) -> list[Row]:
    """Return the main table: each arm's scores with their intervals, and the baselines'."""
    table: list[Row] = [
        {"objective": name(*arm)}
        | {score: rows.interval(_values(found, arm, *path), 0.01) for score, path in SCORES.items()}
        for arm in [*ARMS, ("none", 0)]
    ]
    tags, counts = most_frequent_tag(), bag_of_words()
    row = {"objective": "no network (baseline)", "part of speech, layer 1": tags / 100}
    return [*table, row | {"sentiment, frozen": counts / 100}]


def differences(found: Sequence[Row], reference: tuple[str, int] = ARMS[0]) -> list[Row]:
    """Return each arm's differences from the reference, with Welch's t intervals.

    The level is 1 - 0.05 / n for the n differences of the table (Bonferroni).
    """
    from scipy.stats import ttest_ind

    others = [arm for arm in [*ARMS, ("none", 0)] if arm != reference]
    level = 1 - 0.05 / (len(others) * len(SCORES))
    table: list[Row] = []
    for arm in others:
        row: Row = {"objective": name(*arm)}
        for score, path in SCORES.items():
            a, b = _values(found, arm, *path), _values(found, reference, *path)
            row[score] = difference = mean(a) - mean(b)
            if min(len(a), len(b)) > 1:
                bounds = ttest_ind(a, b, equal_var=False).confidence_interval(level)
                row[score] = Interval(difference, float(bounds.low), float(bounds.high))
        table.append(row)
    return table


def generators(found: Sequence[Row]) -> list[Row]:
    """Return what ELECTRA's networks do after training, with the text's unigram entropy."""
    table: list[Row] = [
        {"generator": f"1/{narrower} as wide",
         "learning rate": f"{_values(found, (objective, narrower), 'rate')[0]:g}"}
        | {head: rows.interval(_values(found, (objective, narrower), "detection", head), scale)
           for head, scale in (("generator loss", 1), ("replaced", 0.01), ("AUC", 1))}
        for objective, narrower in ARMS if objective == "replaced tokens"
    ]  # fmt: skip
    return [*table, {"generator": "token frequencies", "generator loss": unigram_entropy()}]


# ---- simple baselines, without an encoder


def most_frequent_tag() -> float:
    """Return the accuracy, in percent, of each word's most frequent tag in the probe's sentences.

    A word that isn't in them is tagged NOUN.
    """
    train, test = trees()[0], trees()[2]
    counts: dict[str, Counter[str]] = {}
    for tree in train:
        for word, tag in zip(tree.words, tree.tags, strict=True):
            counts.setdefault(word.lower(), Counter())[tag] += 1
    best = {word: tags.most_common(1)[0][0] for word, tags in counts.items()}
    words = [pair for tree in test for pair in zip(tree.words, tree.tags, strict=True)]
    return 100 * mean(best.get(word.lower(), "NOUN") == tag for word, tag in words)


def bag_of_words() -> float:
    """Return the accuracy, in percent, of TF-IDF and logistic regression on the same reviews."""
    from sklearn.feature_extraction.text import TfidfVectorizer
    from sklearn.linear_model import LogisticRegression
    from sklearn.pipeline import make_pipeline

    train, _, test = reviews()
    model = make_pipeline(TfidfVectorizer(), LogisticRegression())
    model.fit(train.texts, train.labels)
    return float(100 * model.score(test.texts, test.labels))
