"""A text coloured by explanations at several steps, such as while a model forgets: a slider.

    explained_steps(words, {"gradient": values, "LIME": others}, ["whole", "half"], told)

`values` (K, S) are a method's numbers at each of K steps. The first step stays where nothing moves.
"""

import hashlib
import json
from collections.abc import Mapping, Sequence
from html import escape
from pathlib import Path

from torch import Tensor

from deepdive.page.explained import AGAINST, FOR, HALF, STYLE, relative, word
from deepdive.page.markup import Html, script
from deepdive.page.palette import ROLES

_SCRIPT = Path(__file__).with_suffix(".js").read_text(encoding="utf-8")


def explained_steps(
    words: Sequence[str],
    methods: Mapping[str, Tensor],
    steps: Sequence[str],
    told: Sequence[str],
) -> Html:
    """Return the text of the first step, once for each method, and a slider to the others.

    steps    what each step is called, beside the slider
    told     what is said of each step in words

    Raises:
        ValueError: a method has not one row of finite numbers a step, or `told` not one text.
    """
    if not methods or not steps or len(told) != len(steps):
        raise ValueError(f"came {len(steps)} steps and {len(told)} texts, expected one text a step")
    shares: dict[str, list[list[float]]] = {}
    for name, values in methods.items():
        if len(values) != len(steps):
            raise ValueError(f"{name}: came {len(values)} rows, expected {len(steps)}, one a step")
        rows = [relative(row, len(words), name) for row in values]
        shares[name] = [[round(share, 2) for share in row] for row in rows]
    lines = "".join(
        f'<div class="ex-row"><span class="ex-name">{escape(name)}</span><span class="ex-text">'
        + " ".join(word(w, s) for w, s in zip(words, rows[0], strict=True))
        + "</span></div>"
        for name, rows in shares.items()
    )
    given = json.dumps(
        {"shares": list(shares.values()), "steps": list(steps), "told": list(told), "half": HALF,
         "colours": [FOR, AGAINST]}, separators=(",", ":"),
    )  # fmt: skip
    name = f"es{hashlib.sha256((given + lines).encode()).hexdigest()[:10]}"
    html = STYLE + _PAGE.format(
        id=name, lines=lines, told=escape(told[0]), step=escape(steps[0]), last=len(steps) - 1,
        focus=ROLES["weight"], script=script(_SCRIPT, id=name, values=given),
    )  # fmt: skip
    return Html(html, f"[a text at {len(steps)} steps: {'; '.join(told)}]")


_PAGE = """\
<style>
.es-choose {{ display: flex; flex-wrap: wrap; gap: .3em .8em; align-items: center; }}
.es-choose[hidden] {{ display: none; }}
.es-choose input {{ width: min(14rem, 50vw); min-height: 2.4rem; }}
.es-choose :focus-visible {{ outline: 3px solid {focus}; outline-offset: 2px; }}
.es p {{ margin: .4em 0; min-height: 2.7em; font-variant-numeric: tabular-nums; }}
@media print {{ .es-choose {{ display: none; }} }}
</style>
<div class="ex es" id="{id}" role="group" aria-label="A text and how methods colour it, by steps">
<label class="es-choose" hidden><input type="range" min="0" max="{last}" step="1" value="0">
<output>{step}</output></label>
<p role="status" aria-live="polite">{told}</p>
{lines}
</div>
{script}"""
