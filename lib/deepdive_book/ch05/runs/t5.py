"""T5 on two generated tasks, numbers in English and in French words: one model with task prefixes
against two models, pretraining by span corruption, and two optimizers. Page 5.10.

All texts are bytes (`ByteTokenizer`). An example is a prefix with a number, "English: 347", and its
words. Each seed samples 200 test numbers from 0 to 999, and the training numbers from the others;
the unlabeled text of pretraining is the words of the 800 numbers that aren't in the test set.

The learning rates were chosen with seed 0 (`TUNING`), which no result uses.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from functools import cache
from itertools import product
from statistics import mean
from typing import Any, NamedTuple

import torch
import torch.nn.functional as F
from torch import Tensor, nn

from deepdive.data import fetch
from deepdive.data.generated import number_words
from deepdive.decoding import greedy
from deepdive.evaluate import Interval
from deepdive.models.generative.t5 import T5, V1_1, t5
from deepdive.tokenizers import BYT5_SPECIALS, ByteTokenizer
from deepdive.training.objectives import corrupt_spans, cross_entropy, mask_spans
from deepdive.training.parameter_scaled_adam import ScaledAdam
from deepdive_book.data.tree_grammar import tree_sentences
from deepdive_book.kit.profile import profile
from deepdive_book.kit.rows import interval, paired

TASKS = ("English", "French")
NUMBERS, TESTED, BATCH, WINDOW = 1000, 200, 32, 48
SENTINEL = 258  # the last byte, which UTF-8 never uses; the next sentinels are 257, 256, ...
WARMUP, RATE = 20, 0.1
BYTES = ByteTokenizer(BYT5_SPECIALS)
SMALL = V1_1.but(vocab_size=259, d_model=64, n_heads=4, d_head=16, n_layers=2, n_decoder_layers=2,
                 d_ff=128, dropout=0.0)  # fmt: skip
Batch = tuple[Tensor, Tensor]  # encoder input and target, both padded with 0


@cache
def words(task: str) -> dict[int, str]:
    """Return the words of all numbers in the language of a task."""
    pairs = number_words(task[:2].lower(), NUMBERS, high=NUMBERS - 1)
    return {int(number): text for number, text in pairs}


class Split(NamedTuple):
    """Numbers with labels, numbers whose words are in the unlabeled text, and test numbers."""

    train: list[int]
    unlabeled: list[int]
    test: list[int]


def split(seed: int, labels: int) -> Split:
    """Return the numbers of a seed: 200 for the test, `labels` of the others for training."""
    order = torch.randperm(NUMBERS, generator=torch.Generator().manual_seed(seed)).tolist()
    others = order[TESTED:]
    return Split(others[:labels], others, order[:TESTED])


def pad(texts: Sequence[str]) -> Tensor:
    """Return the bytes of texts, each with an end token, padded: int64 (B, T)."""
    ids = [torch.tensor(BYTES.encode(text, eos=True)) for text in texts]
    return nn.utils.rnn.pad_sequence(ids, batch_first=True)


def prompt(task: str, number: int, prefix: bool = True) -> str:
    """Return an encoder input, such as "English: 347", or "347" without a prefix."""
    return f"{task}: {number}" if prefix else f"{number}"


def labeled(
    tasks: Sequence[str], numbers: Sequence[int], random: torch.Generator, prefix: bool = True
) -> Iterator[Batch]:
    """Yield batches of random examples, as many of each task."""
    while True:
        chosen = torch.randint(len(numbers), (BATCH,), generator=random).tolist()
        pairs = [(tasks[i % len(tasks)], numbers[n]) for i, n in enumerate(chosen)]
        yield (pad([prompt(task, number, prefix) for task, number in pairs]),
               pad([words(task)[number] for task, number in pairs]))  # fmt: skip


def unlabeled(text: str, random: torch.Generator) -> Iterator[Batch]:
    """Yield batches of corrupted windows of a text, with T5's 15% in spans of 3 on average."""
    ids = torch.tensor(BYTES.encode(text))
    while True:
        first = torch.randint(len(ids) - WINDOW, (BATCH, 1), generator=random)
        hidden = mask_spans((BATCH, WINDOW), generator=random)
        yield corrupt_spans(ids[first + torch.arange(WINDOW)], hidden, SENTINEL)


def running_text() -> tuple[str, str]:
    """Return a running text and what it is: tinyshakespeare, or in the profile ci generated
    sentences.
    """
    if profile() == "ci":
        sentences = " ".join(" ".join(tree.words) + "." for tree in tree_sentences(600))
        return sentences, "sentences (generated)"
    return fetch("tinyshakespeare", "input.txt").read_text("utf-8"), "tinyshakespeare (real)"


def number_text(numbers: Sequence[int]) -> str:
    """Return unlabeled text: the words of numbers, one per line, English and French by turns."""
    return "\n".join(words(task)[number] for number in numbers for task in TASKS)


def loss_of(model: nn.Module, batch: Batch) -> Tensor:
    """Return the cross-entropy of the target; the decoder's input is the target, shifted right."""
    inputs, target = batch
    shifted = F.pad(target[:, :-1], (1, 0))  # starts with the padding token, 0
    return cross_entropy(model(inputs, shifted, inputs != 0), target, pad=0)


OPTIMIZERS: dict[str, Callable[..., torch.optim.Optimizer]] = {
    "Adafactor": torch.optim.Adafactor,  # with a relative step: rate * rms(parameters)
    "AdamW": torch.optim.AdamW,
}


def train(
    model: nn.Module, batches: Iterator[Batch], steps: int, rate: float = RATE,
    optimizer: str = "Adafactor",
) -> torch.optim.Optimizer:  # fmt: skip
    """Train for some steps: linear warmup for 20 steps, then linear decay to 0; return the
    optimizer.
    """
    updates = OPTIMIZERS[optimizer](model.parameters(), lr=rate, weight_decay=0.0)
    for step in range(steps):
        (group,) = updates.param_groups
        group["lr"] = rate * min((step + 1) / WARMUP, 1.0) * (1 - step / steps)
        updates.zero_grad()
        loss_of(model, next(batches)).backward()
        nn.utils.clip_grad_norm_(model.parameters(), 1.0)
        updates.step()
    return updates


def outputs(
    model: T5, task: str, numbers: Sequence[int], prefix: bool = True, longest: int = 50
) -> list[str]:
    """Return the greedy output for each number."""
    inputs = pad([prompt(task, number, prefix) for number in numbers])
    made = greedy(model, inputs, inputs != 0, bos=0, eos=1, max_length=longest)
    return [BYTES.decode(ids) for ids in made]


def exact_match(model: T5, task: str, numbers: Sequence[int], prefix: bool = True) -> float:
    """Return the fraction of numbers whose words are correct in every byte."""
    made = outputs(model.eval(), task, numbers, prefix)
    return mean(text == words(task)[n] for text, n in zip(made, numbers, strict=True))


def new_model(seed: int) -> T5:
    """Return a small T5 (version 1.1) with random weights."""
    torch.manual_seed(seed)
    return t5(SMALL)


def n_parameters(model: nn.Module) -> int:
    """Return the number of parameters."""
    return sum(p.numel() for p in model.parameters())


# ---- one model for both tasks, or one model per task

ARMS: dict[str, tuple[Sequence[str], bool]] = {
    "both tasks": (TASKS, True),
    "English only": (("English",), True),
    "French only": (("French",), True),
    "both tasks, no prefix": (TASKS, False),
}


def measure_tasks(
    arm: str, labels: int, optimizer: str, rate: float, steps: int, seed: int
) -> dict[str, Any]:
    """Train one model; return its exact match on the test numbers of each of its tasks, its first
    outputs, the size of its optimizer's state in numbers per parameter, and its training examples
    per task, repetitions counted.
    """
    (tasks, prefix), numbers = ARMS[arm], split(seed, labels)
    model, random = new_model(seed), torch.Generator().manual_seed(seed)
    updates = train(model, labeled(tasks, numbers.train, random, prefix), steps, rate, optimizer)
    state = sum(x.numel() for s in updates.state.values() for x in s.values() if x.numel() > 1)
    return {
        "exact_match": {task: exact_match(model, task, numbers.test, prefix) for task in tasks},
        "first_outputs": {task: outputs(model, task, numbers.test[:3], prefix) for task in tasks},
        "first_numbers": numbers.test[:3],
        "examples_per_task": steps * BATCH // len(tasks),
        "state_per_parameter": round(state / n_parameters(model), 3),
        "parameters": n_parameters(model),
    }


# ---- pretraining by span corruption, then fine-tuning


def measure_pretraining(
    text: str, pretraining_steps: int, steps: int, labels: int, rate: float, seed: int
) -> dict[str, Any]:
    """Pretrain a model on "number words" or "Shakespeare" ("none": no pretraining) and fine-tune it
    on both tasks; return its exact match on the test numbers and the loss at the end of
    pretraining.
    """
    numbers, model = split(seed, labels), new_model(seed)
    loss = None
    if text != "none":
        source = (number_text(numbers.unlabeled) if text == "number words"
                  else running_text()[0])  # fmt: skip
        batches = unlabeled(source, torch.Generator().manual_seed(seed + 1000))
        train(model, batches, pretraining_steps, rate)
        with torch.no_grad():
            loss = round(mean(float(loss_of(model, next(batches))) for _ in range(4)), 3)
    train(model, labeled(TASKS, numbers.train, torch.Generator().manual_seed(seed)), steps, rate)
    found = {task: exact_match(model, task, numbers.test) for task in TASKS}
    return {"exact_match": found, "pretraining_loss": loss}


# ---- the points of the page's experiments

SEEDS, TUNING, RATES = (1, 2, 3, 4, 5), 0, (0.03, 0.1, 0.3)
ARMS_AND_STEPS = [("both tasks", 800), ("both tasks", 400), ("English only", 400),
                  ("French only", 400)]  # fmt: skip
PRETRAINING = [("none", 0, 600), ("none", 0, 200), ("number words", 400, 200),
               ("Shakespeare", 400, 200)]  # fmt: skip


def task_point(
    arm: str, steps: int, rate: float = RATE, seed: int = 1, labels: int = 400
) -> dict[str, Any]:
    """Return the arguments of one run of `measure_tasks`."""
    return {"arm": arm, "labels": labels, "optimizer": "Adafactor", "rate": rate, "steps": steps,
            "seed": seed}  # fmt: skip


def task_points() -> list[dict[str, Any]]:
    """Return the arguments of `measure_tasks`: the arms, one without prefixes, and the tuning."""
    return [
        *(task_point(arm, n, RATE, seed) for seed, (arm, n) in product(SEEDS, ARMS_AND_STEPS)),
        task_point("both tasks, no prefix", 400),
        *(
            task_point(arm, n, rate, TUNING)
            for rate, (arm, n) in product(RATES, ARMS_AND_STEPS[1:])
        ),
    ]


def few_task_points() -> list[dict[str, Any]]:
    """Return the arguments of a few short runs."""
    short = [(arm, steps // 400) for arm, steps in ARMS_AND_STEPS]
    return [task_point(*arm) for arm in [*short, ("both tasks, no prefix", 1)]]


def pretraining_point(
    text: str, pretraining_steps: int, steps: int, rate: float = RATE, seed: int = 1
) -> dict[str, Any]:
    """Return the arguments of one run of `measure_pretraining`."""
    return {"text": text, "pretraining_steps": pretraining_steps, "steps": steps, "labels": 100,
            "rate": rate, "seed": seed}  # fmt: skip


def pretraining_points() -> list[dict[str, Any]]:
    """Return the arguments of `measure_pretraining`: four arms, and their tuning."""
    return [
        *(
            pretraining_point(text, before, steps, RATE, seed)
            for seed, (text, before, steps) in product(SEEDS, PRETRAINING)
        ),
        *(
            pretraining_point(text, before, steps, rate, TUNING)
            for rate, (text, before, steps) in product(RATES[:2], PRETRAINING)
        ),
    ]


def few_pretraining_points() -> list[dict[str, Any]]:
    """Return the arguments of a few short runs."""
    return [pretraining_point(text, a // 200, b // 200) for text, a, b in PRETRAINING]


# ---- two optimizers, each at five learning rates

SCALING: dict[str, Callable[..., torch.optim.Optimizer]] = {
    "Adam": torch.optim.Adam,
    "scaled Adam": ScaledAdam,
}
OPTIMIZER_RATES = (0.001, 0.003, 0.01, 0.03, 0.1)


@cache
def running_bytes() -> tuple[Tensor, Tensor]:
    """Return the training and the test part of the running text, as bytes."""
    ids = torch.tensor(BYTES.encode(running_text()[0]))
    return ids[: -len(ids) // 10], ids[-len(ids) // 10 :]


def corrupted(part: Tensor, size: int, random: torch.Generator, length: int = 64) -> Batch:
    """Return a batch of corrupted windows of a text."""
    first = torch.randint(len(part) - length, (size, 1), generator=random)
    hidden = mask_spans((size, length), generator=random)
    return corrupt_spans(part[first + torch.arange(length)], hidden, SENTINEL)


def measure_optimizers(optimizer: str, rate: float, seed: int, steps: int) -> dict[str, float]:
    """Train on Shakespeare's corrupted spans with a constant rate after the warmup; return the test
    loss in nats per byte.
    """
    train_part, test_part = running_bytes()
    random = torch.Generator().manual_seed(seed)
    batches = [corrupted(train_part, 8, random) for _ in range(steps)]
    model = new_model(seed)
    updates = SCALING[optimizer](model.parameters(), lr=rate, betas=(0.9, 0.999), eps=1e-6)
    for step, batch in enumerate(batches):
        updates.param_groups[0]["lr"] = rate * min(1.0, (step + 1) / WARMUP)
        updates.zero_grad()
        loss_of(model, batch).backward()
        nn.utils.clip_grad_norm_(model.parameters(), 1.0)
        updates.step()
    with torch.no_grad():
        test = corrupted(test_part, 256, torch.Generator().manual_seed(7))
        return {"loss": round(float(loss_of(model.eval(), test)), 4)}


def optimizer_points(
    steps: int = 60, seeds: Sequence[int] = SEEDS[:3], rates: Sequence[float] = OPTIMIZER_RATES
) -> list[dict[str, Any]]:
    """Return the arguments of `measure_optimizers`."""
    return [{"optimizer": name, "rate": rate, "seed": seed, "steps": steps}
            for seed, rate, name in product(seeds, rates, SCALING)]  # fmt: skip


# ---- what the page shows of the rows


def scores(rows: Sequence[Mapping[str, Any]], task: str = "", **fields: Any) -> dict[int, float]:
    """Return by seed the exact match in percent of a task, or the mean of a row's tasks, of the
    rows with these fields; without the seed used for tuning.
    """
    found = [row for row in rows if row["seed"] != TUNING
             and all(row[key] == value for key, value in fields.items())]  # fmt: skip
    return {row["seed"]: 100 * (row["exact_match"][task] if task else
                                mean(row["exact_match"].values())) for row in found}  # fmt: skip


def accuracy(values: Sequence[float]) -> Interval | float | None:
    """Return the `interval` of percentages as fractions, cut at 0 and 1."""
    found = interval(values, 0.01)
    if isinstance(found, Interval):
        return Interval(found.value, max(0.0, found.low), min(1.0, found.high))
    return found


def task_table(rows: Sequence[Mapping[str, Any]]) -> list[dict[str, Any]]:
    """Return the table of experiment 1: exact match by arm, and differences from two models."""
    steps = sorted({row["steps"] for row in rows if row["arm"] == "both tasks"}, reverse=True)
    short = min(row["steps"] for row in rows)
    two = {task: scores(rows, task, arm=f"{task} only", steps=short, rate=RATE) for task in TASKS}
    both = {seed: mean(two[task][seed] for task in TASKS) for seed in two[TASKS[0]]}
    size = f"{rows[0]['parameters'] / 1e3:.0f}"

    def line(name: str, parameters: str, n: str, examples: int) -> dict[str, Any]:
        return {"models": name, "parameters (thousands)": parameters, "steps": n,
                "examples per task": examples}  # fmt: skip

    table = []
    for n in steps:
        one = {"arm": "both tasks", "steps": n, "rate": RATE}
        means = scores(rows, **one)
        gains = paired(means, both)
        table.append({
            **line("one, for both tasks", size, f"{n}", n * BATCH // 2),
            **{task: accuracy([*scores(rows, task, **one).values()])
               for task in TASKS},
            "gain over two models (points)": interval(gains, contrasts=len(steps)),
            "seeds with a gain": f"{sum(gain > 0 for gain in gains)} of {len(gains)}",
        })  # fmt: skip
    table.append({
        **line("two, one per task", f"2 × {size}", f"2 × {short}", short * BATCH),
        **{task: accuracy([*two[task].values()]) for task in TASKS},
    })  # fmt: skip
    for row in rows:
        if row["arm"] == "both tasks, no prefix":
            table.append({
                **line("one, without prefixes", size, f"{row['steps']}", row["examples_per_task"]),
                **{task: row["exact_match"][task] for task in TASKS},
            })  # fmt: skip
    return table


def pretraining_table(rows: Sequence[Mapping[str, Any]]) -> list[dict[str, Any]]:
    """Return the table of experiment 2: exact match, mean of both tasks, over the seeds; and the
    differences of the pretrained models from the two controls, corrected for four comparisons.
    """
    arms = list(dict.fromkeys((r["text"], r["pretraining_steps"], r["steps"]) for r in rows))
    found = {arm: scores(rows, text=arm[0], steps=arm[2], rate=RATE) for arm in arms}
    controls = [arm for arm in arms if arm[0] == "none"]
    table = []
    for arm in arms:
        values, compared = [*found[arm].values()], arm not in controls
        table.append({
            "pretraining text": arm[0], "pretraining steps": arm[1], "task steps": arm[2],
            "exact match": accuracy(values),
            "lowest to highest seed": f"{min(values):.0f}% to {max(values):.0f}%",
            **{f"gain over none, {control[2]} steps (points)":
               interval(paired(found[arm], found[control]), 1, 4) if compared else None
               for control in controls},
        })  # fmt: skip
    return table


def optimizer_table(rows: Sequence[Mapping[str, Any]]) -> list[dict[str, Any]]:
    """Return the table of experiment 3: test loss by learning rate and optimizer."""
    rates = sorted({row["rate"] for row in rows})
    return [{"learning rate": f"{rate:g}"} | {
        name: interval([r["loss"] for r in rows if (r["optimizer"], r["rate"]) == (name, rate)])
        for name in SCALING} for rate in rates]  # fmt: skip
