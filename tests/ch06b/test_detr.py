"""The experiments of page 6b.6: scenes, matchings, the fast loss, NMS, and the parts of a run."""

from __future__ import annotations

import math

import pytest
import torch
from checkout import ROOT
from matplotlib.figure import Figure

from deepdive.data.errors import DataError
from deepdive.evaluate import Interval, t_interval
from deepdive.training.objectives.set_prediction import by_order, costs, hungarian, set_loss
from deepdive_book.ch06b.figures.detr_architecture import detr_architecture
from deepdive_book.ch06b.figures.query_attention import query_attention
from deepdive_book.ch06b.runs import detr
from deepdive_book.ch06b.toys.scene_detr import scene_detr, scene_encoder
from deepdive_book.data.scenes import generated_scenes
from deepdive_book.site.pages import drawings, find

COST = torch.tensor([[1.0, 2], [2, 9], [6, 5]])


def pairs(found: tuple[torch.Tensor, torch.Tensor]) -> list[tuple[int, int]]:
    return list(zip(*(part.tolist() for part in found), strict=True))


def test_scenes_have_up_to_eight_small_objects_of_different_colors() -> None:
    scenes = detr.scenes(60, seed=3)
    counts = {len(things) for things in scenes.things}
    assert counts == set(range(1, 9))
    assert all(len({t.color for t in things}) == len(things) for things in scenes.things)
    radii = [t.radius / 32 for things in scenes.things for t in things]
    assert detr.RADII[0] <= min(radii) < max(radii) <= detr.RADII[1]
    assert "radii=(0.091, 0.167)" in scenes.source
    with pytest.raises(DataError, match="radii"):
        generated_scenes(2, radii=(0.3, 0.2))


def test_matchings_of_the_example_by_hand() -> None:
    assert pairs(hungarian(COST)) == [(0, 1), (1, 0)]
    assert pairs(detr.cheapest(COST, 1)) == [(0, 0)], "both objects want query 1; A pays less"
    assert pairs(detr.cheapest(COST, 2)) == [(0, 0), (1, 0), (2, 1)]
    assert pairs(detr.nearest_object(COST)) == [(0, 0), (1, 0), (2, 1)]


def test_the_padded_loss_and_its_gradients_are_the_library_s() -> None:
    generator = torch.Generator().manual_seed(0)
    truths = detr.truths(detr.scenes(6, seed=3))
    logits = torch.randn(2, 6, 16, 5, generator=generator, requires_grad=True)
    raw = torch.randn(2, 6, 16, 4, generator=generator, requires_grad=True)
    three = detr.ARMS["three cheapest queries"].matching
    for matching in (hungarian, by_order, detr.nearest_object, three):
        fast = detr.padded_set_loss(logits, raw.sigmoid(), detr.pad(truths), matching, 0.3)
        slow = set_loss(logits, raw.sigmoid(), truths, matching, 0.3)
        assert torch.allclose(fast, slow, rtol=1e-5)
        for a, b in zip(torch.autograd.grad(fast, (logits, raw)),
                        torch.autograd.grad(slow, (logits, raw)), strict=True):  # fmt: skip
            assert torch.allclose(a, b, atol=1e-6)


def test_nms_removes_boxes_of_the_same_class_that_overlap() -> None:
    boxes = torch.tensor([[0.4, 0.4, 0.4, 0.4], [0.42, 0.4, 0.4, 0.4], [0.8, 0.8, 0.2, 0.2]])
    scores, same = torch.tensor([0.6, 0.9, 0.7]), torch.tensor([0, 0, 0])
    assert detr.suppress(boxes, scores, same).tolist() == [1, 2]
    assert detr.suppress(boxes, scores, torch.tensor([0, 1, 0])).tolist() == [1, 2, 0]
    assert detr.suppress(boxes[:0], scores[:0], same[:0]).tolist() == []
    logits = torch.zeros(1, 3, 3)
    logits[..., 0] = torch.tensor([3.0, 4, 5])
    assert detr.duplicates(logits, boxes[None]) == pytest.approx(1 / 3)
    logits[0, 1, 1] = 9
    assert detr.duplicates(logits, boxes[None]) == 0


def test_spread_is_zero_for_fixed_positions_and_one_for_no_specialization() -> None:
    sure, centers = torch.full((40, 2, 2), 9.0), torch.rand(40, 2, 4)
    sure[..., -1] = -9
    fixed = torch.tensor([[0.2, 0.2, 0.1, 0.1], [0.8, 0.8, 0.1, 0.1]]).expand(40, 2, 4)
    assert detr.spread(sure, fixed) < 1e-3
    assert detr.spread(sure, centers) == pytest.approx(1, abs=0.1)


def test_pretraining_and_training_lower_the_loss_and_repeat() -> None:
    scenes = detr.scenes(32, seed=3)
    pretrained = detr.pretrain(scenes, 6, seed=0)
    seen, truths = detr.memories(pretrained, detr.pixels(scenes)), detr.truths(scenes)
    assert seen.shape == (32, 48, 8, 8)
    model = detr.on_memories(pretrained, seed=1)
    assert not [n for n, _ in model.named_parameters() if n.startswith(("encoder", "backbone"))]
    history = detr.train(model, seen, truths, 30, seed=1)
    losses = torch.tensor([float(x) for x in history.losses])
    assert losses[-6:].mean() < 0.9 * losses[:6].mean()
    again = detr.on_memories(pretrained, seed=1)
    detr.train(again, seen, truths, 30, seed=1)
    assert torch.equal(again(seen[:2]).boxes, model(seen[:2]).boxes)
    full = detr.assemble(pretrained, model)
    assert torch.allclose(full(detr.pixels(scenes)[:2]).boxes, model(seen[:2]).boxes, atol=1e-5)


def test_a_trained_encoder_starts_as_the_pretrained_one() -> None:
    pretrained, images = scene_encoder(), detr.pixels(detr.scenes(3, seed=3))
    model = detr.on_maps(pretrained, seed=1)
    maps = detr.feature_maps(pretrained.backbone, images)
    assert torch.allclose(detr.encode(model, maps), detr.encode(pretrained, maps))
    assert not maps.requires_grad
    moved = {}
    for rate in (1.0, 0.1):
        model = detr.on_maps(pretrained, seed=1)
        before = {name: p.detach().clone() for name, p in model.named_parameters()}
        detr.train(model, maps, detr.truths(detr.scenes(3, seed=3)), 2, 1, encoder_rate=rate)
        for part in ("encoder", "decoder"):
            steps = [(p.detach() - before[n]).abs().mean() for n, p in model.named_parameters()
                     if n.startswith(part)]  # fmt: skip
            moved[part, rate] = float(torch.stack(steps).mean())
    assert moved["decoder", 0.1] == pytest.approx(moved["decoder", 1.0], rel=0.2)
    assert moved["encoder", 0.1] < 0.2 * moved["encoder", 1.0]


def test_points_are_what_measure_takes() -> None:
    points = detr.points(detr.SETTINGS[:1], steps=2, seeds=[1], n_train=33, n_test=4)
    row = detr.measure(**points[0])
    assert row["parameters"] == 62937
    assert all(math.isfinite(value) for value in row.values())
    assert {arm for arm, _ in detr.SETTINGS} <= set(detr.ARMS)


def test_differences_are_paired_by_seed_and_corrected() -> None:
    def row(arm: str, seed: int, ap: float, encoder: str = "frozen") -> dict[str, object]:
        return {"arm": arm, "no_object_weight": 1.0, "seed": seed, "ap": ap, "encoder": encoder}

    rows = [row("Hungarian", s, 0.4 + 0.1 * s) for s in (1, 2, 3)]
    rows += [row("as listed", s, 0.1 + 0.1 * s + 0.01 * (s == 3)) for s in (3, 2, 1)]
    rows += [row("as listed", 1, 9.0, "trained")]
    one = detr.difference(rows, "ap", ("as listed", 1.0))
    five = detr.difference(rows, "ap", ("as listed", 1.0), contrasts=5)
    assert isinstance(one, Interval)
    assert isinstance(five, Interval)
    assert one == pytest.approx(t_interval([-30, -30, -29]))
    assert five.low < one.low < one.value == five.value
    assert detr.difference(rows[:1] + rows[5:6], "ap", ("as listed", 1.0)) == pytest.approx(-30)
    assert detr.difference(rows, "ap", ("left to right", 1.0)) is None


def test_the_experiment_has_a_point_for_each_arm() -> None:
    long, short = detr.experiment(), detr.experiment(steps=2, seeds=[1], n_train=32, n_test=16)
    assert {point["arm"] for point in long} == set(detr.ARMS)
    assert {point["steps"] for point in short} == {2}
    assert {point["encoder"] for point in short} == {"frozen", "trained", "trained slowly"}


def test_attention_inside_a_box_counts_the_positions_it_overlaps() -> None:
    attention = torch.zeros(8, 8)
    attention[2, 5], attention[7, 7] = 3.0, 1.0  # row 2, column 5
    box = torch.tensor([5.5 / 8, 2.5 / 8, 0.1, 0.1])
    assert detr.inside_box(attention, box) == pytest.approx(0.75)
    assert detr.inside_box(torch.ones(8, 8), box) == pytest.approx(1 / 64)
    assert detr.inside_box(torch.ones(8, 8), torch.tensor([0.5, 0.5, 0.25, 0.25])) == 4 / 64
    inside, area, pairs = detr.attention_in_box(scene_detr(), detr.scenes(30, seed=5))
    assert inside > 0.5 > 0.2 > area
    assert pairs > 30


def test_figures_of_the_page() -> None:
    drawn = detr_architecture()
    assert all(word in drawn for word in ("encoder", "decoder", "object queries", "bipartite"))
    ((_, alt),) = drawings.shown(find("6b.6", ROOT))
    assert "cross-attends" in alt
    scenes, model = detr.scenes(4, seed=3), scene_detr()
    attention = detr.cross_attention(model, detr.pixels(scenes))
    assert attention.shape == (4, 16, 8, 8)
    assert torch.allclose(attention.sum((-1, -2)), torch.ones(4, 16), atol=1e-5)
    figure = query_attention(model, scenes, 0)
    assert isinstance(figure, Figure)
    assert "Attention at positions in the object's box" in figure.alt  # type: ignore[attr-defined]
    with torch.no_grad():
        found = model(detr.pixels(scenes))
    truth = detr.truths(scenes)[0]
    shown = detr.cheapest_queries(found.logits[0], found.boxes[0], truth, 6)
    matched = hungarian(costs(found.logits[0], found.boxes[0], truth))[0].tolist()
    assert len(set(shown)) == 6
    assert set(matched[:6]) <= {*shown, *matched[6:]}
