"""The slider of ranks shows the page's own maps and errors, by mouse and key, and fits a phone."""

from __future__ import annotations

import re
from typing import Any

import pytest
import torch
from browser import DESK, PHONE, Reader, Size

from deepdive_book.ch05.figures.low_rank_approximation import Form, low_rank_approximation
from deepdive_book.kit.markup import Html

WORDS = ["[CLS]", "ann", "likes", "sweet", "cakes", "and", "ben", "likes", "salty", "fish"]
DRAW = torch.Generator().manual_seed(0)
TABLES = (3 * torch.randn(2, 10, 10, generator=DRAW)).softmax(-1)
NAMES = ["layer 1, head 2", "layer 3, head 9"]


def cut(k: int) -> tuple[torch.Tensor, torch.Tensor]:
    """The best maps of rank k, and their errors."""
    U, sigma, Vh = torch.linalg.svd(TABLES)
    maps = (U[..., :k] * sigma[..., None, :k]) @ Vh[..., :k, :]
    return maps, (maps - TABLES).norm(dim=(1, 2)) / TABLES.norm(dim=(1, 2))


BEST = {k: cut(k) for k in range(1, 11)}
LUCK = {k: (TABLES / k, torch.tensor([1 - 1 / k, 2 - 1 / k])) for k in (1, 4, 16, 1024)}


def picture() -> Html:
    forms = [Form("the best", "bowls", BEST), Form("by luck", "features", LUCK, True)]
    return low_rank_approximation(WORDS, dict(zip(NAMES, TABLES, strict=True)), forms, k=4)


def minus(x: float) -> str:
    return f"{x:.2f}".replace("-0.00", "0.00").replace("-", "\u2212")


def shades(page: Any, side: str) -> torch.Tensor:
    """The weights that the colours stand for, in parts of the table's largest."""
    told = page.locator(f".rk-{side} .rk-cell").evaluate_all(
        "all => all.map(x => [x.getAttribute('fill'), +x.getAttribute('fill-opacity')])"
    )
    return torch.tensor([part if fill == "#E69F00" else -part for fill, part in told]).view(10, 10)


def test_slider_head_and_form_show_the_page_s_own_maps_and_errors(reader: Reader) -> None:
    page = reader.open(picture().html)
    for head, name in enumerate(NAMES):
        page.get_by_label(name).check()
        for form, at in (("the best", BEST), ("by luck", LUCK)):
            page.get_by_label(form).check()
            for place in (0, len(at) - 1, 1):
                page.locator(".rk-slide input").fill(str(place))
                k, (maps, errors) = list(at.items())[place]
                top = TABLES[head].max()
                drawn = (maps[head] / top).clamp(-1, 1)
                assert torch.allclose(shades(page, "form"), drawn, atol=2e-3)
                assert torch.allclose(shades(page, "exact"), TABLES[head] / top, atol=2e-3)
                said = page.locator("[role=status]").inner_text()
                wrong = re.search(r"off by (\d+)%", said)
                assert wrong
                assert abs(float(wrong[1]) - 100 * errors[head].item()) < 0.51
                assert said.startswith(f"{name}, {form}, {k:,} ")
                numbers = 20 * k + (k * k if form == "by luck" else 0)
                assert f"{numbers:,} numbers in place of 100" in said
                assert page.locator(".rk-s").is_visible() == (form == "by luck")
    assert not reader.complaints


def test_keys_move_the_slider_and_name_a_cell(reader: Reader) -> None:
    page = reader.open(picture().html)
    slider, said = page.locator(".rk-slide input"), page.locator("[role=status]")
    slider.focus()
    page.keyboard.press("ArrowRight")
    assert "5 bowls" in said.inner_text()
    page.locator(".rk-exact").focus()
    for key in ("ArrowDown", "ArrowDown", "ArrowDown", "ArrowRight", "ArrowRight", "ArrowUp"):
        page.keyboard.press(key)
    own, made = TABLES[0, 1, 2].item(), BEST[5][0][0, 1, 2].item()
    assert said.inner_text() == (
        f"ann takes of likes: {minus(own)} in the table, {minus(made)} with 5 bowls."
    )
    assert page.locator(".rk-at").count() == 2
    page.get_by_label("by luck").check()
    assert page.locator(".rk-name").inner_text() == "4 features", "k stays as near as it can"


def test_a_weight_below_zero_has_a_sign(reader: Reader) -> None:
    page = reader.open(picture().html)
    drawn = page.locator(".rk-form .rk-minus").all_text_contents()
    assert [bool(text) for text in drawn] == (BEST[4][0][0] <= -0.005).flatten().tolist()
    assert any(drawn)


@pytest.mark.parametrize("size", [DESK, PHONE])
@pytest.mark.parametrize("scheme", ["light", "dark"])
def test_it_fits_and_its_words_can_be_read(reader: Reader, size: Size, scheme: str) -> None:
    page = reader.open(picture().html, size, color_scheme=scheme)
    assert page.evaluate("document.documentElement.scrollWidth <= innerWidth")
    assert page.evaluate("[...document.querySelectorAll('input')].every(x => x.labels.length)")
    for word in page.locator(".rk-map text:not(.rk-minus)").all():
        box, (_, around) = word.bounding_box(), (0, word.locator("..").bounding_box())
        assert box
        assert around
        assert min(box["width"], box["height"]) >= 11
        assert box["x"] >= around["x"] - 1
        assert box["y"] >= around["y"] - 1


def test_without_scripts_the_first_state_stands_there_drawn() -> None:
    dead = re.sub(r"<script>.*?</script>", "", picture().html, flags=re.DOTALL)
    assert dead.count('class="rk-cell"') == 200
    assert 'class="rk-controls" hidden' in dead
    said = f"off by {100 * BEST[4][1][0]:.0f}%, 80 numbers in place of 100."
    assert said in dead
    assert said in repr(picture())
    assert picture().html == picture().html


def test_what_it_cannot_show_is_refused() -> None:
    with pytest.raises(ValueError, match=r"tables: expected maps \(10, 10\) and a form"):
        low_rank_approximation(WORDS, {"a": TABLES[0, :5]}, [Form("best", "bowls", BEST)])
    with pytest.raises(ValueError, match=r"k is 11; 'best' has \[1, 2"):
        low_rank_approximation(
            WORDS, dict(zip(NAMES, TABLES, strict=True)), [Form("best", "bowls", BEST)], k=11
        )
    one = [Form("best", "bowls", {1: (TABLES[:1], [0.5])})]
    with pytest.raises(ValueError, match=r"'best', k = 1: expected maps \(2, 10, 10\)"):
        low_rank_approximation(WORDS, dict(zip(NAMES, TABLES, strict=True)), one)
