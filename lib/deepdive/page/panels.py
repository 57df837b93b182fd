"""Drawings made beforehand, of which the reader shows one by a few choices.

    panels("A price list in two", {"cut by": ["columns", "rows"]}, draw)

`draw(*chosen)` is called for each combination, and returns SVG and what it says in words, which
stands below it. The first combination is shown where nothing moves: on paper, without scripts.
"""

import hashlib
from collections.abc import Callable, Mapping, Sequence
from html import escape
from itertools import product
from pathlib import Path

from deepdive.page.figures import Picture
from deepdive.page.markup import Html, script
from deepdive.page.palette import ROLES

IMAGE = 'role="img"'  # what `deepdive.page.diagrams.svg` calls a drawing
MOST = 24  # drawings: all of them stand in the page
_SCRIPT = Path(__file__).with_suffix(".js").read_text(encoding="utf-8")
Draw = Callable[..., tuple[str, str]]


def panels(name: str, choices: Mapping[str, Sequence[str]], draw: Draw) -> Html:
    """Return the drawings, a list to choose from for each of the `choices`.

    Raises ValueError where there is nothing to choose, or more than 24 drawings.
    """
    combinations = list(product(*choices.values()))
    if not choices or not 2 <= len(combinations) <= MOST:
        raise ValueError(
            f"choices: came {len(combinations)} combinations of {len(choices)} choices; expected 2 "
            f"to {MOST}"
        )
    drawn = [draw(*each) for each in combinations]
    key = hashlib.sha256("".join(svg + told for svg, told in drawn).encode()).hexdigest()[:10]
    heard = 'aria-hidden="true"'  # the words below say it
    states = "".join(
        f'<div class="pn-one"{" hidden" if i else ""}>{svg.replace(IMAGE, heard, 1)}'
        f"<p>{escape(told)}</p></div>"
        for i, (svg, told) in enumerate(drawn)
    )
    lists = "".join(
        f"<label>{escape(label)} <select>"
        + "".join(f"<option>{escape(option)}</option>" for option in options)
        + "</select></label>"
        for label, options in choices.items()
    )
    html = _PAGE.format(
        id=f"pn{key}", name=escape(name), lists=lists, states=states, weight=ROLES["weight"],
        script=script(_SCRIPT, id=f"pn{key}", sizes=[len(each) for each in choices.values()]),
    )  # fmt: skip
    svg, told = drawn[0]
    return Html(html, f"[{name}: {told}]", [Picture([svg], told, [name])])


_PAGE = """\
<style>
.pn {{ max-width: 44rem; font: 1rem/1.4 system-ui, sans-serif; margin: .4em 0; }}
.pn svg {{ display: block; margin: .4em 0; max-width: 100%; height: auto; }}
.pn p {{ margin: .35em 0; min-height: 5.6em; font-variant-numeric: tabular-nums; }}
.pn-choose {{ display: flex; flex-wrap: wrap; gap: .3em 1.4em; }}
.pn-choose[hidden], .pn-one[hidden] {{ display: none; }}
.pn-choose label {{ display: flex; gap: .5em; align-items: center; margin: 0; }}
.pn-choose select {{ font: inherit; min-height: 2.4rem; margin: 0; }}
.pn-choose :focus-visible {{ outline: 3px solid {weight}; outline-offset: 2px; }}
@media print {{ .pn-choose {{ display: none; }} .pn p {{ min-height: 0; }} }}
</style>
<div class="pn" id="{id}" role="group" aria-label="{name}">
<div class="pn-choose" hidden>{lists}</div>
<div role="status" aria-live="polite">{states}</div>
</div>
{script}"""
