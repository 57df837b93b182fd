"""A linear model near one text: how wide *near* is and how many texts are drawn, moved by hand.

    lime_demo({"words that add up": Near(words, game, fair), ...})

Each word has a line with a dot for its weight in each of five draws of LIME, and a diamond for
another value of it, such as the exact Shapley value. Above stands how much a text counts by the
number of its words that are gone. The reader chooses the judge, the width and the number of texts.
Python draws the first state, which stays where nothing moves: on paper, without scripts.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from html import escape
from pathlib import Path
from typing import Any

import torch
from torch import Tensor

from deepdive.explain.games.game import Game
from deepdive.explain.games.lime import kernel_weights, lime, perturb
from deepdive_book.kit.living import Choice, Slider, living
from deepdive_book.kit.markup import Html

WIDTHS = (0.05, 0.15, 0.25, 0.35, 0.7, 5.0)
SAMPLES = (15, 50, 200, 1000)
DRAWS = 5
_SCRIPT = Path(__file__).with_suffix(".js").read_text(encoding="utf-8")


@dataclass(frozen=True)
class Near:
    """A judge of one text: its words, what it says of each set of them, and a value for each word
    (S,) that LIME's weights are shown beside.
    """

    words: Sequence[str]
    game: Game
    value: Tensor


def lime_demo(judges: Mapping[str, Near], width: int = 3, samples: int = 1) -> Html:
    """Return the picture of the first judge, at places of `WIDTHS` and of `SAMPLES`.

    Raises ValueError where there is no judge, or one has not one word and one value a part.
    """
    if not judges:
        raise ValueError("came no judge, expected some")
    for name, judge in judges.items():
        if not len(judge.words) == judge.game.size == len(judge.value):
            raise ValueError(
                f"{name}: got {len(judge.words)} words and {len(judge.value)} values for a game "
                f"of {judge.game.size} parts"
            )
    measured = [_measured(name, judge) for name, judge in judges.items()]
    first = measured[0]
    return living(
        "near", "A linear model near one text", code=_SCRIPT, style=_STYLE, wide=40,
        drawing=_DRAWING.format(near=_near(first, width), rows=_rows(first, width, samples)),
        status=alt_text(first, width, samples),
        spec={"judges": measured, "widths": WIDTHS, "samples": SAMPLES, "draws": DRAWS},
        controls=[Choice("judge", "judge", [*judges]),
                  Slider("width", "width", width, most=len(WIDTHS) - 1,
                         labels=[f"{each:g}" for each in WIDTHS]),
                  Slider("samples", "texts", samples, most=len(SAMPLES) - 1,
                         labels=[f"{each:,}" for each in SAMPLES])],
        try_this="draw more texts and see the dots of a word meet; then change the width, and see "
                 "which dots leave their diamond.",
    )  # fmt: skip


def alt_text(judge: Mapping[str, Any], width: int, samples: int) -> str:
    """The state in words."""
    fits, weights = judge["fits"][width][samples], judge["weights"][width][samples]
    apart = [max(word) - min(word) for word in zip(*weights, strict=True)]
    far = apart.index(max(apart))
    column = [each[far] for each in weights]
    return (
        f"Width {WIDTHS[width]:g}, {SAMPLES[samples]:,} texts: R² {min(fits):.2f} to "
        f"{max(fits):.2f} in {DRAWS} draws. Least sure: {judge['words'][far]}, "
        f"{_signed(min(column))} to {_signed(max(column))}."
    )


def _measured(name: str, judge: Near) -> dict[str, Any]:
    """All weights and fits, in hundredths as shown; the scale; how much each text counts."""
    size = judge.game.size
    weights: list[list[list[list[float]]]] = []
    fits: list[list[list[float]]] = []
    drawn = [[perturb(size, n, seed) for seed in range(DRAWS)] for n in SAMPLES]
    for width in WIDTHS:
        models = [[lime(judge.game, mask, width) for mask in some] for some in drawn]
        weights.append([[_rounded(w) for w, _ in some] for some in models])
        fits.append([_rounded(torch.stack([fit for _, fit in some])) for some in models])
    value = _rounded(judge.value)
    flat = [abs(v) for some in weights for each in some for w in each for v in w]
    left = torch.arange(size) < torch.arange(size - 1, -1, -1)[:, None]  # row g: g + 1 words gone
    near = []
    for width in WIDTHS:
        share = kernel_weights(left, width)
        near.append([round(100 * float(v), 1) for v in share / share.sum()])
    return {
        "name": name, "words": list(judge.words), "value": value, "weights": weights,
        "fits": fits, "near": near, "most": max([*flat, *map(abs, value), 0.01]),
    }  # fmt: skip


def _rounded(values: Tensor) -> list[float]:
    return [round(float(v), 2) + 0.0 for v in values]


def _signed(value: float) -> str:
    return f"{value:.2f}".replace("-", "−")


def place(value: float, most: float) -> str:
    """Where on its line a value stands."""
    return f"{50 + 48 * value / most:.1f}%"


def _rows(judge: Mapping[str, Any], width: int, samples: int) -> str:
    rows = []
    for k, word in enumerate(judge["words"]):
        dots = "".join(
            f'<i style="left:{place(w[k], judge["most"])}"></i>'
            for w in judge["weights"][width][samples]
        )
        mark = f'<b style="left:{place(judge["value"][k], judge["most"])}"></b>'
        rows.append(
            f'<div class="near-row"><span>{escape(word)}</span><span class="near-line">{mark}{dots}'
            "</span></div>"
        )
    return "".join(rows)


def _near(judge: Mapping[str, Any], width: int) -> str:
    return "".join(
        f'<span><i style="height:{share * 0.6:.1f}px"></i>{gone + 1}</span>'
        for gone, share in enumerate(judge["near"][width])
    )


_DRAWING = """<small>how much texts count that have so many words gone</small>
<div class="near-columns" aria-hidden="true">{near}</div>
<small><span class="near-key"></span> weight, one dot a draw
<span class="near-key near-diamond"></span> fair share (Shapley); middle line: 0</small>
<div class="near-rows">{rows}</div>"""
_STYLE = """
.near-columns { display: flex; align-items: flex-end; gap: .35em; min-height: 5.4rem;
  margin: .2em 0; }
.near-columns > span { width: 1.5rem; text-align: center; font-size: .9rem; line-height: 1.3; }
.near-columns i { display: block; background: @value; }
.living small { display: block; }
.near-row { display: grid; grid-template-columns: 5.5rem 1fr; align-items: center; }
.near-line { position: relative; display: block; height: 1.6rem; overflow: hidden;
  border-bottom: 1px solid color-mix(in srgb, @score 27%, transparent);
  background: linear-gradient(@score, @score) center / 1px 100% no-repeat; }
.near-line i, .near-key { border-radius: 50%; border: 1px solid @key;
  background: color-mix(in srgb, @key 53%, transparent); }
.near-line i { position: absolute; top: .3rem; width: .7rem; height: .7rem; margin-left: -.35rem; }
.near-line b { position: absolute; top: .2rem; width: .8rem; height: .8rem; margin-left: -.45rem;
  transform: rotate(45deg); border: 2px solid @query; }
.near-key { display: inline-block; width: .7em; height: .7em; }
.near-diamond { border-radius: 0; transform: rotate(45deg); background: none;
  border: 2px solid @query; margin-left: .8em; }
"""
