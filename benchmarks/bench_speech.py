"""A training step of wav2vec 2.0's encoder (forward, backward, AdamW's update) against
transformers'.

The same sizes for both of a pair: waveforms of 16,000 samples a second in, the mean square of the
states out; theirs with torch's fused attention and without LayerDrop. In each round both run, the
first one in turn; the ratio is taken in each round, and its median, least and greatest are printed
and kept (aim 0.85, at most 1). `python benchmarks/bench_speech.py large` runs the rows whose names
hold the word.
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

RESULTS = Path(__file__).resolve().parent / "results" / "speech.json"
ROUNDS = 15
Sizes = dict[str, Any]
THEIRS: Sizes = {
    "hidden_size": 384, "num_attention_heads": 6, "num_hidden_layers": 6, "intermediate_size": 1536,
    "conv_dim": [256] * 7, "layerdrop": 0.0, "mask_time_prob": 0.0, "attn_implementation": "sdpa",
}  # fmt: skip
STILL: Sizes = dict.fromkeys(
    ("hidden_dropout", "activation_dropout", "attention_dropout", "feat_proj_dropout"), 0.0
)
LARGE: Sizes = {"feat_extract_norm": "layer", "do_stable_layer_norm": True, "conv_bias": True}
# Settings, and how many recordings of how many samples a step has.
ROWS: dict[str, tuple[Sizes, int, int]] = {
    "base form": ({**THEIRS, **STILL}, 4, 32000),
    "base form, dropout 0.1": (THEIRS, 4, 32000),
    "large form": ({**THEIRS, **STILL, **LARGE}, 4, 32000),
    "large form, dropout 0.1": ({**THEIRS, **LARGE}, 4, 32000),
}


class States(nn.Module):
    """Theirs, that returns its states alone."""

    def __init__(self, model: nn.Module) -> None:
        super().__init__()
        self.model = model

    def forward(self, sound: Tensor) -> Tensor:
        states: Tensor = self.model(sound).last_hidden_state
        return states


def pair(settings: Sizes) -> tuple[nn.Module, nn.Module]:
    """Ours and theirs, of one size."""
    from transformers import Wav2Vec2Config, Wav2Vec2Model

    from deepdive.published import from_config

    config = Wav2Vec2Config(**settings)
    found = from_config(config.to_dict()), Wav2Vec2Model(config)
    counts = [sum(p.numel() for p in model.parameters()) for model in found]
    assert counts[0] == counts[1], counts
    return found[0], States(found[1])


def stepper(model: nn.Module, sound: Tensor) -> Callable[[], None]:
    optimizer = torch.optim.AdamW(model.parameters(), lr=1e-4, fused=True)
    model.train()

    def step() -> None:
        optimizer.zero_grad(set_to_none=True)
        model(sound).square().mean().backward()
        optimizer.step()

    return step


def main(words: list[str]) -> None:
    torch.manual_seed(0)
    kept = json.loads(RESULTS.read_text()) if RESULTS.exists() else {"rows": {}}
    for name, (settings, batch, samples) in ROWS.items():
        if words and not any(word in name for word in words):
            continue
        sound = torch.randn(batch, samples)
        row = in_pairs(*(stepper(model, sound) for model in pair(settings)), ROUNDS)
        kept["rows"][name] = {"batch": batch, "threads": torch.get_num_threads(), **row}
        print(f"{name}: ours {row['ours_s'] * 1e3:.0f} ms, transformers {row['peer_s'] * 1e3:.0f}; "
              f"ratio {row['ratio']:.2f} ({row['ratio_least']:.2f} to {row['ratio_greatest']:.2f}; "
              "aim 0.85)", flush=True)  # fmt: skip
    kept |= {"cores": os.cpu_count(), "torch": torch.__version__}
    RESULTS.write_text(json.dumps(kept, indent=1) + "\n")


if __name__ == "__main__":
    main(sys.argv[1:])
