"""A language model's completion of a begun note, as it learns: the reader moves time and name.

    completion_during_training([Completion("anna", 16, "4719", [Seen(digits, exposure), ...])],
    epochs)

For each stage of training the model has written the four digits that it finds most probable, one
after the other; a bar says how sure it was of each. Where the code that was planted is met, the
digit is underlined. Python draws the last stage, which stays where nothing moves.
"""

from collections.abc import Sequence
from html import escape
from pathlib import Path
from typing import NamedTuple

from deepdive_book.kit.living import Choice, Slider, living
from deepdive_book.kit.markup import Html

_SCRIPT = Path(__file__).with_suffix(".js").read_text(encoding="utf-8")


class Seen(NamedTuple):
    """At one stage the digits that were written, how sure of each (4,), and the exposure, bits."""

    digits: str
    sure: Sequence[float]
    exposure: float


class Completion(NamedTuple):
    """A name, how often its code was planted, the code, and what was seen at each stage."""

    name: str
    times: int
    code: str
    stages: Sequence[Seen]


def completion_during_training(
    names: Sequence[Completion], epochs: Sequence[int], most: float
) -> Html:
    """Return the picture, with the first name at the last stage; `most` is the largest exposure.

    Raises ValueError: there is no name or stage, or a name has not a stage for each of `epochs`.
    """
    if not names or not epochs:
        raise ValueError(f"got {len(names)} names and {len(epochs)} stages, expected some")
    for each in names:
        if len(each.stages) != len(epochs):
            raise ValueError(f"{each.name}: {len(each.stages)} stages, expected {len(epochs)}")
    rows = [
        {
            "name": each.name, "times": each.times, "code": each.code,
            "digits": [s.digits for s in each.stages],
            "sure": [[round(p, 3) for p in s.sure] for s in each.stages],
            "bits": [round(s.exposure, 1) for s in each.stages],
        }
        for each in names
    ]  # fmt: skip
    last = names[0].stages[-1]
    cells = "".join(
        _cell(d, p, d == c) for d, p, c in zip(last.digits, last.sure, names[0].code, strict=True)
    )
    options = [f"{each.name} (planted {_times(each.times)})" for each in names]
    return living(
        "completed", "What the model completes as it learns", code=_SCRIPT, style=_STYLE, wide=36,
        drawing='<div class="code-note"><span>the code of <span class="code-name">'
                f'{escape(names[0].name)}</span> is</span>'
                f'<span class="code-digits">{cells}</span></div>',
        status=alt_text(names[0], last, epochs[-1], most), lines=3,
        spec={"names": rows, "epochs": list(epochs), "most": round(most, 1)},
        controls=[Choice("name", "name", options),
                  Slider("epoch", "epoch", len(epochs) - 1, most=len(epochs) - 1,
                         labels=[str(epoch) for epoch in epochs])],
        try_this="move back to the first epoch, then forward until the planted code appears; do "
                 "the same for a name that was never planted.",
    )  # fmt: skip


def alt_text(each: Completion, seen: Seen, epoch: int, most: float) -> str:
    """The state in words."""
    right = sum(a == b for a, b in zip(seen.digits, each.code, strict=True))
    which = (
        "this is the planted code" if right == 4
        else f"the planted code is {' '.join(each.code)}, {right} of 4 places alike" if each.times
        else f"its code {' '.join(each.code)} stands in no note"
    )  # fmt: skip
    return (
        f"After {epoch} epochs the model completes: the code of {each.name} is "
        f"{' '.join(seen.digits)}; {which}. Exposure {seen.exposure:.1f} of {most:.1f} bits."
    )


def _times(times: int) -> str:
    return {0: "never", 1: "once"}.get(times, f"{times} times")


def _cell(digit: str, sure: float, right: bool) -> str:
    return (
        f'<span class="code-cell{" code-right" * right}"><b>{digit}</b><span class="code-bar">'
        f'<i style="width:{100 * sure:.1f}%"></i></span><span class="code-probability">'
        f"{int(100 * sure + 0.5)} %</span></span>"
    )


_STYLE = """
.code-note { display: flex; flex-wrap: wrap; gap: .5em; align-items: flex-start;
  font-size: 1.15rem; }
.code-digits { display: flex; gap: .3em; }
.code-cell { display: grid; justify-items: center; width: 3.2em;
  font-variant-numeric: tabular-nums; }
.code-cell b { font-size: 1.5em; line-height: 1.2; }
.code-right b { text-decoration: underline 3px; }
.code-bar { width: 100%; height: .5em;
  background: color-mix(in srgb, currentColor 12%, transparent); }
.code-bar i { display: block; height: 100%; background: @output; }
.code-probability { font-size: .875rem; }
"""
