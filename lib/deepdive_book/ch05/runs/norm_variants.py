"""Trainability of deep decoders by residual connection, each at its own learning rate. Page 5.15.

    rows = load()                                     # the saved runs
    row = measure("ReZero", 24, 1e-3, seed=0, steps=150)     # {"test": 2.6, "parameters": ...}

Characters of tinyshakespeare, width 32, 4 heads, batches of 8 windows of 32 characters; Glorot
initialization, AdamW without weight decay, gradients clipped to norm 1, warm-up over the first
tenth of the steps, cosine decay to a tenth of the peak. The last tenth of the text is held out:
its first half selects the learning rate, its second is the test.
"""

from collections.abc import Callable, Mapping, Sequence
from functools import cache, partial
from math import isfinite
from pathlib import Path
from typing import Any

import torch
from torch import Tensor, nn

from deepdive.core import Block, FeedForward, MultiHeadAttention, gelu_tanh
from deepdive.core.embeddings import TiedHead, TokenEmbedding
from deepdive.core.norms import LayerNorm, RMSNorm
from deepdive.core.residual import NoNorm, PostNorm, PreNorm, ReZero
from deepdive.core.stack import Stack
from deepdive.models.transformer.decoder_only import DecoderOnly
from deepdive.models.transformer.transformer import Decoder
from deepdive.positions import LearnedPosition
from deepdive.training.optim import adam, cosine
from deepdive_book.ch06a.runs.decoder_ablations import Text, cut, loss, shakespeare
from deepdive_book.kit.experiments import load_rows, results_path, share, sweep
from deepdive_book.kit.profile import profile
from deepdive_book.tasks.stream import random_windows, sequential_windows

D_MODEL, HEADS, LENGTH, WINDOWS, STEPS = 32, 4, 32, 8, 150
SEEDS, TUNING_SEEDS = range(5), (100, 101, 102)
DEEP, LONG = (24, STEPS), (4, 4 * STEPS)  # layers and steps
GRID = (1e-4, 3e-4, 1e-3, 3e-3, 1e-2, 3e-2, 1e-1)
FIRST = (1e-3, 3e-3, 1e-2)  # tried first; a best rate at an edge extends the search
SCALED, FINAL, OPEN = "no norm, scaled", "no norm, scaled, final norm", "pre-norm, no final norm"

# How each variant joins a sublayer with the stream, the norm at the end of the stack, and whether
# the last matrix of each branch is divided by sqrt(2 n_layers) at initialization.
Variant = tuple[Callable[[int], nn.Module], Callable[[int], nn.Module] | None, bool]
VARIANTS: dict[str, Variant] = {
    "post-norm": (PostNorm, None, False),
    "pre-norm": (PreNorm, LayerNorm, False),
    OPEN: (PreNorm, None, False),
    "pre-norm, RMSNorm": (partial(PreNorm, norm=RMSNorm), RMSNorm, False),
    "ReZero": (ReZero, None, False),
    "no norm": (NoNorm, None, False),
    SCALED: (NoNorm, None, True),
    FINAL: (NoNorm, LayerNorm, True),
}
# (layers, steps) -> the variants that are trained so
SETTINGS = {
    (4, STEPS): tuple(VARIANTS), DEEP: tuple(name for name in VARIANTS if name != FINAL),
    LONG: ("post-norm", "pre-norm", "ReZero", SCALED),
}  # fmt: skip


@cache
def corpus() -> Text:
    """Return tinyshakespeare; in the profile `ci` a repeated line."""
    return cut("to be or not to be, that is " * 400) if profile() == "ci" else shakespeare()


def decoder(vocab_size: int, variant: str, n_layers: int, d_model: int = D_MODEL) -> DecoderOnly:
    """Build a decoder whose layers use the residual connection `variant`."""
    residual, last, scaled = VARIANTS[variant]

    def block(_layer: int) -> Block:
        ff = FeedForward(d_model, 4 * d_model, gelu_tanh)
        return Block(MultiHeadAttention(d_model, HEADS), ff, residual=residual)

    embedding = TokenEmbedding(vocab_size, d_model)
    stack = Stack(block, n_layers, None if last is None else last(d_model))
    model = DecoderOnly(
        Decoder(embedding, LearnedPosition(LENGTH, d_model), stack), TiedHead(embedding)
    )
    if scaled:
        for name, weight in model.named_parameters():
            if name.endswith("out.weight"):
                weight.data /= (2 * n_layers) ** 0.5
    return model


@torch.no_grad()
def evaluate(model: nn.Module, ids: Tensor, windows: int = 256) -> float:
    """Return the mean loss in nats per character over the first windows of a text."""
    model.eval()
    parts = sequential_windows(ids, LENGTH)[:windows].split(64)
    return sum(float(loss(model, part)) * len(part) for part in parts) / sum(map(len, parts))


def train(model: nn.Module, text: Text, rate: float, seed: int, steps: int) -> bool:
    """Train in place; return whether every loss on the way was finite."""
    optimizer, rates = adam(model, rate, eps=1e-8), cosine(rate, steps // 10, steps, rate / 10)
    model.train()
    batches = random_windows(text.train, LENGTH, rows=WINDOWS, steps=steps, seed=seed)
    for step, batch in zip(range(1, steps + 1), batches, strict=False):
        for group in optimizer.param_groups:
            group["lr"] = rates(step)
        optimizer.zero_grad()
        now = loss(model, batch)
        if not torch.isfinite(now):
            return False
        now.backward()
        nn.utils.clip_grad_norm_(model.parameters(), 1.0)
        optimizer.step()
    return True


def measure(variant: str, n_layers: int, rate: float, seed: int, steps: int) -> dict[str, Any]:
    """Train one decoder; a loss that isn't finite is None.

    test        nats per character, with `chosen` on the half that selects the learning rate
    alpha       mean |alpha| after training, for ReZero
    """
    text = corpus()
    torch.manual_seed(seed)
    model = decoder(len(text.letters), variant, n_layers)
    finite = train(model, text, rate, seed, steps)
    parts = {"chosen": text.chosen, "test": text.test}
    found = {name: evaluate(model, ids) if finite else float("nan") for name, ids in parts.items()}
    alphas = [float(p.detach().abs()) for n, p in model.named_parameters() if n.endswith("alpha")]
    return {
        "parameters": sum(p.numel() for p in model.parameters()),
        **{name: value if isfinite(value) else None for name, value in found.items()},
        "alpha": sum(alphas) / len(alphas) if alphas and finite else None,
    }


def gradient_norms(
    variant: str, n_layers: int, seed: int = 0, d_model: int = D_MODEL
) -> list[float]:
    """Return the norm of the loss's gradient by layer, all of its parameters, at initialization."""
    text = corpus()
    torch.manual_seed(seed)
    model = decoder(len(text.letters), variant, n_layers, d_model)
    batch = next(iter(random_windows(text.train, LENGTH, rows=WINDOWS, steps=1, seed=seed)))
    loss(model, batch).backward()
    return [
        float(sum(p.grad.square().sum() for p in block.parameters() if p.grad is not None) ** 0.5)
        for block in model.decoder.stack.blocks
    ]


def gradients_by_variant(n_layers: int) -> dict[str, list[float]]:
    """Return `gradient_norms` of the variants that differ in a layer, not in the final norm."""
    names = ("post-norm", "pre-norm", "pre-norm, RMSNorm", "ReZero", "no norm", SCALED)
    return {name: gradient_norms(name, n_layers) for name in names}


def unigram_loss(text: Text, on: str = "chosen") -> float:
    """Return the loss of the characters' frequencies in the training text, on one of its parts."""
    counts = torch.bincount(text.train, minlength=len(text.letters)).double() + 1
    return float(-(counts / counts.sum()).log()[getattr(text, on)].mean())


def bigram_loss(text: Text, on: str = "chosen") -> float:
    """Return the loss of the frequencies of character pairs in the training text, plus one each."""
    n = len(text.letters)
    pairs = torch.bincount(text.train[:-1] * n + text.train[1:], minlength=n * n).view(n, n) + 1.0
    ids = getattr(text, on)
    return float(-(pairs / pairs.sum(1, keepdim=True)).log()[ids[:-1], ids[1:]].mean())


def mean_loss(rows: Sequence[Mapping[str, Any]]) -> float:
    """Return the mean validation loss, infinity where a run has none."""
    return sum(float("inf") if r["chosen"] is None else r["chosen"] for r in rows) / len(rows)


def best_rate(rows: Sequence[Mapping[str, Any]]) -> float:
    """Return the learning rate of the lowest mean validation loss, of those with most seeds."""
    by_rate: dict[float, list[Mapping[str, Any]]] = {}
    for row in rows:
        by_rate.setdefault(row["rate"], []).append(row)
    most = max(map(len, by_rate.values()))
    candidates = {rate: mean_loss(of) for rate, of in by_rate.items() if len(of) == most}
    return min(candidates, key=lambda rate: candidates[rate])


def tuning_losses(
    rows: Sequence[Mapping[str, Any]], variant: str, n_layers: int
) -> dict[float, list[float]]:
    """Return the validation losses of the seeds for tuning by learning rate; not finite: NaN."""
    found: dict[float, list[float]] = {}
    for row in sorted(rows, key=lambda row: (row["rate"], row["seed"])):
        if (row["variant"], row["n_layers"], row["steps"]) == (variant, n_layers, STEPS) and (
            row["seed"] in TUNING_SEEDS
        ):
            loss = row["chosen"]
            found.setdefault(row["rate"], []).append(float("nan") if loss is None else loss)
    return found


def search(tune: Callable[[float, int], dict[str, Any]], floor: float = float("inf")) -> float:
    """Return a variant's learning rate, from `tune(rate, seed)` with seeds of its own.

    With one seed, the search starts with `FIRST` and goes on while the best rate is at an edge, and
    to lower rates while no loss is below `floor`. The two best rates are then compared with all
    `TUNING_SEEDS`, because one seed can select the wrong one; while the best of these is the
    highest rate tried, the next higher one joins them.
    """
    first, rates = TUNING_SEEDS[0], list(FIRST)
    found: dict[float, dict[str, Any]] = {}
    while True:
        found |= {rate: tune(rate, first) for rate in rates if rate not in found}
        best, at = best_rate([*found.values()]), [GRID.index(rate) for rate in rates]
        failed = all(mean_loss([row]) > floor for row in found.values())
        if best == max(rates) and max(at) + 1 < len(GRID):
            rates.append(GRID[max(at) + 1])
        elif (best == min(rates) or failed) and min(at) > 0:
            rates.insert(0, GRID[min(at) - 1])
        else:
            break
    tried = max(found)
    compared = sorted(found, key=lambda rate: mean_loss([found[rate]]))[:2]
    while True:
        best = best_rate([tune(rate, seed) for rate in compared for seed in TUNING_SEEDS])
        if failed or best < tried or tried == GRID[-1]:
            return best
        tried = GRID[GRID.index(tried) + 1]
        compared.append(tried)


def run_settings(
    measure: Callable[..., dict[str, Any]], settings: Mapping[tuple[int, int], Sequence[str]],
    path: Path | None,
) -> None:  # fmt: skip
    """Measure the variants of each setting (layers, steps) into `path`: the search for the learning
    rate on seeds of its own, then `SEEDS` at the best rate.
    """
    for (depth, long), variants in settings.items():
        for variant in variants:

            def one(
                rate: float, seed: int, variant: str = variant, depth: int = depth, long: int = long
            ) -> dict[str, Any]:
                point = {"variant": variant, "n_layers": depth, "rate": rate, "seed": seed,
                         "steps": round(share() * long)}  # fmt: skip
                return sweep(measure, [point], path, data="tinyshakespeare")[0]

            best = search(one, unigram_loss(corpus()))
            for seed in SEEDS:
                one(best, seed)


def run_all(settings: Mapping[tuple[int, int], Sequence[str]] = SETTINGS) -> None:
    """Measure every point into results/norm_variants.json."""
    run_settings(measure, settings, results_path("05_efficient", "norm_variants"))


def load() -> list[dict[str, Any]]:
    """Return the saved runs; in the profile `experiment` measure the missing ones first."""
    if profile() == "experiment":
        run_all()
    return load_rows(results_path("05_efficient", "norm_variants"))
