"""Scaling-law runs: character-level decoders of five sizes, each trained on four amounts of text.

Page 6a.6. Every size gets its own learning rate, seeds are averaged over, and two larger runs are
predicted before they are trained. One pass over the text: no window is read twice in a run.

    text = corpus()                                             # 13 million characters, 70 kinds
    row = train(text, Shape(2, 32), seed=0, tokens=[2**19, 2**20], rate=0.01)
    row["loss"]                                                 # nats per character, one per amount

One run gives several losses. The learning rate warms up over 50 steps and stays constant; before
each amount is reached, a copy of the model goes on alone with a rate that decays to 0 over the last
fifth of the tokens, and is evaluated (warmup-stable-decay: Hu et al. 2024, "MiniCPM", section 4).
"""

import unicodedata
from collections.abc import Callable, Iterable, Mapping, Sequence
from copy import deepcopy
from datetime import UTC, datetime
from itertools import groupby
from pathlib import Path
from statistics import fmean
from string import ascii_uppercase
from typing import Any, NamedTuple

import numpy as np
import torch
from torch import Tensor, nn
from torch.optim import Optimizer

from deepdive.data.documents import generated_documents
from deepdive.data.reviews import movie_reviews
from deepdive.data.subjects import addresses, arxiv_abstracts
from deepdive.data.text import shuffled
from deepdive.evaluate.confidence_intervals import Interval, t_interval
from deepdive.evaluate.scaling import Chinchilla, Kaplan, Run, fitted
from deepdive.models.generative.llama import Llama, llama
from deepdive.training import fit
from deepdive.training.optim import adam
from deepdive_book.ch06a.runs.decoder_ablations import evaluate, loss
from deepdive_book.kit.experiments import load_rows, share, sweep
from deepdive_book.kit.flops import count_flops
from deepdive_book.tasks.stream import sequential_windows

DATA = "movie_reviews, arxiv_abstracts, state_union"
CONTEXT, BATCH, WARMUP, DECAY = 64, 16, 50, 0.2
STEP = CONTEXT * BATCH  # tokens per step; a token is a character
END = "\n"  # after each document
VOCABULARY = END + "".join(c for c in map(chr, range(32, 127)) if c not in ascii_uppercase)

TOKENS = (2**19, 2**20, 2**21, 2**22)
SEEDS = (0, 1, 2)
RATES = (5e-4, 0.1)  # the lowest and highest learning rate of a search
CHOSEN = ("near the optimum", "larger")  # the predicted runs
BUDGET = 1e13  # FLOPs of each predicted run, 2.6 times the most expensive run of the fit


class Corpus(NamedTuple):
    """Token ids of the training text and of held-out documents."""

    train: Tensor
    test: Tensor


class Shape(NamedTuple):
    """A decoder's size."""

    layers: int
    d_model: int

    def build(self, seed: int) -> Llama:
        """Return a Llama-style decoder with heads about 16 wide and tied embeddings."""
        torch.manual_seed(seed)
        return llama(
            vocab_size=len(VOCABULARY), d_model=self.d_model, n_heads=max(1, self.d_model // 16),
            n_layers=self.layers, d_ff=self.d_model * 8 // 12 * 4, max_length=CONTEXT, tied=True,
        )  # fmt: skip

    def counts(self) -> dict[str, int]:
        """Count its parameters, those outside the embedding, and the FLOPs per training token,
        forward and backward.
        """
        model = self.build(0)
        batch = torch.zeros(1, CONTEXT + 1, dtype=torch.long)
        named = {name: p.numel() for name, p in model.named_parameters()}
        return {
            "parameters": sum(named.values()),
            "non_embedding": sum(n for name, n in named.items() if ".stack." in f".{name}"),
            "flops_per_token": count_flops(lambda: loss(model, batch).backward()) // CONTEXT,
        }


# Size -> the learning rate at which its search begins.
GRID = {Shape(2, 12): 0.012, Shape(2, 20): 0.012, Shape(2, 32): 0.012, Shape(2, 48): 0.006,
        Shape(3, 64): 0.006}  # fmt: skip
TARGETS = {Shape(3, 80): 0.003, Shape(3, 96): 0.003, Shape(4, 96): 0.003, Shape(4, 128): 0.003,
           Shape(5, 160): 0.003}  # fmt: skip


def corpus(held_out: int = 2**17) -> Corpus:
    """Return movie reviews, scientific abstracts, and State of the Union addresses in one shuffled
    order. A document is a review, an abstract, or a year's addresses.
    """
    speeches = addresses(seed=None)
    years = groupby(zip(speeches.labels, speeches.texts, strict=True), lambda pair: pair[0])
    by_year = [" ".join(text for _, text in group) for _, group in years]
    documents = [*movie_reviews().texts, *arxiv_abstracts(seed=None).texts, *by_year]
    return encoded(shuffled(documents, 0), held_out)


def encoded(documents: Iterable[str], held_out: int) -> Corpus:
    """Encode documents in lower case; the first ones, `held_out` characters or more, are the test.

    Accents are removed; characters outside `VOCABULARY` are dropped.
    """
    index, found = torch.full((128,), -1), list[Tensor]()
    index[[ord(character) for character in VOCABULARY]] = torch.arange(len(VOCABULARY))
    for text in documents:
        plain = unicodedata.normalize("NFKD", " ".join(text.lower().replace("’", "'").split()))
        ids = index[list((plain + END).encode("ascii", "ignore"))]
        found.append(ids[ids >= 0])
    before = [0, *torch.tensor([len(x) for x in found]).cumsum(0).tolist()[:-1]]
    first = sum(1 for size in before if size < held_out)
    return Corpus(torch.cat(found[first:]), torch.cat(found[:first]))


def train(
    text: Corpus, shape: Shape, *, seed: int, tokens: Sequence[int], rate: float
) -> dict[str, Any]:
    """Train a decoder; return its counts and its held-out losses in nats per character: `loss` at
    each amount of tokens (rising), and `undecayed` at four fifths of each, before the decay. The
    seed fixes the initial weights and the order of the text.

    Raises ValueError for a text with fewer tokens than the last amount.
    """
    windows = sequential_windows(text.train, CONTEXT)
    if tokens[-1] > CONTEXT * len(windows):
        raise ValueError(f"tokens: got {tokens[-1]:,}, the text has {len(text.train):,}")
    order = torch.randperm(len(windows), generator=torch.Generator().manual_seed(seed))
    model, done = shape.build(seed), 0
    found: dict[str, list[float]] = {"loss": [], "undecayed": []}
    optimizer = adam(model, lr=rate, betas=(0.9, 0.95), eps=1e-8)
    for amount in tokens:
        last = amount // STEP
        turn = last - round(DECAY * last)
        _learn(model, optimizer, windows, order, range(done, turn), rate, None)
        copy = deepcopy((model, optimizer))
        found["undecayed"].append(_evaluated(copy[0], text.test))
        _learn(*copy, windows, order, range(turn, last), rate, last)
        found["loss"].append(_evaluated(copy[0], text.test))
        done = turn
    return {**shape.counts(), **found}


def _evaluated(model: nn.Module, test: Tensor) -> float:
    losses = evaluate(model, test)
    return round(sum(losses) / len(losses), 5)


def _learn(
    model: nn.Module, optimizer: Optimizer, windows: Tensor, order: Tensor, steps: range,
    rate: float, end: int | None,
) -> None:  # fmt: skip
    """Take these steps, counted from the run's first; with `end`, the rate decays to 0 there."""
    if not steps:
        return
    batches = [windows[order[BATCH * i : BATCH * (i + 1)]] for i in steps]

    def schedule(step: int) -> float:
        at = steps.start + step
        left = 1.0 if end is None else (end + 1 - at) / (end + 1 - steps.start)
        return rate * min(1.0, at / WARMUP) * left

    fit(model, batches, loss, steps=len(steps), optimizer=optimizer, schedule=schedule,
        progress=False)  # fmt: skip
    model.train()


# ---- the experiment


class Experiment:
    """The rows of the experiment in one file, in the order in which they have to be measured."""

    def __init__(self, text: Corpus, path: Path | None) -> None:
        self.text, self.path = text, path

    def measure(
        self, part: str, layers: int, d_model: int, seed: int, tokens: list[int], rate: float
    ) -> dict[str, Any]:
        del part
        shape = Shape(layers, d_model)
        row = train(self.text, shape, seed=seed, tokens=tokens, rate=rate)
        return {**row, "finished": _now()}

    def rows(self, part: str, shape: Shape, seeds: Sequence[int], tokens: Sequence[int],
             rate: float) -> list[dict[str, Any]]:  # fmt: skip
        """Measure, or read, one row per seed."""
        points = [{"part": part, "layers": shape.layers, "d_model": shape.d_model, "seed": seed,
                   "tokens": list(tokens), "rate": rate} for seed in seeds]  # fmt: skip
        return sweep(self.measure, points, self.path, data=DATA)

    def tuned(self, shape: Shape, start: float, tokens: int, seeds: Sequence[int] = SEEDS) -> float:
        """Return the learning rate with the lowest loss after `tokens`, averaged over `seeds`,
        among rates a factor of 2 apart; the search goes on until the best one has a worse neighbor
        on each side.
        """
        losses: dict[float, float] = {}

        def loss(rate: float) -> float:
            if rate not in losses:
                found = self.rows("rate", shape, seeds, [tokens], rate)
                losses[rate] = fmean(row["loss"][0] for row in found)
            return losses[rate]

        best = start
        while True:
            for near in (best / 2, best * 2):
                if RATES[0] <= near <= RATES[1] and loss(near) < loss(best):
                    best = near
                    break
            else:
                return best

    def predicted(self, grid: Sequence[Mapping[str, Any]], budget: float) -> dict[str, Any]:
        """Choose two models for a budget and predict their losses from the runs of the grid."""
        runs = runs_of(grid)
        fits = {form.__name__: fitted(form, runs) for form in (Chinchilla, Kaplan)}
        n_best, _ = fits["Chinchilla"].law.best(budget)
        chosen = {}
        for name, wanted in zip(CHOSEN, (n_best, 3 * n_best), strict=True):
            shape, n = nearest(wanted)
            d = round(budget / (6 * n) / STEP) * STEP
            by_law = {form: [*fit.predict(n, d)] for form, fit in fits.items()}
            chosen[name] = {"shape": [*shape], "parameters": n, "tokens": d,
                            "trend": trend(grid, n, d), **by_law}  # fmt: skip
        return {"runs": len(runs), "optimum": n_best, "chosen": chosen, "finished": _now()}

    def run(self) -> None:
        """Measure everything that isn't in the file yet."""
        amounts = [round(share() * n) for n in TOKENS]
        rates = {shape: self.tuned(shape, start, amounts[0]) for shape, start in GRID.items()}
        grid = [row for seed in SEEDS for shape in GRID
                for row in self.rows("grid", shape, [seed], amounts, rates[shape])]  # fmt: skip
        largest = [*GRID][-1]
        # Is the rate that is best for the fewest tokens right for the most?
        self.rows("rate check", largest, [0], amounts, rates[largest] / 2)

        def predict(part: str, budget: float) -> dict[str, Any]:
            del part
            return self.predicted(grid, budget)

        (word,) = sweep(predict, [{"part": "prediction", "budget": share() * BUDGET}], self.path,
                        data=DATA)  # fmt: skip
        for name, chosen in word["chosen"].items():
            shape = Shape(*chosen["shape"])
            start = TARGETS.get(shape, GRID.get(shape, 0.006))
            rate = self.tuned(shape, start, amounts[0], seeds=[0])
            self.rows(name, shape, [0], [chosen["tokens"]], rate)


def _now() -> str:
    return f"{datetime.now(UTC):%Y-%m-%d %H:%M:%S}"


def nearest(parameters: float) -> tuple[Shape, int]:
    """Return the shape whose number of parameters is nearest on a log scale, and that number."""
    sizes = {shape: shape.counts()["parameters"] for shape in (*GRID, *TARGETS)}
    return min(sizes.items(), key=lambda item: abs(np.log(item[1] / parameters)))


def runs_of(rows: Sequence[Mapping[str, Any]], size: str = "parameters", loss: str = "loss",
            fraction: float = 1.0) -> list[Run]:  # fmt: skip
    """Return rows as runs for a fit; `size` is the key that counts as N, and `fraction` how much of
    each amount of tokens had been read when `loss` was measured.
    """
    return [Run(row[size], [fraction * d for d in row["tokens"]], row[loss]) for row in rows]


def trend(rows: Sequence[Mapping[str, Any]], n: float, d: float) -> float:
    """Predict a loss by the simplest baseline: log loss linear in log N and log D."""
    x = [[1.0, np.log(row["parameters"]), np.log(t)] for row in rows for t in row["tokens"]]
    y = [np.log(value) for row in rows for value in row["loss"]]
    weights = np.linalg.lstsq(np.asarray(x), np.asarray(y), rcond=None)[0]
    return float(np.exp(weights @ [1.0, np.log(n), np.log(d)]))


def saved(path: Path | None) -> dict[str, list[dict[str, Any]]]:
    """Return the saved rows by part; every part is there, if only as an empty list."""
    rows = load_rows(path) if path is not None and path.is_file() else []
    parts = ("rate", "grid", "rate check", "prediction", *CHOSEN)
    return {part: [row for row in rows if row["part"] == part] for part in parts}


def measured(path: Path | None) -> tuple[dict[str, list[dict[str, Any]]], bool]:
    """Return the saved rows by part, and True; where none are saved, rows with losses generated
    from a law, and False.
    """
    rows = saved(path)
    if rows["grid"]:
        return rows, True
    law, draw = Chinchilla(0.9, 18.0, 900.0, 0.35, 0.5), np.random.default_rng(0)

    def row(part: str, shape: Shape, seed: int, tokens: Sequence[int], rate: float) -> Any:
        counts = shape.counts()
        loss = [float(law(counts["parameters"], d) * np.exp(draw.normal(0, 0.004))) for d in tokens]
        later = [1.03 * value for value in loss]
        return {"part": part, "layers": shape.layers, "d_model": shape.d_model, "seed": seed,
                "tokens": [*tokens], "rate": rate, **counts, "loss": loss, "undecayed": later,
                "finished": "never"}  # fmt: skip

    rows["grid"] = [row("grid", shape, seed, TOKENS, rate)
                    for seed in SEEDS for shape, rate in GRID.items()]  # fmt: skip
    rows["rate"] = [row("rate", shape, 0, TOKENS[:1], factor * rate)
                    for shape, rate in GRID.items() for factor in (0.5, 1, 2)]  # fmt: skip
    word = Experiment(Corpus(torch.empty(0), torch.empty(0)), None).predicted(rows["grid"], BUDGET)
    rows["prediction"] = [{"part": "prediction", "budget": BUDGET, **word}]
    for name, chosen in word["chosen"].items():
        rows[name] = [row(name, Shape(*chosen["shape"]), 0, [chosen["tokens"]], 0.003)]
    return rows, False


def isoflop_exponent(rows: Sequence[Mapping[str, Any]]) -> float:
    """Return the exponent of the optimal size by Hoffmann et al.'s second approach: at several
    budgets, the minimum of a parabola through the sizes' losses over log N; then a line in log C.

    A size's loss at a budget is interpolated between its amounts of tokens, linearly in log D.
    """
    by_size: dict[float, list[Any]] = {}
    for row in rows:
        by_size.setdefault(row["parameters"], []).append(row["loss"])
    tokens = np.log(rows[0]["tokens"])
    curves = {np.log(n): np.mean(losses, axis=0) for n, losses in by_size.items()}
    found = []
    for log_c in np.linspace(np.log(6e10), np.log(1.2e12), 8):
        inside = [(n, np.interp(log_c - np.log(6) - n, tokens, loss)) for n, loss in curves.items()
                  if tokens[0] <= log_c - np.log(6) - n <= tokens[-1]]  # fmt: skip
        if len(inside) >= 3:
            square, linear, _ = _polynomial(inside, 2)
            if square > 0:
                found.append((log_c, -linear / (2 * square)))
    return float(_polynomial(found, 1)[0])


def _polynomial(points: Sequence[tuple[float, float]], degree: int) -> Any:
    """Return the coefficients of a least-squares polynomial, the highest power first."""
    return np.polyfit([x for x, _ in points], [y for _, y in points], degree)


# ---- what the page shows


def exponents(rows: Sequence[Mapping[str, Any]]) -> list[dict[str, Any]]:
    """Return the exponent a of N_opt ~ C^a by several methods, one fit per seed: the mean over
    seeds with Student's t interval, and by what ten times the compute multiplies N_opt.
    """
    sizes = sorted({row["parameters"] for row in rows})
    methods: list[tuple[str, str, Callable[[Sequence[Mapping[str, Any]]], float]]] = [
        ("Hoffmann et al.'s law", "all parameters", lambda some: _growth(some, "parameters")),
        ("Hoffmann et al.'s law", "without embedding", lambda some: _growth(some, "non_embedding")),
        ("Hoffmann et al.'s law", "FLOPs per token / 6",
         lambda some: _growth(_sixths(some), "sixth")),
        ("Hoffmann et al.'s law, largest size left out", "all parameters",
         lambda some: _growth([r for r in some if r["parameters"] < sizes[-1]], "parameters")),
        ("Hoffmann et al.'s law, smallest size left out", "all parameters",
         lambda some: _growth([r for r in some if r["parameters"] > sizes[0]], "parameters")),
        ("IsoFLOP parabolas", "all parameters", isoflop_exponent),
        ("Kaplan et al.'s law", "all parameters",
         lambda some: float(fitted(Kaplan, runs_of(some), draws=0).law.growth)),
    ]  # fmt: skip
    seeds = sorted({row["seed"] for row in rows})
    found = []
    for method, size, growth in methods:
        each = [growth([row for row in rows if row["seed"] == seed]) for seed in seeds]
        interval = t_interval(each)
        found.append({"method": method, "what N counts": size, "exponent a": interval,
                      "factor for 10 x budget": 10**interval.value})  # fmt: skip
    return found


def _growth(rows: Sequence[Mapping[str, Any]], size: str) -> float:
    return float(fitted(Chinchilla, runs_of(rows, size), draws=0).law.growth)


def _sixths(rows: Sequence[Mapping[str, Any]]) -> list[dict[str, Any]]:
    return [{**row, "sixth": row["flops_per_token"] / 6} for row in rows]


def predictions(rows: Mapping[str, Sequence[Mapping[str, Any]]]) -> list[dict[str, Any]]:
    """Return what was predicted for the larger runs, and what they reached."""
    (word,) = rows["prediction"]
    found = []
    for name, chosen in word["chosen"].items():
        reached = rows[name][0]["loss"][0]
        found.append({
            "run": name, "parameters N": f"{chosen['parameters']:,}",
            "characters D": f"{chosen['tokens']:,}",
            "Hoffmann et al.": Interval(*chosen["Chinchilla"]),
            "Kaplan et al.": Interval(*chosen["Kaplan"]),
            "log-linear": f"{chosen['trend']:.3f}", "measured": f"{reached:.3f}",
        })  # fmt: skip
    return found


def rate_losses(rows: Sequence[Mapping[str, Any]], shared: float) -> list[dict[str, Any]]:
    """Return, by size, the best learning rate tried, its loss, and the loss at a shared rate, each
    a mean over seeds (lowest to highest).
    """

    def spread(losses: Sequence[float]) -> str:
        if len(losses) == 1:
            return f"{losses[0]:.3f} (one seed)"
        return f"{fmean(losses):.3f} ({min(losses):.3f} to {max(losses):.3f})"

    found = []
    for n in sorted({row["parameters"] for row in rows}):
        losses: dict[float, list[float]] = {}
        for row in rows:
            if row["parameters"] == n:
                losses.setdefault(row["rate"], []).append(row["loss"][0])
        best = min(losses, key=lambda rate: fmean(losses[rate]))
        other = losses.get(shared, [])
        found.append({
            "parameters N": f"{n:,}", "best rate": best, "loss at best rate": spread(losses[best]),
            f"loss at {shared:g}": spread(other) if other else "",
            "difference": f"{fmean(other) - fmean(losses[best]):.3f}" if other else "",
        })  # fmt: skip
    return found


def generated_corpus() -> Corpus:
    """Return a corpus of generated sentences, for machines without the data sets."""
    return encoded((" ".join(words) for words in generated_documents(400)), 8000)
