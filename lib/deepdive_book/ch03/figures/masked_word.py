"""A small BERT that runs in the page: the reader hides a word, and sees what the model expects.

    toy = gap_words()                                    # deepdive_book.kit.toys
    masked_word(toy.model, toy.tokenizer, "she opened the ___ with a key .")

The arithmetic is that of `forward.js`, which runs the translator of `deepdive_book.kit.live` too;
`masked.js` adds what BERT has beside its blocks: learned positions, GELU, and the masked head. A
test holds both to PyTorch. Each weight comes in one byte. Nothing comes from a network, and nothing
the reader types leaves the page. Without scripts the first sentence stands there with its
candidates.
"""

import hashlib
import json
import re
from collections.abc import Sequence
from html import escape
from typing import Any

import torch

from deepdive.tokenizers import WordTokenizer
from deepdive_book.kit.live.export import described_encoder, snapshot
from deepdive_book.kit.live.scripts import live_script
from deepdive_book.kit.markup import Html, marked, script
from deepdive_book.kit.palette import painted

LARGEST = 500_000  # bytes of HTML
GAP = re.compile(r"_{2,}|[^\s_]+")


def candidates(
    model: Any, tokenizer: WordTokenizer, words: Sequence[str], gap: int
) -> dict[str, float]:
    """Return word -> probability at place `gap` of `words`, the most probable first; what stands
    at the gap is not read. Marks such as [SEP] are left out.
    """
    hide = tokenizer.vocab.index("[MASK]")
    ids = [tokenizer.encode(word)[0] for word in words]
    ids = [hide if i == gap or words[i].startswith("__") else token for i, token in enumerate(ids)]
    tokens = torch.tensor([[tokenizer.bos, *ids, tokenizer.eos]])
    with torch.no_grad():
        shares = model(tokens)[0, gap + 1].softmax(-1)
    order = shares.argsort(descending=True).tolist()
    kept = (i for i in order if tokenizer.vocab[i] not in tokenizer.specials)
    return {tokenizer.vocab[i]: shares[i].item() for i in kept}


def masked_word(
    model: Any,
    tokenizer: WordTokenizer,
    text: str,
    *,
    examples: Sequence[str] = (),
    ask: str = "Write a sentence with `___` for the gap, or press a word to hide it",
    shown: int = 8,
) -> Html:
    """Return a page's model that fills gaps.

    Args:
        model: of `deepdive.models.bert.pretraining.for_masked_lm`: post-norm, GELU, no segments.
        tokenizer: its words, special tokens first, in small letters.
        text: what the reader finds there: words and signs with blanks between, one of them `___`.
        examples: more such texts, one button each.
        ask: the label of the field.
        shown: so many candidates are shown.

    Raises:
        TypeError, ValueError: the page cannot run the model, a text has no gap or a word that the
            model does not know, or the whole is larger than 500 kB. The message names it.
    """
    most = model.bert.config.max_length if hasattr(model, "bert") else 0
    spec, weights = described_encoder(model)
    if tuple(tokenizer.vocab[: len(tokenizer.specials)]) != tokenizer.specials:
        raise ValueError("tokenizer: its special tokens must come first in its vocabulary")
    for given in (text, *examples):
        words = GAP.findall(given)
        unknown = [w for w in words if w[0] != "_" and tokenizer.unk in tokenizer.encode(w)]
        if not any(word[0] == "_" for word in words) or unknown or len(words) > most - 2:
            raise ValueError(
                f"{given!r}: expected at most {most - 2} known words, one of them ___; unknown: "
                f"{', '.join(unknown) or 'none'}"
            )
    words = GAP.findall(text)
    gap = next(i for i, word in enumerate(words) if word[0] == "_")
    spec |= {
        "vocabulary": tokenizer.vocab,
        "specials": len(tokenizer.specials),
        "begin": tokenizer.bos,
        "end": tokenizer.eos,
        "unknown": tokenizer.unk,
        "mask": tokenizer.vocab.index("[MASK]"),
        "most": most,
        "shown": shown,
        "weights": snapshot(weights),
    }
    first = list(candidates(model, tokenizer, words, gap).items())[:shown]
    widest = max(0.3, first[0][1])
    body = json.dumps(spec, ensure_ascii=False)
    name = f"gw{hashlib.sha256((body + text).encode()).hexdigest()[:10]}"
    html = _PAGE.format(
        id=name,
        style=painted(_STYLE),
        ask=marked(ask),
        text=escape(text),
        examples="".join(f'<button type="button">{escape(e)}</button>' for e in (text, *examples)),
        bars="".join(_bar(word, share, share / widest) for word, share in first),
        said=escape(_said(first)),
        script=script(live_script("forward.js", "masked.js", figure=__file__), id=name, spec=body),
    )
    if len(html.encode()) > LARGEST:
        raise ValueError(
            f"the model has {len(html.encode()) / 1000:.0f} kB, at most {LARGEST / 1000:.0f}: give "
            "a smaller one"
        )
    return Html(html, f"[a model that fills gaps: {text} {_said(first)}]")


def _percent(share: float) -> str:
    return "under 1%" if share < 0.005 else f"{int(100 * share + 0.5)}%"


def _said(first: Sequence[tuple[str, float]]) -> str:
    told = ", ".join(f"{word} {_percent(share)}" for word, share in first[:3])
    return f"Most likely: {told}."


def _bar(word: str, share: float, width: float) -> str:
    return (
        f'<li><span class="gw-word">{escape(word)}</span>'
        f'<span class="gw-bar"><i style="width:{100 * width:.1f}%"></i></span>'
        f'<span class="gw-share">{_percent(share)}</span></li>'
    )


_STYLE = """
.gw { font: 1rem/1.4 system-ui, sans-serif; max-width: 40rem; margin: .4em 0; }
.gw p { margin: .5em 0; }
.gw label { display: block; font-weight: 600; }
.gw input { font: inherit; color: inherit; background: transparent; width: 100%;
  box-sizing: border-box; padding: .45em .6em; border: 1px solid currentColor;
  border-radius: .4em; margin: .2em 0; }
.gw button { font: inherit; color: inherit; cursor: pointer; margin: 0; padding: .3em .6em;
  background: transparent; border: 1px solid color-mix(in srgb, currentColor 55%, transparent);
  border-radius: .4em; min-height: 2.2rem; }
.gw button:hover { box-shadow: inset 0 0 0 1px currentColor; }
.gw button:focus-visible, .gw input:focus-visible { outline: 3px solid @key; outline-offset: 1px; }
.gw-words, .gw-examples { display: flex; flex-wrap: wrap; gap: .4em; margin: .5em 0; }
.gw .gw-words button[aria-pressed=true] { font-weight: 700; border: 2px solid @query;
  background: color-mix(in srgb, @query 14%, transparent); }
.gw .gw-words .gw-unknown { border-style: dashed; font-style: italic; }
.gw .gw-bars { list-style: none; margin: .6em 0; padding: 0; display: grid; gap: .25em; }
.gw .gw-bars li { display: grid; grid-template-columns: 7em minmax(4em, 1fr) 5em; gap: .6em;
  align-items: center; margin: 0; font-variant-numeric: tabular-nums; }
.gw .gw-word { text-align: right; overflow-wrap: anywhere; }
.gw .gw-bar { height: 1.1em; background: color-mix(in srgb, currentColor 8%, transparent); }
.gw .gw-bar i { display: block; height: 100%; background: @output; }
.gw .gw-right .gw-word { font-weight: 700; text-decoration: underline; }
.gw [role=status] { min-height: 2.8em; }
.gw [hidden] { display: none; }
@media (max-width: 500px) {
  .gw .gw-bars li { grid-template-columns: 5.2em minmax(3em, 1fr) 4.6em; }
  .gw [role=status] { min-height: 5.6em; }
}
@media print { .gw-controls { display: none; } }
"""

_PAGE = """\
<style>{style}</style>
<div class="gw" id="{id}" role="group" aria-label="A small BERT that fills gaps">
<div class="gw-controls" hidden>
<label>{ask}<input type="text" value="{text}" autocomplete="off" spellcheck="false"></label>
<div class="gw-examples" role="group" aria-label="Examples">{examples}</div>
<div class="gw-words" role="group" aria-label="The words that the model reads"></div></div>
<noscript><p>{text}</p></noscript>
<ol class="gw-bars" aria-label="What the model expects at the gap">{bars}</ol>
<p role="status" aria-live="polite">{said}</p>
</div>
{script}"""
