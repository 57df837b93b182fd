"""A training step of ViT and of Swin (forward, backward, AdamW's update) against transformers'.

The same sizes for both of a pair: images in, the mean square of the states out; theirs with torch's
fused attention and without stochastic depth. In each round both run, the first one in turn; the
ratio is taken in each round, and its median, least and greatest are printed and kept (aim 0.85, at
most 1). `python benchmarks/bench_vision.py swin` runs the rows whose names hold the word.
"""

from __future__ import annotations

import json
import os
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import torch
from bench_bert import in_pairs
from torch import Tensor, nn

RESULTS = Path(__file__).resolve().parent / "results" / "vision.json"
ROUNDS = 15
Sizes = dict[str, Any]
# Ours and theirs, and how many images a step has.
VIT: tuple[Sizes, Sizes] = (
    {"image_size": 32, "patch_size": 4, "d_model": 192, "n_heads": 3, "n_layers": 4, "d_ff": 768},
    {"image_size": 32, "patch_size": 4, "hidden_size": 192, "num_attention_heads": 3,
     "num_hidden_layers": 4, "intermediate_size": 768},
)  # fmt: skip
SWIN: tuple[Sizes, Sizes] = (
    {"image_size": 56, "patch_size": 2, "d_model": 48, "depths": (2, 2), "heads": (3, 6)},
    {"image_size": 56, "patch_size": 2, "embed_dim": 48, "depths": (2, 2), "num_heads": (3, 6),
     "drop_path_rate": 0.0},
)  # fmt: skip
WIDE = ({**SWIN[0], "d_model": 96}, {**SWIN[1], "embed_dim": 96})
ROWS = {
    "vit": (VIT, 16),
    "vit, dropout 0.1": (
        ({**VIT[0], "dropout": 0.1, "attention_dropout": 0.1},
         {**VIT[1], "hidden_dropout_prob": 0.1, "attention_probs_dropout_prob": 0.1}), 16),
    "swin, half as wide as Swin-T": (SWIN, 16),
    "swin, as wide as Swin-T": (WIDE, 8),
}  # fmt: skip


class States(nn.Module):
    """Theirs, that returns its states alone."""

    def __init__(self, model: nn.Module) -> None:
        super().__init__()
        self.model = model

    def forward(self, images: Tensor) -> Tensor:
        states: Tensor = self.model(images).last_hidden_state
        return states


def pair(name: str) -> tuple[nn.Module, nn.Module]:
    """Ours and theirs, of one size."""
    from transformers import SwinConfig, SwinModel, ViTConfig, ViTModel

    from deepdive.models.vision.swin import swin
    from deepdive.models.vision.vit import vit

    (ours, theirs), _ = ROWS[name]
    theirs = {**theirs, "attn_implementation": "sdpa"}
    if name.startswith("vit"):
        found = vit(**ours), ViTModel(ViTConfig(**theirs), add_pooling_layer=False)
    else:
        found = swin(**ours), SwinModel(SwinConfig(**theirs), add_pooling_layer=False)
    counts = [sum(p.numel() for p in model.parameters()) for model in found]
    assert counts[0] == counts[1], f"{name}: {counts}"
    return found[0], States(found[1])


def stepper(model: nn.Module, images: Tensor) -> Callable[[], None]:
    optimizer = torch.optim.AdamW(model.parameters(), lr=1e-4, fused=True)
    model.train()

    def step() -> None:
        optimizer.zero_grad(set_to_none=True)
        model(images).square().mean().backward()
        optimizer.step()

    return step


def main(words: list[str]) -> None:
    torch.manual_seed(0)
    kept = json.loads(RESULTS.read_text()) if RESULTS.exists() else {"rows": {}}
    for name, ((ours, _), batch) in ROWS.items():
        if words and not any(word in name for word in words):
            continue
        images = torch.randn(batch, 3, ours["image_size"], ours["image_size"])
        row = in_pairs(*(stepper(model, images) for model in pair(name)), ROUNDS)
        kept["rows"][name] = {"batch": batch, "threads": torch.get_num_threads(), **row}
        print(f"{name}: ours {row['ours_s'] * 1e3:.0f} ms, transformers {row['peer_s'] * 1e3:.0f}; "
              f"ratio {row['ratio']:.2f} ({row['ratio_least']:.2f} to {row['ratio_greatest']:.2f}; "
              "aim 0.85)", flush=True)  # fmt: skip
    kept |= {"cores": os.cpu_count(), "torch": torch.__version__}
    RESULTS.write_text(json.dumps(kept, indent=1) + "\n")


if __name__ == "__main__":
    main(sys.argv[1:])
