"""Tokens that the reader masks, and the encoder input and target of span corruption.

    span_corruption_demo(["thank you for inviting me to your party last week"], hidden=(2, 3, 8))

A press masks a word, which is one token here, or unmasks it. Below are the encoder's input, with
one sentinel token for each masked span, and the decoder's target. Python draws the first
state, which remains where no script runs, as on paper.
"""

import hashlib
import json
from collections.abc import Collection, Sequence
from html import escape
from pathlib import Path

from deepdive_book.kit.markup import Html, script
from deepdive_book.kit.palette import ROLES

SENTINELS = [f"<extra_id_{i}>" for i in range(26)]
_SCRIPT = Path(__file__).with_suffix(".js").read_text(encoding="utf-8")


def span_corruption_demo(texts: Sequence[str], hidden: Collection[int]) -> Html:
    """Return the figure of the first text, with these of its words masked.

    Raises ValueError if there is no text, or one has more than 50 words.
    """
    if not texts or any(not 0 < len(text.split()) <= 2 * len(SENTINELS) - 2 for text in texts):
        raise ValueError(f"texts: got {len(texts)}, expected texts of 1 to 50 words")
    spec = {
        "texts": [text.split() for text in texts],
        "hidden": sorted(hidden),
        "sentinels": SENTINELS,
    }
    given = json.dumps(spec, separators=(",", ":"))
    name = f"sn{hashlib.sha256(given.encode()).hexdigest()[:10]}"
    words = texts[0].split()
    source, target = corrupt(words, hidden)
    buttons = "".join(
        f'<button type="button" aria-pressed="{str(i in hidden).lower()}">{escape(word)}</button>'
        for i, word in enumerate(words)
    )
    options = "".join(f'<option value="{i}">{escape(text)}' for i, text in enumerate(texts))
    html = _PAGE.format(
        id=name, words=buttons, source=escape(source), target=escape(target), options=options,
        query=ROLES["query"], focus=ROLES["weight"], script=script(_SCRIPT, id=name, values=given),
    )  # fmt: skip
    return Html(html, f"[tokens to mask. Encoder input: {source} | target: {target}]")


def corrupt(words: Sequence[str], hidden: Collection[int]) -> tuple[str, str]:
    """Return the encoder's input and the target, with a sentinel token for each masked span."""
    source: list[str] = []
    target: list[str] = []
    spans = 0
    for i, word in enumerate(words):
        if i not in hidden:
            source.append(word)
            continue
        if i - 1 not in hidden or i == 0:
            source.append(SENTINELS[spans])
            target.append(SENTINELS[spans])
            spans += 1
        target.append(word)
    return " ".join(source), " ".join([*target, SENTINELS[spans]])


_PAGE = """\
<style>
.sn {{ max-width: 42rem; font: 1rem/1.5 system-ui, sans-serif; margin: .4em 0; }}
.sn-choose select {{ font: inherit; min-height: 2.4rem; max-width: 100%; }}
.sn-choose[hidden] {{ display: none; }}
.sn-words {{ display: flex; flex-wrap: wrap; gap: .35em; margin: .6em 0; }}
.sn-words button {{ font: inherit; color: inherit; background: transparent; cursor: pointer;
  border: 1px solid currentColor; border-radius: .3em; padding: .2em .5em; margin: 0;
  min-height: 2.2rem; }}
.sn-words button[aria-pressed=true] {{ border: 2px dashed {query}; text-decoration: line-through; }}
.sn :focus-visible {{ outline: 3px solid {focus}; outline-offset: 2px; }}
.sn dl {{ display: grid; grid-template-columns: max-content 1fr; gap: .3em .8em; margin: 0; }}
.sn dt {{ font-weight: 600; }} .sn dd {{ margin: 0; min-height: 3em; }}
@media print {{ .sn-choose {{ display: none; }} }}
</style>
<div class="sn" id="{id}" role="group" aria-label="Tokens to mask">
<p class="sn-choose" hidden><label>text <select>{options}</select></label></p>
<div class="sn-words">{words}</div>
<div role="status" aria-live="polite"><dl><dt>encoder input</dt><dd>{source}</dd>
<dt>decoder target</dt><dd>{target}</dd></dl></div>
</div>
{script}"""
