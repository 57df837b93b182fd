"""Transformer-XL: evaluation with memory against a window for each character, and a training step.

Evaluation is as `deepdive_book.ch05.runs.recurrence_speed` describes it: 128 characters, each
predicted from N before it. In each round both run, and the ratio is taken in each round. The growth
is the exponent b of time = a N^b, by least squares over logarithms.

Training: forward, backward, and AdamW for segments of 128 with 128 cached states against XLNet of
transformers with attn_type="uni", whose relative attention is Transformer-XL's, at equal sizes.
Both are measured in processor seconds.
"""

from __future__ import annotations

import json
import os
import time

import torch
from common import RESULTS, ROUNDS, Row, Work, in_pairs
from torch import Tensor, nn

from deepdive.layers.segment_memory import Memory
from deepdive.models.efficient.transformer_xl import transformer_xl
from deepdive_book.ch05.runs.recurrence_speed import (
    LENGTHS,
    SEGMENT,
    SIZES,
    WINDOWS,
    growth,
    measure,
)

WIDE = SIZES.but(d_model=256, d_head=64, d_ff=1024, n_layers=2)


def evaluation() -> list[Row]:
    found = []
    for length in LENGTHS:
        row = {"length": length, **measure(length)}
        found.append(row)
        each = row["windows_s"] / SEGMENT
        print(f"{SEGMENT} characters, attention length {length}: memory "
              f"{row['memory_s'] * 1e3:.0f} ms; windows {SEGMENT} x {each * 1e3:.1f} ms ({WINDOWS} "
              f"timed) = {row['windows_s'] * 1e3:.0f} ms; {row['ratio']:.0f} times as fast "
              f"({row['least']:.0f} to {row['greatest']:.0f}; aim at 512: 10)",
              flush=True)  # fmt: skip
    return found


class Uni(nn.Module):
    """XLNet of transformers, left to right, on states."""

    def __init__(self) -> None:
        super().__init__()
        from transformers import XLNetConfig, XLNetModel

        config = XLNetConfig(
            vocab_size=WIDE.vocab_size, d_model=WIDE.d_model, n_layer=WIDE.n_layers,
            n_head=WIDE.n_heads, d_inner=WIDE.d_ff, ff_activation="relu", attn_type="uni",
            dropout=0.0, mem_len=SEGMENT,
        )  # fmt: skip
        self.model = XLNetModel(config)

    def forward(self, tokens: Tensor, rows: list[Tensor]) -> Tensor:
        mems = [each.transpose(0, 1) for each in rows]
        states: Tensor = self.model(tokens, mems=mems, use_mems=True)[0]
        return states


class Ours(nn.Module):
    """Transformer-XL on the same memory."""

    def __init__(self) -> None:
        super().__init__()
        self.model = transformer_xl(WIDE, share_uv=False)

    def forward(self, tokens: Tensor, rows: list[Tensor]) -> Tensor:
        memory = Memory(SEGMENT)
        memory.rows = [*rows]
        states: Tensor = self.model(tokens, memory=memory)
        return states


def stepper(model: nn.Module, tokens: Tensor, rows: list[Tensor]) -> Work:
    optimizer = torch.optim.AdamW(model.parameters(), lr=1e-4, fused=True)
    model.train()

    def step() -> None:
        optimizer.zero_grad(set_to_none=True)
        model(tokens, rows).square().mean().backward()
        optimizer.step()

    return step


def training() -> Row:
    torch.manual_seed(0)
    tokens = torch.randint(100, (8, SEGMENT))
    rows = [torch.randn(8, SEGMENT, WIDE.d_model) for _ in range(WIDE.n_layers)]
    works = [stepper(model, tokens, rows) for model in (Ours(), Uni())]
    taken = in_pairs(*works, ROUNDS, time.process_time)
    print(f"training step, batch 8, segment and memory {SEGMENT}: ours "
          f"{taken['ours_s'] * 1e3:.0f} ms, transformers XLNet {taken['peer_s'] * 1e3:.0f}; ratio "
          f"{taken['ratio']:.2f} ({taken['ratio_least']:.2f} to {taken['ratio_greatest']:.2f}; "
          f"aim 1)", flush=True)  # fmt: skip
    return taken


def main() -> None:
    rows = evaluation()
    grown = growth(rows)
    print(f"growth with the attention length: memory {grown['memory']:.2f}, windows "
          f"{grown['windows']:.2f}")  # fmt: skip
    kept = {"cores": os.cpu_count(), "threads": torch.get_num_threads(),
            "torch": torch.__version__, "rows": rows, "growth": grown,
            "training": training()}  # fmt: skip
    (RESULTS / "recurrence.json").write_text(json.dumps(kept, indent=1) + "\n")


if __name__ == "__main__":
    main()
