"""Strings of spoken digits for a small Speech2Text, and where its cross-attention lies.

Page 6c.5. Strings of one to four digits in one voice are joined without a pause, so that the frame
is known where each digit begins. A *string* is the list of its recordings' numbers; a *position* is
a number of frames from the beginning of a string, where a frame is `STEP` seconds.
"""

from __future__ import annotations

import random
from collections.abc import Callable, Iterator, Mapping, Sequence
from functools import cache, reduce
from itertools import pairwise
from typing import Any, NamedTuple

import numpy as np
import torch
from torch import Tensor, nn

from deepdive.audio.mel import log_mel
from deepdive.core.hooks import record
from deepdive.data.speech import DIGITS, Recordings, fsdd
from deepdive.decoding import greedy
from deepdive.evaluate.transcripts import word_error_rate
from deepdive.training import fit
from deepdive.training.optim import adam, linear
from deepdive_book.ch06c.figures.speech_cross_attention import Heard
from deepdive_book.data.synthetic_speech import voices
from deepdive_book.kit.profile import pick, profile

BANDS, STEP = 40, 0.010  # numbers a frame, seconds from one frame to the next
POOL = 4  # frames that the encoder makes one hidden state of
LETTERS = "EFGHINORSTUVWXZ "
PAD, START, END = 1, 2, 3
ID = {letter: i + 4 for i, letter in enumerate(LETTERS)}
GROUPS = ("first", "second, open", "second, settled", "later")
LENGTHS = (1, 2, 3, 4, 5, 6, 8)  # digits in the strings that are transcribed

String = Sequence[int]
Positions = Sequence[Sequence[float]] | Tensor


class Batch(NamedTuple):
    """Strings: features (B, T, 40), which are real, bool (B, T), tokens (B, U), and the texts."""

    features: Tensor
    mask: Tensor
    tokens: Tensor
    texts: list[str]


def load_digits(part: str) -> tuple[Recordings, list[Tensor]]:
    """Return recordings of single digits, and the log-mel features (T, 40) of each.

    `part` is "train" or "test". The recordings are FSDD's, in the profile `ci` generated ones.
    """
    return _load_digits(part, profile() == "ci")


@cache
def _load_digits(part: str, generated: bool) -> tuple[Recordings, list[Tensor]]:
    seed, n = {"train": (1, 240), "test": (2, 80)}[part]
    spoken = voices(n, seed) if generated else fsdd(part)
    return spoken, [log_mel(wave, spoken.rate, BANDS) for wave in spoken.waves]


@cache
def _feature_scale(generated: bool) -> tuple[Tensor, Tensor]:
    every = torch.cat(_load_digits("train", generated)[1])
    return every.mean(0), every.std(0)


def sample_string(part: str, n: int, rng: random.Random, same_digit: bool = False) -> list[int]:
    """Return n recordings of one speaker, sampled with replacement, maybe of one digit only."""
    spoken, _ = load_digits(part)
    speaker = rng.choice(sorted({*spoken.speakers}))
    candidates = [i for i, each in enumerate(spoken.speakers) if each == speaker]
    if same_digit:
        word = spoken.words[rng.choice(candidates)]
        candidates = [i for i in candidates if spoken.words[i] == word]
    return [rng.choice(candidates) for _ in range(n)]


def make_batch(part: str, strings: Sequence[String]) -> Batch:
    """Return a batch of strings, each feature with the training set's mean 0 and deviation 1."""
    spoken, features = load_digits(part)
    mean, std = _feature_scale(profile() == "ci")
    rows = [(torch.cat([features[i] for i in string]) - mean) / std for string in strings]
    texts = [" ".join(spoken.words[i] for i in string) for string in strings]
    tokens = [torch.tensor([START, *(ID[c] for c in text), END]) for text in texts]
    pad = torch.nn.utils.rnn.pad_sequence
    mask = torch.arange(max(map(len, rows))) < torch.tensor([*map(len, rows)])[:, None]
    return Batch(pad(rows, True), mask, pad(tokens, True, PAD), texts)


class StringBatches:
    """Batches of training strings of one to four digits, 64 digits a batch, one batch a step."""

    def __init__(self, steps: int, seed: int) -> None:
        self.steps, self.seed = steps, seed

    def __iter__(self) -> Iterator[Batch]:
        rng = random.Random(self.seed)
        for _ in range(self.steps):
            n = rng.randint(1, 4)
            yield make_batch("train", [sample_string("train", n, rng) for _ in range(64 // n)])


def train_model(
    build_model: Callable[[], nn.Module],
    loss: Callable[[nn.Module, Batch], Tensor],
    steps: int,
    seed: int,
) -> nn.Module:
    """Return a model after so many steps of Adam, whose learning rate warms up and falls to 0."""
    torch.manual_seed(seed)
    model = build_model()
    fit(model, StringBatches(steps, seed), loss, steps=steps, seed=seed,
        optimizer=adam(model, lr=2e-3), schedule=linear(2e-3, max(1, steps // 10), steps),
        progress=False)  # fmt: skip
    return model


def sample_test_strings(n: int, same_digit: bool = False) -> list[list[int]]:
    """Return strings of n test recordings, always the same ones; how many, the profile says."""
    rng = random.Random(100 * n + same_digit)
    count = pick(ci=10, laptop=30, gpu=60, experiment=100)
    return [sample_string("test", n, rng, same_digit) for _ in range(count)]


@torch.no_grad()
def transcribe(model: nn.Module, batch: Batch) -> list[str]:
    """Return the text that a model writes for each string, by greedy decoding."""
    longest = 2 * max(map(len, batch.texts))
    tokens = greedy(model, batch.features, batch.mask, bos=START, eos=END, max_length=longest)
    return ["".join(LETTERS[i - 4] for i in row if i >= 4) for row in tokens]


def word_errors(model: nn.Module, n: int, same_digit: bool = False) -> tuple[float, float]:
    """Return the word error rate (%) on strings of n digits, and the mean of words written."""
    batch = make_batch("test", sample_test_strings(n, same_digit))
    texts = transcribe(model, batch)
    words = sum(len(text.split()) for text in texts) / len(texts)
    return round(100 * word_error_rate(batch.texts, texts), 2), round(words, 2)


def boundaries(part: str, string: String) -> list[int]:
    """Return the position where each digit of a string begins, and where the last one ends."""
    found = [0]
    for i in string:
        found.append(found[-1] + len(load_digits(part)[1][i]))
    return found


@torch.no_grad()
def attention_weights(model: nn.Module, batch: Batch) -> dict[str, Tensor]:
    """Return the cross-attention (B, U, T') of each head, named layer-head, by teacher forcing."""
    with record(model, "decoder.*cross.*weights") as seen:
        model(batch.features, batch.tokens[:, :-1], batch.mask)
    return {f"{layer}-{head}": weights[0][:, head]
            for layer, weights in enumerate(seen.values(), 1)
            for head in range(weights[0].shape[1])}  # fmt: skip


def letter_groups(text: str) -> list[tuple[int, int | None]]:
    """Return each letter's digit, counted from 0, and its group in `GROUPS`, None for a space.

    A letter is settled when only one digit begins with what precedes it: T may become two or
    three, TH only three.
    """
    names, found, digit, prefix = {*DIGITS}, list[tuple[int, int | None]](), 0, ""
    for letter in text:
        if letter == " ":
            digit, prefix = digit + 1, ""
            found.append((digit, None))
            continue
        second = 1 if sum(name.startswith(prefix) for name in names) > 1 else 2
        found.append((digit, (0, second, 3)[min(len(prefix), 2)]))
        prefix += letter
    return found


def mean_by_group(
    value: Callable[[int, int, int], float | Tensor], texts: Sequence[str]
) -> list[float]:
    """Return the mean (%) of value(i, u, digit) over the letters u of texts i, one a group."""
    found: list[list[float]] = [[] for _ in GROUPS]
    for i, text in enumerate(texts):
        for u, (digit, group) in enumerate(letter_groups(text)):
            if group is not None:
                found[group].append(float(value(i, u, digit)))
    return [round(100 * sum(each) / max(1, len(each)), 1) for each in found]


def position_accuracy(
    positions: Positions, texts: Sequence[str], bounds: Sequence[Sequence[int]]
) -> list[float]:
    """Return by group how many letters (%) have their position (B, U) within their own digit."""

    def inside(i: int, u: int, digit: int) -> bool:
        return bounds[i][digit] <= float(positions[i][u]) < bounds[i][digit + 1]

    return mean_by_group(inside, texts)


def weight_inside(
    weights: Tensor, texts: Sequence[str], bounds: Sequence[Sequence[int]]
) -> list[float]:
    """Return by group the mean weight (%) of (B, U, T') within the digit that a letter spells."""
    states = [[-(-cut // POOL) for cut in cuts] for cuts in bounds]
    return mean_by_group(
        lambda i, u, k: weights[i, u, states[i][k] : states[i][k + 1]].sum(), texts
    )


def evaluate_heads(model: nn.Module, strings: Sequence[String]) -> dict[str, dict[str, Any]]:
    """Return what is measured of each head's weights, in percent.

    centre  by group: letters whose center of weight lies within their digit
    weight  by group: weight within the digit
    onward  letters whose center is no earlier than the letter's before, up to one hidden state
    """
    batch, found = make_batch("test", strings), {}
    texts, bounds = batch.texts, [boundaries("test", string) for string in strings]
    for name, weights in attention_weights(model, batch).items():
        centers = weights @ (POOL * torch.arange(weights.shape[-1])).float()
        onward = [float(b >= a - POOL) for row, text in zip(centers, texts, strict=True)
                  for a, b in pairwise(row[: len(text)])]  # fmt: skip
        found[name] = {"centre": position_accuracy(centers, texts, bounds),
                       "weight": weight_inside(weights, texts, bounds),
                       "onward": round(100 * sum(onward) / len(onward), 1)}  # fmt: skip
    return found


def straight_line_accuracy(strings: Sequence[String]) -> list[float]:
    """Return the baseline without sound: letters evenly on a line from beginning to end."""
    texts = make_batch("test", strings).texts
    bounds = [boundaries("test", string) for string in strings]
    positions = [[(u + 0.5) / len(text) * cuts[-1] for u in range(len(text))]
                 for text, cuts in zip(texts, bounds, strict=True)]  # fmt: skip
    return position_accuracy(positions, texts, bounds)


def monotonic_path(weights: Tensor) -> list[list[int]]:
    """Return the hidden states of each letter on the best monotonic path through weights (U, T').

    The path begins in the first state and ends in the last; each state belongs to one letter, and
    no letter is left out. Needs T' >= U.
    """
    score, (n_letters, n_states) = weights.double(), weights.shape
    best = torch.full((n_letters, n_states), -torch.inf).double()
    stayed = torch.zeros(n_letters, n_states, dtype=torch.bool)
    best[0, 0] = score[0, 0]
    for s in range(1, n_states):
        came = torch.cat([torch.tensor([-torch.inf]).double(), best[:-1, s - 1]])
        stayed[:, s] = best[:, s - 1] >= came
        best[:, s] = score[:, s] + torch.maximum(best[:, s - 1], came)
    u, states = n_letters - 1, [list[int]() for _ in range(n_letters)]
    for s in reversed(range(n_states)):
        states[u].insert(0, s)
        u -= int(not stayed[u, s])
    return states


def onset_error(
    onsets: Sequence[Sequence[float]], texts: Sequence[str], bounds: Sequence[Sequence[int]]
) -> float:
    """Return the mean error (ms) of the onsets (B, U) of digits' first letters, but the first."""
    found = [abs(onsets[i][u] - bounds[i][digit]) * 1000 * STEP
             for i, text in enumerate(texts)
             for u, (digit, group) in enumerate(letter_groups(text))
             if group == 0 and digit]  # fmt: skip
    return round(sum(found) / max(1, len(found)), 1)


def alignable(strings: Sequence[String]) -> list[tuple[int, str, list[int]]]:
    """Return number, text, and boundaries of each string with enough hidden states for its text.

    As in CTC, a text needs a state for each letter and one more between two equal ones.
    """
    found = []
    for i, (text, string) in enumerate(
        zip(make_batch("test", strings).texts, strings, strict=True)
    ):
        cuts = boundaries("test", string)
        repeats = sum(a == b for a, b in pairwise(text))
        if -(-cuts[-1] // POOL) >= len(text) + repeats:
            found.append((i, text, cuts))
    return found


def evaluate_monotonic(model: nn.Module, strings: Sequence[String]) -> dict[str, Any]:
    """Return what a monotonic path through the mean of all heads gets.

    places  by group: letters (%) whose middle lies within their digit
    off     the onset error (ms)
    """
    heads = attention_weights(model, make_batch("test", strings))
    weights, some = reduce(torch.add, heads.values()) / len(heads), alignable(strings)
    paths = [monotonic_path(weights[i, : len(text), : -(-cuts[-1] // POOL)])
             for i, text, cuts in some]  # fmt: skip
    middles = [[POOL * sum(states) / max(1, len(states)) for states in path] for path in paths]
    onsets = [[POOL * states[0] if states else 0 for states in path] for path in paths]
    texts, bounds = [text for _, text, _ in some], [cuts for *_, cuts in some]
    return {"places": position_accuracy(middles, texts, bounds),
            "off": onset_error(onsets, texts, bounds)}  # fmt: skip


def evaluate_baselines(strings: Sequence[String]) -> dict[str, Any]:
    """Return two baselines without sound.

    off   the onset error (ms) of a straight line
    even  by group: the weight (%) within the digit of a head that gives each state the same weight
    """
    _, texts, bounds = zip(*alignable(strings), strict=True)
    onsets = [[u / len(text) * cuts[-1] for u in range(len(text))]
              for text, cuts in zip(texts, bounds, strict=True)]  # fmt: skip
    uniform = torch.zeros(len(texts), max(map(len, texts)), max(-(-c[-1] // POOL) for c in bounds))
    for weights, cuts in zip(uniform, bounds, strict=True):
        weights[:, : -(-cuts[-1] // POOL)] = 1 / -(-cuts[-1] // POOL)
    return {"off": onset_error(onsets, texts, bounds),
            "even": weight_inside(uniform, texts, bounds)}  # fmt: skip


def evaluate(model: nn.Module, with_examples: bool) -> dict[str, Any]:
    """Return a row of results: a model's word errors, its heads, a path, and the baselines."""
    four = sample_test_strings(4)
    errors = {str(n): word_errors(model, n) for n in LENGTHS}
    errors["alike"] = word_errors(model, 4, same_digit=True)
    found: dict[str, Any] = {
        "errors": errors,
        "heads": evaluate_heads(model, four),
        "line": straight_line_accuracy(four),
        "deaf": evaluate_baselines(four),
        "forward": evaluate_monotonic(model, four),
    }
    if with_examples:
        found["shown"] = [describe_example(model, string) for string in choose_examples(model)]
    return found


def choose_examples(model: nn.Module) -> list[list[int]]:
    """Return a string of four different digits, one of eight digits, and one digit four times.

    The first one is transcribed correctly and the last one wrongly, where there are such strings.
    """
    four, eight, same = (
        sample_test_strings(4), sample_test_strings(8)[0], sample_test_strings(4, same_digit=True)
    )  # fmt: skip
    spoken = load_digits("test")[0]
    different = [string for string in four if len({spoken.words[i] for i in string}) == 4]

    def is_correct(string: String) -> bool:
        batch = make_batch("test", [string])
        return transcribe(model, batch) == batch.texts

    return [next(filter(is_correct, different), different[0]), eight,
            next((string for string in same if not is_correct(string)), same[0])]  # fmt: skip


def describe_example(model: nn.Module, string: String) -> dict[str, Any]:
    """Return a string, what a model writes for it, and each head's weights in thousandths."""
    batch = make_batch("test", [string])
    text = transcribe(model, batch)[0]
    tokens = torch.tensor([[START, *(ID[c] for c in text), END]])
    weights = attention_weights(model, batch._replace(tokens=tokens))
    return {"string": [*string], "says": text, "weights": {
        name: [[round(1000 * w) for w in row] for row in found[0].tolist()]
        for name, found in weights.items()}}  # fmt: skip


def figure_recording(
    name: str, example: Mapping[str, Any], heads: Mapping[str, Sequence[str]]
) -> Heard:
    """Return an example for the figure, with the mean weights of each named group of heads."""
    spoken, features = load_digits("test")
    string, cuts = example["string"], boundaries("test", example["string"])
    words = [(spoken.words[i], a, b) for i, (a, b) in zip(string, pairwise(cuts), strict=True)]
    weights = {key: np.mean([example["weights"][head] for head in some], 0) / 1000
               for key, some in heads.items()}  # fmt: skip
    wave = np.concatenate([spoken.waves[i] for i in string])
    frames = torch.cat([features[i] for i in string])
    return Heard(name, frames, words, example["says"], weights, wave, spoken.rate)
