"""Sublayer orders at equal parameters and compute, and architecture search among 64 stacks.
Page 5.14.

    text = shakespeare()
    row = measure_order(text, "sfsfsf", rate=0.004, seed=0)     # {"chosen": ..., "test": ...}

All models predict the next character of tinyshakespeare from up to 32 characters. The last tenth
of the text is held out: its first half is for validation ("chosen"), its second is the test.
"""

from collections.abc import Callable, Mapping, Sequence
from functools import partial
from itertools import combinations, product
from pathlib import Path
from typing import Any

import torch
from torch import nn

from deepdive.core import LayerNorm, gelu_tanh
from deepdive.core.stack import Stack
from deepdive.layers.heads import initialize
from deepdive.layers.mixed_layer import MixedLayer
from deepdive.layers.sublayers import sublayer_stack
from deepdive.models.transformer.darts import search, supernet
from deepdive.models.transformer.decoder_only import DecoderOnly, around_stack
from deepdive.models.transformer.macaron import macaron_block
from deepdive.positions import RotaryPosition
from deepdive.training.optim import adam, cosine
from deepdive_book.ch06a.runs.decoder_ablations import Text, loss
from deepdive_book.kit.experiments import share, sweep
from deepdive_book.kit.flops import count_flops
from deepdive_book.tasks.stream import random_windows, sequential_windows

Row = dict[str, Any]
Rows = Sequence[Mapping[str, Any]]
DATA = "tinyshakespeare"
D_MODEL, D_FF, HEADS, LENGTH, ROWS, STEPS = 32, 128, 2, 32, 16, 400
SEARCH_FF, SLOTS = 64, 3  # of the search space: attention, convolution, and ff of equal size
WARMUP, EVALUATED = 50, 600  # steps; windows of 32 characters per part of the held-out text
ORDERS = ["".join("s" if i in at else "f" for i in range(6)) for at in combinations(range(6), 3)]
MACARON = "macaron"  # three Macaron blocks, half as many hidden units in each feed-forward layer
SPACE = ["".join(letters) for letters in product("scfi", repeat=SLOTS)]


def rotary() -> RotaryPosition:
    return RotaryPosition(D_MODEL // HEADS)


def decoder(vocab_size: int, order: str, d_ff: int = D_FF, initial: str = "GPT-2") -> DecoderOnly:
    """Build a language model with sublayers in this order, or of `MACARON` blocks; no biases."""
    if order == MACARON:
        blocks = [
            macaron_block(D_MODEL, HEADS, d_ff, activation=gelu_tanh, bias=False, position=rotary())
            for _ in range(3)
        ]
        stack = Stack(lambda i: blocks[i], 3, LayerNorm(D_MODEL))
    else:
        stack = sublayer_stack(
            order, D_MODEL, HEADS, d_ff, activation=gelu_tanh, bias=False, position=rotary
        )
    return begun(around_stack(stack, vocab_size, D_MODEL, LENGTH), 6, initial)


def begun(model: DecoderOnly, sublayers: int, initial: str = "GPT-2") -> DecoderOnly:
    """Initialize as GPT-2 is: small normal weights, and smaller ones where a sublayer ends. For
    `initial="library"`, leave the weights as the library initializes them.
    """
    if initial == "library":
        return model
    initialize(model)
    for name, weight in model.named_parameters():
        if name.endswith((".out.weight", ".W.weight")) and "position" not in name:
            weight.data /= sublayers**0.5
    return model


def step_flops(model: nn.Module, vocab_size: int) -> int:
    """Return the operations of one step, forward and backward."""
    batch = torch.randint(vocab_size, (ROWS, LENGTH + 1))
    return count_flops(lambda: loss(model, batch).backward())


def measure_baseline(text: Text, order: str) -> dict[str, Any]:
    """Return the test loss of a table of character pairs, counted in the training text: the
    simplest baseline, which uses one character of context (0.1 is added to each count).
    """
    kinds = len(text.letters)
    counts = torch.full((kinds, kinds), 0.1)
    pairs = text.train[:-1], text.train[1:]
    counts.index_put_(pairs, torch.ones(len(pairs[0])), accumulate=True)
    windows = sequential_windows(text.test, LENGTH)[:EVALUATED]
    logs = (counts / counts.sum(1, keepdim=True)).log()
    return {"parameters": kinds**2, "test": -float(logs[windows[:, :-1], windows[:, 1:]].mean())}


def train(model: nn.Module, text: Text, rate: float, seed: int, steps: int) -> None:
    """Train on windows that `seed` selects, with a short warmup and a cosine schedule."""
    optimizer = adam(model, lr=rate, betas=(0.9, 0.99), eps=1e-8, weight_decay=0.1)
    schedule = cosine(rate, min(WARMUP, steps // 2), steps, rate / 10)
    model.train()
    windows = random_windows(text.train, LENGTH, rows=ROWS, steps=steps, seed=seed)
    for step, batch in enumerate(windows, 1):
        for group in optimizer.param_groups:
            group["lr"] = schedule(step)
        optimizer.zero_grad()
        loss(model, batch).backward()
        nn.utils.clip_grad_norm_(model.parameters(), 1.0)
        optimizer.step()


@torch.no_grad()
def scores(model: nn.Module, text: Text) -> dict[str, float]:
    """Return the mean loss per character on the validation part and on the test part."""
    model.eval()
    return {
        name: float(loss(model, sequential_windows(ids, LENGTH)[:EVALUATED]))
        for name, ids in (("chosen", text.chosen), ("test", text.test))
    }


def measure(
    text: Text, build: Callable[[], DecoderOnly], rate: float, seed: int, steps: int
) -> dict[str, Any]:
    """Train what `build` makes; return its size, its operations, and its losses."""
    torch.manual_seed(seed)
    model = build()
    each = step_flops(model, len(text.letters))
    train(model, text, rate, seed, steps)
    parameters = sum(p.numel() for p in model.parameters())
    return {"parameters": parameters, "flops": each * steps, **scores(model, text)}


def measure_order(
    text: Text, order: str, rate: float, seed: int, steps: int = STEPS, initial: str = "GPT-2"
) -> dict[str, Any]:
    """Measure one order of three attention and three feed-forward sublayers."""
    kinds = len(text.letters)
    return measure(text, lambda: decoder(kinds, order, initial=initial), rate, seed, steps)


def measure_candidate(
    text: Text, candidate: str, rate: float, seed: int, steps: int
) -> dict[str, Any]:
    """Measure one architecture of the search space, trained from scratch."""
    kinds = len(text.letters)
    return measure(text, lambda: decoder(kinds, candidate, SEARCH_FF), rate, seed, steps)


def measure_search(
    text: Text, rate: float, alpha_rate: float, search_seed: int, search_steps: int
) -> dict[str, Any]:
    """Run first-order DARTS once: weights on the first half of the training text, architecture
    parameters on its second half. Return the choice, the mixtures, and the operations.
    """
    kinds = len(text.letters)
    torch.manual_seed(search_seed)
    model = begun(
        supernet(
            kinds, d_model=D_MODEL, n_heads=HEADS, n_layers=SLOTS, d_ff=SEARCH_FF,
            max_length=LENGTH, activation=gelu_tanh, position=rotary,
        ),
        6,
    )  # fmt: skip
    mixtures = [m for m in model.modules() if isinstance(m, MixedLayer)]
    alphas = [m.alpha for m in mixtures]
    each = step_flops(model, kinds)
    for alpha in alphas:
        alpha.requires_grad_(False)
    weights = adam(model, lr=rate, betas=(0.9, 0.99), eps=1e-8, weight_decay=0.1)
    for alpha in alphas:
        alpha.requires_grad_(True)
    moved = torch.optim.Adam(alphas, lr=alpha_rate, betas=(0.5, 0.999), weight_decay=1e-3)
    halves = text.train.tensor_split(2)
    pairs = (
        random_windows(half, LENGTH, rows=ROWS, steps=search_steps, seed=search_seed)
        for half in halves
    )
    model.train()
    choice = search(model, loss, zip(*pairs, strict=True), weights, moved)
    return {
        "choice": choice,
        "mixtures": [alpha.detach().softmax(0).tolist() for alpha in alphas],
        "flops": 2 * each * search_steps,
        "supernet": scores(model, text)["chosen"],
    }


RATES, TUNING_SEED, SEEDS = (0.004, 0.007, 0.012, 0.02), 100, (0, 1, 2, 3, 4)
ARMS = (*ORDERS, MACARON)
REPEATED = ("fsfsfs", "sfsfsf", "ssfsff")  # trained four times as long as well
SEARCH_RATES, SEARCH_STEPS, SEARCH_SEEDS = (0.008,), 250, (0, 1, 2)
ALPHA_RATES, RUNS = (0.01, 0.05), (0, 1, 2, 3, 4, 5)  # of the search


def best_rates(rows: Rows, arm: str) -> dict[str, float]:
    """Return each arm's learning rate with the lowest validation loss on the tuning seed."""
    tuned = [row for row in rows if row["seed"] == TUNING_SEED]
    names = dict.fromkeys(row[arm] for row in tuned)
    return {
        name: min((row for row in tuned if row[arm] == name), key=lambda row: row["chosen"])["rate"]
        for name in names
    }


def tuned_rows(
    run: Callable[..., list[Row]], arm: str, names: Sequence[str], rates: Sequence[float],
    seeds: Sequence[int], steps: int,
) -> list[Row]:  # fmt: skip
    """Measure each name at all learning rates on a seed for tuning, then at its best on others."""
    points = [
        {arm: n, "rate": r, "seed": TUNING_SEED, "steps": steps} for r in rates for n in names
    ]
    tuned = run(points)
    best = best_rates(tuned, arm)
    return tuned + run([
        {arm: name, "rate": best[name], "seed": seed, "steps": steps}
        for seed in seeds for name in names if name in best
    ])  # fmt: skip


def order_rows(text: Text, path: Path | None, minutes: float | None = None) -> list[Row]:
    """Measure all 20 orders and the Macaron blocks: rates on one seed, then five other seeds."""
    run = partial(sweep, partial(measure_order, text), path=path, data=DATA, minutes=minutes)
    return tuned_rows(run, "order", ARMS, RATES, SEEDS, round(STEPS * share()))


def baseline_rows(text: Text, path: Path | None) -> list[Row]:
    """Measure the bigram table."""
    return sweep(partial(measure_baseline, text), [{"order": "bigram table"}], path, data=DATA)


def changed_rows(text: Text, rows: Rows, path: Path | None) -> list[Row]:
    """Train orders again, each at its tuned rate, with three seeds: the orders `REPEATED` four
    times as long, and all 20 from the library's own initial weights instead of GPT-2's.
    """
    rates = best_rates(rows, "order")
    points = [
        {"order": arm, "rate": rates[arm], "seed": seed, "steps": round(times * STEPS * share()),
         "initial": initial}
        for times, initial, arms in ((4, "GPT-2", REPEATED), (1, "library", ORDERS))
        for seed in SEEDS[:3] for arm in arms
    ]  # fmt: skip
    return sweep(partial(measure_order, text), points, path, data=DATA)


def space_rows(text: Text, path: Path | None, minutes: float | None = None) -> list[Row]:
    """Train all 64 architectures of the search space, at one learning rate: on one seed for random
    search to select by, and on three others to rank them.
    """
    run = partial(sweep, partial(measure_candidate, text), path=path, data=DATA, minutes=minutes)
    steps = round(SEARCH_STEPS * share())
    return tuned_rows(run, "candidate", SPACE, SEARCH_RATES, SEARCH_SEEDS, steps)


def search_rows(text: Text, path: Path | None, minutes: float | None = None) -> list[Row]:
    """Run first-order DARTS with two learning rates of alpha and six seeds."""
    points = [
        {"rate": SEARCH_RATES[0], "alpha_rate": alpha, "search_seed": seed,
         "search_steps": round(SEARCH_STEPS * share())}
        for alpha in ALPHA_RATES for seed in RUNS
    ]  # fmt: skip
    return sweep(partial(measure_search, text), points, path, data=DATA, minutes=minutes)
