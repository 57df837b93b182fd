"""A game: foresee what a model answers, first from examples, then from examples with colours.

    simulatability_game([Example(words, values, 0), ...], [TestText(words, 1, 0), ...], ["negative",
    "positive"])

The examples show the model's answers. The reader guesses its answers to the new texts, which are
never coloured: so no colour can whisper an answer. Then the examples show how much each word counts
(sizes only), and the reader may change each guess. Only at the end is told how many were right
before and after, and nothing is kept. On paper and without scripts the examples stand there with
their colours, and the new texts without answers.
"""

import base64
import hashlib
import json
import re
from collections.abc import Sequence
from dataclasses import dataclass
from html import escape
from pathlib import Path

import torch
from torch import Tensor

from deepdive_book.kit.attribution_text import STYLE, relative, word
from deepdive_book.kit.markup import Html, script
from deepdive_book.kit.palette import painted

_SCRIPT = Path(__file__).with_suffix(".js").read_text(encoding="utf-8")


@dataclass(frozen=True)
class Example:
    """A text, how much each of its words counts (S,), and the class that the model gives."""

    words: Sequence[str]
    values: Tensor | Sequence[float]
    said: int


@dataclass(frozen=True)
class TestText:
    """A text to guess, the class that the model gives, and the true one."""

    words: Sequence[str]
    said: int
    true: int


def simulatability_game(
    examples: Sequence[Example], new: Sequence[TestText], names: Sequence[str]
) -> Html:
    """Return the game; `names` are the classes.

    Raises ValueError where there is no example, no new text or fewer than two classes, where a
    class is none of them, or an example has not one finite number a word.
    """
    if not examples or not new or len(names) < 2:
        raise ValueError(
            f"got {len(examples)} examples, {len(new)} new texts and {len(names)} classes, "
            "expected some of each, and 2 classes or more"
        )
    classes: list[tuple[int, ...]] = [(one.said,) for one in examples]
    classes += [(one.said, one.true) for one in new]
    for number, given in enumerate(classes, 1):
        if not all(0 <= each < len(names) for each in given):
            raise ValueError(f"text {number}: class {given}, expected 0 to {len(names) - 1}")
    lessons = "".join(_example(one, names) for one in examples)
    answers = json.dumps(
        {"said": [one.said for one in new], "true": [one.true for one in new], "names": list(names)}
    )
    # not in clear: a reader who searches the page, or looks into it, is told no answer
    hidden = base64.b64encode(answers.encode()).decode()
    name = f"fs{hashlib.sha256((lessons + hidden).encode()).hexdigest()[:10]}"
    asked = "".join(_new(one, i, name, names) for i, one in enumerate(new))
    html = _PAGE.format(
        style=STYLE, own=painted(_STYLE), id=name, lessons=lessons, asked=asked, count=len(new),
        script=script(_SCRIPT, id=name, answers=hidden),
    )  # fmt: skip
    plain = [f"[a game: foresee the model's answers to {len(new)} texts]"]
    plain += [f"{names[one.said]}: {' '.join(one.words)}" for one in examples]
    return Html(html, "\n".join(plain))


def _example(one: Example, names: Sequence[str]) -> str:
    sizes = torch.as_tensor(one.values).abs()
    shares = relative(sizes, len(one.words), "an example")
    cells = " ".join(word(w, s) for w, s in zip(one.words, shares, strict=True))
    cells = re.sub(r' title="[^"]*"', "", cells)  # a title would tell what the colours hide
    return (
        f'<div class="ex-row"><span class="ex-name">{escape(names[one.said])}</span>'
        f'<span class="ex-text">{cells}</span></div>'
    )


def _new(one: TestText, number: int, name: str, names: Sequence[str]) -> str:
    choices = "".join(
        f'<label><input type="radio" name="{name}q{number}" value="{c}"> {escape(called)}</label>'
        for c, called in enumerate(names)
    )
    return (
        f"<li><fieldset><legend>{escape(' '.join(one.words))}</legend>"
        f'<span class="fs-choose" hidden>{choices}</span><span class="fs-told"></span>'
        "</fieldset></li>"
    )


_STYLE = """
.fs { max-width: 60rem; font: 1rem/1.4 system-ui, sans-serif; margin: .4em 0; }
.fs h4 { margin: .8em 0 .2em; font-size: 1rem; }
.fs p { margin: .4em 0; min-height: 2.8em; font-variant-numeric: tabular-nums; }
.fs .ex-name { flex-basis: 6rem; }
.fs-bare .ex-word { background: none !important; }
.fs-bare .ex-bar span { visibility: hidden; }
.fs ol { margin: 0; padding: 0; list-style: none; }
.fs fieldset { border: 0; margin: 0; padding: .3em 0; display: flex; flex-wrap: wrap;
  gap: 0 1.2em; align-items: center;
  border-top: 1px solid color-mix(in srgb, @score 30%, transparent); }
.fs legend { float: left; flex: 1 1 20rem; padding: .1em 0; font-size: 1rem; margin: 0; }
.fs-choose { display: inline-flex; gap: 1em; }
.fs label { display: inline-flex; gap: .35em; align-items: center; min-height: 2.2rem; margin: 0; }
.fs input { margin: 0; accent-color: @key; }
.fs-told { flex: 0 1 auto; font-size: .92rem; font-weight: 600; }
.fs [hidden] { display: none !important; }
.fs button { font: inherit; min-height: 2.4rem; padding: 0 .8em; border-radius: 4px; margin: 0;
  border: 1px solid @score; background: transparent; color: inherit; cursor: pointer; }
.fs button[aria-disabled=true] { border-style: dashed; cursor: default;
  opacity: .85 !important; }
.fs :focus-visible { outline: 3px solid @weight; outline-offset: 2px; }
@media (max-width: 480px) { .fs .ex-name, .fs .ex-text, .fs legend { flex: 1 1 100%; }
  .fs .ex-word { font-size: .92rem; padding: 0 .16em; margin: 0; } }
@media print { .fs button, .fs-choose { display: none !important; } .fs p { min-height: 0; } }
"""

_PAGE = """\
{style}<style>{own}</style>
<div class="fs" id="{id}" role="group" aria-label="A game: foresee the model's answers">
<h4>What the model answered</h4>
<div class="ex">{lessons}</div>
<h4>What will it answer to these {count}?</h4>
<ol>{asked}</ol>
<p role="status" aria-live="polite"></p>
<button type="button" class="fs-next" hidden>show the colours</button>
<button type="button" class="fs-again" hidden>play again</button>
</div>
{script}"""
