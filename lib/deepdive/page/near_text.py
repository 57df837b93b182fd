"""A linear model near one text: how wide *near* is and how many texts are drawn, moved by hand.

    near_text({"words that add up": Near(words, game, fair), ...})

Each word has a line with a dot for its weight in each of five draws of LIME, and a diamond for
another value of it, such as the exact Shapley value. Above stands how much a text counts by the
number of its words that are gone. The reader chooses the judge, the width and the number of texts.
Python draws the first state, which stays where nothing moves: on paper, without scripts.
"""

import hashlib
import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from html import escape
from pathlib import Path
from typing import Any

import torch
from torch import Tensor

from deepdive.explain.games.game import Game
from deepdive.explain.games.lime import around, lime, nearness
from deepdive.page.markup import Html, script
from deepdive.page.palette import ROLES

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


def near_text(judges: Mapping[str, Near], width: int = 3, samples: int = 1) -> Html:
    """Return the picture of the first judge, at places of `WIDTHS` and of `SAMPLES`.

    Raises ValueError where there is no judge, or one has not one word and one value a part.
    """
    if not judges:
        raise ValueError("came no judge, expected some")
    for name, judge in judges.items():
        if not len(judge.words) == judge.game.size == len(judge.value):
            raise ValueError(
                f"{name}: came {len(judge.words)} words and {len(judge.value)} values for a game "
                f"of {judge.game.size} parts"
            )
    measured = [_measured(name, judge) for name, judge in judges.items()]
    spec = {"judges": measured, "widths": WIDTHS, "samples": SAMPLES, "draws": DRAWS}
    given = json.dumps(spec, separators=(",", ":"))
    name = f"nt{hashlib.sha256(given.encode()).hexdigest()[:10]}"
    first = measured[0]
    said = told(first, width, samples)
    html = _PAGE.format(
        id=name, said=escape(said), rows=_rows(first, width, samples), near=_near(first, width),
        options="".join(f'<option value="{i}">{escape(n)}' for i, n in enumerate(judges)),
        widths=len(WIDTHS) - 1, width=width, wide=f"{WIDTHS[width]:g}",
        most=len(SAMPLES) - 1, samples=samples, texts=f"{SAMPLES[samples]:,}",
        dot=ROLES["key"], mark=ROLES["query"], bar=ROLES["value"], grey=ROLES["score"],
        focus=ROLES["weight"], script=script(_SCRIPT, id=name, values=given),
    )  # fmt: skip
    return Html(html, f"[near one text: {said}]")


def told(judge: Mapping[str, Any], width: int, samples: int) -> str:
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
    drawn = [[around(size, n, seed) for seed in range(DRAWS)] for n in SAMPLES]
    for width in WIDTHS:
        found = [[lime(judge.game, kept, width) for kept in some] for some in drawn]
        weights.append([[_rounded(w) for w, _ in some] for some in found])
        fits.append([_rounded(torch.stack([fit for _, fit in some])) for some in found])
    value = _rounded(judge.value)
    flat = [abs(v) for some in weights for each in some for w in each for v in w]
    left = torch.arange(size) < torch.arange(size - 1, -1, -1)[:, None]  # row g: g + 1 words gone
    near = []
    for width in WIDTHS:
        share = nearness(left, width)
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
            f'<div class="nt-row"><span>{escape(word)}</span><span class="nt-line">{mark}{dots}'
            "</span></div>"
        )
    return "".join(rows)


def _near(judge: Mapping[str, Any], width: int) -> str:
    return "".join(
        f'<span><i style="height:{share * 0.6:.1f}px"></i>{gone + 1}</span>'
        for gone, share in enumerate(judge["near"][width])
    )


_PAGE = """\
<style>
.nt {{ max-width: 40rem; font: 1rem/1.4 system-ui, sans-serif; margin: .4em 0; }}
.nt-choose {{ display: flex; flex-wrap: wrap; gap: .3em 1.4em; align-items: center; }}
.nt-choose[hidden] {{ display: none; }}
.nt-choose label {{ display: flex; flex-wrap: wrap; gap: .2em .5em; align-items: center; }}
.nt-choose select {{ font: inherit; min-height: 2.4rem; max-width: 100%; }}
.nt-choose input {{ width: min(11rem, 42vw); min-height: 2.4rem; accent-color: {dot}; }}
.nt-choose output {{ min-width: 3em; font-variant-numeric: tabular-nums; }}
.nt-choose :focus-visible {{ outline: 3px solid {focus}; outline-offset: 2px; }}
.nt p {{ margin: .5em 0; min-height: 4.2em; font-variant-numeric: tabular-nums; }}
.nt-near {{ display: flex; align-items: flex-end; gap: .35em; min-height: 5.4rem; margin: .2em 0; }}
.nt-near > span {{ width: 1.5rem; text-align: center; font-size: .9rem; line-height: 1.3; }}
.nt-near i {{ display: block; background: {bar}; }}
.nt small {{ display: block; }}
.nt-row {{ display: grid; grid-template-columns: 5.5rem 1fr; align-items: center; }}
.nt-line {{ position: relative; display: block; height: 1.6rem;
  border-bottom: 1px solid {grey}44;
  background: linear-gradient({grey}, {grey}) center / 1px 100% no-repeat; }}
.nt-line i {{ position: absolute; top: .3rem; width: .7rem; height: .7rem; margin-left: -.35rem;
  border-radius: 50%; background: {dot}88; border: 1px solid {dot}; }}
.nt-line b {{ position: absolute; top: .2rem; width: .8rem; height: .8rem; margin-left: -.45rem;
  transform: rotate(45deg); border: 2px solid {mark}; }}
.nt-key {{ display: inline-block; width: .7em; height: .7em; border-radius: 50%;
  background: {dot}88; border: 1px solid {dot}; }}
.nt-diamond {{ border-radius: 0; transform: rotate(45deg);
  background: none; border: 2px solid {mark}; margin-left: .8em; }}
@media print {{ .nt-choose {{ display: none; }} .nt p {{ min-height: 0; }} }}
</style>
<div class="nt" id="{id}" role="group" aria-label="A linear model near one text">
<div class="nt-choose" hidden><label>judge <select>{options}</select></label>
<label>width <input type="range" min="0" max="{widths}" step="1" value="{width}">
<output>{wide}</output></label>
<label>texts <input type="range" min="0" max="{most}" step="1" value="{samples}">
<output>{texts}</output></label></div>
<p role="status" aria-live="polite">{said}</p>
<small>how much texts count that have so many words gone</small>
<div class="nt-near" aria-hidden="true">{near}</div>
<small><span class="nt-key"></span> weight, one dot a draw
<span class="nt-key nt-diamond"></span> fair share (Shapley); middle line: 0</small>
<div class="nt-rows">{rows}</div>
</div>
{script}"""
