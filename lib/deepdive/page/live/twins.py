"""Classifiers that run in the page: the same text with another name, and how far the answers part.

    twins({"old decisions": model, "names swapped": other}, tokenizer,
          "{} of the {} office was {} , {} and {} .", choices, {"anna": "ben"})

The reader chooses what stands in each gap. Each model says how likely the answer is for this text
and for its twin, the text with the other group's name. The arithmetic is that of `forward.js` and
`judge.js`, with the weights in half precision. Nothing comes from a network. Without scripts the
first text stands there with its twin.
"""

import hashlib
import json
from collections.abc import Mapping, Sequence
from html import escape
from importlib.resources import files
from typing import Any

import torch

from deepdive.page.live.export import described_judge, half
from deepdive.page.markup import Html, script
from deepdive.page.palette import painted
from deepdive.tokenizers import WordTokenizer

LARGEST = 500_000  # bytes of HTML
FILES = ("forward.js", "masked.js", "judge.js", "twins.js")


@torch.no_grad()
def share(model: Any, tokenizer: WordTokenizer, text: str) -> float:
    """How likely the model finds the second class for a text."""
    ids = [tokenizer.bos, *tokenizer.encode(text), tokenizer.eos]
    return float(model(torch.tensor([ids])).softmax(-1)[0, 1])


def twins(
    models: Mapping[str, Any],
    tokenizer: WordTokenizer,
    template: str,
    choices: Sequence[tuple[str, Sequence[str]]],
    pairs: Mapping[str, str],
    *,
    called: str = "hired",
) -> Html:
    """Return the picture, with the first choice in each gap.

    Args:
        models: name -> a `Classifier` of two classes that the page can run.
        template: words with blanks between, and `{}` for each gap.
        choices: for each gap what it is called, and the words that may stand there.
        pairs: word -> its twin; what stands in the first gap must have one.
        called: what the second class is called.

    Raises:
        TypeError, ValueError: the page cannot run a model, a word is unknown or has no twin, or
            there are more gaps than choices.
    """
    gaps = template.split().count("{}")
    both = {**{b: a for a, b in pairs.items()}, **pairs}
    if gaps != len(choices) or not models:
        raise ValueError(f"came {len(choices)} choices for {gaps} gaps, {len(models)} models")
    words = [w for w in template.split() if w != "{}"] + [w for _, some in choices for w in some]
    words += [both[word] for word in choices[0][1] if word in both]
    unknown = sorted({w for w in words if tokenizer.unk in tokenizer.encode(w)})
    alone = sorted({*choices[0][1]} - {*both})
    if unknown or alone:
        raise ValueError(f"unknown words: {unknown}; words of the first gap with no twin: {alone}")
    spec = {
        "template": template.split(),
        "vocabulary": {word: tokenizer.encode(word)[0] for word in {*words}},
        "ends": [tokenizer.bos, tokenizer.eos],
        "pairs": both,
        "called": called,
        "models": [
            {"name": name, "model": described_judge(model), "weights": half(model.state_dict())}
            for name, model in models.items()
        ],
    }
    body = json.dumps(spec, ensure_ascii=False, sort_keys=True)
    first = [some[0] for _, some in choices]
    text = template.format(*first)
    twin = template.format(both[first[0]], *first[1:])
    said = {
        name: (share(model, tokenizer, text), share(model, tokenizer, twin))
        for name, model in models.items()
    }
    names = (first[0], both[first[0]])
    told = told_of(said, names, called)
    shown = iter(choices)
    sentence = " ".join(
        _choice(*next(shown)) if word == "{}" else escape(word) for word in template.split()
    )
    name = f"tw{hashlib.sha256(body.encode()).hexdigest()[:10]}"
    html = _PAGE.format(
        id=name, style=painted(_STYLE), sentence=sentence, text=escape(text),
        rows="".join(_row(each, names, shares) for each, shares in said.items()),
        told=escape(told),
        script=script("".join(map(_file, FILES)), id=name, spec=body),
    )  # fmt: skip
    if len(html.encode()) > LARGEST:
        raise ValueError(f"the models have {len(html.encode()) / 1000:.0f} kB, at most 500")
    return Html(html, f"[{text} {told}]")


def told_of(said: Mapping[str, tuple[float, float]], names: tuple[str, str], called: str) -> str:
    """The state in words."""
    each = (
        f"{name}: {names[0]} {called} {_percent(own)}, {names[1]} {_percent(other)}, "
        f"{abs(_whole(own) - _whole(other))} apart"
        for name, (own, other) in said.items()
    )
    return "; ".join(each) + "."


def _whole(value: float) -> int:
    return int(100 * value + 0.5)


def _percent(value: float) -> str:
    return f"{_whole(value)} %"


def _choice(called: str, words: Sequence[str]) -> str:
    options = "".join(f"<option>{escape(word)}</option>" for word in words)
    return f'<select aria-label="{escape(called)}" disabled>{options}</select>'


def _row(name: str, names: tuple[str, str], shares: tuple[float, float]) -> str:
    bars = "".join(
        f'<span class="tw-name">{escape(who)}</span>'
        f'<span class="tw-bar"><i style="width:{100 * p:.1f}%"></i></span>'
        f'<span class="tw-share">{_percent(p)}</span>'
        for who, p in zip(names, shares, strict=True)
    )
    return f'<div class="tw-model"><p>{escape(name)}</p><div class="tw-rows">{bars}</div></div>'


def _file(name: str) -> str:
    return files(__package__).joinpath(name).read_text(encoding="utf-8")


_STYLE = """
.tw { font: 1rem/1.5 system-ui, sans-serif; max-width: 40rem; margin: .4em 0; }
.tw p { margin: .4em 0; }
.tw select, .tw button { font: inherit; color: inherit; background: transparent; margin: 0;
  border: 1px solid color-mix(in srgb, currentColor 55%, transparent); border-radius: .4em;
  min-height: 2.2rem; padding: .15em .4em; opacity: 1; }
.tw option { color: #111; background: #fff; }
.tw button { cursor: pointer; padding: .25em .7em; }
.tw :focus-visible { outline: 3px solid @key; outline-offset: 1px; }
.tw-sentence { line-height: 2.6; }
.tw-moves { display: flex; flex-wrap: wrap; gap: .4em; }
.tw-moves[hidden] { display: none; }
.tw-model { margin: .7em 0; }
.tw-model p { font-weight: 600; }
.tw-rows { display: grid; grid-template-columns: 4.2em 1fr 3.4em; gap: .25em .6em;
  align-items: center; font-variant-numeric: tabular-nums; }
.tw-bar { position: relative; height: 1.2em;
  background: color-mix(in srgb, currentColor 10%, transparent); }
.tw-bar i { display: block; height: 100%; background: @output; }
.tw-bar::after { content: ""; position: absolute; left: 50%; top: -.15em; bottom: -.15em;
  border-left: 2px solid currentColor; }
.tw-share { text-align: right; white-space: nowrap; }
.tw [role=status] { min-height: 4.5em; }
@media (max-width: 500px) { .tw [role=status] { min-height: 6em; } }
@media print { .tw-moves { display: none; } }
"""

_PAGE = """\
<style>{style}</style>
<div class="tw" id="{id}" role="group" aria-label="A text, and its twin with another name">
<p class="tw-sentence">{sentence}</p>
<div class="tw-moves" hidden><button type="button">other name</button>
<button type="button">other office</button></div>
{rows}
<p role="status" aria-live="polite">{told}</p>
</div>
{script}"""
