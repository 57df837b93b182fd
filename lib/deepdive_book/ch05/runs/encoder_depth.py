"""Deep encoders by what the decoder attends to, each at its own learning rate. Page 5.18.

    rows = load()                                     # the saved runs
    row = measure("reversal", "post-norm, transparent", 16, 0.01, seed=0, steps=200)

An encoder-decoder of width 32 with 4 heads and two decoder layers, trained on generated sequences
of eight symbols: the target is the source reversed, or sorted. Glorot initialization, AdamW without
weight decay, batches of 16 pairs, gradients clipped to norm 1, warm-up over the first tenth of the
steps, cosine decay to a tenth of the peak. All variants have the same modules and differ in the
weights that mix the encoder's states, which are learned only where the name says transparent.
"""

from collections.abc import Callable, Iterator
from typing import Any, NamedTuple

import torch
import torch.nn.functional as F
from torch import Tensor, nn

from deepdive.core import PostNorm, PreNorm
from deepdive.models.transformer.transformer import Transformer
from deepdive.models.transformer.transparent import transparent
from deepdive.training.optim import adam, cosine
from deepdive_book.ch05.runs.norm_variants import SEEDS, search
from deepdive_book.kit.experiments import load_rows, results_path, share, sweep
from deepdive_book.kit.profile import profile

SYMBOLS, LENGTH, START, FIRST_SYMBOL = 16, 8, 1, 4
D_MODEL, HEADS, DECODER_LAYERS, PAIRS, STEPS = 32, 4, 2, 16, 200
SHALLOW, DEEP = 4, 16
CLOSED = -1e4  # before the softmax: no weight


class Variant(NamedTuple):
    """What differs: the residual connection, the encoder states that the decoder attends to, the
    part of the steps over which the learning rate rises, and how often `STEPS` are trained.
    """

    residual: Callable[..., nn.Module]
    mixture: str  # "last", "mean", "outputs" (the mean without the embeddings), "learned", ...
    warmup: float = 0.1
    times: int = 1


LONGER = "post-norm, twice the steps"
OUTPUTS = "post-norm, mean without embeddings"
EMBEDDINGS = "embeddings only, no encoder"
VARIANTS = {
    "post-norm": Variant(PostNorm, "last"),
    "post-norm, long warm-up": Variant(PostNorm, "last", 0.5),
    LONGER: Variant(PostNorm, "last", times=2),
    "post-norm, fixed mean": Variant(PostNorm, "mean"),
    OUTPUTS: Variant(PostNorm, "outputs"),
    "post-norm, transparent": Variant(PostNorm, "learned"),
    "pre-norm": Variant(PreNorm, "last"),
    EMBEDDINGS: Variant(PostNorm, "embeddings"),
}
# Variants whose gradients are drawn, all at one learning rate, and post-norm at a lower one too.
DRAWN = {
    "post-norm": ("post-norm", 3e-3), "post-norm, LR 0.0003": ("post-norm", 3e-4),
    "post-norm, fixed mean": ("post-norm, fixed mean", 3e-3),
    "post-norm, transparent": ("post-norm, transparent", 3e-3), "pre-norm": ("pre-norm", 3e-3),
}  # fmt: skip
# Task, encoder layers, and the variants that are trained so, in the order of the runs.
RUNS: tuple[tuple[str, int, tuple[str, ...]], ...] = (
    ("reversal", DEEP, ("post-norm", "post-norm, long warm-up", "post-norm, fixed mean",
                        "post-norm, transparent", "pre-norm")),
    ("reversal", 0, (EMBEDDINGS,)),
    ("reversal", DEEP, (OUTPUTS,)),
    ("reversal", SHALLOW, ("post-norm", "post-norm, transparent", "pre-norm")),
    ("reversal", DEEP, (LONGER,)),
)  # fmt: skip
CHANCE = {"reversal": float(torch.tensor(float(SYMBOLS)).log())}  # nats per symbol


def trained(variant: str, task: str, n_layers: int) -> bool:
    """Return whether the variant is among `RUNS`."""
    return any(variant in names for *at, names in RUNS if at == [task, n_layers])


def model(variant: str, n_layers: int) -> Transformer:
    """Build a variant with n_layers encoder layers; 0 layers are the embeddings."""
    residual, mixture, *_ = VARIANTS[variant]
    built = transparent(
        FIRST_SYMBOL + SYMBOLS, d_model=D_MODEL, n_heads=HEADS, n_layers=max(1, n_layers),
        n_decoder_layers=DECODER_LAYERS, d_ff=2 * D_MODEL, dropout=0.0, residual=residual,
    )  # fmt: skip
    weights = mixture_of(built)
    if mixture == "last":
        weights.data[:-1] = CLOSED
    elif mixture == "outputs":
        weights.data[0] = CLOSED
    elif mixture == "embeddings":
        weights.data[1:] = CLOSED
        built.encoder.stack.blocks.requires_grad_(False)
    weights.requires_grad_(mixture == "learned")
    return built


def mixture_of(built: Transformer) -> nn.Parameter:
    """Return the weights that mix the encoder's states, before the softmax."""
    found = built.encoder.stack.mixture
    assert isinstance(found, nn.Parameter)
    return found


def pairs(task: str, seed: int, size: int) -> Iterator[tuple[Tensor, Tensor]]:
    """Yield sources (size, 8) and targets (size, 9), which begin with the start token."""
    generator = torch.Generator().manual_seed(seed)
    while True:
        shape = (size, LENGTH)
        source = torch.randint(FIRST_SYMBOL, FIRST_SYMBOL + SYMBOLS, shape, generator=generator)
        target = source.flip(1) if task == "reversal" else source.sort(1).values
        yield source, F.pad(target, (1, 0), value=START)


def loss(built: nn.Module, source: Tensor, target: Tensor) -> Tensor:
    """Return the mean cross-entropy in nats per target symbol."""
    return F.cross_entropy(built(source, target[:, :-1]).flatten(0, 1), target[:, 1:].flatten())


def train(
    built: nn.Module, task: str, rate: float, seed: int, steps: int, warmup: float = 0.1
) -> None:
    """Train in place."""
    optimizer = adam(built, rate, eps=1e-8)
    rates = cosine(rate, max(1, round(warmup * steps)), steps, rate / 10)
    for step, (source, target) in zip(range(1, steps + 1), pairs(task, seed, PAIRS), strict=False):
        for group in optimizer.param_groups:
            group["lr"] = rates(step)
        optimizer.zero_grad()
        loss(built, source, target).backward()
        nn.utils.clip_grad_norm_(built.parameters(), 1.0)
        optimizer.step()


@torch.no_grad()
def evaluate(built: nn.Module, task: str, seed: int, size: int = 512) -> tuple[float, float]:
    """Return the loss and the accuracy per symbol on pairs of a seed of their own."""
    source, target = next(pairs(task, seed, size))
    right = built(source, target[:, :-1]).argmax(-1) == target[:, 1:]
    return float(loss(built, source, target)), float(right.float().mean())


def measure(
    task: str, variant: str, n_layers: int, rate: float, seed: int, steps: int
) -> dict[str, Any]:
    """Train one model.

    test        nats per symbol; `chosen` on the pairs that select the learning rate
    accuracy    share of the symbols predicted correctly, given the previous ones
    embeddings, last    mean weight of the embeddings and of the last layer, after training
    """
    torch.manual_seed(seed)
    built = model(variant, n_layers)
    train(built, task, rate, seed, steps, VARIANTS[variant].warmup)
    chosen, _ = evaluate(built, task, 2_000_000)
    test, accuracy = evaluate(built, task, 1_000_000)
    weights = mixture_of(built).detach().softmax(0).mean(1)
    trained = [p for p in built.parameters() if p.requires_grad]
    return {
        "parameters": sum(p.numel() for p in trained), "chosen": chosen, "test": test,
        "accuracy": accuracy, "embeddings": float(weights[0]), "last": float(weights[-1]),
    }  # fmt: skip


def gradient_norms(variant: str, n_layers: int, steps: int = 0, rate: float = 0.003,
                   seed: int = 0, task: str = "reversal") -> list[float]:  # fmt: skip
    """Return the norm of the loss's gradient by encoder layer, all of its parameters, after some
    steps of training.
    """
    torch.manual_seed(seed)
    built = model(variant, n_layers)
    if steps:
        train(built, task, rate, seed, steps)
    built.zero_grad()
    loss(built, *next(pairs(task, 3_000_000, 64))).backward()
    return [
        float(sum(p.grad.square().sum() for p in block.parameters() if p.grad is not None) ** 0.5)
        for block in built.encoder.stack.blocks
    ]


def measure_gradients(name: str, n_layers: int, seed: int, steps: int) -> dict[str, Any]:
    """Return the `gradient_norms` of a line of `DRAWN`."""
    variant, rate = DRAWN[name]
    return {"norms": gradient_norms(variant, n_layers, steps, rate, seed)}


def run_gradients() -> list[dict[str, Any]]:
    """Measure gradient norms before training and after 50 steps into encoder_gradients.json."""
    points = [{"name": name, "n_layers": DEEP, "seed": seed, "steps": steps}
              for steps in (0, 50) for name in DRAWN for seed in SEEDS]  # fmt: skip
    path = results_path("05_efficient", "encoder_gradients")
    return sweep(measure_gradients, points, path, data="generated")


def run_all() -> None:
    """Measure every point into results/encoder_depth.json: the search for the learning rate on
    seeds of its own, then `SEEDS` at the best rate.
    """
    path = results_path("05_efficient", "encoder_depth")
    for task, depth, variants in RUNS:
        for variant in variants:

            def one(
                rate: float, seed: int, variant: str = variant, task: str = task, depth: int = depth
            ) -> dict[str, Any]:
                point = {"task": task, "variant": variant, "n_layers": depth, "rate": rate,
                         "seed": seed,
                         "steps": round(share() * VARIANTS[variant].times * STEPS)}  # fmt: skip
                return sweep(measure, [point], path, data="generated")[0]

            best = search(one, CHANCE.get(task, 1.5) - 0.02)
            for seed in SEEDS:
                one(best, seed)


def load_gradients() -> list[dict[str, Any]]:
    """Return the saved gradient norms; in the profile `experiment` measure those missing first."""
    if profile() == "experiment":
        run_gradients()
    return load_rows(results_path("05_efficient", "encoder_gradients"))


def load() -> list[dict[str, Any]]:
    """Return the saved runs; in the profile `experiment` measure the missing ones first."""
    if profile() == "experiment":
        run_all()
    return load_rows(results_path("05_efficient", "encoder_depth"))
