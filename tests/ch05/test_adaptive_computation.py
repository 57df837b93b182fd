"""The experiments of page 5.17: the task, what is held equal, exits, and the opening drawing."""

from __future__ import annotations

import xml.etree.ElementTree as ET

import pytest
import torch

from deepdive.layers.universal_stack import UniversalStack
from deepdive.models.bert.deebert import entropy
from deepdive_book.ch05.figures.adaptive_depth import adaptive_depth
from deepdive_book.ch05.runs import adaptive_steps, adaptive_tables, early_exit
from deepdive_book.ch05.runs.adaptive_steps import ACT, CONSTANT, FIXED, ONE, SLIM, VARIANTS, WIDE
from deepdive_book.kit.flops import count_flops


def test_the_drawing_is_svg_with_every_method() -> None:
    drawing = adaptive_depth()
    ET.fromstring(drawing)
    for words in ("Universal Transformer, ACT", "conditional computation", "DeeBERT", "copy"):
        assert words in drawing


def test_the_sums_are_sums_and_the_difficulty_is_the_distance_to_equal_bits() -> None:
    test = adaptive_steps.sums(20, 12, torch.Generator().manual_seed(0))
    for columns, bits, difficulty in zip(*(part.tolist() for part in test), strict=True):
        a, b = ([c // 2 for c in columns], [c % 2 for c in columns])
        total = sum((x + y) << i for i, (x, y) in enumerate(zip(a, b, strict=True)))
        assert bits == [total >> i & 1 for i in range(12)]
        for i, k in enumerate(difficulty):
            between = range(i - k + 1, i)
            assert all(a[j] != b[j] for j in between)
            assert i - k == -1 or a[i - k] == b[i - k]


def test_what_is_held_equal() -> None:
    models = {name: adaptive_steps.adder(name).eval() for name in VARIANTS}
    sizes = {name: sum(p.numel() for p in model.parameters()) for name, model in models.items()}
    assert sizes[FIXED] == sizes[CONSTANT] == sizes[ONE] == sizes[ACT] - 33  # the halting unit
    assert 0.8 < sizes[SLIM] / sizes[ONE] < 1
    columns = torch.randint(4, (1, 16))
    flops = {n: count_flops(lambda m=model: m(columns)) for n, model in models.items()}
    assert flops[FIXED] == flops[WIDE]
    assert 5.5 < flops[FIXED] / flops[ONE] < 6


def test_a_short_run_has_what_the_tables_need() -> None:
    row = adaptive_steps.measure(ACT, 3e-3, seed=0, steps=2)
    assert {"bits_64", "ponder_16", "by_difficulty_64", "by_position_64", "examples"} <= {*row}
    assert "ponder_16" not in adaptive_steps.measure(ONE, 3e-3, seed=0, steps=2)
    model = adaptive_steps.adder(ACT)
    assert isinstance(model.stack, UniversalStack)
    for example in adaptive_steps.examples(model):
        assert [sum(w > 0 for w in row) for row in example["weights"]] == example["steps"]


def test_exits_are_the_first_below_the_threshold() -> None:
    logits = torch.randn(4, 50, 2, generator=torch.Generator().manual_seed(0))
    labels = torch.randint(2, (50,), generator=torch.Generator().manual_seed(1))
    for point in early_exit.curve(logits, labels):
        below = entropy(logits) < point["threshold"]
        first = [next((i for i in range(3) if below[i, n]), 3) for n in range(50)]
        correct = [int(logits[i, n].argmax() == labels[n]) for n, i in enumerate(first)]
        assert point["accuracy"] == pytest.approx(sum(correct) / 50)
        assert point["depth"] == pytest.approx(sum(first) / 50 + 1)
        assert sum(point["by_layer"]) == pytest.approx(1)
        assert point["slowest_32"] >= point["slowest_8"] >= point["depth"]


def test_a_fixed_depth_between_two_layers_is_a_mixture_of_them() -> None:
    accuracy = [0.5, 0.6, 0.8]
    found = [adaptive_tables._fixed(accuracy, depth) for depth in (1.0, 1.5, 2.25, 3.0)]
    assert found == pytest.approx([0.5, 0.55, 0.65, 0.8])


def test_the_saved_rows_are_those_that_the_tables_need() -> None:
    rows = adaptive_steps.load()
    for name in VARIANTS:
        assert len(adaptive_tables.selected(rows, name)) == 5
    exits = early_exit.load()
    assert [row["seed"] for row in adaptive_tables.measured(exits)] == [*early_exit.SEEDS]
