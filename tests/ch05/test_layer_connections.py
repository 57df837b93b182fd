"""The experiments of page 5.18: what is held equal, and the drawing that the page opens with."""

from __future__ import annotations

import math
import xml.etree.ElementTree as ET
from typing import Any

import pytest
import torch

from deepdive.core import record
from deepdive_book.ch05.figures.layer_connections import layer_connections
from deepdive_book.ch05.runs import connection_tables, encoder_depth, residual_scores
from deepdive_book.ch05.runs.encoder_depth import EMBEDDINGS, OUTPUTS


def test_the_drawing_is_svg_with_both_connections() -> None:
    drawing = layer_connections()
    ET.fromstring(drawing)
    for words in ("RealFormer", "transparent attention", "cross-attention 2", "embeddings h₀"):
        assert words in drawing


def test_variants_differ_only_in_the_weights_of_the_encoder_s_states() -> None:
    wanted = {
        OUTPUTS: [0, 0.25, 0.25, 0.25, 0.25],
        "post-norm": [0, 0, 0, 0, 1], "post-norm, fixed mean": [0.2] * 5,
        "post-norm, transparent": [0.2] * 5, EMBEDDINGS: [1, 0, 0, 0, 0],
    }  # fmt: skip
    states = []
    for name, weights in wanted.items():
        torch.manual_seed(0)
        built = encoder_depth.model(name, 4)
        mixture = encoder_depth.mixture_of(built)
        assert mixture.softmax(0)[:, 1].tolist() == pytest.approx(weights)
        assert mixture.requires_grad == (name == "post-norm, transparent")
        states.append({n: p for n, p in built.state_dict().items() if "mixture" not in n})
    for other in states[1:]:
        assert all(torch.equal(p, other[n]) for n, p in states[0].items())


def test_embeddings_only_is_a_decoder_without_an_encoder() -> None:
    torch.manual_seed(0)
    built: Any = encoder_depth.model(EMBEDDINGS, 0)
    source, target = next(encoder_depth.pairs("reversal", 0, 3))
    before = built(source, target)
    for p in built.encoder.stack.blocks.parameters():
        assert not p.requires_grad
        p.data.normal_()
    assert torch.equal(built(source, target), before)


def test_targets_are_reversed_or_sorted_and_seeds_differ() -> None:
    source, target = next(encoder_depth.pairs("reversal", 5, 4))
    assert torch.equal(source.flip(1), target[:, 1:])
    assert (target[:, 0] == encoder_depth.START).all()
    assert not torch.equal(source, next(encoder_depth.pairs("reversal", 6, 4))[0])
    source, target = next(encoder_depth.pairs("sorting", 5, 4))
    assert torch.equal(source.sort(1).values, target[:, 1:])
    assert encoder_depth.CHANCE["reversal"] == pytest.approx(math.log(16))


def test_a_run_measures_and_gradients_are_of_every_encoder_layer() -> None:
    row = encoder_depth.measure("sorting", "post-norm, transparent", 3, 0.003, 0, 2)
    assert 0 < row["test"] < 4
    assert 0 <= row["accuracy"] <= 1
    assert row["embeddings"] == pytest.approx(0.25, abs=0.02)
    plain = encoder_depth.measure("sorting", "post-norm", 3, 0.003, 0, 2)
    assert row["parameters"] - plain["parameters"] == 4 * 2
    for name in encoder_depth.DRAWN:
        norms = encoder_depth.measure_gradients(name, 3, 0, 2)["norms"]
        assert len(norms) == 3
        assert min(norms) > 0


def test_scaled_scores_have_the_scale_of_a_sum_and_no_connection() -> None:
    model: Any = residual_scores.decoder(20, residual_scores.SCALED, 4)
    scales = [block.attn.scale * 8**0.5 for block in model.decoder.stack.blocks]
    assert scales == pytest.approx([1, 2**0.5, 3**0.5, 2])
    tokens = torch.arange(10)[None]
    with record(model, "*.scores") as seen:
        model(tokens)
    assert len(seen) == 4
    assert {block.attn.carry for block in model.decoder.stack.blocks} == {0.0}


def test_all_variants_have_one_size_but_for_the_final_norm() -> None:
    sizes = {
        name: sum(p.numel() for p in residual_scores.decoder(20, name, 2).parameters())
        for name in residual_scores.VARIANTS
    }
    assert len({n for name, n in sizes.items() if "pre-norm" not in name}) == 1
    assert sizes["pre-norm"] - sizes["post-norm"] == 2 * residual_scores.D_MODEL


def test_uniform_attention_has_entropy_1_and_adjacent_layers_agree() -> None:
    torch.manual_seed(0)
    model = residual_scores.decoder(20, residual_scores.PLAIN, 3)
    for name, p in model.named_parameters():
        if ".attn.q." in name:
            p.data.zero_()
    found = residual_scores.attention_by_layer(model, torch.randint(20, (500,)), 4)
    assert found["entropy"] == pytest.approx([1.0] * 3, abs=1e-5)
    assert found["agreement"] == pytest.approx([1.0] * 2, abs=1e-5)


def test_the_saved_rows_are_those_that_the_tables_need() -> None:
    rows = encoder_depth.load()
    for task, n_layers, names in encoder_depth.RUNS:
        for name in names:
            assert len(connection_tables.of_depth(rows, name, (task, n_layers))) == 5
    assert len(encoder_depth.load_gradients()) == 2 * 5 * len(encoder_depth.DRAWN)
    rows = residual_scores.load()
    for at, variants in residual_scores.SETTINGS.items():
        for name in variants:
            assert len(connection_tables.of_scores(rows, name, at)) == 5
