"""Heads that are switched off one by one: what a model looks at, and what it writes without them.

    asked = {"negative": Asked("question: negative", answer, looks, says), ...}
    head_ablation([Kept(words, asked), ...], (2, 4))

The reader chooses a sentence, a question, and the head whose look is drawn below the words, a bar
each; each head can be off. What is written was kept for every set of heads, so nothing is computed
here. Python draws the first state, which stays where nothing moves: on paper, without scripts.
"""

import hashlib
import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from html import escape
from pathlib import Path
from typing import NamedTuple

from deepdive_book.kit.markup import Html, script
from deepdive_book.kit.palette import painted

_SCRIPT = Path(__file__).with_suffix(".js").read_text(encoding="utf-8")


class Asked(NamedTuple):
    """A question to a text of W words.

    before   what is read besides the text, drawn in front of it: all else that a head looks at
    answer   where the right words stand, and where the other question's do: two lists of places
    looks    how much each head looks at each word, (heads, W), all heads being on
    says     what is written for each set of heads that are off: at index k those whose bit of k is
             set, the first head the lowest bit
    """

    before: str
    answer: tuple[Sequence[int], Sequence[int]]
    looks: Sequence[Sequence[float]]
    says: Sequence[str]


@dataclass(frozen=True)
class Kept:
    """A text as words, and its questions by name."""

    words: Sequence[str]
    asked: Mapping[str, Asked]


def head_ablation(texts: Sequence[Kept], size: tuple[int, int]) -> Html:
    """Return the picture, with the first text and question, all heads on.

    size    layers, counted from 1, and heads in each, counted from 0

    Raises ValueError for no text, texts whose questions differ, and for looks or answers that are
    not one for each head and word, or for each set of heads.
    """
    layers, heads = size
    _check(texts, layers * heads)
    given = json.dumps({"texts": [_plain(one) for one in texts]}, separators=(",", ":"))
    name = f"sh{hashlib.sha256((given + str(size)).encode()).hexdigest()[:10]}"
    first = texts[0]
    html = painted(_PAGE).format(
        id=name,
        texts="".join(f'<option value="{i}">{escape(_short(one.words))}</option>'
                      for i, one in enumerate(texts)),
        questions=_buttons(list(first.asked)),
        words=_words(first),
        grid="".join(_layer(layer, heads) for layer in range(layers)),
        says=escape(alt_text(next(iter(first.asked.values())), first.words, 0)),
        script=script(_SCRIPT, id=name, values=given),
    )  # fmt: skip
    plain = "; ".join(f"{q}: {one.says[0]}" for q, one in first.asked.items())
    return Html(html, f"[heads to switch off. {' '.join(first.words)} {plain}]")


def alt_text(one: Asked, words: Sequence[str], off: int) -> str:
    """What is written without these heads, in words."""
    said = one.says[off]
    right, other = (" ".join(words[i] for i in places) for places in one.answer)
    which = {right: "the span that was asked for", other: "the other question's span"}
    heads = off.bit_count()
    without = "All heads are on." if not heads else f"{heads} of {len(one.looks)} heads are off."
    return f"{without} It writes “{said}”: {which.get(said, 'neither span')}."


def _check(texts: Sequence[Kept], heads: int) -> None:
    if not texts:
        raise ValueError("texts is empty; give one at least")
    for text in texts:
        if list(text.asked) != list(texts[0].asked) or not text.asked:
            raise ValueError(f"asked: got {list(text.asked)}, expected {list(texts[0].asked)}")
        for one in text.asked.values():
            if [len(look) for look in one.looks] != [len(text.words)] * heads:
                raise ValueError(f"looks: expected {heads} heads for {len(text.words)} words")
            if len(one.says) != 1 << heads:
                raise ValueError(f"says: got {len(one.says)}, expected {1 << heads}, one a set")


def _plain(one: Kept) -> dict[str, object]:
    asked = {}
    for question, each in one.asked.items():
        texts = sorted({*each.says})
        asked[question] = {
            "answer": [list(places) for places in each.answer],
            "before": each.before,
            "looks": [bars(look) for look in each.looks],
            "texts": texts,
            "says": [texts.index(said) for said in each.says],
        }
    return {"words": list(one.words), "asked": asked}


def _short(words: Sequence[str]) -> str:
    text = " ".join(words)
    return text if len(text) <= 44 else text[:44].rsplit(" ", 1)[0] + " ..."


def _buttons(names: Sequence[str]) -> str:
    return "".join(
        f'<button type="button" aria-pressed="{str(not i).lower()}">{escape(name)}</button>'
        for i, name in enumerate(names)
    )


def bars(look: Sequence[float]) -> list[int]:
    """How much is looked at what stands before, and at each word, in percent."""
    return [max(0, round(100 * (1 - sum(look)))), *(round(100 * share) for share in look)]


def _words(text: Kept) -> str:
    one = next(iter(text.asked.values()))
    kinds = [
        "sh-before",
        *("sh-right" if i in one.answer[0] else "" for i in range(len(text.words))),
    ]
    return " ".join(
        f'<span class="{kind}" style="--look:{look}%">{escape(word)}</span>'
        for kind, word, look in zip(
            kinds, [one.before, *text.words], bars(one.looks[0]), strict=True
        )
    )


def _layer(layer: int, heads: int) -> str:
    cells = "".join(
        f'<div class="sh-head"><button type="button" class="sh-look" '
        f'aria-pressed="{str(layer == head == 0).lower()}">{layer + 1}-{head}</button>'
        f'<label><input type="checkbox" checked disabled '
        f'aria-label="head {layer + 1}-{head} is on"> on</label></div>'
        for head in range(heads)
    )
    return f'<div class="sh-layer">{cells}</div>'


_PAGE = """\
<style>
.sh :is(input[type=range], select, button) {{ min-height: 1.7rem; }}
.sh label {{ padding-block: .25rem; }}
@media print {{ .sh :is(input, select, button) {{ display: none; }} }}
.sh {{ font: 1rem/1.5 system-ui, sans-serif; max-width: 44rem; margin: .4em 0; }}
.sh .controls {{ display: flex; flex-wrap: wrap; gap: .4em; align-items: center; margin: .4em 0; }}
.sh .controls[hidden] {{ display: none; }}
.sh select, .sh button {{ font: inherit; max-width: 100%; }}
.sh button {{ color: inherit; margin: 0; padding: .2em .7em; min-height: 2.5em; cursor: pointer;
  background: transparent; border: 1px solid currentColor; border-radius: .3em; }}
.sh button[aria-pressed=true] {{ font-weight: 700; box-shadow: inset 0 0 0 1px currentColor; }}
.sh .sh-words {{ margin: .6em 0; line-height: 2.6; }}
.sh .sh-words span {{ padding: .15em .3em .5em; border: 2px solid transparent;
  background: linear-gradient(@weight, @weight) left bottom / var(--look) .4em no-repeat; }}
.sh .sh-words span.sh-before {{ font-style: italic; }}
.sh .sh-words span.sh-right {{ border-color: @key; border-radius: .25em; }}
.sh .sh-layer {{ display: grid; grid-template-columns: repeat(4, minmax(0, 1fr)); gap: .4em;
  max-width: 26rem; margin: .3em 0; }}
.sh .sh-head {{ display: flex; flex-wrap: wrap; gap: .1em .4em; align-items: center; }}
.sh .sh-head label {{ min-height: 2.5em; display: inline-flex; align-items: center; gap: .25em; }}
.sh .sh-head input {{ width: 1.2em; height: 1.2em; }}
</style>
<div class="sh" id="{id}" role="group" aria-label="Heads to switch off">
<div class="controls" hidden><label>Sentence <select>{texts}</select></label></div>
<div class="controls questions" hidden><span>Question:</span>{questions}</div>
<div class="sh-words">{words}</div>
<p role="status" aria-live="polite">{says}</p>
<div class="sh-grid">{grid}</div>
<div class="controls" hidden><button type="button" class="all">All heads on</button></div></div>
{script}"""
