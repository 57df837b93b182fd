"""Interactive figure: build a few-shot prompt and see the model's label probabilities.

    few_shot_prompt(Prompts(demonstrations, queries, words, template, per_mille))

Each demonstration is left out, or has its correct or its flipped label. The model scored every
prompt in advance: n demonstrations give 3^n. Python draws the first state, which is also what
appears on paper and without scripts.
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

OUT, CORRECT, FLIPPED = "0", "1", "2"
SAVED = Path(__file__).with_suffix(".json")  # SmolLM2's scores, from tools/keep_smollm2.py
_SCRIPT = Path(__file__).with_suffix(".js").read_text(encoding="utf-8")


@dataclass(frozen=True)
class Prompts:
    """All prompts of n demonstrations, and their label probabilities.

    demonstrations  texts with their classes, 0 or 1
    queries         the texts to classify
    words           the label words of the two classes
    template        the query's template, with {} for the text
    per_mille       for each prompt, one digit per demonstration (OUT, CORRECT, or FLIPPED): the
                    probability of the second label word after each query, in thousandths
    """

    demonstrations: Sequence[tuple[str, int]]
    queries: Sequence[str]
    words: tuple[str, str]
    template: str
    per_mille: Mapping[str, Sequence[int]]

    def prompt(self, key: str, number: int) -> str:
        """The whole text of a prompt."""
        shown = [
            f"{self.template.format(text)} {self.words[label ^ (state == FLIPPED)]}\n\n"
            for (text, label), state in zip(self.demonstrations, key, strict=True)
            if state != OUT
        ]
        return "".join(shown) + self.template.format(self.queries[number])

    def percent(self, key: str, number: int) -> float:
        """The probability of the second label word, in percent."""
        return self.per_mille[key][number] / 10

    def status(self, key: str, number: int) -> str:
        """The state in words."""
        share, shown, flipped = self.percent(key, number), len(key) - key.count(OUT), key.count("2")
        noun = "demonstration" if shown == 1 else "demonstrations"
        labels = f", {flipped} of them with a flipped label" if flipped else ""
        return (
            f"{shown or 'No'} {noun}{labels}. p({self.words[1]}) = {share:.1f}%: the prediction is "
            f"{self.words[share >= 50]}."
        )


def load_saved() -> Prompts:
    """Movie reviews, and SmolLM2's label probabilities after each prompt."""
    return Prompts(**json.loads(SAVED.read_text(encoding="utf-8")))


def few_shot_prompt(prompts: Prompts, key: str = "", number: int = 0) -> Html:
    """Return the figure; its first state is the prompt `key`, by default without demonstrations,
    and query `number`.

    Raises ValueError if a probability is missing.
    """
    key = key or OUT * len(prompts.demonstrations)
    states = OUT + CORRECT + FLIPPED
    wanted = {"".join(p) for p in product(states, repeat=len(prompts.demonstrations))}
    if {*prompts.per_mille} != wanted or {len(row) for row in prompts.per_mille.values()} != {
        len(prompts.queries)
    }:
        raise ValueError(
            f"per_mille: got {len(prompts.per_mille)} prompts, expected {len(wanted)}, each with "
            f"{len(prompts.queries)} probabilities"
        )
    spec = {
        "demonstrations": prompts.demonstrations, "queries": prompts.queries,
        "words": prompts.words, "template": prompts.template, "perMille": prompts.per_mille,
    }  # fmt: skip
    given = json.dumps(spec, separators=(",", ":"))
    name = f"bu{hashlib.sha256((given + key).encode()).hexdigest()[:10]}"
    status = prompts.status(key, number)
    html = _PAGE.format(
        id=name, rows="".join(_row(prompts, name, i, key[i]) for i in range(len(key))),
        options="".join(
            f'<option value="{i}"{" selected" if i == number else ""}>{escape(text)}'
            for i, text in enumerate(prompts.queries)
        ),
        prompt=escape(prompts.prompt(key, number)), share=prompts.percent(key, number),
        words=prompts.words, status=escape(status), blue=ROLES["key"], red=ROLES["query"],
        focus=ROLES["weight"], gray=ROLES["score"], script=script(_SCRIPT, id=name, values=given),
    )  # fmt: skip
    return Html(html, f"[a few-shot prompt: {status}]")


def _row(prompts: Prompts, name: str, i: int, state: str) -> str:
    text, label = prompts.demonstrations[i]
    names = ("left out", prompts.words[label], f"{prompts.words[1 - label]} (flipped)")
    choices = "".join(
        f'<label><input type="radio" name="{name}-{i}" value="{value}"'
        f"{' checked' if value == state else ''}> {escape(each)}</label>"
        for value, each in zip((OUT, CORRECT, FLIPPED), names, strict=True)
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
  line-height: 1.4; background: none; border: 1px solid {gray}; min-height: 16.5em; }}
.bu-line {{ display: flex; height: 1.4rem; background: {red}; }}
.bu-line i {{ background: {blue}; border-right: 2px solid Canvas; }}
.bu-ends {{ display: flex; justify-content: space-between; }}
.bu p {{ margin: .4em 0; min-height: 2.9em; font-variant-numeric: tabular-nums; }}
@media print {{ .bu-choose {{ display: none; }} .bu pre, .bu p {{ min-height: 0; }} }}
</style>
<div class="bu" id="{id}" role="group" aria-label="Build a few-shot prompt">
<div class="bu-choose" hidden>{rows}
<label class="bu-ask">query: <select>{options}</select></label></div>
<pre>{prompt}</pre>
<div class="bu-line" aria-hidden="true"><i style="width:{share}%"></i></div>
<div class="bu-ends" aria-hidden="true"><span>{words[1]}</span><span>{words[0]}</span></div>
<p role="status" aria-live="polite">{status}</p>
</div>
{script}"""
