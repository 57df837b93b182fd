"""A training step of wav2vec 2.0's encoder (forward, backward, AdamW's update) against
transformers'.

The same sizes for both of a pair: waveforms of 16,000 samples a second in, the mean square of the
states out; theirs with torch's fused attention and without LayerDrop. In each round both run, the
first one in turn; the ratio is taken in each round, and its median, least and greatest are printed
and kept (aim 0.85, at most 1). `python benchmarks/bench_speech.py large` runs the rows whose names
hold the word.
"""

from __future__ import annotations

import sys
from functools import partial

import torch
from common import Sizes, training_steps
from torch import Tensor, nn

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


def pair(settings: Sizes, batch: int, samples: int) -> tuple[nn.Module, nn.Module, Tensor]:
    """Ours and theirs, of one size, and sound."""
    from transformers import Wav2Vec2Config, Wav2Vec2Model

    from deepdive.published import from_config

    config = Wav2Vec2Config(**settings)
    return from_config(config.to_dict()), Wav2Vec2Model(config), torch.randn(batch, samples)


if __name__ == "__main__":
    rows = {name: partial(pair, *row) for name, row in ROWS.items()}
    training_steps("speech", rows, sys.argv[1:])
