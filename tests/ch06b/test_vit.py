"""The experiments of page 6b.1: arms, shuffles, occlusion, weights by other names, saved rows."""

from __future__ import annotations

import json
import math
from typing import Any

import pytest
import torch
from checkout import ROOT
from torch import nn

from deepdive.evaluate import t_interval
from deepdive.layers.heads import ImageClassifier
from deepdive.layers.patches import patchify
from deepdive_book.ch06b.figures.vit_architecture import vit_architecture
from deepdive_book.ch06b.runs import vit
from deepdive_book.site.pages import Page, drawings, find
from deepdive_book.site.pages.source import load

SAVED = json.loads((ROOT / "chapters/06b_vision/results/vit.json").read_text("utf-8"))["rows"]
SETTINGS = ("arm", "patch", "seed", "steps", "rate")


def images(n: int = 2, side: int = 40) -> torch.Tensor:
    return torch.randn(n, 3, side, side, generator=torch.Generator().manual_seed(0))


def moved(positions: bool = True) -> vit.Classifier:
    """A small ViT with every weight off its special values."""
    torch.manual_seed(0)
    model = vit.build_vit(20, 40, 3, 10, positions=positions).eval()
    for p in model.parameters():
        p.data += 0.1 * torch.randn_like(p)
    return model


def test_a_shuffle_moves_patches_and_changes_none() -> None:
    x = images()
    rows = patchify(x, 10)
    one = patchify(vit.shuffled(x, 10, "one shuffle"), 10)
    assert torch.equal(one, rows[:, vit.one_shuffle(16)])
    assert not torch.equal(one, rows)
    torch.manual_seed(1)
    new = patchify(vit.shuffled(x, 10, "new shuffle"), 10)
    assert torch.equal(new.sort(1).values, rows.sort(1).values)
    assert not torch.equal(new[0], rows[0, vit.one_shuffle(16)])
    assert torch.equal(vit.shuffled(x, 10, "in order"), x)


def test_pooling_makes_the_patch_embedding_equally_large_for_every_size() -> None:
    for patch in (20, 50, 100):
        pooled, full = (vit.build(arm, patch, 100, 3, 10) for arm in ("pooled", "ViT"))
        assert isinstance(pooled, ImageClassifier)
        assert isinstance(full, ImageClassifier)
        assert vit.embeddings(pooled).patches.project.weight.numel() == 3 * 10**2 * 64
        assert vit.embeddings(full).patches.project.weight.numel() == 3 * patch**2 * 64
        assert len(vit.embeddings(pooled).positions) == 1 + (100 // patch) ** 2
    x = images(side=100)
    model = vit.build_vit(50, 100, 3, 10, pooled=True).eval()
    mean = x.unflatten(3, (20, 5)).mean(4).unflatten(2, (20, 5)).mean(3)  # 5 x 5 pixels to one
    bigger = mean.repeat_interleave(5, 2).repeat_interleave(5, 3)
    assert torch.allclose(model(x), model(bigger), atol=1e-5), "it sees only the averages"


def test_without_positions_a_shuffle_changes_nothing() -> None:
    x, model = images(), moved(positions=False)
    vit.embeddings(model).positions.data.zero_()
    mixed = vit.shuffled(x, 20, "one shuffle")
    assert torch.allclose(model(mixed), model(x), atol=1e-5)
    assert not torch.allclose(moved()(mixed), moved()(x), atol=1e-2)
    fresh = vit.build_vit(20, 40, 3, 10, positions=False)
    assert vit.parameters(fresh) == vit.parameters(moved()) - 5 * 64


def test_occlusion_makes_the_patches_with_the_highest_scores_gray() -> None:
    x = images()
    scores = torch.arange(16.0).expand(2, -1)
    rows = patchify(vit.occluded(x, 10, scores, 3), 10)
    assert torch.equal(rows[:, 13:], torch.zeros(2, 3, 300))
    assert torch.equal(rows[:, :13], patchify(x, 10)[:, :13])


def test_weights_under_the_names_of_the_page_and_of_transformers() -> None:
    from transformers import ViTConfig, ViTForImageClassification

    page = load(Page(ROOT / "chapters/06b_vision/01_patches.py", ROOT))
    (source,) = (c.source for c in page.cells if "concept" in c.metadata.get("tags", []))
    made: dict[str, type[nn.Module]] = {}
    exec(source, made)
    library, x = moved(), images()
    ours = made["ViT"](n_classes=10, image=40, patch=20, d=64, heads=4, layers=2, d_ff=128)
    ours.load_state_dict(vit.weights_for_page(library))
    assert torch.allclose(ours(x), library(x), atol=1e-5)
    options: dict[str, Any] = {
        "image_size": 40, "patch_size": 20, "hidden_size": 64, "num_hidden_layers": 2,
        "num_attention_heads": 4, "intermediate_size": 128, "num_labels": 10,
    }  # fmt: skip
    theirs = ViTForImageClassification(ViTConfig(**options))
    theirs.load_state_dict(vit.weights_for_transformers(ours.state_dict()))
    assert torch.allclose(theirs(x).logits, library(x), atol=1e-5)


def test_differences_are_paired_by_seed_and_in_points() -> None:
    rows = [{"arm": arm, "patch": 20, "seed": seed, "steps": 9, "rate": vit.RATE, "accuracy": a}
            for arm, values in (("ViT", (0.5, 0.6, 0.9)), ("pooled", (0.4, 0.4, 0.6)))
            for seed, a in enumerate(values)]  # fmt: skip
    found = vit.difference(rows, ("ViT", 20), ("pooled", 20), 9, contrasts=2)
    wanted = t_interval([10.0, 20.0, 30.0], 1 - 0.05 / 2)
    assert found is not None
    assert not isinstance(found, float)
    assert all(math.isclose(a, b) for a, b in zip(found, wanted, strict=True))
    assert vit.difference(rows[:1], ("ViT", 20), ("pooled", 20), 9) is None


def test_a_change_is_paired_by_seed_and_none_if_not_measured() -> None:
    rows = [{"arm": "ViT", "patch": 20, "seed": seed, "steps": 9, "rate": vit.RATE,
             "accuracy": a, "shuffled": b}
            for seed, (a, b) in enumerate(((0.5, 0.4), (0.6, 0.4), (0.9, 0.6)))]  # fmt: skip
    found, wanted = vit.change(rows, ("ViT", 20), 9, "shuffled"), t_interval([-10.0, -20.0, -30.0])
    assert found is not None
    assert not isinstance(found, float)
    assert all(math.isclose(a, b) for a, b in zip(found, wanted, strict=True))
    assert vit.change(rows, ("ViT", 20), 9, "occluded_most") is None


def test_the_saved_rows_are_those_of_the_experiment() -> None:
    saved = {tuple(row[key] for key in SETTINGS) for row in SAVED}
    wanted = {tuple(point[key] for key in SETTINGS) for point in vit.experiment()}
    assert saved == wanted
    assert len(SAVED) == len(saved)
    for row in SAVED:
        model = vit.build(row["arm"], row["patch"], 100, 3, 10)
        assert row["parameters"] == vit.parameters(model)


def test_a_short_run_is_measured(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("DEEPDIVE_PROFILE", "ci")
    vit.load_data.cache_clear()
    try:
        row = vit.measure("ViT", 10, 1, 2, vit.RATE)
        linear = vit.measure("pooled linear", 10, 1, 2, vit.RATE)
    finally:
        vit.load_data.cache_clear()
    assert {"accuracy", "shuffled", "occluded_most", "occluded_random", "occluded_least"} <= {*row}
    assert linear["parameters"] % (10 * 10 + 1) == 0, "one gray pixel per cell, and a bias"
    assert all(0 <= row[key] <= 1 for key in row if key != "parameters")


def test_the_diagram_has_standard_labels() -> None:
    drawn = vit_architecture()
    ((_, alt),) = drawings.shown(find("6b.1", ROOT))
    for words in ("linear projection", "class token", "position embedding", "Transformer encoder",
                  "layer norm", "self-attention", "MLP", "head"):  # fmt: skip
        assert words in drawn, words
        assert words in alt, words
