"""A text coloured by explanations at several steps, such as while a model forgets: a slider.

    attribution_slider(words, {"gradient": values, "LIME": others}, ["whole", "half"], told)

`values` (K, S) are a method's numbers at each of K steps. The first step stays where nothing moves.
"""

from collections.abc import Mapping, Sequence
from html import escape

from torch import Tensor

from deepdive_book.kit.attribution_text import STYLE, relative, word
from deepdive_book.kit.markup import Html
from deepdive_book.kit.panels import panels


def attribution_slider(
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
        raise ValueError(f"got {len(steps)} steps and {len(told)} texts, expected one text a step")
    shares: dict[str, list[list[float]]] = {}
    for name, values in methods.items():
        if len(values) != len(steps):
            raise ValueError(f"{name}: got {len(values)} rows, expected {len(steps)}, one a step")
        rows = [relative(row, len(words), name) for row in values]
        shares[name] = [[round(share, 2) for share in row] for row in rows]

    def draw(step: str) -> tuple[str, str]:
        at = list(steps).index(step)
        lines = "".join(
            f'<div class="ex-row"><span class="ex-name">{escape(name)}</span><span class="ex-text">'
            + " ".join(word(w, s) for w, s in zip(words, rows[at], strict=True))
            + "</span></div>"
            for name, rows in shares.items()
        )
        return f'<div class="ex">{lines}</div>', told[at]

    return panels(
        "A text and how methods color it, by steps", {"step": steps}, draw, sliders=("step",),
        above=STYLE, wide=60, lines=2,
        try_this="move the slider to the right and see which rows change their colors, and which "
                 "stay as they are.",
    )  # fmt: skip
