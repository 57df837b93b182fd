"""Chapter 6b's questions: each number in an answer is computed, what an answer says is tried."""

from __future__ import annotations

import math
from collections.abc import Callable
from statistics import mean
from typing import Any

import pytest
import torch
from checkout import ROOT
from question_numbers import Numbers, check_numbers, with_a_number
from torch.nn import functional as F

from deepdive.evaluate import mean_iou
from deepdive.evaluate.detection import precisions
from deepdive.evaluate.frechet import frechet
from deepdive.explain.rollout import rollout
from deepdive.layers.boxes import generalized_iou
from deepdive.layers.patches import patchify, unpatchify
from deepdive.layers.space_time import meets, time
from deepdive.layers.windows import folded, sides
from deepdive.models.classic.convnet import ConvNet
from deepdive.models.vision import detr, vit
from deepdive.models.vision.sagan import MapAttention
from deepdive.models.vision.timesformer import RULES
from deepdive.training.objectives import hidden_patches, pixel_loss
from deepdive.training.objectives.set_prediction import hungarian
from deepdive_book.course.clinic.pictures import meets as in_windows
from deepdive_book.course.questions import FILES, load

CHAPTER = ROOT / "chapters" / "06b_vision"
BANKS = {which: load(CHAPTER, which) for which in FILES}
ITEMS = {item.id: item for bank in BANKS.values() for item in bank.items}


def test_there_are_50_items_on_all_pages_and_two_forms_of_12() -> None:
    assert [len(BANKS[which].items) for which in ("bank", "before", "after")] == [50, 12, 12]
    assert len(ITEMS) == 74
    pages = {path.stem for path in CHAPTER.glob("[01]*.py")} - {"00_opening", "11_closing"}
    assert {item.page for item in BANKS["bank"].items} == pages


# -- the numbers


def matched(*rows: list[float]) -> float:
    cost = torch.tensor(rows)
    return cost[hungarian(cost)].sum().item()


def apart() -> float:
    """Boxes 3 and 2 wide, 4 high, an empty column between them, as middle, width and height."""
    one, two = torch.tensor([[1.5, 2, 3, 4]]), torch.tensor([[5.0, 2, 2, 4]])
    return generalized_iou(one, two).item()


def in_films(scheme: str, frames: int, side: int) -> int:
    return sum(int(meets(rule, frames, side, side).sum()) for rule in RULES[scheme])


def tokens(row: list[int], step: int) -> tuple[float, ...]:
    """The first of two pixels and three times the second."""
    line, pair = torch.tensor([[row]]).float(), torch.tensor([[[1.0, 3]]])
    return tuple(F.conv1d(line, pair, stride=step)[0, 0].tolist())


TUBE = {a + b: p + q for a, p in (("S", 5), ("C", 1)) for b, q in (("S", 2), ("C", 3))}
MAP = torch.arange(12).reshape(1, 3, 2, 2)
FILM = torch.arange(12)
# By id: each answer that has a number, and the numbers that stand in it, in their order.
NUMBERS: Numbers = {
    "tokens-of-an-image": {
        "37": ((96 // 16) ** 2 + 1,), "36": ((96 // 16) ** 2,), "257": (16**2 + 1,),
        "9216": (96**2,),
    },
    "half-for-the-residual": {
        "0.3": (0.6 / 2,), "0.6": (0.6,), "0.7": ((0.4 + 1) / 2,), "0.8": ((0.6 + 1) / 2,),
    },
    "patch-as-a-kernel": {"a kernel of 7 x 7 that steps by 7": (7, 7, 7)},
    "moved-by-one": {
        "0, 6, 1": tokens([0, 0, 0, 2, 1, 0], 2), "0, 5, 0": tokens([0, 0, 2, 1, 0, 0], 2),
        "0, 0, 5": tokens([0, 0, 0, 0, 2, 1], 2),
        "0, 0, 6, 5, 1": tokens([0, 0, 0, 2, 1, 0], 1),
    },
    "times-through": {
        "256 and 4 times": (64_000 / 250, 64_000 / 16_000),
        "64 and 64 times": (16_000 / 250, 16_000 / 250),
    },
    "loss-of-two-heads": {
        "3": (-mean(map(math.log2, (1 / 4, 1 / 16))),), "6": (2 + 4,), "2": (-math.log2(1 / 4),),
        "4": (-math.log2(1 / 16),),
    },
    "rows-of-the-encoder": {
        "17": (64 * 0.25 + 1,), "65": (64 + 1,), "49": (64 * 0.75 + 1,), "16": (64 * 0.25,),
    },
    "what-counts": {"1": (2 / 2,), "8.5": (34 / 4,), "0.5": (2 / 4,), "16": (32 / 2,)},
    "twice-as-wide": {
        "by 16 and by 4": (4**2, 4), "by 4 and by 4": (4, 4), "by 4 and by 2": (2**2, 2),
    },
    "layers-to-the-corner": {"7": (1 + 2 * 3,), "3": (3,), "4": (16 / 4,), "16": (16,)},
    "numbers-for-offsets": {
        "25": ((2 * 3 - 1) ** 2,), "81": (9 * 9,), "9": (3 * 3,), "17": (2 * 9 - 1,),
    },
    "rolled-on": {"that of line 4, column 4": (2 + 2, 2 + 2)},
    "cheapest-together": {
        "6": (matched([2, 3], [3, 8]),), "10": (2 + 8,), "5": (2 + 3,), "2": (2,),
    },
    "both-over-either": {
        "0.4": (4 / (8 + 6 - 4),), "0.5": (4 / 8,), "0.67": (4 / 6,), "0.29": (4 / (8 + 6),),
    },
    "images-or-pixels": {
        "0.8": (8 / 10,), "0.5": (mean([8 / 8, 0 / 2]),), "1.0": (8 / 8,), "0.44": (8 / (8 + 10),),
    },
    "points-through-a-tube": {
        "0": (TUBE["SS"] + TUBE["CC"] - TUBE["SC"] - TUBE["CS"],), "3": (TUBE["SS"] - TUBE["CC"],),
        "4": (TUBE["SS"] - TUBE["CS"],), "1": (TUBE["SC"] - TUBE["SS"],),
    },
    "one-feature": {
        "5": ((3 - 1) ** 2 + (9**0.5 - 4**0.5) ** 2,), "29": ((3 - 1) ** 2 + (9 - 4) ** 2,),
        "4": ((3 - 1) ** 2,), "3": ((3 - 1) + (9**0.5 - 4**0.5),),
    },
    "rows-of-a-map": {
        "0, 1, 2": tuple(MAP.reshape(1, 4, 3)[0, 0].tolist()),
        "0, 4, 8": tuple(MAP.flatten(2).mT[0, 0].tolist()),
        "0, 3, 6": tuple(MAP.reshape(1, 4, 3)[0, :3, 0].tolist()),
        "0, 1, 2, 3": tuple(MAP[0, 0].flatten().tolist()),
    },
    "pairs-divided": {
        "630": (in_films("divided_space_time", 5, 3),),
        "2025": (in_films("joint_space_time", 5, 3),),
        "405": (in_films("space_only", 5, 3),), "495": (in_films("axial", 5, 3),),
    },
    "wrong-axis": {
        "3, 4, 5": tuple(FILM.view(4, 3)[1].tolist()),
        "1, 5, 9": tuple(FILM.view(3, 4).T[1].tolist()),
        "4, 5, 6, 7": tuple(FILM.view(3, 4)[1].tolist()),
    },
    "bag-in-pieces": {
        "with 2 x 2 pieces of 14 x 14": (2, 2, 28 / 2, 28 / 2),
        "with 7 x 7 pieces of 4 x 4": (7, 7, 28 / 7, 28 / 7),
    },
    "cover-adds": {
        "3 and 5": (mean([6, 2, 0, 4]), mean([6, 10, 0, 4])),
        "3 and 2.5": (mean([6, 2, 0, 4]), mean([6, 0, 0, 4])),
        "3 and 3.3": (mean([6, 2, 0, 4]), mean([6, 0, 4])), "3 and 3": (3, 3),
    },
    "two-shares": {
        "50 % and 60 %": (50, 100 * 48 / 80), "50 % and 62.5 %": (50, 100 * 50 / 80),
        "48 % and 60 %": (48, 100 * 48 / 80), "50 % and 96 %": (50, 100 * 48 / 50),
    },
    "before-squares": {
        "1296": ((4 * 9) ** 2,), "81": (9**2,), "324": ((2 * 9) ** 2,), "36": (4 * 9,),
    },
    "before-hidden": {"0.75": (3 / 4,), "0.8": (8 / 10,), "0.3": (3 / 10,), "0.5": (5 / 10,)},
    "before-mean": {"at 5, where no bus ever stops": (mean([2, 8]),)},
    "before-windows": {"3 times, and about 9 times": (3, 3 * 3)},
    "before-match": {
        "7": (matched([1, 3], [4, 9]),), "10": (1 + 9,), "4": (1 + 3,), "13": (4 + 9,),
    },
    "after-squares": {
        "4096": ((4 * 16) ** 2,), "256": (16**2,), "1024": ((2 * 16) ** 2,), "64": (4 * 16,),
    },
    "after-hidden": {"1.5": (6 / 4,), "2": (16 / 8,), "0.75": (6 / 8,), "2.5": (10 / 4,)},
    "after-mean": {"50, a grey that no image has": (mean([0, 100]),)},
    "after-windows": {"by 5, and by 25": (5, 5**2), "by 7, and by 49": (7, 7**2)},
    "after-match": {
        "9": (matched([2, 4], [5, 12]),), "14": (2 + 12,), "6": (2 + 4,), "17": (5 + 12,),
    },
}  # fmt: skip
GIVEN = {"boxes-apart"}  # a fraction, which `facts` tries


def test_every_number_in_an_answer_is_computed_here() -> None:
    found = with_a_number(ITEMS)
    assert found <= NUMBERS.keys() | GIVEN, found - NUMBERS.keys() - GIVEN
    check_numbers(ITEMS, NUMBERS)


# -- what answers say, tried


def tiny_vit() -> Any:
    return vit.vit(vit.TINY, image_size=8, patch_size=2, channels=1).eval()


@torch.no_grad()
def positions_in_the_new_order() -> bool:
    model, images = tiny_vit(), torch.randn(3, 1, 8, 8)
    order = torch.randperm(16)
    shuffled = unpatchify(patchify(images, 2)[:, order], 2, 8, 8)
    before, strange = model(images)[:, 0], model(shuffled)[:, 0]
    table = model.embeddings.positions
    table[1:] = table[1:][order]
    return torch.allclose(model(shuffled)[:, 0], before, atol=1e-5) and not torch.allclose(
        strange, before, atol=1e-3
    )


def two_lines() -> bool:
    image = torch.arange(64).view(1, 1, 8, 8)
    return torch.equal(image.reshape(1, 4, 16)[0, 0], image[0, 0, :2].flatten())


def masked_loss() -> bool:
    """The four pixels of the item as four patches of one pixel each, the last two hidden."""
    said, true = torch.tensor([5.0, 5, 3, 3]), torch.tensor([[[[1.0, 1], [2, 2]]]])
    hidden = torch.tensor([[False, False, True, True]])
    return pixel_loss(said.view(1, 4, 1), true, hidden, 1, normal=False).item() == 1.0


def without_the_mask() -> bool:
    """After the roll the first window of the last column holds both edges."""
    side = folded(sides(12, 12, 2, torch.device("cpu")), 4)[..., 0]
    return len(side[2].unique()) == 2 and len(side[0].unique()) == 1


def until_heard(side: int, window: int, shift: int) -> int:
    """Layers until the last patch has heard of the first; each second layer is shifted."""
    steps = [in_windows(side, window, by).float() for by in (0, shift)]
    known, layers = torch.eye(side**2)[0], 0
    while not known[-1]:
        known, layers = (steps[layers % 2] @ known > 0).float(), layers + 1
    return layers


def rolled_on() -> bool:
    grid = torch.arange(144).view(1, 12, 12, 1)
    twice = grid.roll((-2, -2), (1, 2)).roll((-2, -2), (1, 2))
    return bool(twice[0, 0, 0] == grid[0, 4, 4])


def values_alike() -> bool:
    """Queries of the first layer's self-attention get no gradient, those of the second do."""
    model = detr.detr(detr.TINY)
    sum(part.square().sum() for part in model(torch.randn(2, 3, 32, 32))).backward()
    slopes = dict(model.named_parameters())
    first, second = (slopes[f"decoder.blocks.{i}.attn.q.weight"].grad for i in (0, 1))
    assert first is not None
    assert second is not None
    return bool(first.abs().max() < 1e-6 < 1e-4 < second.abs().max())


def gamma_alone() -> bool:
    layer = MapAttention(16)
    layer(torch.randn(1, 16, 4, 4)).square().sum().backward()
    moved = {
        name
        for name, p in layer.named_parameters()
        if p.grad is not None and bool(p.grad.abs().max() > 0)
    }
    return moved == {"gamma"}


def a_square_between() -> bool:
    logits = F.one_hot(torch.tensor([[1, 1, 3, 3]] * 4), 4).permute(2, 0, 1)[None].float()
    small = logits.argmax(1, keepdim=True).float()
    mask = F.interpolate(small, scale_factor=4, mode="bilinear").round()
    resized = F.interpolate(logits, scale_factor=4, mode="bilinear").argmax(1)
    return bool((mask == 2).any()) and not bool((resized == 2).any())


def ground_alone() -> bool:
    """Network Q exists: it finds the thing, and paints too much of it."""
    true = torch.zeros(1000, dtype=torch.long)
    true[:40] = 1
    found = true.clone()
    found[40:90] = 1
    shares = [mean_iou(paint.numpy(), true.numpy(), 2) for paint in (0 * true, found)]
    right_pixels = [(paint == true).float().mean().item() for paint in (0 * true, found)]
    return [round(x, 2) for x in (*shares, *right_pixels)] == [0.48, 0.70, 0.96, 0.95]


def road_everywhere() -> bool:
    true = torch.zeros(100, dtype=torch.long)
    true[:2] = 1
    return abs(mean_iou(0 * true.numpy(), true.numpy(), 2) - 0.49) < 1e-9


def images_or_pixels() -> bool:
    """The library's share of one class, over both images together."""
    true = torch.tensor([1] * 8 + [0] * 8 + [0] * 16)
    painted = torch.tensor([1] * 8 + [0] * 8 + [1] * 2 + [0] * 14)
    both, either = ((painted == 1) & (true == 1)).sum(), ((painted == 1) | (true == 1)).sum()
    return (both / either).item() == pytest.approx(0.8)


def found_once() -> bool:
    """The surer call is right, the second one finds the thing taken; nothing is lost by it."""
    return float(precisions([0.9, 0.7], [True, False], n_objects=1).mean()) == 1.0


@torch.no_grad()
def in_other_company() -> bool:
    """One image's answer in two batches, in training mode and after `eval()`."""
    net, images = ConvNet((8, 8), n_classes=3), torch.randn(5, 1, 8, 8)
    said = {
        mode: [net.train(mode)(torch.cat([images[:1], rest]))[0] for rest in images[1:].split(2)]
        for mode in (True, False)
    }
    return not torch.allclose(*said[True], atol=1e-3) and torch.allclose(*said[False], atol=1e-5)


@torch.no_grad()
def bag_in_pieces() -> bool:
    """A mean of patches without positions: pieces of whole patches, and smaller ones."""
    model, images = tiny_vit(), torch.randn(3, 1, 8, 8)
    model.embeddings.positions.zero_()
    said = {
        size: model(
            unpatchify(
                patchify(images, size)[:, torch.arange((8 // size) ** 2).flip(0)], size, 8, 8
            )
        )
        for size in (1, 2, 4, 8)
    }
    bags = {size: states[:, 1:].mean(1) for size, states in said.items()}
    same = [torch.allclose(bags[size], bags[8], atol=1e-5) for size in (1, 2, 4)]
    return same == [False, True, True]


def reverse_in_the_mean() -> bool:
    """Frames (films, frames, d), each read alone: the mean is that of the reverse."""
    states = torch.nn.Linear(8, 5)(torch.randn(6, 4, 8)).tanh()
    return torch.allclose(states.mean(1), states.flip(1).mean(1), atol=1e-6)


def heard_through_time() -> bool:
    """Space after time reaches all, and no single step does."""
    steps = [meets(rule, 4, 3, 3).int() for rule in RULES["divided_space_time"]]
    return bool((steps[1] @ steps[0] > 0).all()) and not any(bool((s > 0).all()) for s in steps)


def facts() -> dict[str, Callable[[], bool]]:
    torch.manual_seed(0)
    draw = torch.tensor([0.0, 100.0])
    return {
        "table-in-a-new-order": positions_in_the_new_order,
        "reshape-alone": two_lines,
        "half-for-the-residual": lambda: (
            abs(rollout([torch.tensor([[[[0.4, 0.6], [0.5, 0.5]]]])])[-1, 0, 0, 1] - 0.3) < 1e-6
        ),
        "rows-of-the-encoder": lambda: (~hidden_patches(torch.rand(1, 64), 0.75)).sum() == 16,
        "what-counts": masked_loss,
        "twice-as-wide": lambda: in_windows(16, 4, 0).sum() == 4 * in_windows(8, 4, 0).sum(),
        "layers-to-the-corner": lambda: until_heard(16, 4, 2) == 7,
        "without-the-mask": without_the_mask,
        "rolled-on": rolled_on,
        "boxes-apart": lambda: abs(apart() + 1 / 6) < 1e-6 and 4 / 20 == 1 / 5,
        "middle-or-corner": lambda: abs((0.2 - 0.5) * (0.4 - 0.5) - 0.03) < 1e-9,
        "zeros-in-the-decoder": values_alike,
        "found-twice": found_once,
        "ground-alone": ground_alone,
        "after-share": road_everywhere,
        "images-or-pixels": images_or_pixels,
        "mean-of-two-classes": a_square_between,
        "gamma-at-zero": gamma_alone,
        "one-feature": lambda: (
            abs(frechet(x := torch.tensor([[-1.0], [0], [1]]) * 2 + 1, 1.5 * x + 1.5) - 5) < 1e-6
        ),
        "order-of-the-seeds": lambda: (
            mean([72, 64, 79]) < mean([61, 88, 70])
            and [a < b for a, b in zip((72, 64, 79), (61, 88, 70), strict=True)]
            == [False, True, False]
        ),
        "bag-in-pieces": bag_in_pieces,
        "torn-head": lambda: (
            min(-0.5 * math.log2(p) - 0.5 * math.log2(1 - p) for p in (0.1, 0.3, 0.5, 0.6)) == 1
        ),
        "teacher-in-training-mode": in_other_company,
        "zero-after-scaling": lambda: (
            (127.5 / 255 - 0.5) / 0.5 == 0 and (0 / 255 - 0.5) / 0.5 == -1
        ),
        "both-ways": reverse_in_the_mean,
        "heard-through-time": heard_through_time,
        "wrong-axis": lambda: time(3, 2, 2)[1].tolist() == [1, 5, 9],
        "after-mean": lambda: (
            mean((draw - 50).square().tolist()) == 2500
            and mean((draw - 0).square().tolist()) == 5000
        ),
        "before-mean": lambda: (5 - 2) ** 2 == 9 and mean([0, (8 - 2) ** 2]) == 18,
    }


@pytest.mark.parametrize("name", facts())
def test_what_an_answer_says_is_so(name: str) -> None:
    assert name in ITEMS
    assert facts()[name]()
