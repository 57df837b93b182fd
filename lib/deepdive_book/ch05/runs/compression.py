"""What compressed states keep: attention to them against attention to the originals. Page 5.16.

    row = measure(seed=0, steps=800, fitted=400)     # {"convolution": 0.1, "mean": 0.2, ...}

Trains a Transformer-XL as `recurrence` does, then only the convolution of a Compressive Transformer
with its weights, by the reconstruction loss: a memory of 32 states, 16 compressed ones, each made
of four. Test text; every kind of compression sees the same states.
"""

from typing import Any

import torch
from torch import Tensor

from deepdive.core.hooks import collect_losses
from deepdive.layers.compressed_memory import Compression
from deepdive.models.efficient.compressive import CompressiveConfig, CompressiveTransformer
from deepdive.training.optim import adam
from deepdive_book.ch05.runs.recurrence import (
    ARMS,
    D_FF,
    D_MODEL,
    HEADS,
    LAYERS,
    SEGMENT,
    STEPS,
    XL,
    build,
    corpus,
    streams,
    stretches,
    train,
)
from deepdive_book.kit.experiments import load_rows, results_path, share, sweep
from deepdive_book.kit.profile import profile

RATIO, N_COMPRESSED, FITTED, SEEDS, RATE = 4, 16, 400, range(3), 3e-3
KINDS = ("convolution", "mean", "maximum", "last of four", "dropped")


def model_of(vocab_size: int) -> CompressiveTransformer:
    """Build the Compressive Transformer of the sizes of `recurrence`."""
    return CompressiveTransformer(
        CompressiveConfig(
            vocab_size=vocab_size, d_model=D_MODEL, n_heads=HEADS, d_head=D_MODEL // HEADS,
            n_layers=LAYERS, d_ff=D_FF, dropout=0.0, n_memory=SEGMENT, n_compressed=N_COMPRESSED,
            ratio=RATIO,
        )
    )  # fmt: skip


def fit(model: CompressiveTransformer, ids: Tensor, seed: int, steps: int) -> None:
    """Train the convolutions by the reconstruction loss; nothing else has its gradient."""
    optimizer, memory = adam(model.compress, RATE, eps=1e-8), model.begin()
    for batch in streams(ids, SEGMENT, seed, steps):
        with collect_losses(model) as losses:
            model(batch[:, :-1], memory=memory)
        if losses:
            optimizer.zero_grad()
            torch.as_tensor(losses.total()).backward()
            optimizer.step()


@torch.no_grad()
def errors(model: CompressiveTransformer, rows: Tensor) -> dict[str, float]:
    """Return for each kind the squared difference of attention's outputs, divided by the squared
    output for the originals, both summed over layers and segments.
    """
    model.eval()
    poolings = [(kind, Compression(D_MODEL, RATIO, kind)) for kind in ("mean", "maximum")]
    lost, size, memory = dict.fromkeys(KINDS, 0.0), 0.0, model.begin()
    for part in rows[:, :-1].split(SEGMENT, 1):
        leaving = [*memory.rows]  # each segment fills the memory, so the one before leaves
        model(part, memory=memory)
        for i, old in enumerate(leaving):
            x = memory.rows[i]
            found = {
                "convolution": model.compress[i](old), "last of four": old[:, RATIO - 1 :: RATIO],
                **{kind: pool(old) for kind, pool in poolings},
            }  # fmt: skip
            kept = model.attend(i, x, old)
            size += float(kept.square().sum())
            for kind, new in found.items():
                lost[kind] += float((model.attend(i, x, new) - kept).square().sum())
    lost["dropped"] = size  # attention to nothing is zero
    return {kind: value / size for kind, value in lost.items()}


def measure(seed: int, steps: int, fitted: int) -> dict[str, Any]:
    """Train a Transformer-XL, then the convolutions; return the relative error of each kind."""
    text, arm = corpus(), ARMS[XL]
    torch.manual_seed(seed)
    language_model = build(len(text.letters), relative=True)
    train(language_model, arm, text.train, RATE, seed, steps)
    model = model_of(len(text.letters))
    model.load_state_dict(language_model.body.state_dict(), strict=False)  # type: ignore[union-attr]
    before = errors(model, stretches(text.test))["convolution"]
    fit(model, text.train, seed + 1000, fitted)
    return {**errors(model, stretches(text.test)), "convolution, untrained": before}


def load() -> list[dict[str, Any]]:
    """Return the saved runs; in the profile `experiment` measure the missing ones first."""
    path = results_path("05_efficient", "compression")
    if profile() == "experiment":
        points = [{"seed": seed, "steps": round(share() * STEPS), "fitted": round(share() * FITTED)}
                  for seed in SEEDS]  # fmt: skip
        sweep(measure, points, path, data="tinyshakespeare")
    return load_rows(path)
