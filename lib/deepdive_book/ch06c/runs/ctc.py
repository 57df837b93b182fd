"""CTC on AN4: utterances, the training of a recognizer, and what is checked on the way. Page 6c.2.

A recognizer is a module `model(frames, lengths)` -> symbol scores (B, T', 28), and how many of
the T' frames are real; the page defines it, and its loss. Symbol 0 is the blank, 1 the space.
"""

from __future__ import annotations

import random
import time
from collections.abc import Callable, Collection, Iterator, Mapping, Sequence
from functools import cache
from typing import Any, NamedTuple

import torch
from torch import Tensor, nn
from torch.nn.utils.rnn import pad_sequence

from deepdive.audio.mel import mfcc
from deepdive.data.speech import Utterances, an4
from deepdive.decoding.ctc import WordScores, greedy, prefix_beam
from deepdive.decoding.ngram import UNKNOWN, NGram
from deepdive.evaluate.transcripts import character_error_rate, word_error_rate
from deepdive.training.objectives import ctc_loss
from deepdive_book.data.synthetic_speech import voices
from deepdive_book.kit.profile import profile

LETTERS = "- ABCDEFGHIJKLMNOPQRSTUVWXYZ"
LONGEST = 250  # frames of 10 ms in AN4's utterances that are used
METRICS = {"loss": 1, "blank": 2, "empty": 3, "words": 4, "letters": 5}  # their places in a check
TRAIN, TEST = 0, 1

Check = list[Any]


class Batch(NamedTuple):
    """Cepstra (B, T, 13), how many frames are real, symbols (B, U), how many symbols are real."""

    frames: Tensor
    lengths: Tensor
    symbols: Tensor
    symbol_lengths: Tensor


Loss = Callable[[nn.Module, Batch], Tensor]


def load_utterances() -> tuple[Utterances, Utterances]:
    """Return utterances for training, and those of other speakers for testing.

    AN4's of up to two and a half seconds; in the profile `ci` generated digits.
    """
    return _load_utterances(profile() == "ci")


@cache
def _load_utterances(generated: bool) -> tuple[Utterances, Utterances]:
    if generated:
        said = voices(80, seed=3, length=(1, 2))
        features = tuple(mfcc(wave, said.rate).numpy() for wave in said.waves)
        found = Utterances(features, said.words, said.speakers, said.names, said.source)
        return found.held_out(["high"])
    every = an4()
    short = every.only(i for i, row in enumerate(every.features) if len(row) <= LONGEST)
    return short.held_out(sorted({*short.speakers})[::10])


@cache
def _tensors(part: int, generated: bool) -> tuple[list[Tensor], list[Tensor]]:
    """Of each utterance its cepstra, mean 0 and deviation 1 within it, and its symbols."""
    utterances = _load_utterances(generated)[part]
    frames = [torch.as_tensor(row) for row in utterances.features]
    frames = [(row - row.mean(0)) / (row.std(0) + 1e-5) for row in frames]
    return frames, [torch.tensor([LETTERS.index(x) for x in words]) for words in utterances.words]


def make_batch(part: int, indices: Sequence[int] | None = None) -> Batch:
    """Return a padded batch of these utterances, all by default, of `TRAIN` or `TEST`."""
    every = _tensors(part, profile() == "ci")
    some = range(len(every[0])) if indices is None else indices
    frames, symbols = ([kind[i] for i in some] for kind in every)
    lengths, symbol_lengths = (
        torch.tensor([len(each) for each in kind]) for kind in (frames, symbols)
    )
    return Batch(pad_sequence(frames, True), lengths, pad_sequence(symbols, True), symbol_lengths)


def example_index() -> int:
    """Return which test utterance is shown: the first of those with about twelve letters."""
    words = load_utterances()[TEST].words
    return min(range(len(words)), key=lambda i: abs(len(words[i]) - 12))


def example_symbols() -> list[int]:
    """Return the blank and the different symbols of the utterance that is shown."""
    words = load_utterances()[TEST].words[example_index()]
    return [0, *sorted({LETTERS.index(letter) for letter in words})]


def check(model: nn.Module, loss: Loss, step: int) -> tuple[Check, Tensor]:
    """Return what a model writes for the test utterances after a step.

    First the step, the loss, the fraction of frames whose likeliest symbol is the blank, the
    fraction of utterances without a letter, word and character error rate, and the text of the
    example; then the example's probabilities (T', 28).
    """
    batch, words, example = make_batch(TEST), load_utterances()[TEST].words, example_index()
    model.eval()
    with torch.no_grad():
        scores, lengths = model(batch.frames, batch.lengths)
        test_loss = float(loss(model, batch))
    model.train()
    texts = ["".join(LETTERS[k] for k in text) for text in greedy(scores, lengths)]
    mask = torch.arange(scores.shape[1]) < lengths[:, None]
    blanks = (scores.argmax(-1) == 0)[mask].float().mean()
    empty = sum(not text.strip() for text in texts) / len(texts)
    numbers = [test_loss, float(blanks), empty, word_error_rate(words, texts)]
    numbers += [character_error_rate(words, texts)]
    probabilities = scores[example, : lengths[example]].softmax(-1)
    return [step, *(round(number, 3) for number in numbers), texts[example]], probabilities


def batch_indices(short_first: bool, size: int, rng: random.Random) -> Iterator[list[int]]:
    """Yield the training utterances of one batch after the other, reshuffled in each epoch.

    With `short_first` the first epoch goes from the shortest utterances to the longest.
    """
    lengths = [len(row) for row in _tensors(TRAIN, profile() == "ci")[0]]
    order = sorted(range(len(lengths)), key=lengths.__getitem__)
    while True:
        if not short_first:
            rng.shuffle(order)
        short_first = False
        yield from (order[i : i + size] for i in range(0, len(order) - size + 1, size))


def train_model(
    model: nn.Module,
    loss: Loss,
    steps: int,
    seed: int,
    *,
    check_every: int,
    lr: float = 2e-3,
    short_first: bool = False,
) -> list[tuple[Check, Tensor]]:
    """Train a model by Adam, 16 utterances a step; return its checks, the first before step 1."""
    checks = []
    optimizer = torch.optim.Adam(model.parameters(), lr=lr)
    indices = batch_indices(short_first, 16, random.Random(seed))
    for step in range(steps + 1):
        if step % check_every == 0:
            checks.append(check(model, loss, step))
        optimizer.zero_grad()
        loss(model, make_batch(TRAIN, next(indices))).backward()
        nn.utils.clip_grad_norm_(model.parameters(), 5.0)
        optimizer.step()
    model.eval()
    return checks


def example_probabilities(
    checks: Sequence[tuple[Check, Tensor]], steps: Collection[int]
) -> dict[str, list[list[int]]]:
    """Return the example's probabilities after these steps, in thousandths, of its own symbols."""
    symbols = example_symbols()
    return {str(line[0]): (1000 * probabilities[:, symbols]).round().int().tolist()
            for line, probabilities in checks if line[0] in steps}  # fmt: skip


def decode(model: nn.Module) -> dict[str, list[float]]:
    """Return word and character error rate of three decodings, and the seconds each one takes."""
    train, test = load_utterances()
    sentences = [text.split() for text in train.words]
    vocabulary = {word for sentence in sentences for word in sentence} | {UNKNOWN}
    language_model = WordScores(NGram(sentences, 3, vocabulary), LETTERS, alpha=0.5, beta=1.0)
    batch = make_batch(TEST)
    with torch.no_grad():
        scores, lengths = model(batch.frames, batch.lengths)
    rows = [row[:n].log_softmax(-1) for row, n in zip(scores, lengths.tolist(), strict=True)]

    def beam(lm: WordScores | None) -> list[Sequence[int]]:
        return [prefix_beam(row, language_model=lm)[0].symbols for row in rows]

    decodings: dict[str, Callable[[], Sequence[Sequence[int]]]] = {
        "greedy": lambda: greedy(scores, lengths),
        "beam": lambda: beam(None),
        "beam with words": lambda: beam(language_model),
    }
    found = {}
    for name, decoding in decodings.items():
        start = time.process_time()
        texts = ["".join(LETTERS[k] for k in text) for text in decoding()]
        seconds = time.process_time() - start
        rates = (rate(test.words, texts) for rate in (word_error_rate, character_error_rate))
        found[name] = [*(round(each, 3) for each in rates), round(seconds, 2)]
    return found


def metric_at(runs: Sequence[Mapping[str, Any]], step: int, metric: str) -> list[float]:
    """Return a metric of `METRICS` at the last check up to a step, one value a run."""
    checks = [[line for line in run["looks"] if line[0] <= step][-1] for run in runs]
    return [line[METRICS[metric]] for line in checks]


def steps_until(
    runs: Sequence[Mapping[str, Any]], below: float = 0.9, metric: str = "letters"
) -> list[int | None]:
    """Return the step from which on a metric stays below a value, one a run, or None."""
    found = []
    for run in runs:
        above = [k for k, line in enumerate(run["looks"]) if line[METRICS[metric]] >= below][-1:]
        after = run["looks"][above[0] + 1 :] if above else run["looks"]
        found.append(after[0][0] if after else None)
    return found


def _pooled(batch: Batch) -> tuple[Tensor, Tensor, Tensor]:
    """The lengths at one frame of four, as the recognizer has them, and the symbols."""
    return (batch.lengths + 3) // 4, batch.symbols, batch.symbol_lengths


def target_probabilities(batch: Batch) -> Tensor:
    """Return the mean probability (V,) that the texts' paths require of a frame at first.

    At first every symbol is as likely as any other. It is the output less the gradient of the loss.
    """
    lengths, symbols, symbol_lengths = _pooled(batch)
    scores = torch.zeros(len(symbols), int(lengths.max()), len(LETTERS), requires_grad=True)
    ctc_loss(scores, lengths, symbols, symbol_lengths).sum().backward()
    mask = torch.arange(scores.shape[1]) < lengths[:, None]
    assert scores.grad is not None
    return (scores.detach().softmax(-1) - scores.grad)[mask].mean(0)


def fit_constant(batch: Batch, test: Batch, steps: int) -> tuple[Tensor, float]:
    """Return the best probabilities (V,) that are the same in every frame.

    With them comes their loss a letter on a test batch: the baseline that doesn't use the sound.
    """
    bias = torch.zeros(len(LETTERS), requires_grad=True)
    optimizer = torch.optim.Adam([bias], lr=0.15)
    for step in range(steps + 1):
        lengths, symbols, symbol_lengths = _pooled(batch if step < steps else test)
        scores = bias.expand(len(symbols), int(lengths.max()), -1)
        loss = (ctc_loss(scores, lengths, symbols, symbol_lengths) / symbol_lengths).mean()
        if step < steps:
            optimizer.zero_grad()
            loss.backward()
            optimizer.step()
    return bias.detach().softmax(-1), loss.item()


@torch.no_grad()
def score_deviation(model: nn.Module) -> float:
    """Return the standard deviation of a symbol's score over frames, the mean of all symbols."""
    batch = make_batch(TRAIN, range(40))
    scores, lengths = model(batch.frames, batch.lengths)
    mask = torch.arange(scores.shape[1]) < lengths[:, None]
    return float(scores[mask].std(0).mean())
