"""A block cut between machines: what each holds is what the library gives it."""

from __future__ import annotations

import pytest
import torch

from deepdive.layers.collectives import DeviceGroup
from deepdive.models.generative import gpt2, megatron
from deepdive_book.ch05.figures.tensor_parallel_block import (
    alt_text,
    tensor_parallel_block,
    weights,
)
from deepdive_book.kit.markup import Html


def picture() -> Html:
    return tensor_parallel_block(64, 4, 256, (2, 4))


def test_what_a_machine_holds_is_what_the_library_gives_it() -> None:
    with torch.device("meta"):
        for ways in (1, 2, 4):
            machines = DeviceGroup()
            machines.ways = ways
            model = megatron.split(gpt2.gpt2(gpt2.TINY), machines)
            block = model.decoder.stack.blocks[0]
            held = sum(p.numel() for p in block.parameters() if p.ndim == 2)
            assert held * ways == weights(32, 64)
    assert weights(3072, 12_288) == 113_246_208
    assert alt_text(3072, 32, 12_288, 4) == (
        "Each of 4 machines holds 8 of 32 heads and 3,072 of 12,288 units: 28.3 of 113.2 million "
        "weights. For each token it takes part in two sums of 3,072 numbers."
    )
    assert "says nothing" in alt_text(64, 4, 256, 1)


def test_heads_that_cannot_be_cut_are_refused() -> None:
    with pytest.raises(ValueError, match="ways=3 does not divide n_heads=4"):
        tensor_parallel_block(64, 4, 256, (2, 3))
