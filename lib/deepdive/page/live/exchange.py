"""Classifiers that run in the page: the reader exchanges words for others of their kind.

    exchange({"as usual": model, "with exchanges": other}, toy, SENTENCE, choices, 0)

Each word that has others of its kind is a list to choose from; under the text stands what each
model says now, and how many of the texts that were tried turned its answer. The arithmetic is that
of `forward.js` and `judge.js`, with the weights in half precision; a test holds it to the models.
Nothing comes from a network. Without scripts the text stands there with what the models say of it.
"""

import hashlib
import json
from collections.abc import Mapping, Sequence
from html import escape
from importlib.resources import files
from typing import Any

import torch
from torch import nn

from deepdive.page.live.export import described_judge, half
from deepdive.page.markup import Html, script
from deepdive.page.palette import painted
from deepdive.page.toys.reviews import ReviewToy

LARGEST = 500_000  # bytes of HTML


def exchange(
    models: Mapping[str, nn.Module],
    toy: ReviewToy,
    text: str,
    choices: Sequence[Sequence[str]],
    label: int,
    names: Sequence[str] = ("negative", "positive"),
) -> Html:
    """Return the picture.

    Args:
        models: name -> a classifier of the toy's form, in evaluation mode.
        toy: its tokeniser is read.
        text: words with blanks between, that the toy knows.
        choices: for each word those that may take its place, without itself; empty where none may.
        label: the class whose share is shown, of those called `names`.

    Raises:
        TypeError, ValueError: the page cannot run a model, choices are not one list a word, a word
            is unknown, or the whole is larger than 500 kB.
    """
    words, vocab = text.split(), toy.tokenizer.vocab
    if len(choices) != len(words):
        raise ValueError(f"choices: came {len(choices)} lists, expected one a word, {len(words)}")
    every = [[word, *others] for word, others in zip(words, choices, strict=True)]
    unknown = sorted({word for some in every for word in some} - set(vocab))
    if unknown:
        raise ValueError(f"unknown to the toy: {', '.join(unknown)}")
    spec: dict[str, Any] = {
        "tokens": [[vocab.index(word) for word in some] for some in every],
        "begin": toy.tokenizer.bos,
        "end": toy.tokenizer.eos,
        "label": label,
        "names": [*names],
        "models": [
            {"name": name, "model": described_judge(model), "weights": half(model.state_dict())}
            for name, model in models.items()
        ],
    }
    body = json.dumps(spec, ensure_ascii=False)
    with torch.no_grad():
        shares = {
            name: float(model(toy.tokens(text)).softmax(-1)[0, label])
            for name, model in models.items()
        }
    told = "Words exchanged: 0. Texts tried: 0."
    told += f" Answers turned: {'; '.join(f'{name}, 0' for name in models)}."
    html = _PAGE.format(
        id=(name := f"xc{hashlib.sha256(body.encode()).hexdigest()[:10]}"),
        style=painted(_STYLE),
        words=" ".join(_word(place, some) for place, some in enumerate(every)),
        rows="".join(_row(called, share, label, names) for called, share in shares.items()),
        head=escape(names[label]),
        told=escape(told),
        script=script(
            "".join(map(_file, ("forward.js", "masked.js", "judge.js", "exchange.js"))),
            id=name,
            spec=body,
        ),
    )
    if len(html.encode()) > LARGEST:
        raise ValueError(f"the models have {len(html.encode()) / 1000:.0f} kB, at most 500")
    said = "; ".join(f"{name}, {_percent(p)} {names[label]}" for name, p in shares.items())
    return Html(html, f"[words to exchange: {text} {said}]")


def _percent(share: float) -> str:
    return f"{int(100 * share + 0.5)}%"


def _word(place: int, some: Sequence[str]) -> str:
    if len(some) == 1:
        return f"<span>{escape(some[0])}</span>"
    options = "".join(f"<option>{escape(word)}</option>" for word in some)
    return (
        f'<select disabled data-place="{place}" aria-label="{escape(some[0])}, word {place + 1}, '
        f'or another">{options}</select>'
    )


def _row(name: str, share: float, label: int, names: Sequence[str]) -> str:
    says = names[label if share > 0.5 else 1 - label]
    return (
        f'<div class="xc-row"><span class="xc-name">{escape(name)}</span>'
        f'<span class="xc-bar"><i style="width:{100 * share:.1f}%"></i></span>'
        f'<span class="xc-share">{_percent(share)}</span>'
        f'<span class="xc-says">{escape(says)}</span></div>'
    )


def _file(name: str) -> str:
    return files(__package__).joinpath(name).read_text(encoding="utf-8")


_STYLE = """
.xc { font: 1rem/1.4 system-ui, sans-serif; max-width: 40rem; margin: .4em 0; }
.xc p { margin: .5em 0; }
.xc-words { display: flex; flex-wrap: wrap; gap: .35em; align-items: center; margin: .5em 0; }
.xc select, .xc button { font: inherit; color: inherit; margin: 0; padding: .2em .35em;
  background: transparent; border: 1px solid color-mix(in srgb, currentColor 55%, transparent);
  border-radius: .4em; min-height: 2.2rem; opacity: 1; }
.xc button { cursor: pointer; padding: .2em .7em; }
.xc option { color: #111; background: #fff; }
.xc select:focus-visible, .xc button:focus-visible { outline: 3px solid @key; outline-offset: 1px; }
.xc .xc-moved { border: 2px solid @query;
  background: color-mix(in srgb, @query 14%, transparent); }
.xc-head { margin: .8em 0 .2em; font-size: .92rem; }
.xc-row { display: grid; grid-template-columns: 9.5em 1fr 2.9em 8.2em; gap: .2em .7em;
  align-items: center; min-height: 2rem; font-variant-numeric: tabular-nums; }
.xc-bar { position: relative; display: block; height: 1.1em;
  background: color-mix(in srgb, currentColor 10%, transparent); }
.xc-bar i { display: block; height: 100%; background: @key; }
.xc-turned .xc-bar i { background: @query; }
.xc-turned .xc-says { font-weight: 700; }
.xc-bar::after { content: ""; position: absolute; left: 50%; top: -.15em; bottom: -.15em;
  border-left: 2px solid currentColor; opacity: .55; }
.xc-share { text-align: right; }
.xc [role=status] { min-height: 2.8em; }
.xc [hidden] { display: none; }
@media (max-width: 500px) {
  .xc-row { grid-template-columns: 1fr 2.9em 7.6em; }
  .xc-name { grid-column: 1 / -1; margin-top: .3em; }
  .xc-row { gap: .1em .5em; }
}
@media print { .xc-back { display: none; } }
"""

_PAGE = """\
<style>{style}</style>
<div class="xc" id="{id}" role="group" aria-label="Exchange words for others of their kind">
<div class="xc-words">{words}
<button type="button" class="xc-back" hidden>all back</button></div>
<p class="xc-head">How sure is each model that the text is {head}?</p>
{rows}
<p role="status" aria-live="polite">{told}</p>
</div>
{script}"""
