"""A map of documents that the reader moves: near each other is what is alike, a colour is a topic.

    topic_map(points, topics, texts, {0: ["river", "bank"], 1: ["loan", "rate"]}, caption="News")

The reader drags and zooms the map, reads the document under the pointer, chooses a topic and sees
its words, and marks the documents that have a word. Places are kept to one part in 32,767. Python
draws the whole map with its topics and their words, which stay where nothing moves: on paper and
without scripts.
"""

import base64
import hashlib
import json
from collections.abc import Mapping, Sequence
from html import escape
from pathlib import Path
from typing import Any

import numpy as np

from deepdive_book.kit.diagrams import FONT
from deepdive_book.kit.figures import Picture
from deepdive_book.kit.markup import Html, script
from deepdive_book.kit.palette import PALETTE, ROLES, painted

LARGEST = 600_000  # bytes of HTML
CUT = 300  # letters of a text
WIDTH, HEIGHT, PAD = 460, 430, 16  # of the map at first, in pixels
APART = (20, 15)  # pixels between the numbers of two topics, across and down
NONE = -1  # the topic of a document that is in none
_SCRIPT = Path(__file__).with_suffix(".js").read_text(encoding="utf-8")
_COLORS = PALETTE[:-1]  # black is for letters
Word = str | tuple[str, float]


def topic_map(
    points: Any,
    topics: Any,
    texts: Sequence[str],
    words: Mapping[int, Sequence[Word]],
    *,
    names: Mapping[int, str] | None = None,
    groups: Mapping[str, Sequence[int]] | None = None,
    cut: int = CUT,
    caption: str,
) -> Html:
    """Return the map, the list of its topics, and a place for the document that is read.

    Args:
        points: (n, 2), where each document lies, n >= 1.
        topics: (n,), the topic of each; -1 where it is in none.
        texts: of each document; what is past `cut` letters, by default 300, is cut.
        words: of each topic, the foremost first; or pairs of a word and its weight, for bars.
        names: of topics; by default the first three words.
        groups: a name -> its topics, each topic in one; then a colour is a group, as a line above
            the map says, and no longer tells neighbours apart.
        caption: what is shown, in words.

    Raises:
        ValueError: shapes, topics or groups do not agree, a point is not finite, or the map is too
            large.
    """
    at, of = _places(points, topics, texts)
    held = sorted({int(t) for t in of} - {NONE})
    if held != sorted(words) or not all(words.values()):
        raise ValueError(
            f"words: expected some for each of the topics {held}, which the documents are in, and "
            f"for no other; got {sorted(t for t in words if words[t])}"
        )
    if odd := sorted(set(names or {}) - set(held)):
        raise ValueError(f"names has the topics {odd}, in which no document is; leave them out")
    short = [_cut(text, cut) for text in texts]
    listed = _listed(at, of, words, dict(names or {}))
    legend = _grouped(listed, groups) if groups is not None else ""
    values = json.dumps({"texts": short, "listed": listed}, ensure_ascii=False)
    places, numbers = _packed(at.astype("<i2")), _packed(of.astype("<i2"))
    name = f"tm{hashlib.sha256((values + places + numbers).encode()).hexdigest()[:10]}"
    none, drawn = int((of == NONE).sum()), _map(at, of, listed)
    size = f"{len(short):,} document{'s' if len(short) > 1 else ''}"
    said = f"{size}, {len(listed)} topic{'s' if len(listed) != 1 else ''}, {none:,} in none."
    html = _PAGE.format(
        id=name, style=painted(_STYLE), map=drawn, said=said, caption=escape(caption), size=size,
        legend=legend,
        rows="".join(map(_row, listed)),
        script=script(
            _SCRIPT, id=name, values=values, points=places, topics=numbers, pad=PAD, cut=cut,
            apart=APART,
        ),
    )  # fmt: skip
    if len(html.encode()) > LARGEST:
        raise ValueError(
            f"the map has {len(html.encode()):,} bytes, at most {LARGEST:,}: show fewer documents, "
            "or cut their texts"
        )
    most = f" The largest topic is {listed[0]['name']}." if listed else ""
    alt = f"{caption}: a map. {said}{most}"
    return Html(html, f"[a map to move: {alt}]", [Picture([drawn], alt)])


def _places(
    points: Any, topics: Any, texts: Sequence[str]
) -> tuple[np.ndarray[Any, Any], np.ndarray[Any, Any]]:
    """Whole numbers around the middle, to one scale across and down; and the topics."""
    at, of = np.asarray(points, dtype=np.float64), np.asarray(topics)
    if at.ndim != 2 or at.shape[1] != 2 or not len(at):
        raise ValueError(f"points: expected (n, 2) with n >= 1, a row a document; got {at.shape}")
    if of.shape != at.shape[:1] or len(texts) != len(at):
        raise ValueError(
            f"expected a topic and a text for each of {len(at)} points; "
            f"got topics {of.shape} and {len(texts)} texts"
        )
    if not np.isfinite(at).all():
        row = int(np.nonzero(~np.isfinite(at).all(axis=1))[0][0])
        raise ValueError(f"points: row {row} is {at[row].tolist()}; expected finite numbers")
    if not np.issubdtype(of.dtype, np.integer) or of.min() < NONE or of.max() > 32_767:
        raise ValueError(
            f"topics: expected whole numbers from -1 (in no topic) to 32767; got {of.dtype} "
            f"from {of.min()} to {of.max()}"
        )
    at = at - (at.min(axis=0) + at.max(axis=0)) / 2
    return np.rint(at / (np.abs(at).max() or 1.0) * 32_767), of


def _cut(text: str, most: int) -> str:
    text = " ".join(text.split())
    return text if len(text) <= most else text[: most - 1].rstrip() + "\u2026"


def _packed(numbers: np.ndarray[Any, Any]) -> str:
    return base64.b64encode(numbers.tobytes()).decode()


def _listed(
    at: np.ndarray[Any, Any],
    of: np.ndarray[Any, Any],
    words: Mapping[int, Sequence[Word]],
    names: Mapping[int, str],
) -> list[dict[str, Any]]:
    """The topics, the largest first: number, name, size, colour, place of the number, words.

    Colours repeat; each topic takes the one whose other topics are farthest away.
    """
    taken: dict[str, list[np.ndarray[Any, Any]]] = {color: [] for color in _COLORS}
    rows = []
    for t in sorted(words, key=lambda t: (-int((of == t).sum()), t)):
        pairs = [(w, None) if isinstance(w, str) else (w[0], float(w[1])) for w in words[t]]
        top = max((weight for _, weight in pairs if weight is not None), default=0.0) or 1.0
        middle = np.median(at[of == t], axis=0)
        far = {c: min((np.hypot(*(middle - o)) for o in taken[c]), default=1e9) for c in _COLORS}
        color = max(_COLORS, key=lambda c: far[c])  # the first of those that are equally far
        taken[color].append(middle)
        rows.append({
            "id": int(t), "name": names.get(t) or ", ".join(w for w, _ in pairs[:3]),
            "size": int((of == t).sum()), "colour": color,
            "at": [round(float(x)) for x in middle],
            "words": [[w, None if x is None else round(max(x, 0) / top, 3)] for w, x in pairs],
        })  # fmt: skip
    return rows


def _grouped(listed: list[dict[str, Any]], groups: Mapping[str, Sequence[int]]) -> str:
    """Give each topic its group's colour, and return the line that says which is which."""
    named = [int(t) for some in groups.values() for t in some]
    if sorted(named) != sorted(row["id"] for row in listed) or len(groups) > len(_COLORS):
        raise ValueError(
            f"groups: expected each of the {len(listed)} topics once, in at most {len(_COLORS)} "
            f"groups; got {len(named)} in {len(groups)}"
        )
    colors = dict(zip(groups, _COLORS, strict=False))
    for row in listed:
        row["colour"] = next(colors[name] for name, some in groups.items() if row["id"] in some)
    parts = (
        f'<span><i style="background:{color}"></i> {escape(name)} ({len(groups[name])})</span>'
        for name, color in colors.items()
    )
    return f'<p class="tm-legend">{" ".join(parts)}</p>'


def _map(at: np.ndarray[Any, Any], of: np.ndarray[Any, Any], listed: list[dict[str, Any]]) -> str:
    """The whole map: the documents of a topic are one path of dots; its number stands in them."""
    reach = np.abs(at).max(axis=0)
    scale = min(
        (side / 2 - PAD) / (r or 1.0) for side, r in zip((WIDTH, HEIGHT), reach, strict=True)
    )
    colors = [(NONE, ROLES["score"])] + [(row["id"], row["colour"]) for row in listed]
    dots = "".join(
        f'<path data-topic="{t}" stroke="{color}" d="'
        + "".join(
            f"M{WIDTH / 2 + scale * x:.0f} {HEIGHT / 2 - scale * y:.0f}h0" for x, y in at[of == t]
        )
        + '"/>'
        for t, color in colors
    )
    free: list[
        tuple[float, float, int]
    ] = []  # places of numbers: what would lie on one is left out
    for row in listed:
        x, y = WIDTH / 2 + scale * row["at"][0], HEIGHT / 2 - scale * row["at"][1]
        if all(abs(x - a) >= APART[0] or abs(y - b) >= APART[1] for a, b, _ in free):
            free.append((x, y, row["id"]))
    numbers = "".join(f'<text x="{x:.0f}" y="{y:.0f}">{t}</text>' for x, y, t in free)
    return (
        f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {WIDTH} {HEIGHT}" width="{WIDTH}" '
        f'style="max-width:100%;height:auto;{FONT}" class="tm-still" role="img" '
        'aria-label="the map">'
        f'<g fill="none" stroke-width="4.5" stroke-linecap="round" stroke-opacity=".75">{dots}</g>'
        '<g font-size="14" font-weight="700" text-anchor="middle" dominant-baseline="middle" '
        f'fill="currentColor">{numbers}</g></svg>'
    )


def _row(row: dict[str, Any]) -> str:
    """A topic in the list, as paper has it; the script makes a button of it."""
    words = ", ".join(word for word, _ in row["words"])
    named = "" if words.startswith(row["name"]) else f"{escape(row['name'])}: "
    return f"<li>{row['id']} ({row['size']:,}) {named}{escape(words)}</li>"


_STYLE = """
.tm { font: 1rem/1.4 system-ui, sans-serif; max-width: 54rem; margin: .4em 0;
  --line: color-mix(in srgb, currentColor 32%, transparent); }
.tm p { margin: .3em 0; }
.tm .tm-caption { font-weight: 600; }
.tm-legend { display: flex; flex-wrap: wrap; gap: .2em 1.2em; }
.tm-legend i { display: inline-block; width: .8em; height: .8em; border-radius: 50%; }
.tm-find { display: flex; flex-wrap: wrap; gap: .4em .8em; align-items: center; margin: .4em 0; }
.tm-find input { font: inherit; color: inherit; background: transparent;
  border: 1px solid currentColor; border-radius: .3em; padding: .25em .5em; margin: 0;
  flex: 1 1 8em; min-width: 6em; max-width: 18em; box-sizing: border-box; }
.tm button { font: inherit; color: inherit; cursor: pointer; margin: 0; padding: .2em .6em;
  background-color: transparent; border: 1px solid var(--line); border-radius: .3em;
  box-sizing: border-box; text-align: left; min-height: 2rem; }
.tm button:hover { border-color: currentColor; }
.tm button[aria-pressed=true] { font-weight: 700; border-color: currentColor;
  box-shadow: inset 0 0 0 1px currentColor; }
.tm :is(button, input, canvas):focus-visible { outline: 3px solid @key; outline-offset: 1px; }
.tm-both { display: grid; grid-template-columns: minmax(0, 1fr); gap: .8em; }
.tm-on .tm-both { grid-template-columns: minmax(0, 58fr) minmax(0, 42fr); }
.tm-left, .tm-right { min-width: 0; }
.tm canvas { display: block; width: 100%; aspect-ratio: 15 / 14;
  box-shadow: 0 0 0 1px var(--line); }
.tm-near canvas { cursor: grab; }
.tm-near canvas:active { cursor: grabbing; }
.tm-under { display: flex; gap: .6em; align-items: start; justify-content: space-between;
  margin-top: .4em; }
.tm-zoom { display: flex; gap: .3em; }
.tm .tm-zoom button { min-width: 2.2rem; min-height: 2.2rem; text-align: center; }
.tm-doc { min-height: 13em; border-left: 3px solid var(--topic, @score); padding-left: .7em;
  overflow-wrap: anywhere; }
.tm .tm-said { min-height: 2.8em; }
.tm .tm-head { font-weight: 600; }
.tm-steps { display: flex; gap: .4em; margin: .4em 0 .6em; }
.tm-words { min-height: 7em; }
.tm-bars { display: grid; gap: 2px; margin-top: .3em; }
.tm-bars.tm-plain { display: flex; flex-wrap: wrap; gap: .3em; }
.tm .tm-bars button { padding: .05em .5em; min-height: 1.7rem; overflow-wrap: anywhere; }
.tm ul { list-style: none; margin: 0 !important; padding: 0 !important; }
.tm li { margin: 0 0 2px !important; padding: 0; overflow-wrap: anywhere; }
.tm-on .tm-list { max-height: 13rem; overflow-y: auto; border-top: 1px solid var(--line);
  border-bottom: 1px solid var(--line); padding: 2px !important; margin-bottom: .6em !important; }
.tm .tm-list button { display: grid; grid-template-columns: .9em 1.6em minmax(0, 1fr) max-content;
  gap: .4em; width: 100%; border-color: transparent; align-items: baseline;
  font-variant-numeric: tabular-nums; }
.tm .tm-list button[aria-pressed=true] { border-color: currentColor; }
.tm-list i { width: .9em; height: .9em; border-radius: 50%; align-self: center; }
.tm mark { background: #ffe680; color: #111; padding: 0 .1em; }
.tm [hidden] { display: none; }
@media (max-width: 600px) {
  .tm-on .tm-both { grid-template-columns: minmax(0, 1fr); }
  .tm canvas { aspect-ratio: 1; }
  .tm-find input { flex-basis: 100%; max-width: none; }
  .tm-doc { min-height: 15em; }
  .tm-on .tm-list { max-height: 15rem; }
}
@media print { .tm-find, .tm-zoom, .tm-steps { display: none !important; }
  .tm-on .tm-list { max-height: none; } }
"""

_PAGE = """\
<style>{style}</style>
<div class="tm" id="{id}" role="group" aria-label="A map of {size}">
<p class="tm-caption">{caption}</p>{legend}
<div class="tm-find" hidden></div>
<div class="tm-both"><div class="tm-left">{map}
<div class="tm-under"><p class="tm-said" role="status" aria-live="polite">{said}</p></div></div>
<div class="tm-right"><div class="tm-doc" aria-live="polite" hidden></div>
<ul class="tm-list">{rows}</ul><div class="tm-words" hidden></div></div></div>
</div>
{script}"""
