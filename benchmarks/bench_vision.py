"""A training step of ViT and of Swin (forward, backward, AdamW's update) against transformers'.

The same sizes for both of a pair: images in, the mean square of the states out; theirs with torch's
fused attention and without stochastic depth. In each round both run, the first one in turn; the
ratio is taken in each round, and its median, least and greatest are printed and kept (aim 0.85, at
most 1). `python benchmarks/bench_vision.py swin` runs the rows whose names hold the word.
"""

from __future__ import annotations

import sys
from functools import partial

import torch
from common import Sizes, training_steps
from torch import Tensor, nn

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


def pair(name: str) -> tuple[nn.Module, nn.Module, Tensor]:
    """Ours and theirs, of one size, and images."""
    from transformers import SwinConfig, SwinModel, ViTConfig, ViTModel

    from deepdive.models.vision.swin import swin
    from deepdive.models.vision.vit import vit

    (ours, theirs), batch = ROWS[name]
    theirs = {**theirs, "attn_implementation": "sdpa"}
    images = torch.randn(batch, 3, ours["image_size"], ours["image_size"])
    if name.startswith("vit"):
        return vit(**ours), ViTModel(ViTConfig(**theirs), add_pooling_layer=False), images
    return swin(**ours), SwinModel(SwinConfig(**theirs), add_pooling_layer=False), images


if __name__ == "__main__":
    training_steps("vision", {name: partial(pair, name) for name in ROWS}, sys.argv[1:])
