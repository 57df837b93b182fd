"""A table of weights, and what a product of two thin tables makes of it, as the reader moves k.

    best = Form("the best there is", "bowls", {k: (maps (H, T, S), errors (H,)) for k in ...})
    low_rank_approximation(["the", "dog", "barks"], {"layer 1, head 2": weights}, [best])

The reader chooses a table (a head), a form, and k by a slider; a cell can be pointed at, or reached
with the arrow keys. Maps and errors are the page's own numbers, in single precision. Python
draws the first state, which stays where nothing moves: on paper and without scripts.
"""

import base64
import hashlib
import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from html import escape
from pathlib import Path
from typing import Any

import numpy as np

from deepdive_book.kit.diagrams import FONT
from deepdive_book.kit.figures import Picture
from deepdive_book.kit.markup import Html, script
from deepdive_book.kit.palette import ROLES, painted

LARGEST = 150_000  # bytes of HTML
CELL, TOP, SIDE = 13.0, 46.0, 46.0  # of a map: a cell, the words above, the words to the left
_SCRIPT = Path(__file__).with_suffix(".js").read_text(encoding="utf-8")


@dataclass(frozen=True)
class Form:
    """One way to make the tables from thin ones.

    `unit` is what k counts. `at` has for each k the maps (H, T, S), in the order of the tables, and
    the error of each (H,). `square`: between the two thin tables stands one of k x k.
    """

    name: str
    unit: str
    at: Mapping[int, tuple[Any, Any]]
    square: bool = False

    def numbers(self, size: int, k: int) -> int:
        """How many numbers its thin tables have for `size` rows and columns."""
        return 2 * size * k + (k * k if self.square else 0)


def low_rank_approximation(
    words: Sequence[str],
    tables: Mapping[str, Any],
    forms: Sequence[Form],
    *,
    k: int = 1,
    off: str = "off by",
) -> Html:
    """Return the picture: the table, its form of k, what the form costs and how far off it is.

    Args:
        words: of the rows (who asks) and of the columns (who is asked).
        tables: name -> weights (T, T), none below 0.
        forms: the first one is shown first; `k` must be among its own.
        off: what the error is called.

    Raises:
        ValueError: there is no table or form, or a map or its errors have another shape.
    """
    exact = np.stack([_array(table) for table in tables.values()]) if tables else np.empty(0)
    shape = (len(tables), len(words), len(words))
    if not forms or not tables or exact.shape != shape:
        raise ValueError(f"tables: expected maps {shape[1:]} and a form; got {exact.shape[1:]}")
    if k not in forms[0].at:
        raise ValueError(f"k is {k}; {forms[0].name!r} has {list(forms[0].at)}")
    stored, listed = [_bytes(exact)], list[dict[str, Any]]()
    for form in forms:
        steps = []
        for count, (maps, errors) in form.at.items():
            found, wrong = _array(maps), [round(float(x), 6) for x in errors]
            if found.shape != shape or len(wrong) != len(tables):
                raise ValueError(
                    f"{form.name!r}, k = {count}: expected maps {shape} with {shape[0]} errors; "
                    f"got {found.shape} with {len(wrong)}"
                )
            steps.append({"k": int(count), "off": wrong})
            stored.append(_bytes(found))
        listed.append({"name": form.name, "unit": form.unit, "square": form.square, "steps": steps})
    first, size = _array(forms[0].at[k][0])[0], len(words)
    wrong = listed[0]["steps"][list(forms[0].at).index(k)]["off"][0]
    said = alt_text(next(iter(tables)), forms[0], k, wrong, size, off)
    maps = base64.b64encode(b"".join(stored)).decode()
    values = {"words": list(words), "tables": list(tables), "forms": listed, "k": k, "off": off}
    name = f"rk{hashlib.sha256((json.dumps(values) + maps).encode()).hexdigest()[:10]}"
    top = float(exact[0].max())
    left, right = _map(exact[0], words, top, "exact"), _map(first, words, top, "form")
    numbers = forms[0].numbers(size, k)
    html = _PAGE.format(
        id=name, left=left, right=right, said=escape(said), off=escape(off), k=k,
        unit=escape(forms[0].unit), name=escape(forms[0].name), table=escape(next(iter(tables))),
        thin=_thin(size, k, forms[0].square), numbers=_wide(numbers / size**2), wrong=_wide(wrong),
        sizes=_sizes(size, k, forms[0].square), count=numbers, all=size**2, columns=_columns(size),
        percent=f"{100 * wrong:.0f}%", **ROLES,
        script=script(painted(_SCRIPT), id=name, values=json.dumps(values), maps=maps),
    )  # fmt: skip
    if len(html.encode()) > LARGEST:
        raise ValueError(f"the tables have {len(html.encode())} bytes, at most {LARGEST}")
    alt = f"A table of weights between {size} words, and the same from two thin tables. {said}"
    return Html(html, f"[a slider: {alt}]", [Picture([left, right], alt, ["exact", "form"])])


def alt_text(table: str, form: Form, k: int, wrong: float, size: int, off: str) -> str:
    """The state in words."""
    unit = form.unit.removesuffix("s") if k == 1 else form.unit
    return (
        f"{table}, {form.name}, {k:,} {unit}: {off} {100 * wrong:.0f}%, "
        f"{form.numbers(size, k):,} numbers in place of {size**2:,}."
    )


def _array(values: Any) -> np.ndarray[Any, np.dtype[np.float64]]:
    if hasattr(values, "detach"):
        values = values.detach().double().cpu()
    return np.asarray(values, dtype=np.float64)


def _bytes(maps: np.ndarray[Any, Any]) -> bytes:
    return maps.astype("<f4").tobytes()


def _wide(share: float) -> str:
    """How long a bar is: a table's numbers, or an error of 100%, are half of its box."""
    return f"{min(50 * share, 100):.1f}%"


def _columns(size: int) -> str:
    """Two columns in which cells are of one size, though one map has words to its left."""
    return " ".join(f"minmax(0, {side + size * CELL + 1:g}fr)" for side in (SIDE, 1.0))


def _sizes(size: int, k: int, square: bool) -> str:
    between = f" times {k:,} \u00d7 {k:,}" if square else ""
    return f"{size} \u00d7 {k:,}{between} times {k:,} \u00d7 {size}"


def _thin(size: int, k: int, square: bool) -> str:
    """The thin tables beside each other, to scale."""
    unit = 48 / size
    wide, flat = min(k, 3 * size) * unit, min(k, size) * unit
    between = flat + 6 if square else 0
    return (
        f'<svg viewBox="0 0 {max(150, wide + between + 60):g} 52" preserveAspectRatio="xMinYMid" '
        'class="rk-thin" aria-hidden="true">'
        f'<rect class="rk-t" x="2" y="2" width="{wide:g}" height="48"/>'
        f'<rect class="rk-s" x="{wide + 8:g}" y="2" width="{flat:g}" height="{flat:g}"'
        f"{'' if square else ' hidden'}/>"
        f'<rect class="rk-f" x="{wide + 8 + between:g}" y="2" width="48" height="{flat:g}"/></svg>'
    )


def _map(table: np.ndarray[Any, Any], words: Sequence[str], top: float, kind: str) -> str:
    """One table: words above, and for the exact one to the left."""
    left, size = (SIDE if kind == "exact" else 1.0), len(words)
    body = []
    for i, word in enumerate(words):
        at = (i + 0.5) * CELL
        body.append(
            f'<text class="rk-key" transform="translate({left + at:g} {TOP - 5:g}) rotate(-90)" '
            f'dominant-baseline="middle" fill="{ROLES["key"]}">{escape(word)}</text>'
        )
        if kind == "exact":
            body.append(
                f'<text class="rk-query" x="{left - 4:g}" y="{TOP + at:g}" text-anchor="end" '
                f'dominant-baseline="middle" fill="{ROLES["query"]}">{escape(word)}</text>'
            )
    for t in range(size):
        for s in range(size):
            x, y, weight = left + s * CELL, TOP + t * CELL, float(table[t, s])
            strong = min(abs(weight) / top, 1.0)
            fill = ROLES["weight"] if weight >= 0 else ROLES["key"]
            body.append(
                f'<rect class="rk-cell" x="{x:g}" y="{y:g}" width="{CELL:g}" height="{CELL:g}" '
                f'fill="{fill}" fill-opacity="{strong:.3f}"/>'
            )
    wide, high = left + size * CELL + 1, TOP + size * CELL + 1
    name = "the table" if kind == "exact" else "from two thin tables"
    return (
        f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {wide:g} {high:g}" '
        f'width="{2 * wide:g}" style="max-width:100%;height:auto;{FONT}" font-size="12" '
        f'class="rk-map rk-{kind}" role="img" aria-label="{name}">{"".join(body)}'
        f'<rect x="{left:g}" y="{TOP:g}" width="{size * CELL:g}" height="{size * CELL:g}" '
        'fill="none" stroke="currentColor" stroke-opacity=".5"/></svg>'
    )


_PAGE = """\
<style>
.rk :is(input[type=range], select, button) {{ min-height: 1.7rem; }}
.rk label {{ padding-block: .25rem; }}
.rk {{ max-width: 46rem; font: 1rem/1.4 system-ui, sans-serif; margin: .4em 0; }}
.rk p {{ margin: .3em 0; }}
.rk-maps {{ display: grid; gap: .5em; max-width: 35rem; }}
.rk-side {{ min-width: 0; display: flex; flex-direction: column-reverse; }}
.rk-cap {{ font-weight: 600; text-align: center; font-size: .95em; }}
.rk-exact + .rk-cap {{ padding-left: 20%; }}
.rk-map {{ display: block; width: 100%; }}
.rk-map:focus-visible {{ outline: 2px solid currentColor; }}
.rk .rk-cell {{ stroke: currentColor; stroke-opacity: .12; stroke-width: .5; }}
.rk .rk-cell.rk-at {{ stroke-opacity: 1; stroke-width: 1.6; }}
.rk .rk-key {{ fill: color-mix(in srgb, {key} 78%, currentColor); }}
.rk .rk-query {{ fill: color-mix(in srgb, {query} 86%, currentColor); }}
.rk .rk-minus {{ fill: currentColor; pointer-events: none; }}
.rk fieldset {{ border: 0; margin: .2em 0; padding: 0; display: flex; flex-wrap: wrap;
  gap: .1em 1em; align-items: center; }}
.rk legend {{ float: left; padding: 0; margin: 0 .2em 0 0; font-size: 1em; font-weight: 600;
  width: auto; }}
.rk fieldset label {{ display: inline-flex; gap: .35em; align-items: center; margin: 0; }}
.rk input {{ margin: 0; accent-color: {output}; }}
.rk-slide {{ display: flex; gap: .8em; align-items: center; margin: .4em 0; }}
.rk-slide span {{ min-width: 8.5em; font-weight: 600; font-variant-numeric: tabular-nums; }}
.rk-slide input {{ flex: 1; min-width: 5em; max-width: 26em; }}
.rk-made {{ display: flex; gap: .6em; align-items: center; }}
.rk-thin {{ width: 200px; height: 52px; flex: none; }}
.rk-thin rect {{ fill: {output}; fill-opacity: .35; stroke: {output}; }}
.rk-bars {{ display: grid; grid-template-columns: max-content 1fr max-content; gap: .2em .7em;
  align-items: center; margin: .3em 0; font-variant-numeric: tabular-nums; max-width: 40rem; }}
.rk-bar {{ height: .9em; border: 1px solid {score}; position: relative; overflow: hidden; }}
.rk-bar i {{ position: absolute; inset: 0 auto 0 0; background: {output}; }}
.rk-bar b {{ position: absolute; left: 50%; top: 0; bottom: 0;
  border-left: 2px dashed currentColor; }}
.rk-bars .rk-number {{ min-width: 4.6em; text-align: right; }}
.rk [hidden], .rk-thin [hidden] {{ display: none; }}
@media print {{ .rk-controls, .rk-how {{ display: none; }} }}
@media (max-width: 500px) {{ .rk-thin {{ width: 120px; }} .rk-how {{ font-size: .9em; }} }}
</style>
<div class="rk" id="{id}" role="group" aria-label="A table and its form">
<div class="rk-controls" hidden></div>
<div class="rk-maps" style="grid-template-columns: {columns}">
<div class="rk-side">{left}<div class="rk-cap">{table}</div></div>
<div class="rk-side">{right}<div class="rk-cap rk-name">{k} {unit}</div></div></div>
<div class="rk-made">{thin}<span class="rk-sizes">{sizes}</span></div>
<div class="rk-bars"><span>numbers</span>
<span class="rk-bar rk-cost"><i style="width:{numbers}"></i><b></b></span>
<span class="rk-number rk-count">{count} of {all}</span>
<span>{off}</span><span class="rk-bar rk-off"><i style="width:{wrong}"></i><b></b></span>
<span class="rk-number rk-percent">{percent}</span></div>
<p class="rk-said" role="status" aria-live="polite">{said}</p>
<p class="rk-how" hidden>Point at a cell, or reach a table with Tab and press the arrow keys.</p>
</div>
{script}"""
