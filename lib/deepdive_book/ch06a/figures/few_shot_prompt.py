"""A prompt that the reader builds, and what a model said after it: each demonstration is left out,
has its label, or the other one.

    few_shot_prompt(Built(demonstrations, asked, words, ask, shares))

Every prompt was asked beforehand: of n demonstrations there are 3^n. Python draws the first state,
which stays where nothing moves: on paper and without scripts.
"""

import hashlib
import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from html import escape
from itertools import product
from pathlib import Path

from deepdive_book.kit.markup import Html, script
from deepdive_book.kit.palette import ROLES

OUT, TRUE, FALSE = "0", "1", "2"
KEPT = Path(__file__).with_suffix(".json")  # SmolLM2's answers: tools/keep_smollm2.py writes them
_SCRIPT = Path(__file__).with_suffix(".js").read_text(encoding="utf-8")


@dataclass(frozen=True)
class Built:
    """What was asked, and answered.

    demonstrations  each a text and its class, 0 or 1
    asked           the texts to ask about
    words           what the classes are called
    ask             how a question is put, with {} for the text
    shares          for each prompt, a digit a demonstration (OUT, TRUE or FALSE), the share of the
                    second word after each text of `asked`, in thousandths
    """

    demonstrations: Sequence[tuple[str, int]]
    asked: Sequence[str]
    words: tuple[str, str]
    ask: str
    shares: Mapping[str, Sequence[int]]

    def prompt(self, key: str, number: int) -> str:
        """The text that the model reads."""
        said = [
            f"{self.ask.format(text)} {self.words[label ^ (state == FALSE)]}\n\n"
            for (text, label), state in zip(self.demonstrations, key, strict=True)
            if state != OUT
        ]
        return "".join(said) + self.ask.format(self.asked[number])

    def told(self, key: str, number: int) -> str:
        """The state in words."""
        share, shown, false = self.shares[key][number], len(key) - key.count(OUT), key.count(FALSE)
        noun = "demonstration" if shown == 1 else "demonstrations"
        labels = f", {false} of them with a false label" if false else ""
        return (
            f"{shown or 'No'} {noun}{labels}. Of the two words, “{self.words[1]}” gets "
            f"{share / 10:.1f} %: the model says {self.words[share >= 500]}."
        )


def load_cached() -> Built:
    """Film reviews, and what SmolLM2 said after each prompt."""
    return Built(**json.loads(KEPT.read_text(encoding="utf-8")))


def few_shot_prompt(built: Built, key: str = "", number: int = 0) -> Html:
    """Return the picture; it begins with the prompt `key`, by default with no demonstration, and
    with question `number`.

    Raises ValueError where an answer is missing.
    """
    key = key or OUT * len(built.demonstrations)
    wanted = {"".join(p) for p in product(OUT + TRUE + FALSE, repeat=len(built.demonstrations))}
    if {*built.shares} != wanted or {len(row) for row in built.shares.values()} != {
        len(built.asked)
    }:
        raise ValueError(
            f"shares: got {len(built.shares)} prompts, expected {len(wanted)}, each with "
            f"{len(built.asked)} answers"
        )
    spec = {
        "shown": built.demonstrations, "asked": built.asked, "words": built.words,
        "ask": built.ask, "shares": built.shares,
    }  # fmt: skip
    given = json.dumps(spec, separators=(",", ":"))
    name = f"bu{hashlib.sha256((given + key).encode()).hexdigest()[:10]}"
    said = built.told(key, number)
    html = _PAGE.format(
        id=name, rows="".join(_row(built, name, i, key[i]) for i in range(len(key))),
        options="".join(
            f'<option value="{i}"{" selected" if i == number else ""}>{escape(text)}'
            for i, text in enumerate(built.asked)
        ),
        prompt=escape(built.prompt(key, number)), share=built.shares[key][number] / 10,
        words=built.words, said=escape(said), blue=ROLES["key"], red=ROLES["query"],
        focus=ROLES["weight"], grey=ROLES["score"], script=script(_SCRIPT, id=name, values=given),
    )  # fmt: skip
    return Html(html, f"[a prompt: {said}]")


def _row(built: Built, name: str, i: int, state: str) -> str:
    text, label = built.demonstrations[i]
    called = ("left out", built.words[label], f"{built.words[1 - label]} (false)")
    choices = "".join(
        f'<label><input type="radio" name="{name}-{i}" value="{value}"'
        f"{' checked' if value == state else ''}> {escape(each)}</label>"
        for value, each in zip((OUT, TRUE, FALSE), called, strict=True)
    )
    return f"<fieldset><legend>{escape(text)}</legend>{choices}</fieldset>"


_PAGE = """\
<style>
.bu {{ max-width: 42rem; font: 1rem/1.4 system-ui, sans-serif; margin: .4em 0; }}
.bu-choose[hidden] {{ display: none; }}
.bu fieldset {{ border: 0; border-left: 3px solid {blue}; margin: .4em 0; padding: 0 0 0 .7em; }}
.bu legend {{ padding: 0; font-style: italic; font-size: 1rem; }}
.bu fieldset label {{ display: inline-flex; align-items: center; gap: .3em; min-height: 2.2rem;
  margin: 0 1em 0 0; }}
.bu-ask {{ display: block; }}
.bu select {{ font: inherit; min-height: 2.4rem; max-width: 100%;
  box-sizing: border-box; }}
.bu input {{ accent-color: {blue}; }}
.bu :focus-visible {{ outline: 3px solid {focus}; outline-offset: 2px; }}
.bu pre {{ white-space: pre-wrap; margin: .6em 0; padding: .5em .7em; font-size: .95rem;
  line-height: 1.4; background: none; border: 1px solid {grey}; min-height: 16.5em; }}
.bu-line {{ display: flex; height: 1.4rem; background: {red}; }}
.bu-line i {{ background: {blue}; border-right: 2px solid Canvas; }}
.bu-ends {{ display: flex; justify-content: space-between; }}
.bu p {{ margin: .4em 0; min-height: 2.9em; font-variant-numeric: tabular-nums; }}
@media print {{ .bu-choose {{ display: none; }} .bu pre, .bu p {{ min-height: 0; }} }}
</style>
<div class="bu" id="{id}" role="group" aria-label="A prompt to build, and the model's answer">
<div class="bu-choose" hidden>{rows}
<label class="bu-ask">asked: <select>{options}</select></label></div>
<pre>{prompt}</pre>
<div class="bu-line" aria-hidden="true"><i style="width:{share}%"></i></div>
<div class="bu-ends" aria-hidden="true"><span>{words[1]}</span><span>{words[0]}</span></div>
<p role="status" aria-live="polite">{said}</p>
</div>
{script}"""
