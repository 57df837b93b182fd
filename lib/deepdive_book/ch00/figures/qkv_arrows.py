"""Arrows to drag: a query and its keys in the plane, their shares, and the answer that they mix.

    qkv_arrows("moo", (1, 2), {"cow": (0, 1), "duck": (1, 0)}, {"cow": ("red", (0.9, 0.1, 0.1)),
    ...})

The reader drags a tip, presses arrow keys on it, or makes the query longer with the slider; scores,
shares and the mixed colour follow. Python draws the first state, which stays where nothing moves:
on paper and without scripts.
"""

import hashlib
import json
import math
from collections.abc import Mapping, Sequence
from html import escape
from pathlib import Path

from deepdive_book.kit.diagrams import FONT
from deepdive_book.kit.figures import Picture
from deepdive_book.kit.markup import Html, script
from deepdive_book.kit.palette import ROLES, painted

Pair = Sequence[float]
WIDTH, MARGIN, CUT = 380.0, 46.0, 16.0  # of the plane, in pixels: for words past a tip; less above
_SCRIPT = Path(__file__).with_suffix(".js").read_text(encoding="utf-8")


def mix(
    query: Pair, keys: Sequence[Pair], values: Sequence[Sequence[float]]
) -> tuple[list[float], list[float], list[float]]:
    """Return what the picture shows: the scores, the shares, and the mixed value."""
    scores = [sum(q * k for q, k in zip(query, key, strict=True)) for key in keys]
    powers = [math.exp(score - max(scores)) for score in scores]
    shares = [power / sum(powers) for power in powers]
    columns = zip(*values, strict=True)
    return scores, shares, [sum(s * v for s, v in zip(shares, c, strict=True)) for c in columns]


def qkv_arrows(
    name: str,
    query: Pair,
    keys: Mapping[str, Pair],
    values: Mapping[str, tuple[str, Sequence[float]]],
    *,
    reach: float = 0.0,
) -> Html:
    """Return the picture: the plane, one row a key, and the answer.

    Args:
        name, query: the word of the query, and where its arrow ends.
        keys: where the arrow of each key ends, by its word.
        values: for the same words, the name of a colour and its amounts of red, green and blue,
            from 0 to 1.
        reach: how long an arrow may become; by default 1.6 times the longest that is given.

    Raises:
        ValueError: there are no keys, values has other words, or an arrow is not two finite numbers
            within reach.
    """
    if not keys or list(keys) != list(values):
        raise ValueError(f"values has {list(values)} for the keys {list(keys)}: name each key once")
    for word, tip in ((name, query), *keys.items()):
        if len(tip) != 2 or not all(math.isfinite(x) for x in tip):
            raise ValueError(f"the arrow of {word!r} is {tip!r}; expected two finite numbers")
    longest = max(math.hypot(*tip) for tip in (query, *keys.values()))
    reach = float(reach or 1.6 * longest or 1.0)
    if not 0 < longest <= reach:
        raise ValueError(f"the longest arrow has length {longest:g}; expected it within {reach:g}")
    words, tips = list(keys), [[float(x) for x in tip] for tip in keys.values()]
    start = [float(x) for x in query]
    colors = [[float(x) for x in color] for _, color in values.values()]
    called = [label for label, _ in values.values()]
    state = mix(start, tips, colors)
    plane = _plane(name, start, words, tips, state[1], reach)
    rows = "".join(
        f'<tr><th scope="row"><i class="dda-flag" style="background:{rgb(color)}"></i> '
        f"{escape(word)}, {escape(label)}</th>"
        f'<td class="dda-score">{_number(score)}</td><td class="dda-share">'
        f'<span class="dda-bar" style="width:{100 * share:.1f}%"></span></td>'
        f'<td class="dda-percent">{100 * share:.0f}%</td></tr>'
        for word, label, color, score, share in zip(
            words, called, colors, state[0], state[1], strict=True
        )
    )
    said = alt_text(called, state[1])
    given = json.dumps(
        {"name": name, "query": start, "words": words, "keys": tips, "values": colors,
         "called": called, "reach": reach, "width": WIDTH, "margin": MARGIN, "cut": CUT}
    )  # fmt: skip
    at = f"dda{hashlib.sha256(given.encode()).hexdigest()[:10]}"
    html = _PAGE.format(
        id=at, style=painted(_STYLE),
        plane=plane, rows=rows, said=escape(said), answer=rgb(state[2]),
        name=escape(name), reach=f"{reach:.4g}", length=f"{math.hypot(*start):.2f}",
        script=script(_SCRIPT, id=at, data=given),
    )  # fmt: skip
    alt = f"The query {name} and {len(words)} keys as arrows in the plane. {said}"
    return Html(html, f"[arrows to drag: {alt}]", [Picture([plane], alt)])


def rgb(color: Sequence[float]) -> str:
    """A colour as CSS writes it."""
    return f"rgb({','.join(f'{255 * part:.0f}' for part in color)})"


def alt_text(called: Sequence[str], shares: Sequence[float]) -> str:
    """The answer in words: the colours with their shares, the largest first."""
    order = sorted(range(len(called)), key=lambda i: -shares[i])
    parts = [f"{100 * shares[i]:.0f}% {called[i]}" for i in order if shares[i] >= 0.005]
    return f"The answer: {', '.join(parts)}."


def _number(x: float) -> str:
    text = f"{x:.2f}".rstrip("0").rstrip(".")
    return "0" if text == "-0" else text.replace("-", "\u2212")


def _plane(
    name: str,
    query: Pair,
    words: Sequence[str],
    keys: Sequence[Pair],
    shares: Sequence[float],
    reach: float,
) -> str:
    middle, unit = WIDTH / 2, (WIDTH / 2 - MARGIN) / reach
    body = [
        f'<circle cx="{middle:g}" cy="{middle:g}" r="{middle - MARGIN:g}" fill="none" '
        'stroke="currentColor" stroke-opacity=".22"/>',
        f'<path d="M{MARGIN:g} {middle:g}H{WIDTH - MARGIN:g}M{middle:g} {MARGIN:g}'
        f'V{WIDTH - MARGIN:g}" stroke="currentColor" stroke-opacity=".22"/>',
    ]
    for tip, share in zip(keys, shares, strict=True):  # below all arrows: the shares
        x, y = middle + unit * tip[0], middle - unit * tip[1]
        body.append(
            f'<line class="dda-halo" x1="{middle:g}" y1="{middle:g}" x2="{x:.2f}" y2="{y:.2f}" '
            f'stroke="{ROLES["weight"]}" stroke-opacity=".55" stroke-linecap="round" '
            f'stroke-width="{26 * share:.2f}"/>'
        )
    tips = [*zip(words, keys, strict=True), (name, query)]
    for i, (word, tip) in enumerate(tips):
        role = "key" if i < len(keys) else "query"
        x, y = middle + unit * tip[0], middle - unit * tip[1]
        size = math.hypot(*tip) or 1.0
        dx, dy = tip[0] / size, -tip[1] / size
        turn = math.degrees(math.atan2(dy, dx))
        body.append(
            f'<g class="dda-tip dda-{role}" color="{ROLES[role]}" '
            f'aria-label="{escape(word)}, {role}">'
            f'<line x1="{middle:g}" y1="{middle:g}" x2="{x:.2f}" y2="{y:.2f}" '
            f'stroke="currentColor" stroke-width="{2.5 if role == "key" else 3.5}"/>'
            f'<polygon points="0,0 -12,5.5 -12,-5.5" fill="currentColor" '
            f'transform="translate({x:.2f} {y:.2f}) rotate({turn:.2f})"/>'
            f'<circle cx="{x:.2f}" cy="{y:.2f}" r="{11 if role == "query" else 8}" '
            'fill="currentColor" fill-opacity=".18" stroke="currentColor"/>'
            f'<text x="{x + (16 + 4.3 * len(word)) * dx:.2f}" y="{y + 22 * dy:.2f}" font-size="16" '
            f'text-anchor="middle" dominant-baseline="middle" fill="currentColor" '
            f'font-weight="{600 if role == "query" else 400}">{escape(word)}</text>'
            f'<circle cx="{x:.2f}" cy="{y:.2f}" r="{20 if role == "query" else 15}" fill="none" '
            'pointer-events="all"/></g>'
        )
    return (
        f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 {CUT:g} {WIDTH:g} '
        f'{WIDTH - 2 * CUT:g}" width="{WIDTH:g}" style="max-width:100%;height:auto;{FONT}">'
        f"{''.join(body)}</svg>"
    )


_STYLE = """
.dda { font: 1rem/1.45 system-ui, sans-serif; max-width: 52rem; margin: .4em 0; }
.dda-both { display: flex; flex-wrap: wrap; gap: .5em 1.5em; align-items: center; }
.dda-plane { flex: 0 1 380px; min-width: 0; }
.dda-side { flex: 1 1 17em; min-width: 0; }
.dda svg { display: block; }
.dda .dda-key { color: color-mix(in srgb, @key 78%, currentColor); }
.dda .dda-query { color: color-mix(in srgb, @query 86%, currentColor); }
.dda-on .dda-tip { cursor: grab; touch-action: none; }
.dda-on .dda-tip text { cursor: grab; user-select: none; }
.dda-tip:focus { outline: none; }
.dda-tip:focus-visible { outline: 3px solid currentColor; outline-offset: 2px; }
.dda table { border-collapse: collapse; width: 100%; margin: 0; font-size: 1rem;
  font-variant-numeric: tabular-nums; background: none; }
.dda :is(th, td) { border: 0; padding: .25rem .4rem; text-align: left; background: none;
  color: inherit; font-weight: 400; }
.dda tbody th { white-space: nowrap; width: 1%; }
.dda thead th { font-size: .875rem; opacity: .85; padding-top: 0; }
.dda .dda-score, .dda .dda-percent { text-align: right; white-space: nowrap; width: 3.2em; }
.dda-flag { display: inline-block; width: 1.5em; height: 1em; vertical-align: -.1em;
  border: 1px solid #888; border-radius: 2px; }
.dda-bar { display: block; height: .9em; background: @weight; border-radius: 2px; }
.dda-answer { display: flex; gap: .7em; align-items: center; margin: .7em 0 .3em; }
.dda-answer p { margin: 0; min-height: 2.9em; display: flex; align-items: center; }
.dda-called { flex: none; width: 4.2em; height: 2.8em; border: 1px solid #888; border-radius: 3px; }
.dda-controls { display: flex; flex-wrap: wrap; gap: .3em .9em; align-items: center; }
.dda-controls label { display: flex; gap: .6em; align-items: center; flex: 1 1 14em; min-width: 0; }
.dda-controls input { flex: 1; min-width: 4em; margin: 0; accent-color: @query; }
.dda-controls button { font: inherit; margin: 0; padding: .15em .7em; color: inherit;
  background: transparent; border: 1px solid currentColor; border-radius: .3em; cursor: pointer; }
.dda [hidden] { display: none; }
.dda .dda-how { margin: .3em 0 0; font-size: .88rem; }
@media print { .dda-controls, .dda-how { display: none; } }
"""

_PAGE = """\
<style>{style}
.dda :is(input[type=range], select, button) {{ min-height: 1.7rem; }}
.dda label {{ padding-block: .25rem; }}
</style>
<div class="dda" id="{id}" role="group" aria-label="Arrows to drag">
<div class="dda-both"><div class="dda-plane">{plane}</div><div class="dda-side">
<table><thead><tr><th>who, flag</th><th class="dda-score">score</th><th colspan="2">share</th></tr>
</thead><tbody>{rows}</tbody></table>
<div class="dda-answer"><span class="dda-called" style="background:{answer}"></span>
<p role="status" aria-live="polite">{said}</p></div>
<div class="dda-controls" hidden><label>Length of {name}
<input type="range" min="0.1" max="{reach}" step="any" value="{length}"></label>
<button type="button">Start again</button></div>
<p class="dda-how" hidden>Drag the tip of an arrow, or reach it with Tab and press the arrow
keys.</p></div></div></div>
{script}"""
