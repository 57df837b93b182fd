"""Two letters, and the eight slices of which CANINE makes each one's vector: a reader types them.

    hash_embedding_demo([("中", "อ"), ("T", "联"), ("a", "b")])

Slice k is row h_k(c) of table k, as `deepdive.layers.hashed.HashEmbedding` has it. A switch gives
the eight tables eight lengths, primes all of them, in the place of one. Slices that are the same
are full. Python draws the first pair as released, which stays where nothing moves: on paper and
without scripts.
"""

import hashlib
import json
from collections.abc import Sequence
from html import escape
from pathlib import Path

from deepdive.layers.hashed import PRIMES
from deepdive_book.kit.diagrams import FONT
from deepdive_book.kit.figures import Picture
from deepdive_book.kit.markup import Html, script
from deepdive_book.kit.palette import ROLES, painted

LENGTH = 16_384
# The largest primes below it.
LENGTHS = (16_381, 16_369, 16_363, 16_361, 16_349, 16_339, 16_333, 16_319)
SLICES = len(LENGTHS)
WIDE, BOX, HIGH = 400, 48, 30  # of the drawing, of a slice
_SCRIPT = Path(__file__).with_suffix(".js").read_text(encoding="utf-8")


def hash_embedding_demo(pairs: Sequence[tuple[str, str]]) -> Html:
    """Return the picture; the first pair is drawn, each has a button.

    Raises ValueError without pairs, and for what is no pair of single characters.
    """
    if not pairs or any(len(pair) != 2 or {*map(len, pair)} != {1} for pair in pairs):
        raise ValueError(f"pairs: got {pairs!r}, expected one or more pairs of characters")
    first, second = pairs[0]
    spec = {"primes": PRIMES[:SLICES], "lengths": LENGTHS, "length": LENGTH, "pairs": pairs}
    given = json.dumps(spec, separators=(",", ":"), ensure_ascii=False)
    name = f"hl{hashlib.sha256(given.encode()).hexdigest()[:10]}"
    drawing, said = _drawing(first, second), alt_text(first, second)
    html = _PAGE.format(
        id=name, style=painted(_STYLE), drawn=drawing, told=escape(said),
        buttons="".join(f'<button type="button">{a} {b}</button>' for a, b in pairs),
        first=escape(first, quote=True), second=escape(second, quote=True),
        script=script(_SCRIPT, id=name, values=given),
    )  # fmt: skip
    alt = ("Two letters, and below each the eight slices of its vector, by number. "
           "Slices that are the same for both are full.")  # fmt: skip
    return Html(html, f"[two letters, eight slices: {said}]", [Picture([drawing], alt, [said])])


def slices(letter: str, apart: bool = False) -> list[int]:
    """The row that each table has for a letter; `apart`: the tables have eight lengths."""
    lengths = LENGTHS if apart else (LENGTH,) * SLICES
    return [(ord(letter) + 1) * p % m for p, m in zip(PRIMES, lengths, strict=False)]


def alt_text(first: str, second: str, apart: bool = False) -> str:
    """The state in words."""
    if first == second:
        return f"{first} is {ord(first):,}. It is one letter, twice."
    both = zip(slices(first, apart), slices(second, apart), strict=True)
    same, far = sum(a == b for a, b in both), abs(ord(first) - ord(second))
    what = ("to the model they are one and the same letter" if same == SLICES
            else "the model can tell them apart")  # fmt: skip
    return (f"{first} is {ord(first):,}, {second} is {ord(second):,}; they are {far:,} apart. "
            f"{same} of {SLICES} slices are the same: {what}.")  # fmt: skip


def _drawing(first: str, second: str) -> str:
    both = list(zip(slices(first), slices(second), strict=True))
    body = []
    for y, letter, row in ((0, first, [a for a, _ in both]), (76, second, [b for _, b in both])):
        body.append(_text(8, y + 24, f"{escape(letter)}", "start", 24))
        body.append(_text(WIDE - 8, y + 24, _code(letter), "end", 14))
        for k, number in enumerate(row):
            same = both[k][0] == both[k][1]
            body.append(
                f'<rect x="{8 + k * BOX}" y="{y + 32}" width="{BOX}" height="{HIGH}" '
                f'fill="{ROLES["key"]}" fill-opacity="{0.45 if same else 0.06}" '
                'stroke="currentColor"/>'
                + _text(8 + (k + 0.5) * BOX, y + 52, str(number), "middle", 14)
            )
    return (
        f'<svg viewBox="0 0 {WIDE} 146" width="100%" style="max-width:44rem" '
        f'font-family="{FONT}" xmlns="http://www.w3.org/2000/svg" role="img" '
        f'aria-label="Two letters and their eight slices">{"".join(body)}</svg>'
    )


def _code(letter: str) -> str:
    return f"U+{ord(letter):04X} = {ord(letter)}"


def _text(x: float, y: float, said: str, anchor: str, size: int) -> str:
    return (f'<text x="{x:g}" y="{y:g}" font-size="{size}" text-anchor="{anchor}" '
            f'fill="currentColor">{said}</text>')  # fmt: skip


_STYLE = """
.hl { max-width: 44rem; font: 1rem/1.4 system-ui, sans-serif; margin: .4em 0; }
.hl p { margin: .35em 0; min-height: 4.2em; font-variant-numeric: tabular-nums; }
.hl svg { display: block; margin: .4em 0; font-variant-numeric: tabular-nums; }
.hl-choose[hidden] { display: none; }
.hl-key { display: flex; flex-wrap: wrap; gap: .1em 1.2em; }
.hl-key span { display: flex; gap: .4em; align-items: center; }
.hl-key i { width: 1.6em; height: 1em; border: 1px solid currentColor; background: @key0f; }
.hl-key .hl-same { background: @key73; }
.hl-choose > div { display: flex; flex-wrap: wrap; gap: .4em 1em; margin: .3em 0; }
.hl-choose label { display: flex; gap: .4em; align-items: center; margin: 0; min-height: 2.4rem; }
.hl-choose input[type=text] { font: inherit; font-size: 1.2rem; color: inherit; width: 3.2rem;
  background: transparent; border: 1px solid currentColor; border-radius: .3em; height: 2.4rem;
  text-align: center; box-sizing: border-box; }
.hl-choose input[type=radio] { width: 1.2rem; height: 1.2rem; margin: 0; accent-color: @key; }
.hl button { font: inherit; color: inherit; cursor: pointer; margin: 0; padding: .3em .7em;
  background: transparent; border: 1px solid color-mix(in srgb, currentColor 55%, transparent);
  border-radius: .4em; min-height: 2.4rem; }
.hl :focus-visible { outline: 3px solid @query; outline-offset: 2px; }
@media print { .hl-choose { display: none; } .hl p { min-height: 0; } }
"""

_PAGE = """\
<style>{style}</style>
<div class="hl" id="{id}" role="group" aria-label="Two letters and their eight slices">
<div class="hl-choose" hidden>
<div class="hl-pairs">{buttons}</div>
<div><label>one letter <input type="text" value="{first}" autocomplete="off" spellcheck="false">
</label><label>another <input type="text" value="{second}" autocomplete="off" spellcheck="false">
</label></div>
<div><label><input type="radio" name="{id}" value="" checked> eight tables of one length</label>
<label><input type="radio" name="{id}" value="apart"> of eight lengths</label></div>
</div>
{drawn}
<div class="hl-key" aria-hidden="true"><span><i class="hl-same"></i>both take the same row</span>
<span><i></i>each takes a row of its own</span></div>
<p role="status" aria-live="polite">{told}</p>
</div>
{script}"""
