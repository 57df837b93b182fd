"""The experiments of page 5.15: what is held equal, and the drawing that the page opens with."""

from __future__ import annotations

import math
import xml.etree.ElementTree as ET
from itertools import pairwise

import pytest
import torch

from deepdive_book.ch05.figures.sublayer_variants import sublayer_variants
from deepdive_book.ch05.runs import all_attention, norm_timing, norm_variants, sublayer_tables
from deepdive_book.ch06a.runs.decoder_ablations import cut

TEXT = cut("the quality of mercy is not strained, it droppeth as the gentle rain. " * 60)


def test_the_drawing_is_svg_with_every_variant() -> None:
    drawing = sublayer_variants()
    ET.fromstring(drawing)
    for words in ("post-norm", "pre-norm", "ReZero", "no norm", "all-attention layer"):
        assert words in drawing


def test_all_attention_has_the_parameters_and_the_forward_flops_of_feed_forward() -> None:
    full, other = (all_attention.decoder(20, n) for n in (all_attention.FULL, "all-attention"))
    sizes = [sum(p.numel() for p in model.parameters()) for model in (full, other)]
    norms = all_attention.VARIANTS["all-attention"].n_layers * all_attention.D_MODEL
    assert sizes[0] - sizes[1] == norms  # the weights of one norm per layer
    long = all_attention.decoder(20, "attention alone, 6 layers")
    assert sum(p.numel() for p in long.parameters()) - sizes[0] == 2 * all_attention.D_MODEL


def test_at_initialization_rezero_is_the_embedding_and_the_control_has_small_branches() -> None:
    torch.manual_seed(0)
    model = norm_variants.decoder(20, "ReZero", 3)
    x = torch.randn(2, 5, norm_variants.D_MODEL)
    assert torch.equal(model.decoder.stack(x), x)
    plain, scaled = [], []
    for found, name in ((plain, "no norm"), (scaled, norm_variants.SCALED)):
        torch.manual_seed(0)
        found += list(norm_variants.decoder(20, name, 8).decoder.stack.parameters())
    ratios = {round((a.norm() / b.norm()).item(), 4) for a, b in zip(plain, scaled, strict=True)
              if b.norm() > 0}  # fmt: skip
    assert ratios == {1.0, 4.0}  # sqrt(2 * 8)


def test_baselines_by_counts() -> None:
    letters = [TEXT.letters[i] for i in TEXT.train.tolist()]
    share = (letters.count("e") + 1) / (len(letters) + len(TEXT.letters))
    one = TEXT._replace(chosen=TEXT.encode("e"))
    assert norm_variants.unigram_loss(one) == pytest.approx(-math.log(share))
    after = [b for a, b in pairwise(letters) if a == "q"]
    pair = (after.count("u") + 1) / (len(after) + len(TEXT.letters))
    two = TEXT._replace(chosen=TEXT.encode("qu"))
    assert norm_variants.bigram_loss(two) == pytest.approx(-math.log(pair), abs=1e-5)


def test_the_search_extends_at_an_edge_and_compares_two_rates_with_all_seeds() -> None:
    asked = []

    def tune(best: float) -> float:
        asked.clear()

        def one(rate: float, seed: int) -> dict[str, float | None]:
            asked.append((rate, seed))
            loss = None if rate > 0.05 else abs(math.log10(rate / best))
            return {"rate": rate, "seed": seed, "chosen": loss}

        return norm_variants.search(one)

    assert tune(0.03) == 0.03
    assert tune(3e-4) == 3e-4
    assert {seed for rate, seed in asked if rate == 3e-4} == {*norm_variants.TUNING_SEEDS}
    assert (1e-4, 100) in asked
    assert not any(rate > 0.01 for rate, _ in asked)


def test_where_all_seeds_prefer_the_highest_rate_the_next_one_is_tried_too() -> None:
    asked = set()

    def one(rate: float, seed: int) -> dict[str, float]:
        asked.add((rate, seed))
        best = 0.005 if seed == norm_variants.TUNING_SEEDS[0] else 0.014
        return {"rate": rate, "seed": seed, "chosen": abs(math.log10(rate / best))}

    assert norm_variants.search(one) == 0.01
    assert {seed for rate, seed in asked if rate == 0.03} == {*norm_variants.TUNING_SEEDS}
    assert not any(rate > 0.03 for rate, _ in asked)


def test_where_every_rate_fails_lower_ones_are_tried() -> None:
    asked = set()

    def one(rate: float, seed: int) -> dict[str, float]:
        asked.add(rate)
        return {"rate": rate, "seed": seed, "chosen": 3.0 + abs(rate - 3e-3)}

    norm_variants.search(one, floor=2.5)
    assert min(asked) == norm_variants.GRID[0]


def test_the_norms_that_are_timed_are_the_norms() -> None:
    x, weight, bias = torch.randn(4, 16), torch.rand(16), torch.zeros(16)
    for kind in range(2):
        fused, written = (norm_timing.NORMS[name][kind] for name in norm_timing.KINDS)
        assert torch.allclose(fused(x, weight, bias), written(x, weight, bias), atol=1e-5)
    row = norm_timing.measure(16, "forward and backward", "torch", repetitions=2)
    assert len(row["ratios"]) == 2


def test_the_saved_rows_are_those_that_the_tables_need() -> None:
    rows = norm_variants.load()
    for setting, names in norm_variants.SETTINGS.items():
        for name in names:
            assert len(sublayer_tables.of_setting(rows, name, setting)) == 5
    for name in all_attention.VARIANTS:
        assert len(sublayer_tables.selected(all_attention.load(), variant=name, steps=300)) == 5
