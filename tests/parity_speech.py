"""What the proofs of models that listen share: frames, their padding, and closed forms of waves."""

from __future__ import annotations

from typing import Any

import torch
from parity_proofs import real, rows, tokens
from torch import Tensor

LENGTHS = [23, 14, 5]  # frames, of which convolutions make 6, 4 and 2 rows
MASK = real(LENGTHS, 23)
FRAMES = rows(3, 23, 6).detach()
TGT = tokens(3, 5, vocab=28, seed=1)
TGT_MASK = real([5, 5, 2], 5)
SIZES: dict[str, Any] = {
    "vocab_size": 30,
    "d_model": 16,
    "encoder_layers": 2,
    "decoder_layers": 1,
    "encoder_attention_heads": 4,
    "decoder_attention_heads": 2,
    "encoder_ffn_dim": 24,
    "decoder_ffn_dim": 20,
}


def blocked(n: int, d_model: int, padding: int | None) -> Tensor:
    """tensor2tensor's table of waves in float64, from their own words: sines, then cosines."""
    waves = torch.exp(
        torch.arange(d_model // 2).double()
        * -(torch.tensor(10_000.0).double().log() / (d_model // 2 - 1))
    )
    angles = torch.arange(n).double()[:, None] * waves
    table = torch.cat((angles.sin(), angles.cos()), 1)
    if padding is not None:
        table[padding] = 0.0
    return table
