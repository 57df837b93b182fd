"""LayerNorm and RMSNorm of the same vector: move its entries, shift them, double them.

    layernorm_vs_rmsnorm([1, 7, 4, 0])

Bars go up and down from a line; the input has its own scale. Python draws the first state, which is
what paper and viewers without scripts show.
"""

import hashlib
import json
from collections.abc import Sequence
from html import escape
from pathlib import Path

import torch

from deepdive.core import LayerNorm, RMSNorm
from deepdive_book.kit.markup import Html, script
from deepdive_book.kit.palette import painted

LOW, HIGH = -12, 12
ROWS = ("input", "LayerNorm", "RMSNorm")
_SCRIPT = Path(__file__).with_suffix(".js").read_text(encoding="utf-8")


def normed(row: Sequence[float]) -> dict[str, list[float]]:
    """Return the input and its two norms; LayerNorm of equal entries is zero."""
    x = torch.tensor(list(row), dtype=torch.float64)
    layer, rms = LayerNorm(len(row), 1e-9).double(), RMSNorm(len(row), 1e-9).double()
    return dict(zip(ROWS, (x.tolist(), layer(x).tolist(), rms(x).tolist()), strict=True))


def alt_text(row: Sequence[float]) -> str:
    """The state in words."""
    rows = {
        name: ", ".join(format_number(v) for v in values) for name, values in normed(row).items()
    }
    return (
        f"The input {rows['input']} becomes {rows['LayerNorm']} after LayerNorm and "
        f"{rows['RMSNorm']} after RMSNorm."
    )


def format_number(value: float) -> str:
    """Format a number with at most two decimals, and no minus before 0."""
    text = f"{value:.2f}".rstrip("0").rstrip(".")
    return "0" if text == "-0" else text


def layernorm_vs_rmsnorm(row: Sequence[int]) -> Html:
    """Return the figure, with `row` as its first input.

    Raises:
        ValueError: fewer than two numbers, or one that is no whole number from -12 to 12.
    """
    if len(row) < 2 or any(int(x) != x or not LOW <= x <= HIGH for x in row):
        raise ValueError(f"row: got {list(row)}, expected whole numbers from {LOW} to {HIGH}")
    values, count = normed(row), len(row)
    lines = "".join(
        f'<div class="tn-row"><span class="tn-name">{name}</span><div class="tn-bars">'
        + "".join(_bar(v, HIGH if name == ROWS[0] else 2.0) for v in each)
        + "</div></div>"
        for name, each in values.items()
    )
    sliders = "".join(
        f'<label>entry {i + 1}<input type="range" min="{LOW}" max="{HIGH}" step="1" value="{x}">'
        "</label>"
        for i, x in enumerate(row)
    )
    given = json.dumps({"row": list(row), "low": LOW, "high": HIGH})
    name = f"tn{hashlib.sha256(given.encode()).hexdigest()[:10]}"
    html = _PAGE.format(
        id=name, style=painted(_STYLE.replace("COUNT", str(count))), lines=lines, sliders=sliders,
        said=escape(alt_text(row)), script=script(_SCRIPT, id=name, values=given),
    )  # fmt: skip
    return Html(html, f"[two norms: {alt_text(row)}]")


def _bar(value: float, largest: float) -> str:
    share = min(1.0, abs(value) / largest)
    place = (
        f"bottom:50%;height:{50 * share:.1f}%"
        if value >= 0
        else f"top:50%;height:{50 * share:.1f}%"
    )
    return f'<span class="tn-bar"><i style="{place}"></i><b>{format_number(value)}</b></span>'


_STYLE = """
.tn { max-width: 38rem; font: 1rem/1.4 system-ui, sans-serif; margin: .4em 0; }
.tn-controls[hidden] { display: none; }
.tn-sliders { display: grid; grid-template-columns: repeat(COUNT, minmax(0, 1fr)); gap: .6em;
  margin-left: 7rem; }
.tn-sliders label { display: grid; font-size: .9rem; }
.tn input { width: 100%; min-height: 2.2rem; accent-color: @residual; margin: 0; }
.tn-press { display: flex; flex-wrap: wrap; gap: .4em; margin: .5em 0; }
.tn button { font: inherit; color: inherit; cursor: pointer; margin: 0; padding: .3em .6em;
  background: transparent; border: 1px solid color-mix(in srgb, currentColor 55%, transparent);
  border-radius: .4em; min-height: 2.2rem; }
.tn :focus-visible { outline: 3px solid @key; outline-offset: 1px; }
.tn-row { display: flex; align-items: center; margin: 1.7em 0 .3em; }
.tn-name { width: 7rem; flex: none; }
.tn-bars { flex: 1; display: grid; grid-template-columns: repeat(COUNT, minmax(0, 1fr)); gap: .6em;
  height: 5.6rem;
  background: linear-gradient(currentColor, currentColor) 0 50% / 100% 1px no-repeat; }
.tn-bar { position: relative; height: 100%; }
.tn-bar i { position: absolute; left: 12%; right: 12%; background: @key; }
.tn-row + .tn-row .tn-bar i { background: @query; }
.tn-row + .tn-row + .tn-row .tn-bar i { background: @value; }
.tn-bar b { position: absolute; left: 0; right: 0; top: -1.4em; text-align: center;
  font-weight: 600; font-size: .9rem; font-variant-numeric: tabular-nums; }
.tn [role=status] { min-height: 2.8em; margin: .4em 0; }
@media (max-width: 500px) { .tn-name, .tn-sliders { font-size: .9rem; }
  .tn-name { width: 4.6rem; } .tn-sliders { margin-left: 4.6rem; }
  .tn [role=status] { min-height: 4.2em; } }
@media print { .tn-controls { display: none; } }
"""

_PAGE = """\
<style>{style}</style>
<div class="tn" id="{id}" role="group" aria-label="LayerNorm and RMSNorm of one vector">
{lines}
<div class="tn-controls" hidden><div class="tn-sliders">{sliders}</div>
<div class="tn-press"><button type="button">add 1 to all</button>
<button type="button">subtract 1 from all</button><button type="button">double all</button>
<button type="button">reset</button></div></div>
<p role="status" aria-live="polite">{said}</p>
</div>
{script}"""
