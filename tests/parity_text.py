"""What the proofs of decoders share: transformers' Llama, all of it in float64."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any
from unittest import mock

import torch
from torch import Tensor
from transformers.models.llama import modeling_llama


def norm(self: Any, x: Tensor) -> Tensor:
    return self.weight * x * torch.rsqrt(x.pow(2).mean(-1, keepdim=True) + self.variance_epsilon)


@contextmanager
def in_double(base: float = 100.0, scaling: Any = None) -> Iterator[None]:
    """Theirs computes norms and angles in float32 whatever its weights are; here in float64.

    scaling: what is done to the angles of position 1; a test compares it with theirs by itself.
    """

    def turns(self: Any, x: Tensor, position_ids: Tensor) -> tuple[Tensor, Tensor]:
        width = self.config.head_dim or self.config.hidden_size // self.config.num_attention_heads
        inverse = base ** -(torch.arange(0, width, 2).double() / width)
        inverse = inverse if scaling is None else scaling(inverse)
        angles = position_ids.double()[..., None] * inverse
        both = torch.cat((angles, angles), dim=-1)
        return both.cos(), both.sin()

    with (
        mock.patch.object(modeling_llama.LlamaRMSNorm, "forward", norm),
        mock.patch.object(modeling_llama.LlamaRotaryEmbedding, "forward", turns),
    ):
        yield
