"""The figures of page 5.16: what is drawn as a dependency is one in the library's model."""

from __future__ import annotations

import math
import xml.etree.ElementTree as ET

import pytest
import torch

from deepdive.layers.segment_memory import Memory
from deepdive.models.efficient.transformer_xl import TINY, transformer_xl
from deepdive_book.ch05.figures.segment_recurrence import (
    alt_text,
    reached,
    receptive_field,
    segment_recurrence,
)
from deepdive_book.kit.markup import Html


def picture() -> Html:
    return receptive_field(2, (0, 2), 2)


@pytest.mark.parametrize(("memory", "layers"), [(0, 2), (1, 3), (4, 1), (4, 2), (6, 2), (8, 2)])
def test_the_positions_are_those_that_move_the_model(memory: int, layers: int) -> None:
    model = transformer_xl(TINY, n_layers=layers).double()
    tokens = torch.randint(4, 32, (1, 20), generator=torch.Generator().manual_seed(0))

    def last(tokens: torch.Tensor) -> torch.Tensor:
        cached = Memory(memory)
        return [model(part, memory=cached) for part in tokens.split(4, 1)][-1][0, -1]

    before, moved = last(tokens), set[int]()
    for position in range(20):
        other = tokens.clone()
        other[0, position] = (other[0, position] - 3) % 28 + 4
        if (last(other) - before).abs().max() > 1e-13:
            moved.add(position)
    assert moved == reached(4, memory, layers, 20)[0]
    assert len(moved) == 4 + memory + (layers - 1) * math.ceil(memory / 4) * 4


def test_the_words_count_the_positions() -> None:
    assert alt_text(4, 8, 3).endswith("4 + 3 x 8 = 28 positions.")
    assert alt_text(4, 0, 1).startswith("1 layer, no memory")


def test_the_drawing_is_svg() -> None:
    drawing = segment_recurrence()
    ET.fromstring(drawing)
    assert "Transformer-XL" in drawing


def test_memories_that_are_no_multiple_are_refused() -> None:
    with pytest.raises(ValueError, match="multiples of segment=4"):
        receptive_field(4, (0, 3), 2)
