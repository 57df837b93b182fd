"""The table that closes chapter 5: its costs by arithmetic, its differences as on their pages."""

from __future__ import annotations

import xml.etree.ElementTree as ET

import pytest

from deepdive_book.ch05.figures.block_variant_map import block_variant_map
from deepdive_book.ch05.runs import (
    adaptive_tables,
    all_attention,
    block_order_results,
    block_variants,
    connection_tables,
    early_exit,
    encoder_depth,
    lightweight,
    lightweight_tables,
    long_document_tables,
    long_documents,
    norm_variants,
    recurrence,
    residual_scores,
    sublayer_tables,
)
from deepdive_book.ch05.runs.block_variants import D_FF, D_MODEL, LAYERS, TOKENS, VARIANTS


@pytest.fixture(scope="module")
def differences() -> dict[str, block_variants.Difference]:
    return block_variants.differences()


def test_the_drawing_is_svg_and_names_every_page_s_variants() -> None:
    drawing = block_variant_map()
    ET.fromstring(drawing)
    for words in ("Macaron", "RMSNorm", "Transformer-XL", "Universal Transformer", "RealFormer"):
        assert words in drawing


def test_costs_are_those_of_the_arithmetic() -> None:
    costs = block_variants.costs()
    assert set(costs) == set(VARIANTS)
    for name in ("Macaron", "Sandwich, k = 1", "RMSNorm", "ReZero", "all-attention"):
        mine, plain = costs[name]
        assert mine.flops == plain.flops
        assert abs(mine.parameters / plain.parameters - 1) < 0.01
    _, plain = costs["RMSNorm"]
    weights = 4 * D_MODEL**2 + 2 * D_MODEL * D_FF
    scores = 2 * TOKENS * D_MODEL  # of each token: with its queries, and with its weights
    assert plain.flops == LAYERS * TOKENS * 2 * (weights + scores)
    mine, plain = costs["RealFormer"]  # the product of queries and keys, a second time
    assert mine.flops - plain.flops == LAYERS * 2 * TOKENS**2 * D_MODEL
    mine, plain = costs["Compressive Transformer"][0], costs["Transformer-XL"][0]
    assert mine.parameters - plain.parameters == LAYERS * (4 * D_MODEL + 1) * D_MODEL


def test_each_difference_stands_on_its_page(
    differences: dict[str, block_variants.Difference],
) -> None:
    assert set(differences) == set(VARIANTS) - {"Memformer", "conditional computation"}
    norms, runs = norm_variants.load(), block_order_results.load_runs()
    tables = {
        "Macaron": block_order_results.order_table(runs.orders),
        "DARTS": block_order_results.search_table(runs),
        "ReZero": sublayer_tables.contrast_table(norms),
        "RMSNorm": sublayer_tables.contrast_table(norms),
        "all-attention": sublayer_tables.all_attention_table(all_attention.load()),
        "RealFormer": connection_tables.score_contrasts(residual_scores.load()),
        "transparent attention": connection_tables.depth_contrasts(encoder_depth.load()),
    }
    for name, table in tables.items():
        shown = str(differences[name].interval)
        assert shown in str(table).replace("+", ""), f"{name}: {shown}"
    light = str(lightweight_tables.contrast_table(lightweight.load()))
    long = (long_documents.load(), long_documents.load_linear())
    trees = str(long_document_tables.contrast_table(*long))
    for name, shown in (("Funnel Transformer", light), ("DeLighT", light), ("HIBERT", trees)):
        value, low, high = differences[name].interval
        assert f"{value:.1f} [{low:.1f}, {high:.1f}]" in shown, name
    exits = str(adaptive_tables.exit_table(early_exit.load()))
    value, low, high = differences["DeeBERT"].interval
    assert f"{value:.1f} [{low:.1f}, {high:.1f}]" in exits


def test_transformer_xl_s_difference_is_that_of_bits_in_nats(
    differences: dict[str, block_variants.Difference],
) -> None:
    from math import log

    from deepdive_book.ch05.runs import recurrence_tables

    value, low, high = (x / log(2) for x in differences["Transformer-XL"].interval)
    table = str(recurrence_tables.contrast_table(recurrence.load()))
    assert f"{value:.3f} [{low:.3f}, {high:.3f}]" in table


def test_without_saved_runs_the_table_has_the_costs() -> None:
    table = str(block_variants.variant_table({}))
    assert "Macaron" in table
