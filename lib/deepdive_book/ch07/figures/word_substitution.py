"""Classifiers that run in the page: the reader exchanges words for others of their kind.

    word_substitution({"as usual": model, "with exchanges": other}, toy, SENTENCE, choices, 0)

Each word that has others of its kind is a list to choose from; under the text stands what each
model says now, and how many of the texts that were tried turned its answer. The arithmetic is that
of `forward.js` and `judge.js`, with the weights in half precision; a test holds it to the models.
Nothing comes from a network. Without scripts the text stands there with what the models say of it.
"""

from collections.abc import Mapping, Sequence
from html import escape
from typing import Any

import torch
from torch import nn

from deepdive_book.ch07.toys.review_words import ReviewToy
from deepdive_book.kit.live.export import described_judge, half
from deepdive_book.kit.live.scripts import live_script
from deepdive_book.kit.living import Button, living
from deepdive_book.kit.markup import Html

LARGEST = 500_000  # bytes of HTML
SHARED = ("forward.js", "masked.js", "judge.js")


def word_substitution(
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
        raise ValueError(f"choices: got {len(choices)} lists, expected one a word, {len(words)}")
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
    with torch.no_grad():
        shares = {
            name: float(model(toy.tokens(text)).softmax(-1)[0, label])
            for name, model in models.items()
        }
    status = "Words exchanged: 0. Texts tried: 0."
    status += f" Answers turned: {'; '.join(f'{name}, 0' for name in models)}."
    question = f"How sure is each model that the text is {names[label]}?"
    sentence = " ".join(map(_word, range(len(every)), every))
    rows = "".join(_row(name, p, label, names) for name, p in shares.items())
    figure = living(
        "exchange", "Exchange words for others of their kind",
        code=live_script(*SHARED, figure=__file__),
        drawing=f'<div class="exchange-words">{sentence}</div>'
                f'<p class="exchange-head">{escape(question)}</p>{rows}',
        status=status, style=_STYLE, wide=40, spec=spec,
        state={"tried": {}, **{f"word{i}": 0 for i, some in enumerate(every) if len(some) > 1}},
        controls=[Button("back", "all back")],
        try_this="exchange one word after another until a model's answer turns, with as few "
                 "exchanges as you can.",
    )  # fmt: skip
    if len(figure.html.encode()) > LARGEST:
        raise ValueError(f"the models have {len(figure.html.encode()) / 1000:.0f} kB, at most 500")
    return figure


def _percent(share: float) -> str:
    return f"{int(100 * share + 0.5)}%"


def _word(place: int, some: Sequence[str]) -> str:
    if len(some) == 1:
        return f"<span>{escape(some[0])}</span>"
    options = "".join(f"<option>{escape(word)}</option>" for word in some)
    return (
        f'<select disabled data-control="word{place}" aria-label="{escape(some[0])}, '
        f'word {place + 1}, or another">{options}</select>'
    )


def _row(name: str, share: float, label: int, names: Sequence[str]) -> str:
    says = names[label if share > 0.5 else 1 - label]
    return (
        f'<div class="exchange-row"><span class="exchange-name">{escape(name)}</span>'
        f'<span class="exchange-bar"><i style="width:{100 * share:.1f}%"></i></span>'
        f'<span class="exchange-share">{_percent(share)}</span>'
        f'<span class="exchange-answer">{escape(says)}</span></div>'
    )


_STYLE = """
.exchange-words { display: flex; flex-wrap: wrap; gap: .35em; align-items: center; margin: .5em 0; }
.living .exchange-changed { border: 2px solid @query;
  background: color-mix(in srgb, @query 14%, transparent); }
.exchange-head { font-size: .92rem; }
.exchange-row { display: grid; grid-template-columns: 9.5em 1fr 2.9em 8.2em; gap: .2em .7em;
  align-items: center; min-height: 2rem; font-variant-numeric: tabular-nums; }
.exchange-bar { position: relative; display: block; height: 1.1em;
  background: color-mix(in srgb, currentColor 10%, transparent); }
.exchange-bar i { display: block; height: 100%; background: @key; }
.exchange-turned .exchange-bar i { background: @query; }
.exchange-turned .exchange-answer { font-weight: 700; }
.exchange-bar::after { content: ""; position: absolute; left: 50%; top: -.15em; bottom: -.15em;
  border-left: 2px solid currentColor; opacity: .55; }
.exchange-share { text-align: right; }
@media (max-width: 500px) { .exchange-row { grid-template-columns: 1fr 2.9em 7.6em;
    gap: .1em .5em; }
  .exchange-name { grid-column: 1 / -1; margin-top: .3em; } }
@media print { .exchange-words select { appearance: none; border: 0; } }
"""
