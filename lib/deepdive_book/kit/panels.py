"""Drawings made beforehand, of which the reader shows one by a few choices.

    panels("A price list in two", {"cut by": ["columns", "rows"]}, draw)

`draw(*chosen)` is called for each combination, and returns SVG or HTML and what it says in words,
which stands below it. The first combination is shown on paper and without scripts.
"""

from collections.abc import Callable, Collection, Mapping, Sequence
from itertools import product
from pathlib import Path
from typing import Any

from deepdive_book.kit.living import Choice, Slider, living
from deepdive_book.kit.markup import Html

IMAGE = 'role="img"'  # what `deepdive_book.kit.diagrams.svg` calls a drawing
MOST = 24  # drawings: all of them stand in the page
_SCRIPT = Path(__file__).with_suffix(".js").read_text(encoding="utf-8")
Draw = Callable[..., tuple[str, str]]


def panels(
    name: str, choices: Mapping[str, Sequence[str]], draw: Draw, *,
    sliders: Collection[str] = (), wide: float = 44, lines: int = 3, **frame: Any,
) -> Html:  # fmt: skip
    """Return the drawings, a list to choose from for each of the `choices`, or a slider; `frame` is
    what else `living` is given.

    Raises ValueError where there is nothing to choose, or more than 24 drawings.
    """
    combinations = list(product(*choices.values()))
    if not choices or not 2 <= len(combinations) <= MOST:
        raise ValueError(
            f"choices: got {len(combinations)} combinations of {len(choices)} choices; expected 2 "
            f"to {MOST}"
        )
    drawn = [draw(*each) for each in combinations]
    hidden = [(svg.replace(IMAGE, 'aria-hidden="true"', 1), words) for svg, words in drawn]
    return living(
        "panels", name, code=_SCRIPT, status=drawn[0][1], drawing=drawn[0][0], alt=drawn[0][1],
        spec={"panels": hidden, "sizes": [len(each) for each in choices.values()]},
        controls=[Slider(f"choice{i}", label, 0, most=len(options) - 1, labels=options)
                  if label in sliders else Choice(f"choice{i}", label, options)
                  for i, (label, options) in enumerate(choices.items())],
        wide=wide, lines=lines, plain=" ".join(words for _, words in drawn), **frame,
    )  # fmt: skip
