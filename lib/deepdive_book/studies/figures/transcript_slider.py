"""What recognisers wrote of one utterance, step by step, with a slider.

    transcript_slider("TWO FIVE", [("step 100", "T", 1.0), ("step 200", "TWO FINE", 0.5)])

Below each word that was said stands what was written for it; errors are framed. Without scripts all
steps stand below each other.
"""

from __future__ import annotations

import hashlib
from collections.abc import Sequence
from html import escape

from deepdive.evaluate.transcripts import Change, alignment
from deepdive_book.kit.markup import Html, script
from deepdive_book.kit.palette import ROLES

Step = tuple[str, str, float]
NOTHING = "–"


def transcript_slider(
    said: str,
    steps: Sequence[Step],
    *,
    of: str = "all voices held out",
    ends: tuple[str, str] = ("earlier", "later"),
    unit: str = "words",
) -> Html:
    """Return the picture.

    Args:
        said: the words of the utterance.
        steps: (its name, what was written, word error rate of `of`, 0.2 for 20 %).
        of: what the error rate was measured on.
        ends: what stands at the two ends of the slider.
        unit: what the parts of `said` are called.

    Raises:
        ValueError: nothing was said, or there is no step.
    """
    if not said.split() or not steps:
        raise ValueError("said, steps: expected a word and a step at least")
    rows = [_row(said, *step, unit) for step in steps]
    plain = [f"{name}: {written or NOTHING}" for name, written, _ in steps]
    name = f"ts{hashlib.sha256(''.join(rows).encode()).hexdigest()[:10]}"
    html = _PAGE.format(
        id=name, rows="".join(rows), last=len(rows) - 1, of=escape(of), error=ROLES["query"],
        first_end=escape(ends[0]), last_end=escape(ends[1]),
        script=script(_SCRIPT, id=name),
    )  # fmt: skip
    return Html(html, f"[transcripts of {said!r}: {'; '.join(plain)}]")


def _row(said: str, step: str, written: str, rate: float, unit: str) -> str:
    found = alignment(said, written)
    words = "".join(map(_word, found.changes))
    told = f"{step}: {found.errors} of {found.length} {unit} wrong here, {rate:.0%} of all"
    row = f'<p class="ts-told">{told}</p><div class="ts-words">{words}</div>'
    return f'<div class="ts-row">{row}</div>'


def _word(change: Change) -> str:
    kind = "ts-hit" if change.said == change.written else "ts-error"
    return (
        f'<span class="{kind}"><span class="ts-said">{escape(change.said or NOTHING)}</span>'
        f"<span>{escape(change.written or NOTHING)}</span></span>"
    )


_SCRIPT = """
const box = document.getElementById(given.id), slider = box.querySelector("input");
const rows = [...box.querySelectorAll(".ts-row")];
const draw = () => rows.forEach((row, i) => { row.hidden = i !== +slider.value; });
slider.oninput = draw;
box.querySelector(".ts-move").hidden = false;
box.classList.add("ts-live");
draw();
"""
_PAGE = """\
<style>
.ts :is(input[type=range], select, button) {{ min-height: 1.7rem; }}
.ts label {{ padding-block: .25rem; }}
.ts {{ max-width: 44rem; font: 1rem/1.35 system-ui, sans-serif; margin: .4em 0; }}
.ts p {{ margin: .3em 0; }}
.ts-move[hidden], .ts-row[hidden] {{ display: none; }}
.ts-move label {{ display: flex; gap: .6em; align-items: center; }}
.ts-move input {{ flex: 1; max-width: 24rem; }}
.ts-words {{ display: flex; flex-wrap: wrap; gap: .35em; min-height: 3.4em; }}
.ts-words > span {{ display: inline-flex; flex-direction: column; align-items: center;
  padding: .1em .35em; border: 2px solid transparent; border-radius: .3em; }}
.ts-words > .ts-error {{ border-color: {error}; }}
.ts-said {{ opacity: .65; }}
@media print {{ .ts-move {{ display: none; }} }}
</style>
<div class="ts" id="{id}" role="group" aria-label="What was written, step by step">
<p class="ts-move" hidden><label>{first_end} <input type="range" min="0" max="{last}" value="0"
 aria-label="from {first_end} to {last_end}"> {last_end}</label></p>
<div role="status" aria-live="polite">{rows}</div>
<p><small>Above: what was said. Below: what was written. A frame is an error, {id_dash} is nothing;
the second rate is that of {of}.</small></p>
</div>
{script}"""
_PAGE = _PAGE.replace("{id_dash}", NOTHING)
