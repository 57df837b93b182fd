"""Weights on the marks of their blocks: counted by hand, beside the library, and by a reader."""

from __future__ import annotations

import numpy as np
import pytest
from browser import Reader

from deepdive.published.quantized import dequantize, quantize
from deepdive_book.ch06a.figures.quantization_slider import (
    BLOCKS,
    TIMES,
    alt_text,
    larger,
    on_marks,
    quantization_slider,
)
from deepdive_book.kit.markup import Html

WEIGHTS = np.random.default_rng(0).normal(0, 40, 64).round().tolist()


def picture() -> Html:
    return quantization_slider(WEIGHTS, outlier=9)


def test_a_block_by_hand() -> None:
    (block,) = on_marks([-6, -2, 1, 9], 2, 4)
    assert (block.lowest, block.step, block.marks) == (-6, 5, (0, 1, 1, 3))
    assert block.rounded == [-6, -1, -1, 9]
    assert alt_text([-6, -2, 1, 9], 2, 4) == (
        "2 + 32/4 = 10 bits a weight. 4 marks a block, 5.0 apart. A weight moves by 0.75 on "
        "average, by 2.0 at most."
    )
    (flat,) = on_marks([3.0] * 4, 4, 4)
    assert flat.rounded == [3.0] * 4


def test_four_bits_in_blocks_of_32_are_the_librarys() -> None:
    weights = np.random.default_rng(1).normal(0, 40, 64).astype(np.float32)
    near = [x for block in on_marks(weights.tolist(), 4, 32) for x in block.rounded]
    library = dequantize("Q4_1", quantize("Q4_1", weights))
    assert np.allclose(near, library, atol=0.1)  # half precision keeps the scale and the minimum


def test_what_does_not_fit_is_refused() -> None:
    with pytest.raises(ValueError, match="got 63 weights and place 0"):
        quantization_slider(WEIGHTS[1:])
    with pytest.raises(ValueError, match="place 64"):
        quantization_slider(WEIGHTS, outlier=64)
    with pytest.raises(ValueError, match="bits=9, block=32"):
        quantization_slider(WEIGHTS, bits=9)


def test_what_sliders_show_is_what_is_counted(reader: Reader) -> None:
    page = reader.open(quantization_slider(WEIGHTS, outlier=9).html)
    status, sliders = page.locator("[role=status]"), page.locator("input")
    assert status.inner_text() == alt_text(WEIGHTS, 4, 32)
    for bits, block, times in ((1, 0, 0), (4, 3, 2), (6, 4, 4), (8, 1, 1), (3, 2, 3)):
        for slider, value in enumerate((bits, block, times)):
            sliders.nth(slider).fill(str(value))
        moved = larger(WEIGHTS, 9, TIMES[times])
        assert status.inner_text() == alt_text(moved, bits, BLOCKS[block])
        assert page.locator(".fb-inner circle[stroke]").count() == 64 - (times > 1)


def test_without_scripts_the_first_state_stays() -> None:
    html = quantization_slider(WEIGHTS).html
    assert html.split("<script")[0].count("<circle") == 128
    assert alt_text(WEIGHTS, 4, 32) in html
