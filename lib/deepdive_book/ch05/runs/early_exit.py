"""DeeBERT on sentences from movie reviews, next to fixed depths. Page 5.17.

    rows = load()                                      # the saved runs
    row = measure(5e-4, seed=0, steps=300)       # {"accuracy": [0.6, ..., 0.8], ...}

A BERT of 6 layers, 48 wide, is trained from random weights on rt_polarity, on batches of 32
sentences of at most 32 words (stage 1). Then it is frozen, and the other layers' off-ramps are
trained on the same sentences (stage 2).
"""

import time
from collections import Counter
from functools import cache
from statistics import median
from typing import Any, NamedTuple

import torch
import torch.nn.functional as F
from torch import Tensor

from deepdive.core.masks import Padding
from deepdive.data.reviews import rt_polarity
from deepdive.data.text import split_by
from deepdive.models.bert.bert import BASE, bert
from deepdive.models.bert.deebert import DeeBert, entropy
from deepdive.tokenizers import padded
from deepdive.training.objectives.early_exit import stage_loss
from deepdive.training.optim import cosine
from deepdive_book.ch05.runs.norm_variants import best_rate
from deepdive_book.data.labeled_cause_reviews import generated_verdicts
from deepdive_book.kit.experiments import load_rows, results_path, share, sweep
from deepdive_book.kit.profile import profile
from deepdive_book.tasks.classification import in_batches

BATCH, STEPS, LONGEST = 32, 300, 32
SEEDS, TUNING_SEED, RATES = range(5), 100, (5e-4, 2e-3)
THRESHOLDS = (0.1, 0.2, 0.3, 0.4, 0.5, 0.6, 0.65)  # nats; log(2) = 0.693 is the largest entropy
TIMED = 0.4
N_LAYERS, FIRST_WORD = 6, 3


class Part(NamedTuple):
    """Token ids, one list per sentence, and labels (N,)."""

    ids: list[list[int]]
    labels: Tensor

    def batch(self, items: Tensor) -> tuple[Tensor, Tensor, Tensor]:
        """Return tokens (B, T), their mask, and labels (B,) of some sentences."""
        tokens, mask = padded([self.ids[i] for i in items.tolist()], 0)
        return tokens, mask, self.labels[items]


@cache
def parts() -> tuple[Part, Part, Part]:
    """Return sentences for training, selecting the learning rate, and testing; equal sentences are
    in one part. In the profile `ci` they are generated. Tokens are words, lower case: 0 is padding,
    1 a word that occurs fewer than three times in the training part, 2 the first token, [CLS].
    """
    real = generated_verdicts(300) if profile() == "ci" else rt_polarity()
    texts, labels = real.texts, real.labels
    order = torch.randperm(len(texts), generator=torch.Generator().manual_seed(0)).tolist()
    found = split_by(order, lambda i: texts[i], (0.85, 0.05, 0.1), 0)
    counts = Counter(word for i in found[0] for word in texts[i].split())
    numbers = {w: n for n, w in enumerate((w for w in counts if counts[w] > 2), start=FIRST_WORD)}
    train, check, test = (
        Part(
            [[2, *(numbers.get(w, 1) for w in texts[i].split()[: LONGEST - 1])] for i in part],
            torch.tensor([int(labels[i]) for i in part]),
        )
        for part in found
    )
    return train, check, test


def encoder_with_ramps(n_layers: int) -> DeeBert:
    """Return a small BERT with random weights and an off-ramp after every layer."""
    words = 1 + max(max(ids) for ids in parts()[0].ids)
    sizes = {"d_model": 48, "n_heads": 4, "d_ff": 96, "max_length": LONGEST, "n_segments": 1}
    return DeeBert(bert(BASE.but(vocab_size=words, n_layers=n_layers, **sizes)), 2)


def fine_tune(model: DeeBert, part: Part, rate: float, seed: int, steps: int) -> Tensor:
    """Train the encoder and its last off-ramp in place; return which sentences it has seen."""
    optimizer = torch.optim.AdamW(list(model.trainable(1)), lr=rate, weight_decay=0.01)
    rates = cosine(rate, max(1, steps // 10), steps, rate / 20)
    order = torch.Generator().manual_seed(seed)
    items = torch.cat([torch.randperm(len(part.ids), generator=order) for _ in range(6)])
    lengths = torch.tensor([len(ids) for ids in part.ids])
    pools = items[: steps * BATCH].split(4 * BATCH)  # less padding: similar lengths in a batch
    items = torch.cat([pool[lengths[pool].argsort(stable=True)] for pool in pools])
    model.train()
    for step in range(1, steps + 1):
        for group in optimizer.param_groups:
            group["lr"] = rates(step)
        tokens, mask, labels = part.batch(items[(step - 1) * BATCH : step * BATCH])
        optimizer.zero_grad()
        F.cross_entropy(model(tokens, mask), labels).backward()
        torch.nn.utils.clip_grad_norm_(model.parameters(), 1.0)
        optimizer.step()
    model.eval()
    return items.unique()


def first_states(model: DeeBert, part: Part) -> Tensor:
    """Return the first token's state after each layer, (N, n_layers, d_model)."""

    def rows(tokens: Tensor, mask: Tensor) -> Tensor:
        x, found = model.embed(tokens, mask, None), []
        for block in model.bert.stack.blocks:
            x = block(x, mask=Padding(mask))
            found.append(x[:, 0])
        return torch.stack(found, 1)

    return in_batches(model, part.ids, rows, progress=False)


def ramp_logits(model: DeeBert, states: Tensor) -> Tensor:
    """Return the logits (n_layers, N, n_classes) of all off-ramps for `first_states`."""
    return torch.stack([ramp(states[:, i : i + 1]) for i, ramp in enumerate(model.ramps)])


def train_ramps(
    model: DeeBert, states: Tensor, labels: Tensor, seed: int, epochs: int = 10, rate: float = 1e-3
) -> None:
    """Train the other off-ramps in place, on the frozen encoder's states."""
    optimizer = torch.optim.AdamW(list(model.trainable(2)), lr=rate, weight_decay=0.01)
    order = torch.Generator().manual_seed(seed)
    model.train()
    for _ in range(epochs):
        for items in torch.randperm(len(states), generator=order).split(64):
            optimizer.zero_grad()
            stage_loss(ramp_logits(model, states[items]), labels[items], 2).backward()
            optimizer.step()
    model.eval()


def exit_layers(logits: Tensor, threshold: float) -> Tensor:
    """Return the layer (N,) at which each example leaves, from the logits (n_layers, N, C)."""
    leaves = entropy(logits) < threshold
    leaves[-1] = True
    return leaves.int().argmax(0) + 1


def curve(logits: Tensor, labels: Tensor) -> list[dict[str, Any]]:
    """Return for each threshold the accuracy and mean depth, the accuracy of leaving at random
    layers with the same frequencies, the fraction of examples by layer, and the mean depth of the
    slowest example in batches of 8 and 32.
    """
    correct = (logits.argmax(-1) == labels).double()  # (n_layers, N)
    found = []
    for threshold in THRESHOLDS:
        layers = exit_layers(logits, threshold)
        by_layer = torch.stack([(layers == i + 1).double().mean() for i in range(len(logits))])
        found.append({
            "threshold": threshold, "depth": float(layers.double().mean()),
            "accuracy": float(correct.gather(0, layers[None] - 1).mean()),
            "random": float((by_layer * correct.mean(1)).sum()), "by_layer": by_layer.tolist(),
            **{f"slowest_{n}": float(torch.stack([part.max() for part in layers.split(n)]).double()
                                     .mean()) for n in (8, 32)},
        })  # fmt: skip
    return found


@torch.no_grad()
def timings(model: DeeBert, part: Part, texts: int = 96) -> dict[str, float]:
    """Return milliseconds per text of the full model and of early exit, one text at a time and in
    batches of 32, medians over repetitions in turn.
    """
    found: dict[str, list[float]] = {}
    items = torch.arange(min(texts, len(part.ids)))
    for _ in range(3):
        for size in (1, 32):
            batches = [part.batch(some) for some in items.split(size)]
            for name in ("full", "early"):
                start = time.perf_counter()
                for tokens, mask, _ in batches:
                    if name == "full":
                        model(tokens, mask)
                    else:
                        model.early_exit(tokens, TIMED, mask)
                spent = 1000 * (time.perf_counter() - start) / len(items)
                found.setdefault(f"ms_{name}_{size}", []).append(spent)
    return {name: median(values) for name, values in found.items()}


def measure(rate: float, seed: int, steps: int) -> dict[str, Any]:
    """Train one model in both stages.

    chosen        error on the sentences that select the learning rate, by the last off-ramp; of
                  the tuning seed alone
    accuracy      test accuracy of each off-ramp, the last one is the full model's
    curve         see `curve`; and `timings`
    """
    train, check, test = parts()
    torch.manual_seed(seed)
    model = encoder_with_ramps(N_LAYERS)
    seen = fine_tune(model, train, rate, seed, steps)
    found: dict[str, Any] = {"parameters": sum(p.numel() for p in model.bert.parameters())}
    if seed == TUNING_SEED:
        logits = in_batches(model, check.ids, model, progress=False)
        return {**found, "chosen": float((logits.argmax(-1) != check.labels).double().mean())}
    mine = Part([train.ids[i] for i in seen.tolist()], train.labels[seen])
    train_ramps(model, first_states(model, mine), mine.labels, seed)
    with torch.no_grad():
        logits = ramp_logits(model, first_states(model, test))
    return {
        **found,
        "accuracy": (logits.argmax(-1) == test.labels).double().mean(1).tolist(),
        "curve": curve(logits, test.labels),
        "entropy_by_layer": entropy(logits).mean(1).tolist(),
        **timings(model, test),
    }


def run_all() -> None:
    """Measure every point into results/early_exit.json: each rate with a seed of its own, then
    `SEEDS` at the rate that it selects.
    """
    path = results_path("05_efficient", "early_exit")
    steps = round(share() * STEPS)
    tuning = [{"rate": r, "seed": TUNING_SEED, "steps": steps} for r in RATES]
    best = best_rate(sweep(measure, tuning, path, data="rt_polarity"))
    points = [{"rate": best, "seed": seed, "steps": steps} for seed in SEEDS]
    sweep(measure, points, path, data="rt_polarity")


def load() -> list[dict[str, Any]]:
    """Return the saved runs; in the profile `experiment` measure the missing ones first."""
    if profile() == "experiment":
        run_all()
    return load_rows(results_path("05_efficient", "early_exit"))
