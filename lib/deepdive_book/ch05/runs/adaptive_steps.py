"""Universal Transformers with and without halting, and plain encoders, on binary addition. Page
5.17.

    rows = load()                                               # the saved runs
    row = measure("UT with ACT", 3e-3, seed=0, steps=600)       # {"bits_64": 0.9, "ponder": 2.3}

A column of an addition is one token, the two bits that are added, the lowest column first; the
label is the bit of the sum. The data are generated: with probability 0.7 a column's bits differ,
and such a column passes a carry on, so a bit of the sum depends on the nearest earlier column whose
bits are equal. How many columns back that one is, is the position's difficulty. Training sequences
have 16 columns and start at a random position up to 48, so that every position in a test of 64
columns occurs in training.
"""

from typing import Any, NamedTuple

import torch
import torch.nn.functional as F
from torch import Tensor, nn

from deepdive.core import Context
from deepdive.core.embeddings import TokenEmbedding
from deepdive.core.hooks import collect_losses
from deepdive.core.masks import Causal
from deepdive.core.stack import Stack
from deepdive.layers.universal_stack import Pondered, UniversalStack, universal_block
from deepdive.positions import SinusoidalPosition
from deepdive.training.optim import adam, cosine
from deepdive_book.ch05.runs.norm_variants import best_rate
from deepdive_book.kit.experiments import load_rows, results_path, share, sweep
from deepdive_book.kit.flops import count_flops
from deepdive_book.kit.profile import profile

D_MODEL, NARROW, HEADS, BATCH, STEPS, MOST = 32, 12, 4, 64, 600, 6
LENGTH, LONGEST, DIFFER = 16, 64, 0.7
LENGTHS = (16, 32, 64)
SEEDS, TUNING_SEED, RATES = range(5), 100, (1e-3, 3e-3)
ACT, FIXED, CONSTANT, ONE = "UT with ACT", "UT, 6 steps", "UT, 4 steps", "UT, 1 step"
WIDE, SLIM = "Transformer, 6 layers", "Transformer, 6 narrow layers"
WEIGHTS = (0.001, 0.1)  # of the ponder cost; the others have 0.01
VARIANTS = (ACT, FIXED, CONSTANT, ONE, WIDE, SLIM)


class Sums(NamedTuple):
    """Columns (B, T) as 2a + b, the bits of the sum (B, T), and the difficulty (B, T)."""

    columns: Tensor
    bits: Tensor
    difficulty: Tensor


def sums(n: int, length: int, generator: torch.Generator) -> Sums:
    """Return n generated additions of `length` columns."""
    differ = torch.rand(n, length, generator=generator) < DIFFER
    a = torch.randint(2, (n, length), generator=generator)
    b = torch.where(differ, 1 - a, a)
    carry, back = torch.zeros(n, dtype=torch.long), torch.zeros(n, dtype=torch.long)
    bits, difficulty = [], []
    for i in range(length):
        bits.append((a[:, i] + b[:, i] + carry) % 2)
        back = back + 1
        difficulty.append(back)
        carry = torch.where(differ[:, i], carry, a[:, i])
        back = torch.where(differ[:, i], back, 0)
    return Sums(2 * a + b, torch.stack(bits, 1), torch.stack(difficulty, 1))


class Adder(nn.Module):
    """Logits (B, T, 2) of the sum's bits: embeddings, a causal stack, a linear layer.

    A stack that is not a `UniversalStack` gets its positions added to the embeddings.
    """

    def __init__(self, stack: Stack, d_model: int) -> None:
        super().__init__()
        self.embedding = TokenEmbedding(4, d_model, scale=d_model**0.5)
        self.stack, self.out = stack, nn.Linear(d_model, 2)
        coded = isinstance(stack, UniversalStack)
        self.position = None if coded else SinusoidalPosition(d_model)

    def inputs(self, columns: Tensor, start: int = 0) -> tuple[Tensor, Context]:
        """Return the stack's input (B, T, d_model) and its context."""
        positions = torch.arange(start, start + columns.shape[1])
        x = self.embedding(columns)
        if self.position is not None:
            x = self.position.embed(x, positions)
        return x, Context(positions=positions, mask=Causal())

    def forward(self, columns: Tensor, start: int = 0) -> Tensor:
        """Return the logits for columns (B, T), the first of which is at position `start`."""
        return self.out(self.stack(*self.inputs(columns, start)))

    def pondered(self, columns: Tensor) -> Pondered:
        """Return the halting weights and steps of each column."""
        assert isinstance(self.stack, UniversalStack)
        return self.stack.pondered(*self.inputs(columns))


def adder(variant: str, ponder_weight: float = 0.01) -> Adder:
    """Build a variant: "UT with ACT", "UT, k steps", or a Transformer of 6 layers."""
    d_model = NARROW if variant == SLIM else D_MODEL

    def block(_layer: int = 0) -> nn.Module:
        return universal_block(d_model, HEADS, 2 * d_model)

    if variant in (WIDE, SLIM):
        return Adder(Stack(block, MOST), d_model)
    if variant == ACT:
        stack = UniversalStack(block(), d_model, MOST, ponder_weight=ponder_weight)
    else:
        stack = UniversalStack(block(), d_model, int(variant.split()[1]), halting=False)
    return Adder(stack, d_model)


def train(model: Adder, rate: float, seed: int, steps: int) -> None:
    """Train in place on generated additions of 16 columns."""
    generator = torch.Generator().manual_seed(seed)
    optimizer, rates = adam(model, rate), cosine(rate, max(1, steps // 10), steps, rate / 10)
    for step in range(1, steps + 1):
        for group in optimizer.param_groups:
            group["lr"] = rates(step)
        batch = sums(BATCH, LENGTH, generator)
        start = int(torch.randint(LONGEST - LENGTH + 1, (1,), generator=generator))
        with collect_losses(model) as losses:
            logits = model(batch.columns, start)
        loss = F.cross_entropy(logits.flatten(0, 1), batch.bits.flatten()) + losses.total()
        optimizer.zero_grad()
        loss.backward()
        nn.utils.clip_grad_norm_(model.parameters(), 1.0)
        optimizer.step()


def correlation(a: Tensor, b: Tensor) -> float:
    """Return the Pearson correlation of two tensors of equal shape, 0 where one is constant."""
    pair = torch.stack((a.flatten().double(), b.flatten().double()))
    return 0.0 if (pair.std(1) < 1e-9).any() else float(torch.corrcoef(pair)[0, 1])


@torch.no_grad()
def evaluate(model: Adder) -> dict[str, Any]:
    """Return the accuracy by length, and for a halting stack what its steps depend on."""
    found: dict[str, Any] = {}
    for length in LENGTHS:
        test = sums(256, length, torch.Generator().manual_seed(1000 + length))
        correct = (model(test.columns).argmax(-1) == test.bits).double()
        found[f"bits_{length}"] = float(correct.mean())
        if length == LENGTH:
            found |= {f"far_{k}": float(correct[test.difficulty == k].mean()) for k in (1, 4, 8)}
    if isinstance(model.stack, UniversalStack) and model.stack.halt is not None:
        for length in (LENGTH, LONGEST):
            test = sums(256, length, torch.Generator().manual_seed(1000 + length))
            steps, place = model.pondered(test.columns).steps, torch.arange(length).expand(256, -1)
            found[f"ponder_{length}"] = float(steps.mean())
            found[f"slowest_{length}"] = float(steps.amax(1).mean())
            found[f"by_difficulty_{length}"] = correlation(steps, test.difficulty)
            found[f"by_position_{length}"] = correlation(steps, place)
            differ = (test.columns == 1) | (test.columns == 2)
            found[f"by_column_{length}"] = correlation(steps, differ)
    return found


@torch.no_grad()
def examples(model: Adder, n: int = 4, length: int = 12) -> list[dict[str, Any]]:
    """Return sums with the difficulty, the halting weights, and the steps of each column."""
    test = sums(n, length, torch.Generator().manual_seed(5))
    found, right = model.pondered(test.columns), model(test.columns).argmax(-1) == test.bits
    return [
        {"columns": test.columns[i].tolist(), "difficulty": test.difficulty[i].tolist(),
         "correct": right[i].tolist(), "steps": found.steps[i].int().tolist(),
         "weights": [[round(w, 2) for w in row] for row in found.weights[i].tolist()]}
        for i in range(n)
    ]  # fmt: skip


def measure(
    variant: str, rate: float, seed: int, steps: int, ponder_weight: float = 0.01
) -> dict[str, Any]:
    """Train one model.

    bits_L        fraction of correct bits in 256 test sums of L columns, at positions from 0
    far_K         the same at 16 columns, of the bits whose difficulty is K
    chosen        1 - the fraction of correct bits in other sums of 16 columns: it selects the rate
    ponder_L      mean number of steps of a column, and its correlations (`by_...`)
    slowest_L     mean number of steps of a sum's slowest column
    examples      see `examples`; of ACT with seed 0
    """
    torch.manual_seed(seed)
    model = adder(variant, ponder_weight)
    train(model, rate, seed, steps)
    model.eval()
    with torch.no_grad():
        check = sums(256, LENGTH, torch.Generator().manual_seed(77))
        chosen = float((model(check.columns).argmax(-1) != check.bits).double().mean())
        flops = count_flops(lambda: model(check.columns[:1]))
    return {
        "parameters": sum(p.numel() for p in model.parameters()), "flops": int(flops),
        "chosen": chosen, **evaluate(model),
        **({"examples": examples(model)} if variant == ACT and seed == 0 else {}),
    }  # fmt: skip


def run_all(variants: tuple[str, ...] = VARIANTS) -> None:
    """Measure every point into results/adaptive_steps.json: each rate with a seed of its own, then
    `SEEDS` at the rate that it selects.
    """
    path = results_path("05_efficient", "adaptive_steps")
    steps = round(share() * STEPS)
    for variant in variants:
        points = [{"variant": variant, "rate": rate, "seed": TUNING_SEED, "steps": steps}
                  for rate in RATES]  # fmt: skip
        best = best_rate(sweep(measure, points, path))
        sweep(measure, [{**points[0], "rate": best, "seed": seed} for seed in SEEDS], path)


def weigh_pondering() -> None:
    """Measure ACT with other weights of the ponder cost, at the rate that its own selects."""
    path = results_path("05_efficient", "adaptive_steps")
    steps = round(share() * STEPS)
    rate = best_rate([row for row in load_rows(path)
                      if row["variant"] == ACT and row["seed"] == TUNING_SEED])  # fmt: skip
    for weight in WEIGHTS:
        sweep(measure, [{"variant": ACT, "rate": rate, "seed": seed, "steps": steps,
                         "ponder_weight": weight} for seed in SEEDS], path)  # fmt: skip


def load() -> list[dict[str, Any]]:
    """Return the saved runs; in the profile `experiment` measure the missing ones first."""
    if profile() == "experiment":
        run_all()
        weigh_pondering()
    return load_rows(results_path("05_efficient", "adaptive_steps"))
