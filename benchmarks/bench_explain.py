"""What an explanation costs, in backward passes: 200 tokens, a BERT of six layers.

In each round a method and its yardstick both run, the first one in turn; the ratio is taken in each
round, of processor time. A method of one pass is held to a forward and a backward pass, from one
number to the rows (at most 3), and to that backward pass alone. Methods of n steps are held to n
times a forward and a backward pass, one text at a time (at most 1.2 n): with one copy of the text a
run, and with eight.
"""

from __future__ import annotations

import json
import os
import sys
import time
from collections.abc import Callable

import torch
from common import RESULTS, Row, Work, in_pairs
from torch import Tensor

from deepdive.explain.backward.relevance import attn_lrp, deep_taylor, lrp
from deepdive.explain.gradients import (
    gradient_norm,
    gradient_x_input,
    integrated_gradients,
    smoothgrad,
)
from deepdive.explain.tracing import traced
from deepdive.layers.heads import Classifier
from deepdive.models.bert.bert import bert

TOKENS, LAYERS, STEPS, POINT = 200, 6, 32, "encoder.embeddings.embedded"
ROUNDS = 2


def classifier(d_model: int) -> Classifier:
    """Six layers, untrained, frozen: only the rows get a gradient."""
    torch.manual_seed(0)
    encoder = bert(vocab_size=1000, d_model=d_model, n_heads=d_model // 64, n_layers=LAYERS,
                   d_ff=4 * d_model, max_length=256, dropout=0.0)  # fmt: skip
    return Classifier(encoder, d_model, 2, dropout=0.0).eval().requires_grad_(False)


def works(model: Classifier) -> tuple[dict[str, Work], dict[str, Work], Work, Work, Work]:
    """Methods of one pass and of n steps; a backward pass, a forward and a backward, n of these."""
    tokens = torch.randint(0, 1000, (1, TOKENS))

    def output(copies: int = 1) -> Callable[[], Tensor]:
        return lambda: model(tokens.expand(copies, -1))[:, :1].squeeze(0)

    rows, number = traced(model, POINT, output())

    def backward() -> Tensor:
        return torch.autograd.grad(number[0, 0], rows, retain_graph=True)[0]

    def whole() -> Tensor:
        x, y = traced(model, POINT, output())
        return torch.autograd.grad(y[0, 0], x)[0]

    single = {
        method.__name__: lambda method=method: method(model, POINT, output())
        for method in (gradient_norm, gradient_x_input, lrp, attn_lrp, deep_taylor)
    }
    many: dict[str, Work] = {}
    for copies in (1, 8):
        many[f"integrated_gradients, {copies} at once"] = lambda n=copies: integrated_gradients(
            model, POINT, output(n), steps=STEPS
        )
    many["smoothgrad, 8 at once"] = lambda: smoothgrad(model, POINT, output(8), samples=STEPS)
    return single, many, backward, whole, lambda: [whole() for _ in range(STEPS)]


def told(name: str, row: Row, limit: float) -> None:
    print(f"{name}: {1e3 * row['ours_s']:.0f} ms, yardstick {1e3 * row['peer_s']:.0f}; ratio "
          f"{row['ratio']:.2f} ({row['ratio_least']:.2f} to {row['ratio_greatest']:.2f}; at most "
          f"{limit})", flush=True)  # fmt: skip


def main() -> None:
    kept: dict[str, Row] = {}
    for d_model in [int(word) for word in sys.argv[1:]] or [256]:
        single, many, backward, whole, steps = works(classifier(d_model))
        for name, work in single.items():
            for of, yardstick in (("forward and backward", whole), ("backward alone", backward)):
                called = f"{d_model} wide, {name}, {of}"
                kept[called] = in_pairs(work, yardstick, 4 * ROUNDS, time.process_time)
                told(called, kept[called], 3)
        for name, work in many.items():
            called = f"{d_model} wide, {name}"
            kept[called] = in_pairs(work, steps, ROUNDS, time.process_time)
            told(called, kept[called], 1.2)
    settings = {"cores": os.cpu_count(), "threads": torch.get_num_threads()}
    result = {**settings, "torch": torch.__version__, "rows": kept}
    (RESULTS / "explain.json").write_text(json.dumps(result, indent=1) + "\n")


if __name__ == "__main__":
    main()
