"""Classifiers that run in the page: the same text with another name, and how far the answers part.

    name_swap_demo({"old decisions": model, "names swapped": other}, tokenizer,
          "{} of the {} office was {} , {} and {} .", choices, {"anna": "ben"})

The reader chooses what stands in each gap. Each model says how likely the answer is for this text
and for its twin, the text with the other group's name. The arithmetic is that of `forward.js` and
`judge.js`, with the weights in half precision. Nothing comes from a network. Without scripts the
first text stands there with its twin.
"""

from collections.abc import Mapping, Sequence
from html import escape
from typing import Any

import torch

from deepdive.tokenizers import WordTokenizer
from deepdive_book.kit.live.export import described_judge, half
from deepdive_book.kit.live.scripts import live_script
from deepdive_book.kit.living import Button, living
from deepdive_book.kit.markup import Html

LARGEST = 500_000  # bytes of HTML
SHARED = ("forward.js", "masked.js", "judge.js")


@torch.no_grad()
def share(model: Any, tokenizer: WordTokenizer, text: str) -> float:
    """How likely the model finds the second class for a text."""
    ids = [tokenizer.bos, *tokenizer.encode(text), tokenizer.eos]
    return float(model(torch.tensor([ids])).softmax(-1)[0, 1])


def name_swap_demo(
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
        raise ValueError(f"got {len(choices)} choices for {gaps} gaps, {len(models)} models")
    words = [w for w in template.split() if w != "{}"] + [w for _, some in choices for w in some]
    words += [both[word] for word in choices[0][1] if word in both]
    unknown = sorted({w for w in words if tokenizer.unk in tokenizer.encode(w)})
    alone = sorted({*choices[0][1]} - {*both})
    if unknown or alone:
        raise ValueError(f"unknown words: {unknown}; words of the first gap with no twin: {alone}")
    spec = {
        "template": template.split(),
        "vocabulary": {word: tokenizer.encode(word)[0] for word in sorted({*words})},
        "ends": [tokenizer.bos, tokenizer.eos],
        "pairs": both,
        "choices": [list(some) for _, some in choices],
        "called": called,
        "models": [
            {"name": name, "model": described_judge(model), "weights": half(model.state_dict())}
            for name, model in models.items()
        ],
    }
    first = [some[0] for _, some in choices]
    text = template.format(*first)
    twin = template.format(both[first[0]], *first[1:])
    shares = {
        name: (share(model, tokenizer, text), share(model, tokenizer, twin))
        for name, model in models.items()
    }
    names = (first[0], both[first[0]])
    gaps_left = iter(enumerate(choices))
    sentence = " ".join(
        _choice(*next(gaps_left)) if word == "{}" else escape(word) for word in template.split()
    )
    figure = living(
        "twins", "A text, and its twin with another name",
        code=live_script(*SHARED, figure=__file__),
        drawing=f'<p class="twins-sentence">{sentence}</p>'
                + "".join(_row(each, names, row) for each, row in shares.items()),
        status=alt_text(shares, names, called), style=_STYLE, wide=40, lines=3, spec=spec,
        state={f"gap{gap}": 0 for gap in range(gaps)},
        controls=[Button("twin", "other name"), Button("next", f"other {choices[1][0]}")],
        try_this="press `other name`: where the two bars of a model differ, the name alone made "
                 "the difference; then change another word and compare.",
    )  # fmt: skip
    if len(figure.html.encode()) > LARGEST:
        raise ValueError(f"the models have {len(figure.html.encode()) / 1000:.0f} kB, at most 500")
    return figure


def alt_text(shares: Mapping[str, tuple[float, float]], names: tuple[str, str], called: str) -> str:
    """The state in words."""
    each = (
        f"{name}: {names[0]} {called} {_percent(own)}, {names[1]} {_percent(other)}, "
        f"{abs(_whole(own) - _whole(other))} apart"
        for name, (own, other) in shares.items()
    )
    return "; ".join(each) + "."


def _whole(value: float) -> int:
    return int(100 * value + 0.5)


def _percent(value: float) -> str:
    return f"{_whole(value)} %"


def _choice(gap: int, choice: tuple[str, Sequence[str]]) -> str:
    called, words = choice
    options = "".join(f"<option>{escape(word)}</option>" for word in words)
    return (
        f'<select data-control="gap{gap}" aria-label="{escape(called)}" disabled>{options}</select>'
    )


def _row(name: str, names: tuple[str, str], shares: tuple[float, float]) -> str:
    bars = "".join(
        f'<span class="twins-name">{escape(who)}</span>'
        f'<span class="twins-bar"><i style="width:{100 * p:.1f}%"></i></span>'
        f'<span class="twins-share">{_percent(p)}</span>'
        for who, p in zip(names, shares, strict=True)
    )
    return (
        f'<div class="twins-model"><p>{escape(name)}</p><div class="twins-rows">{bars}</div></div>'
    )


_STYLE = """
.twins-sentence { line-height: 2.6; }
.twins-model { margin: .7em 0; }
.twins-model p { font-weight: 600; }
.twins-rows { display: grid; grid-template-columns: 4.2em 1fr 3.4em; gap: .25em .6em;
  align-items: center; font-variant-numeric: tabular-nums; }
.twins-bar { position: relative; height: 1.2em;
  background: color-mix(in srgb, currentColor 10%, transparent); }
.twins-bar i { display: block; height: 100%; background: @output; }
.twins-bar::after { content: ""; position: absolute; left: 50%; top: -.15em; bottom: -.15em;
  border-left: 2px solid currentColor; }
.twins-share { text-align: right; white-space: nowrap; }
@media print { .twins-sentence select { appearance: none;
  border: 0; } }
"""
