"""What the proofs of the readers of sound share: sizes, waves, masks."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any
from unittest import mock

import torch
from parity_proofs import real, rows
from torch import Tensor

SETTINGS: dict[str, Any] = {
    "hidden_size": 16, "num_hidden_layers": 2, "num_attention_heads": 4, "intermediate_size": 24,
    "conv_dim": [8, 12, 10], "conv_stride": [4, 2, 2], "conv_kernel": [8, 4, 3],
    "num_conv_pos_embeddings": 6, "num_conv_pos_embedding_groups": 2, "vocab_size": 7,
}  # fmt: skip
CODES: dict[str, Any] = {
    "num_codevectors_per_group": 5, "num_codevector_groups": 2, "codevector_dim": 8,
    "proj_codevector_dim": 6, "num_negatives": 4, "contrastive_logits_temperature": 0.3,
    "diversity_loss_weight": 0.1,
}  # fmt: skip
STILL = dict.fromkeys(
    ("hidden_dropout", "activation_dropout", "attention_dropout", "final_dropout", "layerdrop",
     "feat_proj_dropout", "feat_quantizer_dropout"), 0.0,
)  # fmt: skip
BASE: dict[str, Any] = {"feat_extract_norm": "group", "do_stable_layer_norm": False}
LARGE: dict[str, Any] = {
    "feat_extract_norm": "layer", "do_stable_layer_norm": True, "conv_bias": True,
}  # fmt: skip
LENGTHS = [200, 157, 96]  # 11, 8 and 4 rows
REAL = real(LENGTHS, 200)


def waves(seed: int = 0) -> Tensor:
    return rows(3, 200, seed=seed)


def gaps(n: int = 11) -> Tensor:
    """Which rows are hidden: some in each recording, real ones."""
    hidden = torch.zeros(3, n, dtype=torch.bool)
    hidden[0, 2:7], hidden[1, 4:7], hidden[2, :2] = True, True, True
    return hidden


@contextmanager
def unrounded() -> Iterator[None]:
    """Theirs compares in float32 whatever the weights are: here it does not round."""
    with mock.patch.object(torch.Tensor, "float", lambda self: self):
        yield
