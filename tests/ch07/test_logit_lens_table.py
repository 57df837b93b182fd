"""The table of what a lens reads: cells, marks and bars as given, by key and finger."""

from __future__ import annotations

import pytest
import torch
from browser import Reader

from deepdive_book.ch07.figures.logit_lens_table import (
    Reading,
    alt_text,
    logit_lens_table,
    top_predictions,
)
from deepdive_book.kit.markup import Html

PLACES = ("jar", "<shed>", "well")
LOGITS = torch.tensor([[[4.0, 0, 0], [0, 3, 0]], [[0, 2, 0], [0, 0, 1.0]]])
SAID = top_predictions(LOGITS, PLACES)
READINGS = [
    Reading("plain", ["start", "rug"], ["layer 0", "layer 1"], SAID,
            [["jar", "well"], ["<shed>", "well"]]),
    Reading("nobody knows", ["a", "b"], ["at entry", "after"], SAID[::-1],
            chosen=(1, 0)),
]  # fmt: skip


def picture() -> Html:
    return logit_lens_table(READINGS)


def test_likeliest_are_probabilities_in_order() -> None:
    assert [[cell[0][0] for cell in row] for row in SAID] == [["jar", "<shed>"], ["<shed>", "well"]]
    for row, logits in zip(SAID, LOGITS, strict=True):
        for cell, each in zip(row, logits, strict=True):
            found = [p for _, p in cell]
            assert found == sorted(found, reverse=True)
            assert found == pytest.approx(each.softmax(-1).sort(descending=True).values.tolist())


def test_each_cell_says_what_python_says(reader: Reader) -> None:
    page = reader.open(picture().html)
    for k, reading in enumerate(READINGS):
        page.locator("select").select_option(index=(k))
        assert page.locator("[role=status]").inner_text() == alt_text(reading, *reading.chosen)
        assert page.locator("thead th").all_inner_texts()[1:] == list(reading.layers)
        for t in range(2):
            for layer in range(2):
                cell = page.locator("tbody tr").nth(t).locator("button").nth(layer)
                cell.focus()
                page.keyboard.press("Enter")
                assert page.locator("[role=status]").inner_text() == alt_text(reading, layer, t)
                assert page.locator("[aria-pressed=true]").count() == 1
                assert cell.inner_text() in (cell.get_attribute("aria-label") or "")
                shares = page.locator(".lens-row b").all_inner_texts()
                assert shares == [f"{round(100 * p)} %" for _, p in reading.said[layer][t]]
                marked = cell.inner_text()[-1] in "✓✗"
                assert marked == (reading.truth is not None)
    assert not reader.complaints


def test_what_does_not_fit_is_refused() -> None:
    with pytest.raises(ValueError, match="no reading"):
        logit_lens_table([])
    with pytest.raises(ValueError, match="expected 2 layers of 2 words"):
        logit_lens_table([READINGS[0]._replace(said=SAID[:1])])
    with pytest.raises(ValueError, match="expected 2 layers of 2 words"):
        logit_lens_table([READINGS[0]._replace(truth=[["jar"], ["well"]])])
    with pytest.raises(ValueError, match="no cell"):
        logit_lens_table([READINGS[0]._replace(chosen=(2, 0))])
