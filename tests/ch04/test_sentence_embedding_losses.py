"""Pairs on a circle: a step is what autograd says of the library's loss, by button and finger."""

from __future__ import annotations

import math
import re
from typing import Any

import pytest
import torch
import torch.nn.functional as F
from browser import Reader
from torch import Tensor

from deepdive.training.objectives import translation_ranking
from deepdive_book.ch04.figures.sentence_embedding_losses import angles, embedding_losses_demo
from deepdive_book.kit.markup import Html

PAIRS = [("she <drinks> tea", "elle boit du thé"), ("he sleeps", "il dort"),
         ("it rains", "il pleut"), ("the train is late", "le train est en retard")]  # fmt: skip
WORDS = re.compile(
    r"Step (\d+)\. Ranking costs ([\d.]+) bits\. (\d) of (\d) .* nearest, (\d) of \d .*: "
    r"([-−\d.]+)\."
)


def picture() -> Html:
    return embedding_losses_demo(PAIRS)


def state(page: Any) -> tuple[float, ...]:
    found = WORDS.fullmatch(page.locator("[role=status]").inner_text())
    assert found is not None
    return tuple(float(part.replace("−", "-")) for part in found.groups())


def loss(rank: bool, u: Tensor, v: Tensor, margin: float, scale: float) -> Tensor:
    if rank:
        return translation_ranking(u, v, margin, scale) * len(u) / scale
    return (u - v).square().sum()


def after(
    steps: int, rank: bool, n: int = 4, margin: float = 0.0, scale: float = 5.0, seed: int = 0
) -> tuple[float, ...]:
    """What the picture has to say after so many steps of autograd."""
    at = torch.tensor(angles(len(PAIRS), seed), dtype=torch.double)[:, :n]
    own, common = torch.stack((at.cos(), at.sin()), -1), torch.zeros(2, dtype=torch.double)
    for _ in range(steps):
        own.requires_grad_()
        common.requires_grad_()
        u, v = F.normalize(own + common, dim=-1)
        slopes = torch.autograd.grad(loss(rank, u, v, margin, scale), (own, common))
        own, common = (x.detach() - 0.1 * g for x, g in zip((own, common), slopes, strict=True))
    u, v = F.normalize(own + common, dim=-1)
    table, here = u @ v.T, torch.arange(n)
    bits = float(translation_ranking(u, v, margin, scale)) / 2 / math.log(2)
    found = [int((table.argmax(d) == here).sum()) for d in (1, 0)]
    apart = float(table.sum() - table.trace()) / (n * n - n)
    return (steps, round(bits, 2), found[0], n, found[1], round(apart, 2))


def press(page: Any, name: str, times: int = 1) -> None:
    for _ in range(times):
        page.get_by_role("button", name=name, exact=True).click()


def test_steps_are_the_gradient_of_the_library_s_loss(reader: Reader) -> None:
    page = reader.open(embedding_losses_demo(PAIRS).html)
    assert state(page) == pytest.approx(after(0, True), abs=0.011)
    for name, rank in (("rank", True), ("pull", False)):
        press(page, "begin again")
        press(page, f"{name}: 1 step", 3)
        assert state(page) == pytest.approx(after(3, rank), abs=0.011)
        press(page, f"{name}: 20 steps")
        assert state(page) == pytest.approx(after(23, rank), abs=0.011)
    press(page, "begin again")
    for i, value in enumerate(("3", "0.3", "8")):
        page.locator("input[type=range]").nth(i).fill(value)
    press(page, "rank: 20 steps")
    assert state(page) == pytest.approx(after(20, True, 3, 0.3, 8.0), abs=0.011)
    assert not reader.complaints


def test_pulling_brings_all_to_one_place_and_ranking_does_not() -> None:
    assert after(100, False)[-1] > 0.8
    assert after(100, True)[-1] < 0.2


def test_a_point_is_turned_and_dragged(reader: Reader) -> None:
    page = reader.open(embedding_losses_demo(PAIRS).html)
    page.locator("select").select_option("1,2")
    page.locator("input[type=range]").nth(3).fill("90")
    top = page.locator("path.pr-end").nth(2)
    assert top.get_attribute("d").startswith("M150 29L159 38")  # straight up
    box = top.bounding_box()
    frame = page.locator("svg").first.bounding_box()
    page.mouse.move(box["x"] + box["width"] / 2, box["y"] + box["height"] / 2)
    page.mouse.down()
    page.mouse.move(frame["x"] + frame["width"] - 5, frame["y"] + frame["height"] / 2)
    page.mouse.up()
    moved = re.match(r"M([\d.]+) ([\d.]+)", page.locator("path.pr-end").nth(2).get_attribute("d"))
    assert moved is not None
    assert float(moved[1]) == pytest.approx(262, abs=1)  # to the right
    assert float(moved[2]) == pytest.approx(141, abs=3)


def test_python_and_the_script_draw_the_same(reader: Reader) -> None:
    dead = re.sub(r"<script>.*?</script>", "", embedding_losses_demo(PAIRS).html, flags=re.DOTALL)
    shown = []
    for html in (dead, embedding_losses_demo(PAIRS).html):
        page = reader.open(html)
        drawn = [one.evaluate("e => e.innerHTML") for one in page.locator("svg").all()]
        shown.append([*drawn, page.locator("[role=status]").inner_text()])
    assert shown[0] == [part.replace("−0.00", "0.00") for part in shown[1]]
    assert repr(embedding_losses_demo(PAIRS)).startswith("[pull and rank: Step 0. Ranking costs ")


@pytest.mark.parametrize("count", [1, 7])
def test_what_does_not_fit_is_refused(count: int) -> None:
    with pytest.raises(ValueError, match=f"got {count}, expected 2 to 6"):
        embedding_losses_demo([("a", "b")] * count)
