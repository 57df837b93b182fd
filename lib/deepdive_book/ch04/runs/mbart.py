"""Denoising pretraining on monolingual sentences, then fine-tuning on few translation pairs.

    data = corpora()
    net = model(data, seed=1)
    train(net, pretraining_batches(data, "mBART", seed=1), 800, seed=1, lr=3e-3)
    evaluate(fine_tune(net, data, 300, seed=1, steps=400), data)["chrF"]

Short English and French sentences from Tatoeba. Translations of one sentence are in one split only,
so no monolingual sentence has a known translation in the other monolingual corpus. Page 4.5.
"""

from __future__ import annotations

import random
import re
from collections.abc import Iterator, Mapping, Sequence
from copy import deepcopy
from functools import cache
from itertools import count
from statistics import mean
from typing import Any, NamedTuple

import torch
from scipy.stats import ttest_1samp
from torch import Tensor
from torch.utils.flop_counter import FlopCounterMode

from deepdive.data.parallel import parallel
from deepdive.decoding import greedy
from deepdive.evaluate import Interval
from deepdive.evaluate.translations import score
from deepdive.models.generative import mbart
from deepdive.models.transformer.translator import Translator
from deepdive.tokenizers import BERT_SPECIALS, WordTokenizer, padded
from deepdive.training import Validation, fit
from deepdive.training.objectives import (
    cross_entropy,
    infill,
    language_prefix,
    mask_span,
    split_masked_span,
)
from deepdive.training.optim import adam, linear
from deepdive_book.ch04.runs.cross_lingual_transfer import words_of
from deepdive_book.data.grammar import grammar_pairs
from deepdive_book.kit import rows
from deepdive_book.kit.profile import pick, profile

Pair = tuple[str, str]
Batch = tuple[Tensor, Tensor, Tensor]  # encoder input, decoder input, targets: each (B, T)
Row = dict[str, Any]
Contrast = tuple[str, str]  # the first minus the second
OBJECTIVES = ("none", "MASS", "mBART", "copying")
LONGER = "none, equal compute"  # more fine-tuning steps instead of pretraining
COMPUTE = "max. compute (TFLOP)"  # a column of `score_table`
STEPS = (800, 2400)  # of pretraining
RATE, MEAN_SPAN = 0.35, 3.5  # mBART: fraction of masked tokens, mean of the Poisson distribution


class Corpora(NamedTuple):
    """Monolingual sentences per language, and translation pairs of other sentences."""

    vocabulary: WordTokenizer
    languages: tuple[int, int]  # language tokens of English and French
    exclusive: tuple[frozenset[str], frozenset[str]]  # words that only one language has
    monolingual: tuple[list[str], list[str]]
    parallel: list[Pair]
    validation: list[Pair]
    test: list[Pair]
    pairs: list[Pair]  # all of them, before the split

    def ids(self, pairs: Sequence[Pair]) -> list[tuple[list[int], list[int]]]:
        """Return the token ids of each pair."""
        return [(self.vocabulary.encode(a), self.vocabulary.encode(b)) for a, b in pairs]

    @property
    def end(self) -> int:
        """The id of the end-of-sentence token."""
        return self.vocabulary.id_of("[SEP]")

    @property
    def mask(self) -> int:
        """The id of the mask token."""
        return self.vocabulary.id_of("[MASK]")


def normalize(text: str) -> str:
    """Return lowercase words and punctuation, separated by spaces; l'homme becomes two words."""
    text = text.lower().replace("’", "'").replace("'", "' ")
    return " ".join(re.findall(r"[^\W\d_]+'?|[.!?,]", text))


def group_translations(pairs: Sequence[Pair]) -> list[list[Pair]]:
    """Return groups of pairs: two pairs that share a sentence, directly or through other pairs, are
    in one group.
    """
    parent: dict[tuple[str, str], tuple[str, str]] = {}

    def root(node: tuple[str, str]) -> tuple[str, str]:
        while parent.setdefault(node, node) != node:
            parent[node] = node = parent[parent[node]]
        return node

    for a, b in pairs:
        parent[root(("en", a))] = root(("fr", b))
    groups: dict[tuple[str, str], list[Pair]] = {}
    for a, b in pairs:
        groups.setdefault(root(("en", a)), []).append((a, b))
    return [*groups.values()]


def sizes() -> tuple[int, int, int]:
    """Return the numbers of test, validation, and training pairs in this profile."""
    return pick(ci=(40, 20, 120), laptop=(500, 200, 3000), gpu=(500, 200, 3000))


def pair_counts() -> tuple[int, int]:
    """Return the two numbers of pairs for fine-tuning in this profile."""
    return pick(ci=(30, 120), laptop=(300, 3000), gpu=(300, 3000))


@cache
def corpora() -> Corpora:
    """Return the sentences of 3 to 10 tokens among each language's 1,500 most frequent, split by
    groups of translations. Generated sentences in the profile `ci`.
    """
    found = parallel("fra").pairs if profile() != "ci" else grammar_pairs(1500)
    pairs = [(normalize(a), normalize(b)) for a, b in found]
    kept = [words_of([side], 1500).vocab[5:] for side in zip(*pairs, strict=True)]
    known = [frozenset(words) for words in kept]
    short = sorted({
        pair for pair in pairs if all(
            3 <= len(text.split()) <= 10 and words.issuperset(text.split())
            for text, words in zip(pair, known, strict=True))})  # fmt: skip
    groups = group_translations(short)
    random.Random(0).shuffle(groups)
    n_test, n_validation, n_train = sizes()
    first = n_test + n_validation
    one_each = [random.Random(0).choice(group) for group in groups[: first + n_train]]
    rest = groups[first + n_train :]
    halves = rest[: len(rest) // 2], rest[len(rest) // 2 :]
    english, french = (
        sorted({pair[k] for group in half for pair in group}) for k, half in enumerate(halves)
    )
    vocabulary = WordTokenizer(
        [*BERT_SPECIALS, "<en>", "<fr>", *dict.fromkeys(kept[0] + kept[1])], BERT_SPECIALS
    )
    return Corpora(
        vocabulary,
        (vocabulary.id_of("<en>"), vocabulary.id_of("<fr>")),
        (known[0] - known[1], known[1] - known[0]),
        (english, french),
        one_each[first:],
        one_each[n_test:first],
        one_each[:n_test],
        short,
    )


def model(data: Corpora, seed: int) -> Translator:
    """Return a randomly initialized small mBART with 2 + 2 layers."""
    width = pick(ci=16, laptop=64, gpu=64)
    torch.manual_seed(seed)
    return mbart.mbart(
        mbart.TINY, src_vocab=len(data.vocabulary), d_model=width, d_ff=4 * width,
        d_decoder_ff=4 * width, n_layers=2, n_decoder_layers=2, max_length=32,
        pad=data.vocabulary.pad, start=data.languages[1], end=data.end, dropout=0.1,
    )  # fmt: skip


def encoder_input(
    data: Corpora, texts: Sequence[Sequence[int]], languages: Sequence[int]
) -> Tensor:
    """Return each text with the end token and its language token, padded: (B, T)."""
    ended = [[*text, data.end, which] for text, which in zip(texts, languages, strict=True)]
    return padded(ended, data.vocabulary.pad)[0]


def denoising_batch(
    data: Corpora,
    texts: Sequence[Sequence[int]],
    languages: Sequence[int],
    draws: random.Random,
    rate: float = RATE,
) -> Batch:
    """mBART: reconstruct each text from a copy with infilled spans; with `rate` 0, copy it."""
    corrupted = [infill(text, data.mask, rate, draws, MEAN_SPAN) for text in texts]
    targets = padded([[*text, data.end] for text in texts], data.vocabulary.pad)[0]
    inputs = language_prefix(targets, torch.tensor(languages))
    return encoder_input(data, corrupted, languages), inputs, targets


def mass_batch(
    data: Corpora,
    texts: Sequence[Sequence[int]],
    languages: Sequence[int],
    generator: torch.Generator,
) -> Batch:
    """MASS: predict a masked span of half of each text. The decoder's first input is the language
    token.
    """
    pad = data.vocabulary.pad
    tokens = encoder_input(data, texts, languages)
    lengths = (tokens != pad).sum(1) - 1  # without the language token
    hidden = torch.nn.functional.pad(mask_span(lengths, 0.5, generator), (0, 1))
    read, inputs, targets = split_masked_span(tokens, hidden, data.mask, pad)
    inputs[:, 0] = torch.tensor(languages)
    return read, inputs, targets


def translation_batch(data: Corpora, pairs: Sequence[tuple[list[int], list[int]]]) -> Batch:
    """Translate English into French."""
    english, french = data.languages
    read = encoder_input(data, [a for a, _ in pairs], [english] * len(pairs))
    targets = padded([[*b, data.end] for _, b in pairs], data.vocabulary.pad)[0]
    return read, language_prefix(targets, torch.full((len(pairs),), french)), targets


def loss(net: Translator, batch: Batch) -> Tensor:
    """Return the mean cross-entropy per target token."""
    read, inputs, targets = batch
    pad = int(net.config.pad or 0)
    states = net.decode(inputs, net.begin(read, read.ne(pad)))
    return cross_entropy(net.head(states[targets.ne(pad)]), targets[targets.ne(pad)], pad=None)


def pretraining_batches(
    data: Corpora, objective: str, seed: int, size: int = 64
) -> Iterator[Batch]:
    """Yield batches without end, half of each English and half French."""
    draws, generator = random.Random(seed), torch.Generator().manual_seed(seed)
    encoded = [[data.vocabulary.encode(text) for text in texts] for texts in data.monolingual]
    for _ in count():
        sampled = [(draws.choice(encoded[k]), data.languages[k])
                   for k in (0, 1) for _ in range(size // 2)]  # fmt: skip
        texts, languages = [text for text, _ in sampled], [which for _, which in sampled]
        if objective == "MASS":
            yield mass_batch(data, texts, languages, generator)
        else:
            rate = 0.0 if objective == "copying" else RATE
            yield denoising_batch(data, texts, languages, draws, rate)


def train(
    net: Translator, batches: Iterator[Batch], steps: int, seed: int, lr: float, **more: Any
) -> Translator:
    """Train in place: Adam, linear warmup over at most 100 steps, then linear decay."""
    fit(net, batches, loss, steps=steps, seed=seed, progress=False,
        optimizer=adam(net, lr=lr, betas=(0.9, 0.98)),
        schedule=linear(lr, min(100, steps // 5), steps + 1), **more)  # fmt: skip
    return net


def fine_tune(net: Translator, data: Corpora, n: int, seed: int, steps: int) -> Translator:
    """Return a copy trained on n translation pairs for at most `steps` steps, with the weights of
    the lowest validation loss. It stops when that has not fallen for 100 steps.
    """
    net, draws = deepcopy(net), random.Random(seed)
    pairs = data.ids(draws.sample(data.parallel, n))
    held_out = translation_batch(data, data.ids(data.validation))

    @torch.no_grad()
    def validation_loss(net: Any) -> float:
        net.eval()
        value = float(loss(net, held_out))
        net.train()
        return value

    batches = (translation_batch(data, draws.choices(pairs, k=32)) for _ in count())
    return train(net, batches, steps, seed, 2e-3, validate=Validation(validation_loss, 25, 4))


@torch.no_grad()
def translate(net: Translator, data: Corpora) -> list[str]:
    """Return a greedy translation of each English test sentence."""
    read = translation_batch(data, data.ids(data.test))[0]
    found = greedy(net.eval(), read, read != data.vocabulary.pad, bos=data.languages[1],
                   eos=data.end, max_length=14)  # fmt: skip
    return [" ".join(data.vocabulary.vocab[i] for i in line) for line in found]


def evaluate(net: Translator, data: Corpora) -> Row:
    """Return chrF, BLEU, exact matches, the percentages of words that only one language has, and
    the first eight outputs.
    """
    outputs = translate(net, data)
    found = score(outputs, [[french] for _, french in data.test], samples=2)
    words = [word for line in outputs for word in line.split() if word.isalpha()]
    percent = [round(100 * sum(w in only for w in words) / max(len(words), 1), 1)
               for only in data.exclusive]  # fmt: skip
    return {"chrF": round(found.chrf, 2), "BLEU": round(found.bleu, 2),
            "exact": sum(a == b for a, (_, b) in zip(outputs, data.test, strict=True)),
            "English": percent[0], "French": percent[1], "outputs": outputs[:8]}  # fmt: skip


def tuning_steps(objective: str, steps: int) -> int:
    """Return the maximum number of fine-tuning steps after `steps` of pretraining."""
    return {"none": steps + steps // 2, LONGER: round(2.4 * steps)}.get(objective, steps // 2)


def measure(objective: str, seed: int, steps: int) -> Row:
    """Pretrain, then evaluate before fine-tuning and after few and many pairs.

    Fine-tuning has at most half as many steps as pretraining. Without pretraining it has the steps
    of both stages, or, with `LONGER`, about the compute of both.
    """
    data = corpora()
    net, more = model(data, seed), tuning_steps(objective, steps)
    if objective not in ("none", LONGER):
        train(net, pretraining_batches(data, objective, seed), steps, seed, 3e-3)
    nets = {0: net} | {n: fine_tune(net, data, n, seed, more) for n in pair_counts()}
    return {f"{n} {metric}": value for n, each in nets.items()
            for metric, value in evaluate(each, data).items()}  # fmt: skip


def points() -> list[Row]:
    """Return the settings of the saved runs: three seeds, and two more after 2,400 steps of the
    objectives that are compared most closely.
    """
    found = [{"objective": one, "seed": seed, "steps": steps}
             for steps in STEPS for seed in (1, 2, 3) for one in OBJECTIVES]  # fmt: skip
    more = [(one, seed) for seed in (4, 5) for one in ("none", "mBART", "copying")]
    more += [(LONGER, seed) for seed in (1, 2, 3)]
    return found + [{"objective": one, "seed": seed, "steps": STEPS[-1]} for one, seed in more]


def load() -> rows.Rows:
    """Return the saved runs; a few short ones where there are none."""
    few = [{"objective": one, "seed": 1, "steps": 12} for one in (*OBJECTIVES, LONGER)]
    return rows.load_or_measure(measure, "04_multilingual", "mbart", points=points(), few=few,
                                data="tatoeba_eng_fra", minutes=120)  # fmt: skip


def steps_of(runs: Sequence[Row]) -> list[int]:
    """Return the numbers of pretraining steps in the runs, in rising order."""
    return sorted({row["steps"] for row in runs})


def average(runs: Sequence[Row], key: str, objective: str, steps: int) -> Interval | float | None:
    """Return a metric's mean over seeds with its 95% t interval."""
    return rows.interval(rows.values(runs, key, objective=objective, steps=steps))


def differences(runs: Sequence[Row], n: int, pair: Contrast, steps: int) -> list[float]:
    """Return the first objective's chrF minus the second's after n pairs, one for each seed that
    both have.
    """
    ours, theirs = (rows.by_seed(runs, f"{n} chrF", objective=one, steps=steps) for one in pair)
    return rows.paired(ours, theirs)


def holm(p_values: Sequence[float]) -> list[float]:
    """Return p values corrected for the number of comparisons (Holm 1979), in the same order."""
    order = sorted(range(len(p_values)), key=lambda i: p_values[i])
    corrected, highest = [0.0] * len(p_values), 0.0
    for rank, i in enumerate(order):
        highest = max(highest, min(1.0, (len(p_values) - rank) * p_values[i]))
        corrected[i] = highest
    return corrected


def score_table(runs: Sequence[Row], data: Corpora, arms: Sequence[tuple[str, int]]) -> list[Row]:
    """Return one line per objective and number of steps: training, compute, and test scores."""
    few, many = pair_counts()
    known: dict[str, float] = {}
    return [
        {"pretraining": one, "steps": f"{0 if one in ('none', LONGER) else steps:,} + "
                                      f"{tuning_steps(one, steps):,}",
         COMPUTE: compute(data, one, steps, known=known),
         "seeds": len(rows.select(runs, objective=one, steps=steps)),
         f"chrF, {few:,} pairs": average(runs, f"{few} chrF", one, steps),
         f"chrF, {many:,} pairs": average(runs, f"{many} chrF", one, steps),
         f"BLEU, {many:,} pairs": average(runs, f"{many} BLEU", one, steps)}
        for one, steps in arms if rows.select(runs, objective=one, steps=steps)
    ]  # fmt: skip


def difference_table(runs: Sequence[Row], contrasts: Sequence[tuple[Contrast, int]]) -> list[Row]:
    """Return one line per contrast and number of pairs: the difference in chrF with its 95% t
    interval, and the p value of the paired t test, corrected over the table.
    """
    lines: list[Row] = []
    p_values: list[float] = []
    for pair, steps in contrasts:
        for n in pair_counts():
            if not (found := differences(runs, n, pair, steps)):
                continue
            lines.append({"comparison": " − ".join(pair), "steps of pretraining": steps, "pairs": n,
                          "seeds": len(found),
                          "difference in chrF": rows.interval(found)})  # fmt: skip
            p_values.append(float(ttest_1samp(found, 0).pvalue) if len(found) > 1 else 1.0)
    shown = ["< 0.001" if p < 0.001 else f"{p:.3f}" for p in holm(p_values)]
    return [{**line, "p, corrected": p} for line, p in zip(lines, shown, strict=True)]


def language_table(runs: Sequence[Row]) -> list[Row]:
    """Return the languages of the words that pretrained models generate before fine-tuning."""
    return [
        {"pretraining": one, "pretraining steps": steps,
         **{f"{which} words (%)": rows.mean_and_range(
             rows.values(runs, f"0 {which}", objective=one, steps=steps))
            for which in ("English", "French")}}
        for one in ("mBART", "copying", "MASS") for steps in steps_of(runs)
    ]  # fmt: skip


def target_tokens(data: Corpora, objective: str, steps: int, batches: int = 50) -> float:
    """Return the millions of target tokens in pretraining, estimated from the first batches."""
    if objective in ("none", LONGER):
        return 0.0
    stream = pretraining_batches(data, objective, seed=0)
    found = [int((next(stream)[2] != data.vocabulary.pad).sum()) for _ in range(batches)]
    return mean(found) * steps / 1e6


def compute(
    data: Corpora,
    objective: str,
    steps: int,
    batches: int = 10,
    known: dict[str, float] | None = None,
) -> float:
    """Return the TFLOPs of a run's training if fine-tuning takes all its steps. `known` keeps the
    FLOPs of a step of each stage for the next call.
    """
    known = {} if known is None else known
    stages = {"translation": tuning_steps(objective, steps)}
    if objective not in ("none", LONGER):
        stages[objective] = steps
    for stage in stages.keys() - known.keys():
        known[stage] = step_flops(data, stage, batches)
    return sum(known[stage] * n for stage, n in stages.items()) / 1e12


def step_flops(data: Corpora, stage: str, batches: int) -> float:
    """Return the FLOPs of a step of "translation" or of an objective, estimated from the first
    batches. A backward pass counts as two forward passes.
    """
    net, draws = model(data, 0), random.Random(0)
    stream = pretraining_batches(data, stage, seed=0)
    if stage == "translation":
        pairs = data.ids(data.parallel)
        stream = (translation_batch(data, draws.choices(pairs, k=32)) for _ in count())
    with FlopCounterMode(display=False) as counter, torch.no_grad():
        for _ in range(batches):
            loss(net, next(stream))
    return 3 * counter.get_total_flops() / batches


class Baselines(NamedTuple):
    """chrF without any training: one French sentence for all, and the English source itself."""

    one_sentence: Interval | float | None
    source: float


def baselines(data: Corpora) -> Baselines:
    """Return both baselines on the test set. The first is a mean over 20 validation sentences."""
    references = [[french] for _, french in data.test]
    constant = [score([french] * len(data.test), references, samples=2).chrf
                for _, french in data.validation[:20]]  # fmt: skip
    source = score([english for english, _ in data.test], references, samples=2).chrf
    return Baselines(rows.interval(constant), source)


def coverage(data: Corpora, n: int) -> float:
    """Return the percentage of English words in the test set that occur in n training pairs."""
    tested = [word for english, _ in data.test for word in english.split() if word.isalpha()]
    sample = random.Random(1).sample(data.parallel, n)
    words = {word for english, _ in sample for word in english.split() if word.isalpha()}
    return 100 * mean(word in words for word in tested)


def seen_in_training(test: Sequence[Pair], others: Sequence[Pair]) -> list[float]:
    """Return the percentages of English and French test sentences that occur in other pairs."""
    seen = [set(side) for side in zip(*others, strict=True)]
    return [100 * mean(pair[k] in seen[k] for pair in test) for k in (0, 1)]


def leaks(data: Corpora) -> dict[str, list[float]]:
    """Return `seen_in_training` for a random split of the pairs, and for one of their groups."""
    n, pairs = len(data.test), list(data.pairs)
    random.Random(1).shuffle(pairs)
    groups = group_translations(data.pairs)
    random.Random(0).shuffle(groups)
    others = [pair for group in groups[n:] for pair in group]
    return {"random pairs": seen_in_training(pairs[:n], pairs[n:]),
            "groups of translations": seen_in_training(data.test, others)}  # fmt: skip


def examples(
    runs: Sequence[Row], data: Corpora, n: int, numbers: Sequence[int] = (0, 3)
) -> list[Mapping[str, str]]:
    """Return test sentences with the outputs of the first seed of each pretrained model."""
    steps = steps_of(runs)[0]
    outputs = {one: rows.select(runs, objective=one, steps=steps)[0][f"{n} outputs"]
               for one in ("mBART", "MASS")}  # fmt: skip
    return [
        {"source": data.test[i][0], "reference": data.test[i][1],
         **{one: " ".join(found[i].split()[:8]) for one, found in outputs.items()}}
        for i in numbers
    ]  # fmt: skip
