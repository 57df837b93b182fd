"""T5 on two generated tasks, numbers in English and in French words: one model with task prefixes
against two models, pretraining by span corruption, and two optimizers. Page 5.10.

All texts are bytes (`ByteTokenizer`). An example is a prefix with a number, "English: 347", and its
words. Each seed samples 200 test numbers from 0 to 999, and the training numbers from the others;
the unlabeled text of pretraining is the words of the numbers that aren't in the test set.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from functools import cache
from statistics import mean
from typing import Any, NamedTuple

import torch
import torch.nn.functional as F
from torch import Tensor, nn

from deepdive.data import fetch
from deepdive.data.generated import number_words
from deepdive.decoding import greedy
from deepdive.evaluate import Interval, t_interval
from deepdive.models.generative.t5 import T5, V1_1, t5
from deepdive.tokenizers import BYT5_SPECIALS, ByteTokenizer
from deepdive.training.objectives import corrupt_spans, cross_entropy, mask_spans

TASKS = ("English", "French")
NUMBERS, TESTED, BATCH, WINDOW = 1000, 200, 32, 48
SENTINEL = 258  # the last byte, which UTF-8 never uses; the next sentinels are 257, 256, ...
WARMUP, RATE = 20, 0.03
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
        loss_of(model, next(batches)).backward()  # type: ignore[no-untyped-call]
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


def count(model: nn.Module) -> int:
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
        "state_per_parameter": round(state / count(model), 3),
        "parameters": count(model),
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
                  else fetch("tinyshakespeare", "input.txt").read_text("utf-8"))  # fmt: skip
        batches = unlabeled(source, torch.Generator().manual_seed(seed + 1000))
        train(model, batches, pretraining_steps, rate)
        with torch.no_grad():
            loss = round(mean(float(loss_of(model, next(batches))) for _ in range(4)), 3)
    train(model, labeled(TASKS, numbers.train, torch.Generator().manual_seed(seed)), steps, rate)
    found = {task: exact_match(model, task, numbers.test) for task in TASKS}
    return {"exact_match": found, "pretraining_loss": loss}
