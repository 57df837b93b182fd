"""All-attention, attention with a feed-forward layer, and attention alone, at equal compute. Page
5.15.

    rows = load()                                          # the saved runs
    row = measure("all-attention", 3e-3, seed=0, steps=300)      # {"test": 2.1, ...}

Characters of tinyshakespeare, width 64, 4 heads, batches of 12 windows of 64 characters, pre-norm,
no biases. Each run gets the FLOPs of `steps` steps of attention with feed-forward layers. Text,
split, and evaluation are those of `deepdive_book.ch06a.runs.decoder_ablations`.
"""

import time
from functools import cache, partial
from itertools import pairwise
from typing import Any, NamedTuple

import torch
from torch import nn

from deepdive.core import Block, FeedForward, MultiHeadAttention, PreNorm, gelu_tanh
from deepdive.core.embeddings import TiedHead, TokenEmbedding
from deepdive.core.norms import LayerNorm
from deepdive.core.stack import Stack
from deepdive.layers.heads import initialize
from deepdive.models.efficient.all_attention import all_attention_block
from deepdive.models.transformer.decoder_only import DecoderOnly
from deepdive.models.transformer.transformer import Decoder
from deepdive.positions import LearnedPosition
from deepdive.training import fit
from deepdive.training.optim import adam, cosine
from deepdive_book.ch05.runs.norm_variants import SEEDS, corpus, search
from deepdive_book.ch06a.runs.decoder_ablations import evaluate, loss
from deepdive_book.kit.experiments import load_rows, results_path, share, sweep
from deepdive_book.kit.flops import count_flops
from deepdive_book.kit.profile import profile
from deepdive_book.tasks.stream import random_windows

D_MODEL, HEADS, D_FF, LENGTH, WINDOWS, STEPS = 64, 4, 256, 64, 12, 300


class Variant(NamedTuple):
    """A decoder: its layers, the units of its feed-forward layers, and the persistent vectors per
    head; 0: none.
    """

    n_layers: int
    d_ff: int
    n_slots: int


FULL = "attention + feed-forward"
VARIANTS = {
    FULL: Variant(2, D_FF, 0),
    "all-attention": Variant(2, 0, D_FF),
    "attention alone": Variant(2, 0, 0),
    "attention alone, 6 layers": Variant(6, 0, 0),
}
TWICE = (FULL, "all-attention", "attention alone")  # also trained with twice the FLOPs


def decoder(vocab_size: int, name: str) -> DecoderOnly:
    """Build the variant's decoder, initialized as GPT-2 is."""
    n_layers, d_ff, n_slots = VARIANTS[name]
    residual = partial(PreNorm, norm=partial(LayerNorm, bias=False))

    def block(_layer: int) -> Block:
        if not d_ff:
            return all_attention_block(D_MODEL, HEADS, n_slots, bias=False, residual=residual)
        attention = MultiHeadAttention(D_MODEL, HEADS, bias=False)
        return Block(
            attention, FeedForward(D_MODEL, d_ff, gelu_tanh, bias=False), residual=residual
        )

    embedding = TokenEmbedding(vocab_size, D_MODEL)
    stack = Stack(block, n_layers, LayerNorm(D_MODEL, bias=False))
    model = DecoderOnly(
        Decoder(embedding, LearnedPosition(LENGTH, D_MODEL), stack), TiedHead(embedding)
    )
    initialize(model)
    sublayers = n_layers * (2 if d_ff else 1)
    for key, weight in model.named_parameters():
        if key.endswith(".out.weight"):
            weight.data /= sublayers**0.5
    return model


@cache
def step_flops(name: str, vocab_size: int) -> int:
    """Return the FLOPs of one step, forward and backward."""
    model, batch = decoder(vocab_size, name), torch.randint(vocab_size, (WINDOWS, LENGTH + 1))
    return int(count_flops(lambda: loss(model, batch).backward()))


def measure(variant: str, rate: float, seed: int, steps: int) -> dict[str, Any]:
    """Train one variant with the FLOPs of `steps` steps of `FULL`.

    test          nats per character, with `chosen` on the half that selects the learning rate
    step_ms       milliseconds per training step, median
    """
    text = corpus()
    kinds = len(text.letters)
    torch.manual_seed(seed)
    each = step_flops(variant, kinds)
    n = max(2, round(steps * step_flops(FULL, kinds) / each))
    torch.manual_seed(seed)
    model = decoder(kinds, variant)
    ticks: list[float] = []

    def timed(net: nn.Module, batch: torch.Tensor) -> torch.Tensor:
        ticks.append(time.perf_counter())
        return loss(net, batch)

    fit(
        model,
        random_windows(text.train, LENGTH, rows=WINDOWS, steps=n, seed=seed),
        timed,
        steps=n,
        seed=seed,
        optimizer=adam(model, lr=rate, betas=(0.9, 0.99), eps=1e-8),
        schedule=cosine(rate, n // 10, n, rate / 10),
        progress=False,
    )
    gaps = sorted(after - before for before, after in pairwise(ticks))
    parts = {"chosen": evaluate(model, text.chosen), "test": evaluate(model, text.test)}
    return {
        "done": n,
        "parameters": sum(p.numel() for p in model.parameters()),
        "flops": each * n,
        "step_ms": 1000 * gaps[len(gaps) // 2],
        **{name: sum(values) / len(values) for name, values in parts.items()},
    }


def run_all() -> None:
    """Measure every point into results/all_attention.json: the search for the learning rate on
    seeds of its own, then `SEEDS` at the best rate; at the same rate, `TWICE` with twice the FLOPs.
    """
    path = results_path("05_efficient", "all_attention")
    for variant in VARIANTS:

        def one(
            rate: float, seed: int, variant: str = variant, steps: int = STEPS
        ) -> dict[str, Any]:
            point = {"variant": variant, "rate": rate, "seed": seed,
                     "steps": round(share() * steps)}  # fmt: skip
            return sweep(measure, [point], path, data="tinyshakespeare")[0]

        best = search(one)
        for seed in SEEDS:
            one(best, seed)
            if variant in TWICE:
                one(best, seed, steps=2 * STEPS)


def load() -> list[dict[str, Any]]:
    """Return the saved runs; in the profile `experiment` measure the missing ones first."""
    if profile() == "experiment":
        run_all()
    return load_rows(results_path("05_efficient", "all_attention"))
