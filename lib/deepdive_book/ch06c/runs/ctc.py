"""CTC on AN4: utterances, the training of a recognizer, and what is checked on the way. Page 6c.2.

A recognizer is a module `model(frames, lengths)` -> logits (B, T', 28), and how many of the T'
frames are real; the page defines it. Symbol 0 is the blank, 1 the space. `run_experiment` trains
it in six settings, or loads the saved rows; the functions below it are the page's tables.
"""

from __future__ import annotations

import random
import time
from collections.abc import Callable, Collection, Iterator, Mapping, Sequence
from functools import cache
from typing import Any, NamedTuple

import torch
import torch.nn.functional as F
from torch import Tensor, nn
from torch.nn.utils.rnn import pad_sequence

from deepdive.audio.mel import mfcc
from deepdive.data.speech import Utterances, an4
from deepdive.decoding.ctc import WordScores, greedy, prefix_beam
from deepdive.decoding.ngram import UNKNOWN, NGram
from deepdive.evaluate import Interval, t_interval
from deepdive.evaluate.transcripts import character_error_rate, word_error_rate
from deepdive.training.objectives import ctc_loss, frames_needed
from deepdive_book.data.synthetic_speech import voices
from deepdive_book.kit import rows
from deepdive_book.kit.experiments import share
from deepdive_book.kit.markup import Html
from deepdive_book.kit.profile import pick, profile
from deepdive_book.kit.tables import table

LETTERS = "- ABCDEFGHIJKLMNOPQRSTUVWXYZ"
LONGEST = 250  # frames of 10 ms in AN4's utterances that are used
METRICS = {"loss": 1, "blank": 2, "empty": 3, "wer": 4, "cer": 5}  # positions in a check
TRAIN, TEST = 0, 1

# The settings of the experiment; what isn't given is as in `BASELINE`.
BASELINE = {"lr": 2e-3, "bias": 0.0, "strided": 2, "short_first": False, "norm": False}
SETTINGS: dict[str, dict[str, Any]] = {
    "baseline": {},
    "negative blank bias": {"bias": -3.0},
    "learning rate 0.005": {"lr": 5e-3},
    "short utterances first": {"short_first": True},
    "subsampling by 8": {"strided": 3},
    "batch normalization": {"norm": True},
}
CONTRASTS = len(SETTINGS) - 1  # each against the baseline; their intervals are corrected for it

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


def batch_loss(model: nn.Module, batch: Batch) -> Tensor:
    """Return torch's CTC loss per character, of the texts that fit into their frames."""
    logits, lengths = model(batch.frames, batch.lengths)
    fits = frames_needed(batch.symbols, batch.symbol_lengths) <= lengths
    log_probs = logits[fits].log_softmax(-1).transpose(0, 1)
    return F.ctc_loss(log_probs, batch.symbols[fits], lengths[fits], batch.symbol_lengths[fits])


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
        "prefix beam search": lambda: beam(None),
        "prefix beam search + language model": lambda: beam(language_model),
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
    checks = [[line for line in run["checks"] if line[0] <= step][-1] for run in runs]
    return [line[METRICS[metric]] for line in checks]


def example_outputs(runs: Sequence[Mapping[str, Any]], step: int) -> list[str]:
    """Return the text of the example at this step, one a run."""
    return [line[-1] for run in runs for line in run["checks"] if line[0] == step]


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


# ---- the experiment of the page


def run_experiment(recognizer: Callable[[int, bool], nn.Module]) -> rows.Rows:
    """Return the rows of all settings: saved, or in `experiment` and `ci` measured.

    recognizer  (number of strided convolutions, batch normalization) -> a new model
    """
    check_every = pick(ci=10, laptop=25, gpu=25)  # steps

    def measure(setting: str, steps: int, seed: int) -> dict[str, Any]:
        given = BASELINE | SETTINGS[setting]
        torch.manual_seed(seed)
        model = recognizer(given["strided"], given["norm"])
        model.out.bias.data[0] += given["bias"]  # type: ignore[union-attr, operator, index]
        checks = train_model(model, batch_loss, steps, seed, check_every=check_every,
                             lr=given["lr"], short_first=given["short_first"])  # fmt: skip
        found: dict[str, Any] = {"checks": [line for line, _ in checks]}
        if setting == "batch normalization":
            pictured = {check_every * k for k in (0, 1, 3, 5, 8, 12)} | {steps} if seed == 1 else ()
            found["decoded"] = decode(model)
            found["probabilities"] = example_probabilities(checks, pictured)
        return found

    n = round(250 * share() / 25) * 25
    asked = [("baseline", 2 * n), ("batch normalization", 2 * n)]
    asked += [(setting, n) for setting in [*SETTINGS][1:-1]]
    few = [{"setting": setting, "steps": pick(ci=20, laptop=50, gpu=500), "seed": 1}
           for setting, _ in asked[:2]]  # fmt: skip
    return rows.load_or_measure(
        measure, "06c_speech", "ctc", data="an4_mfcc", minutes=300,
        points=[{"setting": setting, "steps": steps, "seed": seed}
                for setting, steps in asked for seed in (1, 2, 3)],
        few=few,
    )  # fmt: skip


Runs = Sequence[rows.Row]


def percents(values: Sequence[float]) -> str:
    """Return rates as "mean (lowest to highest)" in percent, for a table's cell."""
    shown = [
        f"{100 * value:.0f}%" for value in (sum(values) / len(values), min(values), max(values))
    ]
    return f"{shown[0]} ({shown[1]} to {shown[2]})" if len(values) > 1 else shown[0]


def difference(runs: Runs, other: Runs, step: int, metric: str) -> Interval | None:
    """Return other - runs of a metric in points, paired by seed, with its t interval.

    The level is Bonferroni's for `CONTRASTS` contrasts: 99% for each, 95% for all.
    """
    pairs = zip(metric_at(runs, step, metric), metric_at(other, step, metric), strict=False)
    points = [100 * (b - a) for a, b in pairs]
    return t_interval(points, 1 - 0.05 / CONTRASTS) if len(points) > 1 else None


def output_table(runs: Runs) -> Html:
    """Show what the first run outputs for the example after more and more steps."""
    example = load_utterances()[TEST].words[example_index()]
    lines = []
    for line in runs[0]["checks"]:
        if line[0] in (0, 25, 100, 200, 300, 400, 500):
            percent = [f"{100 * line[METRICS[name]]:.0f}" for name in ("empty", "wer", "cer")]
            lines.append([line[0], f"{line[METRICS['loss']]:.2f}", *percent, f"“{line[-1]}”"])
    return table(lines, ["steps", "loss per character", "empty outputs (%)", "WER (%)", "CER (%)",
                         "output for the example"],
                 caption=f"The baseline, seed 1, on held-out speakers. Transcript of the example: "
                 f"“{example}”.")  # fmt: skip


def constant_table(runs: Runs) -> Html:
    """Compare the outputs that ignore the audio: uniform, first target, and the best constant."""
    train = load_utterances()[TRAIN]
    sampled = random.Random(0).sample(range(len(train)), pick(ci=20, laptop=100, gpu=100))
    some = make_batch(TRAIN, sampled)
    targets = target_probabilities(some)
    best, loss = fit_constant(some, make_batch(TEST), pick(ci=15, laptop=80, gpu=80))
    _, uniform = fit_constant(some, make_batch(TEST), 0)
    names = {0: "blank", 1: "space"}
    lines: list[list[Any]] = [
        [f"p({names.get(k, LETTERS[k])}), %",
         *(f"{100 * p:.1f}" for p in (1 / len(LETTERS), targets[k], best[k])), ""]
        for k in best.argsort(descending=True)[:4].tolist()]  # fmt: skip
    plateau = [
        sum(values) / len(values)
        for run in runs
        if (values := [line[1] for line in run["checks"] if 50 <= line[0] <= 150])
    ]
    lines.append(["loss per character", f"{uniform:.2f}", "",
                  f"{loss:.2f}", rows.mean_and_range(plateau, 2)])  # fmt: skip
    return table(lines, ["", "uniform output", "soft alignment for the uniform output",
                         "best constant output", "baseline, steps 50 to 150"],
                 caption="The four of 28 symbols with the highest probability in the best constant "
                 "output, and the loss on held-out speakers. Soft alignment and best constant: "
                 f"from {len(sampled)} training utterances. Last column: mean of three seeds "
                 "(range over seeds).")  # fmt: skip


def settings_table(runs: Mapping[str, Runs], recognizer: Callable[[int, bool], nn.Module]) -> Html:
    """Show each setting's parameters, empty outputs, and CER, with its difference."""
    lines: list[list[Any]] = []
    for setting, each in runs.items():
        if not each:
            continue
        given = BASELINE | SETTINGS[setting]
        size = sum(p.numel() for p in recognizer(given["strided"], given["norm"]).parameters())
        base = runs["baseline"]
        change = None if setting == "baseline" else difference(base, each, 250, "cer")
        lines.append([
            setting, f"{size:,}",
            percents(metric_at(each, 100, "blank")),
            percents(metric_at(each, 200, "empty")),
            percents(metric_at(each, 250, "cer")),
            "" if change is None else f"{change.value:.0f} [{change.low:.0f}, {change.high:.0f}]",
        ])  # fmt: skip
    return table(lines, ["setting", "parameters", "frames where the blank is the argmax, step 100",
                         "empty outputs, step 200", "CER, step 250",
                         "CER minus baseline (points)"],
                 caption="Held-out speakers; mean of three seeds (range over seeds). Differences: "
                 "paired by seed and computed before rounding, with t intervals corrected for five "
                 "comparisons.")  # fmt: skip


def logit_deviations(recognizer: Callable[[int, bool], nn.Module]) -> dict[str, str]:
    """Return how much the logits vary over frames before training: mean (range) of three seeds."""
    found = {}
    for name, norm in (("baseline", False), ("batch normalization", True)):
        deviations = []
        for seed in (1, 2, 3):
            torch.manual_seed(seed)
            deviations.append(score_deviation(recognizer(2, norm)))
        found[name] = rows.mean_and_range(deviations, 3)
    return found


def decoding_table(runs: Runs) -> Html:
    """Compare three decodings of the models with batch normalization."""
    seconds = sum(map(len, load_utterances()[TEST].features)) / 100
    lines = []
    for name in ("greedy", "prefix beam search", "prefix beam search + language model"):
        words, letters, took = (rows.values(runs, "decoded", name, k) for k in range(3))
        ms = 1000 * sum(took) / len(took) / seconds
        lines.append([name, percents(words), percents(letters),
                      f"{ms:.1f}" if ms >= 0.1 else "below 0.1"])  # fmt: skip
    return table(
        lines,
        ["decoding", "WER", "CER", "CPU time (ms per second of audio)"],
        caption="After the last step; mean of three seeds (range over seeds). Beam width 16. CPU "
        "time: decoding only, without the recognizer.",
    )


def decoding_gain(runs: Runs, before: str, after: str) -> Interval | None:
    """Return the WER's difference after - before in points, paired by seed, for two contrasts."""
    both = (rows.values(runs, "decoded", name, 0) for name in (before, after))
    points = [100 * (b - a) for a, b in zip(*both, strict=True)]
    return t_interval(points, 1 - 0.05 / 2) if len(points) > 1 else None


def frames_table() -> Html:
    """Count the training texts that don't fit into their frames, by subsampling factor."""
    batch = make_batch(TRAIN)
    needed = frames_needed(batch.symbols, batch.symbol_lengths)
    counts = [[2**h, int((needed > -(-batch.lengths // 2**h)).sum())] for h in range(5)]
    return table(
        counts,
        ["subsampling factor", "texts without a path"],
        caption=f"Of {len(batch.lengths)} training utterances.",
    )
