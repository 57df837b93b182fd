"""What the proofs of decoders share: transformers' Llama and its variants, all in float64."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from importlib import import_module
from typing import Any
from unittest import mock

import torch
from parity_bert import SRC
from parity_registry import equal
from torch import Tensor

from deepdive.decoding import greedy


def norm(self: Any, x: Tensor) -> Tensor:
    return self.weight * x * torch.rsqrt(x.pow(2).mean(-1, keepdim=True) + self.variance_epsilon)


def gemma_norm(self: Any, x: Tensor) -> Tensor:
    return (1 + self.weight) * x * torch.rsqrt(x.pow(2).mean(-1, keepdim=True) + self.eps)


@contextmanager
def in_double(
    base: float = 100.0, scaling: Any = None, model_type: str = "llama"
) -> Iterator[None]:
    """Theirs computes norms and angles in float32 whatever its weights are; here in float64.

    scaling: what is done to the angles of position 1; a test compares it with theirs by itself.
    """

    def turns(self: Any, x: Tensor, position_ids: Tensor) -> tuple[Tensor, Tensor]:
        settings = self.config
        width = getattr(settings, "head_dim", None)
        width = width or settings.hidden_size // settings.num_attention_heads
        inverse = base ** -(torch.arange(0, width, 2).double() / width)
        inverse = inverse if scaling is None else scaling(inverse)
        angles = position_ids.double()[..., None] * inverse
        both = torch.cat((angles, angles), dim=-1)
        return both.cos(), both.sin()

    module = import_module(f"transformers.models.{model_type}.modeling_{model_type}")
    kind, rows = model_type.capitalize(), gemma_norm if model_type == "gemma" else norm
    with (
        mock.patch.object(getattr(module, f"{kind}RMSNorm"), "forward", rows),
        mock.patch.object(getattr(module, f"{kind}RotaryEmbedding"), "forward", turns),
    ):
        yield


def step_by_step(
    ours: Any, theirs: Any, pieces: Iterable[tuple[int, int]], model_type: str = "llama"
) -> None:
    """Compare both models through their caches, in these pieces of SRC, and what both generate."""
    state, kept = ours.begin(), None
    with torch.no_grad(), in_double(model_type=model_type):
        whole = theirs(SRC).logits
        for a, b in pieces:
            theirs_now = theirs(SRC[:, a:b], past_key_values=kept, use_cache=True)
            kept, piece = theirs_now.past_key_values, ours.step(SRC[:, a:b], state)
            equal(piece, theirs_now.logits)
            equal(piece, whole[:, a:b])
        prompt = SRC[:, :2]
        written = theirs.generate(
            prompt, attention_mask=torch.ones_like(prompt), max_new_tokens=9, do_sample=False,
            pad_token_id=2,
        )  # fmt: skip
        mine = greedy(ours, prompt=prompt, max_length=9)
    rows = [row[2:] for row in written.tolist()]
    assert mine == [row[: row.index(2)] if 2 in row else row for row in rows]
