"""A training step of an encoder (forward, backward, Adam's update) against two public ones.

The same sizes for all: 2 layers, d_model 256, 4 heads, d_ff 1024, post-norm, GELU, no mask; rows of
floats in, mean square out. Ours is measured as it is built, without `deepdive.optimize`.
One round runs every model once, in turn, so that a drift of the machine meets all of them; medians
and the ratio to the faster peer are printed and kept.
"""

from __future__ import annotations

import json
import os
import statistics
import time
from collections.abc import Callable
from functools import partial
from pathlib import Path

import torch
from torch import Tensor, nn

ROUNDS, WARM_UP = 15, 3
SHAPES = ((16, 128), (4, 512))
D_MODEL, N_HEADS, N_LAYERS, D_FF = 256, 4, 2, 1024
RESULTS = Path(__file__).resolve().parent / "results" / "training_step.json"


def ours(dropout: float) -> nn.Module:
    from deepdive.core import Block, FeedForward, MultiHeadAttention, PostNorm, gelu
    from deepdive.core.stack import Stack

    def block(_layer: int) -> Block:
        attention = MultiHeadAttention(D_MODEL, N_HEADS, dropout=dropout)
        feed_forward = FeedForward(D_MODEL, D_FF, gelu)
        return Block(attention, feed_forward, residual=partial(PostNorm, dropout=dropout))

    return Stack(block, N_LAYERS)


def torch_encoder(dropout: float) -> nn.Module:
    layer = nn.TransformerEncoderLayer(
        D_MODEL, N_HEADS, D_FF, dropout, activation="gelu", batch_first=True
    )
    return nn.TransformerEncoder(layer, N_LAYERS)


class Bert(nn.Module):
    """The layers of transformers' BERT, with its fused attention."""

    def __init__(self, dropout: float) -> None:
        super().__init__()
        from transformers import BertConfig
        from transformers.models.bert.modeling_bert import BertEncoder

        config = BertConfig(
            hidden_size=D_MODEL, num_hidden_layers=N_LAYERS, num_attention_heads=N_HEADS,
            intermediate_size=D_FF, hidden_dropout_prob=dropout,
            attention_probs_dropout_prob=dropout, attn_implementation="sdpa",
        )  # fmt: skip
        self.encoder = BertEncoder(config)

    def forward(self, x: Tensor) -> Tensor:
        return self.encoder(x)[0]


MODELS: dict[str, Callable[[float], nn.Module]] = {
    "deepdive": ours,
    "torch.nn.TransformerEncoder": torch_encoder,
    "transformers BERT, sdpa": Bert,
}


def stepper(model: nn.Module, x: Tensor) -> Callable[[], None]:
    optimizer = torch.optim.AdamW(model.parameters(), lr=1e-4)
    model.train()

    def step() -> None:
        optimizer.zero_grad(set_to_none=True)
        model(x).square().mean().backward()
        optimizer.step()

    return step


def timed(steps: dict[str, Callable[[], None]]) -> dict[str, float]:
    """The median seconds of each, measured in turn."""
    taken: dict[str, list[float]] = {name: [] for name in steps}
    for round_ in range(WARM_UP + ROUNDS):
        for name, step in steps.items():
            start = time.perf_counter()
            step()
            if round_ >= WARM_UP:
                taken[name].append(time.perf_counter() - start)
    return {name: statistics.median(values) for name, values in taken.items()}


def products(B: int, T: int) -> Callable[[], None]:
    """Only the step's matrix products, forward and backward: what no form can go below."""
    x, wide = torch.randn(B * T, D_MODEL), torch.randn(B * T, D_FF)
    square, inner = torch.randn(D_MODEL, D_MODEL), torch.randn(D_MODEL, D_FF)
    q, w = torch.randn(B * N_HEADS, T, D_MODEL // N_HEADS), torch.randn(B * N_HEADS, T, T)

    def step() -> None:
        for _ in range(3 * N_LAYERS):  # forward, gradient of the input, gradient of the weight
            for _ in range(4):
                x @ square
            x @ inner
            wide @ inner.T
            q @ q.transpose(1, 2)
            w @ q

    return step


def main() -> None:
    torch.manual_seed(0)
    rows = []
    for B, T in SHAPES:
        for dropout in (0.0, 0.1):
            x = torch.randn(B, T, D_MODEL)
            steps = {name: stepper(make(dropout), x) for name, make in MODELS.items()}
            steps["matrix products alone"] = products(B, T)
            seconds = timed(steps)
            mine = seconds.pop("deepdive")
            floor = seconds.pop("matrix products alone")
            peer = min(seconds, key=lambda name: seconds[name])
            row = {
                "name": "training step", "batch": B, "n": T, "dropout": dropout,
                "ours_s": mine, "peer": peer, "peer_s": seconds[peer],
                "ratio": mine / seconds[peer], "to_products": mine / floor, "peers": seconds,
            }  # fmt: skip
            rows.append(row)
            others = ", ".join(f"{name} {s * 1e3:.1f}" for name, s in seconds.items())
            print(f"batch {B}, T {T}, dropout {dropout}: ours {mine * 1e3:.1f} ms, {others}; "
                  f"ratio to the faster {row['ratio']:.2f} (aim 0.9), to the products alone "
                  f"{row['to_products']:.2f}")  # fmt: skip
    RESULTS.parent.mkdir(exist_ok=True)
    threads = torch.get_num_threads()
    kept = {"cores": os.cpu_count(), "threads": threads, "torch": torch.__version__, "rows": rows}
    RESULTS.write_text(json.dumps(kept, indent=1) + "\n")


if __name__ == "__main__":
    main()
