"""The experiment of page 5.19: what is held equal, and the drawing that the page opens with."""

from __future__ import annotations

import xml.etree.ElementTree as ET

import pytest
import torch

from deepdive_book.ch05.figures.funnel_lengths import funnel_lengths
from deepdive_book.ch05.runs import lightweight, lightweight_tables
from deepdive_book.ch05.runs.lightweight import (
    BAG,
    FUNNEL,
    MEAN,
    PLAIN,
    POOLED,
    SHALLOW,
    VARIANTS,
)


def test_the_drawing_is_svg_with_every_length() -> None:
    drawing = funnel_lengths()
    ET.fromstring(drawing)
    for words in ("block 1", "4 queries, 8 keys, then 4", "decoder", "mean of pairs"):
        assert words in drawing
    assert drawing.count("<rect") == 8 + 4 + 2 + 8


def test_the_rivals_of_funnel() -> None:
    """As many parameters without pooling; the shallow one has half of the plain one's FLOPs."""
    found = {name: lightweight.sizes(build()) for name, build in VARIANTS.items()}
    unpooled = lightweight.sizes(lightweight.funnel(4))
    assert found[FUNNEL]["parameters"] == unpooled["parameters"]
    assert found[PLAIN]["parameters"] == found[POOLED]["parameters"]
    assert found[SHALLOW]["flops"] == pytest.approx(found[PLAIN]["flops"] / 2, rel=0.001)
    assert found[FUNNEL]["flops"] < 0.5 * unpooled["flops"]
    assert found[MEAN]["flops"] < 0.001 * found[PLAIN]["flops"]


@pytest.mark.parametrize("name", VARIANTS)
def test_padding_changes_no_classifier(name: str) -> None:
    torch.manual_seed(0)
    model = VARIANTS[name]().eval()
    text = torch.zeros(2, 24, dtype=torch.long)
    text[0, :13], text[1, :24] = torch.arange(5, 18), torch.arange(5, 29)
    with torch.no_grad():
        both, alone = model(text)[0], model(text[:1, :13])[0]
    assert torch.allclose(both, alone, atol=1e-5)


def test_batches_have_every_text_once_and_similar_lengths() -> None:
    generator = torch.Generator().manual_seed(0)
    tokens = (torch.arange(40) < torch.randint(5, 41, (256, 1), generator=generator)).long()
    made = lightweight.batches(tokens, 16, generator)
    assert sorted(torch.cat(made).tolist()) == list(range(256))
    spread = torch.stack([tokens[rows].sum(1).double().std() for rows in made]).mean()
    assert spread < 0.5 * tokens.sum(1).double().std()
    assert lightweight.trimmed(tokens[made[0]]).shape[1] == int(tokens[made[0]].sum(1).max())


def test_the_saved_runs_have_every_encoder_and_seed() -> None:
    rows = lightweight.load()
    for name in (*VARIANTS, BAG):
        seeds = [row["seed"] for row in lightweight_tables.runs_of(rows, name)]
        assert sorted(seeds) == list(range(max(3, len(seeds)))), name
    assert set(lightweight.load_times()) >= {*VARIANTS}
    tried = {name: {r["rate"] for r in rows if r["variant"] == name} for name in VARIANTS}
    for name, rates in tried.items():
        best = lightweight_tables.runs_of(rows, name)[0]["rate"]
        assert min(rates) < best < max(rates), f"{name}: {best} is at the edge of {rates}"
