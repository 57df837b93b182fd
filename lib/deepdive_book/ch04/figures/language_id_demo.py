"""A slip with a date, and what readers that are told its language, or not, make of it.

    language_id_demo(["English", "Spanish"], ["in words", "in digits"], ["3 April"], slips, says)

The reader chooses who wrote the slip, how, on which day, and how the model is told the language:
not at all, by a token in front, or by a row that is added to each piece. Below stand the pieces
that the model reads, and its share for each month. All of it was computed before; Python draws the
first state, which stays where nothing moves: on paper, without scripts.
"""

import hashlib
import json
from collections.abc import Mapping, Sequence
from html import escape
from pathlib import Path
from typing import Any, NamedTuple

from torch import Tensor

from deepdive_book.kit.markup import Html, script
from deepdive_book.kit.palette import painted

MONTHS = (
    "January", "February", "March", "April", "May", "June", "July", "August", "September",
    "October", "November", "December",
)  # fmt: skip
WAYS = {"none": "not told", "token": "told by a token", "row": "told by a row"}
LEAST = 5  # per cent that a bar needs to have its number above it
_SCRIPT = Path(__file__).with_suffix(".js").read_text(encoding="utf-8")


class Slip(NamedTuple):
    """A date as it stands on a slip, its pieces, and its month, from 0."""

    text: str
    pieces: Sequence[str]
    month: int


def language_id_demo(
    languages: Mapping[str, str], forms: Sequence[str], days: Sequence[str],
    slips: Sequence[Slip], says: Mapping[str, Tensor],
) -> Html:  # fmt: skip
    """Return the picture of the first slip, read by one that is not told.

    languages   name -> its short form, as "English" -> "en"
    slips       one for each language, form and day, in this order: the day runs fastest
    says        way of `WAYS` -> the share of each month for each slip, (slips, 12)

    Raises ValueError unless there is one slip for each language, form and day, and each way says
    twelve shares of each.
    """
    wanted = len(languages) * len(forms) * len(days)
    if len(slips) != wanted or not wanted:
        raise ValueError(
            f"got {len(slips)} slips for {len(languages)} languages, {len(forms)} forms and "
            f"{len(days)} days, expected {wanted}, and one at least"
        )
    wrong = {way: tuple(s.shape) for way, s in says.items() if s.shape != (wanted, 12)}
    if wrong or set(says) != set(WAYS):
        raise ValueError(
            f"says: got {wrong or sorted(says)}, expected {sorted(WAYS)}, each ({wanted}, 12)"
        )
    spec: dict[str, Any] = {
        "languages": list(languages), "short": list(languages.values()), "forms": list(forms),
        "days": list(days), "slips": [each._asdict() for each in slips], "months": MONTHS,
        "ways": list(WAYS.values()), "keys": list(WAYS),
        "says": {way: [[round(100 * x) for x in row] for row in s.tolist()]
                 for way, s in says.items()},
    }  # fmt: skip
    given = json.dumps(spec, separators=(",", ":"), ensure_ascii=False)
    name = f"tl{hashlib.sha256(given.encode()).hexdigest()[:10]}"
    said = alt_text(spec, 0, 0, "none")
    html = _PAGE.format(
        id=name, said=escape(said), style=painted(_STYLE),
        languages=_options(languages), forms=_options(forms), ways=_options(WAYS.values()),
        last=len(days) - 1, day=escape(days[0]), pieces=_pieces(slips[0]),
        months=_months(spec["says"]["none"][0], slips[0].month),
        script=script(_SCRIPT, id=name, values=given),
    )  # fmt: skip
    return Html(html, f"[a slip, read: {said}]")


def alt_text(spec: Mapping[str, Any], slip: int, language: int, way: str) -> str:
    """The state in words."""
    each, shares = spec["slips"][slip], spec["says"][way][slip]
    best = max(range(12), key=shares.__getitem__)
    right = "right" if best == each["month"] else f"wrong: it is {MONTHS[each['month']]}"
    return (
        f"“{each['text']}”, written in {spec['languages'][language]}, {WAYS[way]}: "
        f"{MONTHS[best]}, {shares[best]}%. That is {right}."
    )


def _options(names: Any) -> str:
    return "".join(f'<option value="{i}">{escape(name)}' for i, name in enumerate(names))


def _pieces(slip: Slip) -> str:
    return "".join(f"<span>{escape(piece)}</span>" for piece in ("[CLS]", *slip.pieces))


def _months(shares: Sequence[float], right: int) -> str:
    numbers = [f' data-share="{share:.0f}%"' if share >= LEAST else "" for share in shares]
    return "".join(
        f'<span{" class=tl-right" * (m == right)}><i style="height:{share * 0.8:.0f}px"'
        f"{numbers[m]}></i>{MONTHS[m][:3]}</span>"
        for m, share in enumerate(shares)
    )


_STYLE = """\
.tl { max-width: 40rem; font: 1rem/1.4 system-ui, sans-serif; margin: .4em 0; }
.tl-choose { display: flex; flex-wrap: wrap; gap: .3em 1.2em; align-items: center; }
.tl-choose[hidden] { display: none; }
.tl-choose label { display: flex; flex-wrap: wrap; gap: .2em .5em; align-items: center; }
.tl-choose select { font: inherit; min-height: 2.4rem; max-width: 100%; }
.tl-choose input { width: min(10rem, 40vw); min-height: 2.4rem; accent-color: @key; }
.tl-choose output { min-width: 6.5em; }
.tl-choose :focus-visible { outline: 3px solid @weight; outline-offset: 2px; }
.tl p { margin: .5em 0; min-height: 2.9em; }
.tl-pieces { display: flex; flex-wrap: wrap; gap: .35em; min-height: 4.3rem;
  align-items: flex-start; }
.tl-pieces span { border: 1px solid @score; border-radius: .3em; padding: .1em .45em;
  text-align: center; }
.tl-pieces small { display: block; border-top: 1px dashed @weight; }
.tl-pieces .tl-told { background: @weight55; border-color: @weight; }
.tl-months { display: grid; grid-template-columns: repeat(12, 1fr); align-items: end;
  min-height: 7.8rem; }
.tl-months span { text-align: center; font-size: .875rem; border-top: 1px solid @score44; }
.tl-months i { display: block; width: 70%; margin: 0 auto; background: @key; }
.tl-months i[data-share]::before { content: attr(data-share); display: block; font-style: normal;
  font-weight: normal; font-size: .8125rem; line-height: 1; margin: 0 -50%;
  transform: translateY(-1.2em); }
.tl-months .tl-right { font-weight: bold; border-top: 3px solid @value; }
@media print { .tl-choose { display: none; } .tl p { min-height: 0; } }
"""
_PAGE = """\
<style>{style}</style>
<div class="tl" id="{id}" role="group" aria-label="A slip with a date, and the month that is read">
<div class="tl-choose" hidden><label>written in <select>{languages}</select></label>
<label>the date <select>{forms}</select></label>
<label>day <input type="range" min="0" max="{last}" step="1" value="0">
<output>{day}</output></label>
<label>the language is <select>{ways}</select></label></div>
<p role="status" aria-live="polite">{said}</p>
<small>what the model reads</small>
<div class="tl-pieces" aria-hidden="true">{pieces}</div>
<small>its share for each month; the right month is bold and has a green line</small>
<div class="tl-months" aria-hidden="true">{months}</div>
</div>
{script}"""
