"""Pencil sheets: their numbers are the library's, the key is complete, two A4 pages a sheet."""

from __future__ import annotations

import html
import itertools
import math
import random
import re
from pathlib import Path

import pytest
import torch
from browser import Reader
from click.testing import CliRunner
from torch import Tensor
from torch.testing import assert_close

from deepdive.core import SoftmaxAttention
from deepdive.core.hooks import record
from deepdive.core.masks import Causal
from deepdive.core.norms import LayerNorm
from deepdive.positions import SinusoidalPosition
from deepdive_book import cli
from deepdive_book.course.sheets import SHEETS, Sheet, document, make, stepper
from deepdive_book.course.sheets.model import number

SEEDS = range(12)
EVERY = [(name, seed) for name in SHEETS for seed in SEEDS]


def grid(sheet: Sheet, name: str) -> Tensor:
    return torch.tensor(sheet.numbers(name), dtype=torch.float64)


def same(got: Tensor, want: Tensor) -> None:
    assert_close(got, want.to(got.dtype), atol=1e-6, rtol=0)


# --- the numbers against the library ----------------------------------------------------------


@pytest.mark.parametrize("seed", SEEDS)
def test_attention_is_the_librarys(seed: int) -> None:
    sheet = make("attention", seed)
    q, k, v = (grid(sheet, name)[None, None] for name in ("query", "keys", "values"))
    mechanism = SoftmaxAttention()
    with record(mechanism, "scores", "weights") as seen:
        output = mechanism(q, k, v)
    same(grid(sheet, "scores"), seen["scores"][0][0, 0])
    same(grid(sheet, "weights"), seen["weights"][0][0, 0])
    same(grid(sheet, "output"), output[0, 0])


@pytest.mark.parametrize("seed", SEEDS)
def test_softmax_at_each_temperature_is_torchs(seed: int) -> None:
    sheet = make("softmax", seed)
    for name, temperature in (("1", 1.0), ("2", 2.0), ("0.5", 0.5)):
        want = (grid(sheet, "scores") / temperature).softmax(-1)
        same(grid(sheet, f"T = {name}: weights"), want)


@pytest.mark.parametrize("seed", SEEDS)
def test_the_causal_mask_is_the_librarys(seed: int) -> None:
    sheet = make("causal_mask", seed)
    mechanism, eye = SoftmaxAttention(), torch.eye(3, dtype=torch.float64)[None, None]
    scores = grid(sheet, "scores")[None, None]
    with record(mechanism, "weights") as seen:
        output = mechanism(scores, eye, grid(sheet, "values")[None, None], Causal(), scale=1.0)
    same(grid(sheet, "weights"), seen["weights"][0][0, 0])
    same(grid(sheet, "output"), output[0, 0])


@pytest.mark.parametrize("seed", SEEDS)
def test_two_heads_are_the_librarys(seed: int) -> None:
    sheet = make("multi_head", seed)

    def split(name: str) -> Tensor:
        return grid(sheet, name).unflatten(-1, (2, -1)).transpose(0, 1)[None]  # (1, 2, T, d)

    mechanism = SoftmaxAttention()
    with record(mechanism, "scores") as seen:
        output = mechanism(split("query"), split("keys"), split("values"))
    for h, scores in enumerate(seen["scores"][0][0]):
        same(grid(sheet, f"head {h} scores"), scores)
    same(grid(sheet, "output"), output[0].transpose(0, 1).flatten(1))
    first, second = grid(sheet, "head 0 weights")[0], grid(sheet, "head 1 weights")[0]
    assert first.argmax() != second.argmax()


@pytest.mark.parametrize("seed", SEEDS)
def test_positions_are_the_librarys_and_their_products_equal(seed: int) -> None:
    sheet = make("positions", seed)
    names = next(g.rows for step in sheet.steps for g in step.grids if g.name == "PE")
    places = torch.tensor([int(name.removeprefix("p = ")) for name in names])
    same(grid(sheet, "PE"), SinusoidalPosition(4, base=100.0).table(places))
    first, second = sheet.numbers("products")[0]
    assert first == pytest.approx(second, abs=1e-12)


@pytest.mark.parametrize("seed", SEEDS)
def test_layer_norm_is_the_librarys(seed: int) -> None:
    sheet = make("layer_norm", seed)
    norm = LayerNorm(4, eps=0.0).double()
    with torch.no_grad():
        norm.weight.copy_(grid(sheet, "gain")[0])
        norm.bias.copy_(grid(sheet, "bias")[0])
    same(grid(sheet, "output"), norm(grid(sheet, "x")).detach())


@pytest.mark.parametrize("seed", SEEDS)
def test_feed_forward_is_two_products_a_cut_and_a_sum(seed: int) -> None:
    sheet = make("feed_forward", seed)
    x, wide, narrow = (grid(sheet, name) for name in ("x", "W1", "W2"))
    same(grid(sheet, "output"), x + (x @ wide).relu() @ narrow)


@pytest.mark.parametrize("seed", SEEDS)
def test_cross_entropy_is_torchs(seed: int) -> None:
    sheet = make("cross_entropy", seed)
    chances = grid(sheet, "chances")
    assert_close(chances.sum(-1), torch.ones(3, dtype=torch.float64))
    columns = next(g.columns for s in sheet.steps for g in s.grids if g.name == "chances")
    asked = next(g.columns for s in sheet.steps for g in s.grids if g.name == "losses")
    right = torch.tensor([list(columns).index(word) for word in asked])
    loss = torch.nn.functional.cross_entropy(chances.log(), right)
    same(grid(sheet, "mean"), torch.stack([loss, loss.exp()])[None])
    # torch smooths by 0.15: 0.05 for every word and 0.85 more for the right one
    smooth = torch.nn.functional.cross_entropy(chances[:1].log(), right[:1], label_smoothing=0.15)
    same(grid(sheet, "smoothed")[0, -1], smooth)


@pytest.mark.parametrize("seed", SEEDS)
def test_the_beam_beats_greedy_and_nothing_beats_the_ended_four(seed: int) -> None:
    sheet = make("beam_search", seed)
    start, *after = sheet.numbers("chances")
    sentences = {
        words: start[words[0]]
        * math.prod(after[a][b] for a, b in itertools.pairwise(words))
        * after[words[-1]][2]
        for n in (1, 2)
        for words in itertools.product((0, 1), repeat=n)
    }
    greedy_grid = next(g for s in sheet.steps for g in s.grids if g.name == "greedy")
    greedy = float(greedy_grid.values[0][1])
    (ended,) = sheet.numbers("ended")
    assert max(ended) > greedy + 0.02
    assert all(any(abs(p - q) < 1e-12 for q in sentences.values()) for p in (*ended, greedy))
    # a beam of two: both first words may end, and the two likeliest pairs go on
    both = itertools.product((0, 1), repeat=2)
    pairs = sorted(both, key=lambda w: -start[w[0]] * after[w[0]][w[1]])
    assert ended == pytest.approx([sentences[w] for w in ((0,), (1,), *pairs[:2])])
    best = [max(range(3), key=start.__getitem__)]
    best.append(max(range(3), key=after[best[0]].__getitem__))
    assert greedy == pytest.approx(sentences[tuple(i for i in best if i < 2)])


# --- every sheet ------------------------------------------------------------------------------


@pytest.mark.parametrize(("name", "seed"), EVERY)
def test_every_grid_is_whole_and_work_ends_in_its_number(name: str, seed: int) -> None:
    sheet = make(name, seed)
    assert sheet.steps[0].grids
    assert not any(g.asked for g in sheet.steps[0].grids), "the first step gives"
    for step in sheet.steps[1:]:
        assert any(g.asked for g in step.grids)
        for g in step.grids:
            width = len(g.values[0])
            assert all(len(row) == width for row in g.values)
            assert len(g.rows) in (0, len(g.values))
            assert len(g.columns) in (0, width)
            assert [len(row) for row in g.work] == [width] * len(g.values)
            for row, shown in zip(g.work, g.shown(), strict=True):
                for work, value in zip(row, shown, strict=True):
                    if " = " in work and g.name not in ("beams", "greedy"):
                        assert work.split(" = ")[-1].replace(",", "") == value, work


@pytest.mark.parametrize("name", SHEETS)
def test_a_seed_fixes_the_sheet_and_another_changes_it(name: str) -> None:
    random.seed(5)
    first = document(make(name, 3))
    assert document(make(name, 3)) == first
    others = {document(make(name, seed)).replace(f"sheet {seed}", "") for seed in SEEDS}
    assert len(others) > 8


@pytest.mark.parametrize("name", SHEETS)
def test_the_page_to_fill_in_does_not_tell_and_the_key_does(name: str) -> None:
    sheet = make(name, 3)
    paper, key = re.findall(r'<section class="sheet.*?</section>', document(sheet), re.DOTALL)
    asked = [g for step in sheet.steps for g in step.grids if g.asked]
    cells = sum(len(row) for g in asked for row in g.values)
    assert paper.count("></td>") == cells
    assert "></td>" not in key
    assert html.escape(sheet.answer) in key
    assert html.escape(sheet.answer) not in paper
    key = re.sub(r"<sup>(.*?)</sup>", r"^\1", key)
    assert all(html.escape(g.work[0][0]) in key for g in asked)


def test_nothing_is_loaded_from_a_network() -> None:
    text = document(*(make(name) for name in SHEETS))
    assert not re.search(r"(?:src|href)=|@import|url\(|https?:", text)


def test_a_number_is_written_as_by_hand() -> None:
    assert [number(x) for x in (2.0, -1.0, 0.665, -0.5, 0.0, -math.inf, "end")] == [
        "2", "−1", "0.67", "−0.50", "0", "−∞", "end",
    ]  # fmt: skip


# --- the command ------------------------------------------------------------------------------


def test_the_command_writes_one_file(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    result = CliRunner().invoke(cli.main, ["sheet", "softmax", "--seed", "7"])
    assert (result.exit_code, result.output.splitlines()[0]) == (0, "Written: softmax-7.html")
    assert (tmp_path / "softmax-7.html").read_text("utf-8") == document(make("softmax", 7))
    many = ["sheet", "softmax", "--count", "3", "--out", "there/class.html"]
    assert CliRunner().invoke(cli.main, many).exit_code == 0
    text = (tmp_path / "there/class.html").read_text("utf-8")
    assert text == document(*(make("softmax", seed) for seed in range(3)))


def test_an_unknown_sheet_is_answered_with_a_near_one(tmp_path: Path) -> None:
    result = CliRunner().invoke(cli.main, ["sheet", "atention"])
    assert result.exit_code == 2
    assert "no worksheet 'atention' (did you mean attention?)" in result.output
    with pytest.raises(ValueError, match="did you mean attention"):
        make("atention")
    with pytest.raises(ValueError, match="sheets is empty"):
        document()


def test_a_seed_below_zero_is_refused() -> None:
    result = CliRunner().invoke(cli.main, ["sheet", "softmax", "--seed", "-5"])
    assert result.exit_code == 2
    assert "-5" in result.output


def test_a_folder_that_cannot_be_written_is_one_line(tmp_path: Path) -> None:
    (tmp_path / "file").write_text("")
    result = CliRunner().invoke(cli.main, ["sheet", "softmax", "--out", f"{tmp_path}/file/a.html"])
    assert result.exit_code == 1
    assert result.output.startswith("Error: cannot write")


def test_the_sheets_are_listed() -> None:
    lines = CliRunner().invoke(cli.main, ["list", "sheets"]).output.splitlines()
    assert [line.split()[0] for line in lines[1:]] == list(SHEETS)


# --- in a browser -----------------------------------------------------------------------------


def test_each_sheet_and_each_key_is_one_page_of_a4(reader: Reader) -> None:
    sheets = [make(name, seed) for name in SHEETS for seed in (0, 1)]
    boxes = re.findall(rb"/MediaBox \[([\d. ]+)\]", reader.prints(document(*sheets)))
    assert len(boxes) == 2 * len(sheets)
    assert {tuple(round(float(x)) for x in box.split()) for box in boxes} <= {
        (0, 0, 595, 842),
        (0, 0, 596, 842),
    }


def test_the_stepper_plays_one_number_after_the_other(reader: Reader) -> None:
    sheet = make("attention", 3)
    click = "<script>for (let i = 0; i < 4; i++) document.querySelectorAll('button')[1].click()"
    after = reader.text(f"{stepper(sheet).html}{click}</script>")
    (dots,) = sheet.steps[1].grids
    (scores,) = sheet.steps[2].grids
    assert len(dots.work[0]) == 3
    assert f'polite">{scores.work[0][0]}</p>' in after, "the fourth number is the first score"
    asked = sum(len(row) for s in sheet.steps for g in s.grids if g.asked for row in g.values)
    assert after.count('data-hidden=""') == asked - 4
    assert f"4 of {asked}" in after
