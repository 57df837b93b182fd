"""Distances in buckets: a slider that moves the query, and keys in the colour of their bucket.

    relative_position_buckets({"both sides": T5Bias(1), "behind only": CausalT5Bias(1)}, length=200,
    at=100)

Each key is a cell of a strip, and cells of one bucket have one shade: they have one number in the
table. Below stand the buckets that are used, how many keys each has, and the one that is asked for.
Python draws the first state, which stays where nothing moves: on paper, without scripts.
"""

import hashlib
import json
from collections.abc import Mapping, Sequence
from html import escape
from pathlib import Path

import torch

from deepdive.positions import T5Bias
from deepdive_book.kit.markup import Html, script
from deepdive_book.kit.palette import ROLES

SHADES = (0.15, 0.75)  # of neighbouring buckets, by turns
_SCRIPT = Path(__file__).with_suffix(".js").read_text(encoding="utf-8")


def relative_position_buckets(schemes: Mapping[str, T5Bias], length: int, at: int) -> Html:
    """Return the picture of the first scheme, with the query at place `at` of `length`.

    Raises ValueError where there is no scheme, or no such place.
    """
    if not schemes or not 0 <= at < length:
        raise ValueError(
            f"got {len(schemes)} schemes, place {at} of {length}; expected a scheme and a place"
        )
    offsets = torch.arange(1 - length, length)
    tables = [scheme.buckets(offsets).tolist() for scheme in schemes.values()]
    spec = {
        "length": length, "at": at, "key": max(0, at - 20), "tables": tables, "shades": SHADES,
        "behind": [scheme.sides == 1 for scheme in schemes.values()],
    }  # fmt: skip
    given = json.dumps(spec, separators=(",", ":"))
    name = f"bk{hashlib.sha256(given.encode()).hexdigest()[:10]}"
    behind = next(iter(schemes.values())).sides == 1
    said = alt_text(tables[0], length, at, max(0, at - 20), behind)
    cells = "".join(
        f'<i style="opacity:{_shade(tables[0], length, at, key, behind)}"></i>'
        for key in range(length)
    )
    options = "".join(f'<option value="{i}">{escape(each)}' for i, each in enumerate(schemes))
    html = _PAGE.format(
        id=name, cells=cells, said=escape(said), options=options, last=length - 1, at=at,
        key=max(0, at - 20), keys=ROLES["key"], query=ROLES["query"], focus=ROLES["weight"],
        script=script(_SCRIPT, id=name, values=given),
    )  # fmt: skip
    return Html(html, f"[buckets: {said}]")


def _shade(table: Sequence[int], length: int, at: int, key: int, behind: bool) -> float:
    if behind and key > at:
        return 0.0
    return SHADES[table[key - at + length - 1] % 2]


def alt_text(table: Sequence[int], length: int, at: int, key: int, behind: bool) -> str:
    """The state in words."""
    if behind and key > at:
        return f"Query at {at}, key at {key}: it stands ahead, and is masked."
    bucket = table[key - at + length - 1]
    keys = [k for k in range(at + 1 if behind else length) if table[k - at + length - 1] == bucket]
    several = f"{len(keys)} keys share it, {keys[0]} to {keys[-1]}"
    alone = "no other key has it"
    return (
        f"Query at {at}, key at {key}: distance {key - at}, bucket {bucket}; "
        f"{several if len(keys) > 1 else alone}."
    ).replace("-", "−")


_PAGE = """\
<style>
.bk {{ max-width: 42rem; font: 1rem/1.4 system-ui, sans-serif; margin: .4em 0; }}
.bk-choose {{ display: grid; grid-template-columns: max-content 1fr 3rem; gap: .3em .6em;
  align-items: center; }}
.bk-choose[hidden] {{ display: none; }}
.bk-choose select {{ font: inherit; min-height: 2.4rem; grid-column: 2 / 4; max-width: 100%; }}
.bk-choose input {{ width: 100%; min-height: 2.4rem; }}
.bk-query {{ accent-color: {query}; }} .bk-key {{ accent-color: {keys}; }}
.bk-choose :focus-visible {{ outline: 3px solid {focus}; outline-offset: 2px; }}
.bk-strip {{ display: flex; height: 3rem; margin: .6em 0 0; position: relative; }}
.bk-strip i {{ flex: 1 1 0; background: {keys}; }}
.bk-marks {{ position: relative; height: 1.1rem; }}
.bk-marks b {{ position: absolute; transform: translateX(-50%); line-height: 1; }}
.bk-marks b:first-child {{ color: {query}; }} .bk-marks b:last-child {{ color: {keys}; }}
.bk p {{ margin: .35em 0; min-height: 2.9em; font-variant-numeric: tabular-nums; }}
@media print {{ .bk-choose {{ display: none; }} }}
</style>
<div class="bk" id="{id}" role="group" aria-label="Distances in buckets">
<div class="bk-choose" hidden><label for="{id}s">table</label><select id="{id}s">{options}</select>
<label for="{id}q">query at</label><input class="bk-query" id="{id}q" type="range" min="0"
max="{last}" value="{at}"><output>{at}</output>
<label for="{id}k">key at</label><input class="bk-key" id="{id}k" type="range" min="0"
max="{last}" value="{key}"><output>{key}</output></div>
<div class="bk-strip" aria-hidden="true">{cells}</div>
<div class="bk-marks" aria-hidden="true"><b></b><b></b></div>
<p role="status" aria-live="polite">{said}</p>
</div>
{script}"""
