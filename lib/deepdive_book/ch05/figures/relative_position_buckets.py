"""Relative position buckets: keys as a strip with an axis of distances and the bucket numbers.

    biases = {"encoder": T5Bias(1), "decoder": CausalT5Bias(1)}
    relative_position_buckets(biases, length=200, at=100)

Each key is a cell of the strip, and adjacent buckets have different shades: all cells of one
bucket have one bias. Above the strip are the numbers of the wide buckets, below it an
axis of distances (key minus query). Two sliders move the query and a key; the line
below states the key's bucket. Python draws the first state, which remains
where no script runs, as on paper.
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

SHADES = (0.15, 0.75)  # of adjacent buckets, alternately
WIDE, TICK = 10, 32  # cells of a bucket that gets its number; distance between two ticks
_SCRIPT = Path(__file__).with_suffix(".js").read_text(encoding="utf-8")


def relative_position_buckets(schemes: Mapping[str, T5Bias], length: int, at: int) -> Html:
    """Return the figure of the first scheme, with the query at position `at` of `length`.

    Raises ValueError if there is no scheme, or no such position.
    """
    if not schemes or not 0 <= at < length:
        raise ValueError(
            f"got {len(schemes)} schemes, position {at} of {length}; expected a scheme and a "
            "position"
        )
    offsets = torch.arange(1 - length, length)
    tables = [scheme.buckets(offsets).tolist() for scheme in schemes.values()]
    spec = {
        "length": length, "at": at, "key": max(0, at - 20), "tables": tables, "shades": SHADES,
        "causal": [scheme.sides == 1 for scheme in schemes.values()], "wide": WIDE, "tick": TICK,
    }  # fmt: skip
    given = json.dumps(spec, separators=(",", ":"))
    name = f"bk{hashlib.sha256(given.encode()).hexdigest()[:10]}"
    causal = next(iter(schemes.values())).sides == 1
    status = alt_text(tables[0], length, at, max(0, at - 20), causal)
    cells = "".join(
        f'<i style="opacity:{_shade(tables[0], length, at, key, causal)}"></i>'
        for key in range(length)
    )
    options = "".join(f'<option value="{i}">{escape(each)}' for i, each in enumerate(schemes))
    html = _PAGE.format(
        id=name, cells=cells, status=escape(status), options=options, last=length - 1, at=at,
        key=max(0, at - 20), keys=ROLES["key"], query=ROLES["query"], focus=ROLES["weight"],
        numbers=_placed(bucket_labels(tables[0], length, at, causal), length),
        ticks=_placed(ticks(length, at), length),
        script=script(_SCRIPT, id=name, values=given),
    )  # fmt: skip
    return Html(html, f"[buckets: {status}]")


def _shade(table: Sequence[int], length: int, at: int, key: int, causal: bool) -> float:
    if causal and key > at:
        return 0.0
    return SHADES[table[key - at + length - 1] % 2]


def bucket_labels(
    table: Sequence[int], length: int, at: int, causal: bool
) -> list[tuple[float, str]]:
    """Return the numbers of the buckets of at least `WIDE` keys, each with its middle in cells."""
    keys = range(at + 1 if causal else length)
    of: dict[int, list[int]] = {}
    for key in keys:
        of.setdefault(table[key - at + length - 1], []).append(key)
    return [((some[0] + some[-1]) / 2, str(bucket)) for bucket, some in of.items()
            if len(some) >= WIDE]  # fmt: skip


def ticks(length: int, at: int) -> list[tuple[float, str]]:
    """Return the distances of the axis, each with its position in cells."""
    first, last = -(at // TICK), (length - 1 - at) // TICK
    return [(at + TICK * i, f"{TICK * i}".replace("-", "−")) for i in range(first, last + 1)]


def _placed(labels: Sequence[tuple[float, str]], length: int) -> str:
    return "".join(
        f'<b style="left:{100 * (at + 0.5) / length:.2f}%">{words}</b>' for at, words in labels
    )


def alt_text(table: Sequence[int], length: int, at: int, key: int, causal: bool) -> str:
    """Return the state in words."""
    if causal and key > at:
        return f"Query at {at}, key at {key}: the key is ahead of the query, so it is masked."
    bucket = table[key - at + length - 1]
    keys = [k for k in range(at + 1 if causal else length) if table[k - at + length - 1] == bucket]
    several = f"{len(keys)} keys share it, {keys[0]} to {keys[-1]}"
    single = "no other key has it"
    return (
        f"Query at {at}, key at {key}: distance {key - at}, bucket {bucket}; "
        f"{several if len(keys) > 1 else single}."
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
.bk-strip {{ display: flex; height: 2.4rem; margin: 0; position: relative; }}
.bk-strip i {{ flex: 1 1 0; background: {keys}; }}
.bk-name {{ font-size: .9rem; margin: .5em 0 0; }}
.bk-line {{ position: relative; height: 1.25rem; font-size: .9rem; }}
.bk-line b {{ position: absolute; transform: translateX(-50%); line-height: 1.25rem;
  font-weight: 400; }}
.bk-ticks {{ border-top: 1px solid currentColor; }}
.bk-marks {{ font-size: 1rem; }}
.bk-marks b:first-child {{ color: {query}; }} .bk-marks b:last-child {{ color: {keys}; }}
.bk p {{ margin: .35em 0; font-variant-numeric: tabular-nums; }}
.bk p[role=status] {{ min-height: 2.9em; }}
@media print {{ .bk-choose {{ display: none; }} }}
</style>
<div class="bk" id="{id}" role="group" aria-label="Relative position buckets">
<div class="bk-choose" hidden><label for="{id}s">bias of</label>
<select id="{id}s">{options}</select>
<label for="{id}q">query at</label><input class="bk-query" id="{id}q" type="range" min="0"
max="{last}" value="{at}"><output>{at}</output>
<label for="{id}k">key at</label><input class="bk-key" id="{id}k" type="range" min="0"
max="{last}" value="{key}"><output>{key}</output></div>
<div aria-hidden="true"><p class="bk-name">bucket (numbers of wide buckets)</p>
<div class="bk-line bk-numbers">{numbers}</div>
<div class="bk-strip">{cells}</div>
<div class="bk-line bk-marks"><b></b><b></b></div>
<div class="bk-line bk-ticks">{ticks}</div>
<p class="bk-name">distance: key position minus query position</p></div>
<p role="status" aria-live="polite">{status}</p>
</div>
{script}"""
