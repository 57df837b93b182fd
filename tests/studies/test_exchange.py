"""Exchanges in batches are `patch`, one pair at a time; and refuse a point that is passed twice."""

from __future__ import annotations

import pytest
import torch
from torch import Tensor, nn

from deepdive.core.hooks import forward_once
from deepdive.explain.activations.patching import patch
from deepdive.models.generative.t5 import TINY, t5
from deepdive_book.studies.exchange import iter_heads, patch_batch

START = torch.zeros(3, 1, dtype=torch.long)


class First(nn.Module):
    """A T5 that is asked for its first token only, as `patch` wants it: one input."""

    def __init__(self) -> None:
        super().__init__()
        torch.manual_seed(5)
        self.model = t5(TINY, n_decoder_layers=2)

    def forward(self, src: Tensor) -> Tensor:
        logits: Tensor = self.model(src, START[:1].expand(len(src), 1))
        return logits[:, 0]


def texts() -> tuple[Tensor, Tensor]:
    clean = torch.randint(3, 30, (3, 7), generator=torch.Generator().manual_seed(1))
    other = clean.clone()
    other[:, 2] = 31
    return clean, other


@pytest.mark.parametrize("pattern", ["*decoder.*.cross.heads", "*encoder.*.heads"])
def test_heads_are_those_of_patch(pattern: str) -> None:
    asked, (clean, other) = First(), texts()
    many = patch_batch(asked, pattern, lambda: forward_once(asked, clean),
                    lambda: forward_once(asked, other), iter_heads(4))  # fmt: skip
    assert many.shape == (2, 4, 3, 32)
    for i in range(3):
        for token in (4, 9):
            one = patch(asked, pattern, clean[i : i + 1], other[i : i + 1],
                        lambda logits, token=token: logits[:, token])  # fmt: skip
            assert torch.allclose(many[:, :, i, token], one.patched, atol=1e-6)


def test_all_of_a_memory_is_the_clean_run_and_none_of_it_the_other() -> None:
    asked, (clean, other) = First(), texts()
    runs = lambda: forward_once(asked, clean), lambda: forward_once(asked, other)
    every = torch.ones(3, 7, 1, dtype=torch.bool)
    ((whole, nothing),) = patch_batch(
        asked, "*encoder.stack.blocks.1.stream", *runs, [every, ~every]
    )
    assert torch.equal(whole, runs[0]())
    assert torch.equal(nothing, runs[1]())
    assert not torch.allclose(whole, nothing, atol=1e-3)


def test_a_point_that_is_passed_twice_is_refused() -> None:
    asked, (clean, _) = First(), texts()

    def twice() -> Tensor:
        asked(clean)
        return forward_once(asked, clean)

    with pytest.raises(ValueError, match="passed 2 times"):
        patch_batch(asked, "*encoder.embedded", twice, twice, [torch.ones(1, dtype=torch.bool)])
