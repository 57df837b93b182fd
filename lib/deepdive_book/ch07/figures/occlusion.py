"""Two classifiers that run in the page: the reader takes words away, and chooses what stands there.

    occlusion_demo({"learned with blanks": (toy, games), "whole texts only": (other, games)},
    SENTENCE, 0,
          draws, gone=[12])

Five meanings of *gone* stand under each other (`deepdive.explain.games.removal`), each with a bar
for either model. The arithmetic is that of `forward.js` and `judge.js`, with the weights in half
precision; a test holds it to the games. Nothing comes from a network. Without scripts the first
state stands there, as the games have it.
"""

from collections.abc import Mapping, Sequence
from html import escape
from typing import Any

import torch
from torch import Tensor

from deepdive.explain.games.game import Game
from deepdive_book.ch07.toys.review_words import ReviewToy
from deepdive_book.kit.live.export import described_judge, half
from deepdive_book.kit.live.scripts import live_script
from deepdive_book.kit.living import Button, living
from deepdive_book.kit.markup import Html

LARGEST = 500_000  # bytes of HTML
SHARED = ("forward.js", "masked.js", "judge.js")
WAYS = {
    "mask": "[MASK]",
    "zero": "a row of zeros",
    "no key": "no key",
    "cut": "cut out",
    "drawn": "another word",
}
Judge = tuple[ReviewToy, Mapping[str, Game]]


def occlusion_demo(
    models: Mapping[str, Judge],
    text: str,
    label: int,
    draws: Tensor,
    *,
    gone: Sequence[int] = (),
    called: str = "negative",
) -> Html:
    """Return the picture.

    Args:
        models: name -> a toy and its five games of the text's words, by the names in `WAYS`; their
            numbers are probabilities of the class.
        text: words with blanks between, that the toys know.
        label: the class whose probability is shown, and `called` its name.
        draws: other texts as tokens (J, S + 2), whose words stand in for those that are drawn anew.
        gone: the places of the words that are away at first.

    Raises:
        TypeError, ValueError: the page cannot run a model, a game is missing or of another size,
            a word is unknown, or the whole is larger than 500 kB.
    """
    words = text.split()
    _check(models, text, draws)
    toys = [toy for toy, _ in models.values()]
    spec: dict[str, Any] = {
        "words": words,
        "tokens": toys[0].tokens(text)[0].tolist(),
        "mask": toys[0].mask,
        "draws": draws.tolist(),
        "drawn": [toys[0].tokenizer.vocab[i] for i in draws[0, 1:-1].tolist()],
        "label": label,
        "called": called,
        "models": [
            {
                "name": name,
                "model": described_judge(toy.model),
                "weights": half(toy.model.state_dict()),
            }
            for name, (toy, _) in models.items()
        ],
    }
    kept = torch.tensor([i not in gone for i in range(len(words))])
    shares = {
        way: [float(games[way](kept)) for _, games in models.values()] for way in WAYS
    }  # fmt: skip
    away = " ".join(words[i] for i in sorted(gone)) or "nothing"
    answers = "; ".join(
        f"{name}, {_percent(p)} {called}" for name, p in zip(models, shares["mask"], strict=True)
    )
    drawing = _DRAWING.format(
        chips="".join(_chip(word, i in gone) for i, word in enumerate(words)),
        heads="".join(f"<span>{escape(name)}</span>" for name in models),
        rows="".join(_row(way, each) for way, each in shares.items()),
        text=escape(" ".join("[MASK]" if i in gone else w for i, w in enumerate(words))),
    )
    status = f"Away: {away}. {WAYS['mask']}: {answers}."
    every = "; ".join(
        f"{WAYS[way]} {', '.join(map(_percent, each))}" for way, each in shares.items()
    )
    figure = living(
        "removal", "Take words away from two models", code=live_script(*SHARED, figure=__file__),
        drawing=drawing, status=status, plain=f"{status} {every}", style=_STYLE, wide=40,
        spec=spec, state={"gone": [i in gone for i in range(len(words))], "way": 0},
        controls=[Button("back", "all back")],
        try_this="take one word away, then choose what stands in its place, row by row, and see in "
                 "which rows the two models part.",
    )  # fmt: skip
    if len(figure.html.encode()) > LARGEST:
        raise ValueError(f"the models have {len(figure.html.encode()) / 1000:.0f} kB, at most 500")
    return figure


def _check(models: Mapping[str, Judge], text: str, draws: Tensor) -> None:
    """Raise ValueError where a word is unknown, or games or draws do not fit the text."""
    words = text.split()
    for name, (toy, games) in models.items():
        tokens = toy.tokens(text)[0]
        if toy.tokenizer.unk in tokens.tolist():
            raise ValueError(f"{name}: a word of {text!r} is unknown to it")
        if [*games] != [*WAYS] or {game.size for game in games.values()} != {len(words)}:
            raise ValueError(
                f"{name}: expected the games {', '.join(WAYS)}, each of {len(words)} words; got "
                f"{ {way: game.size for way, game in games.items()} }"
            )
        if draws.shape[1:] != tokens.shape:
            raise ValueError(f"draws: got {tuple(draws.shape)}, expected (J, {len(tokens)})")


def _percent(share: float) -> str:
    return f"{int(100 * share + 0.5)}%"


def _chip(word: str, gone: bool) -> str:
    return (
        f'<button type="button" disabled aria-pressed="{str(gone).lower()}">{escape(word)}</button>'
    )


def _row(way: str, shares: Sequence[float]) -> str:
    bars = "".join(
        f'<span class="removal-cell"><span class="removal-bar">'
        f'<i style="width:{100 * p:.1f}%"></i></span>'
        f'<span class="removal-share">{_percent(p)}</span></span>'
        for p in shares
    )
    first = way == next(iter(WAYS))
    return (
        f'<label class="removal-row{" removal-chosen" * first}" data-way="{way}" '
        f'data-name="{WAYS[way]}">'
        f'<span class="removal-name"><input type="radio" disabled aria-label="{WAYS[way]}"'
        f"{' checked' * first}> {WAYS[way]}</span>{bars}</label>"
    )


_STYLE = """
.removal-words { display: flex; flex-wrap: wrap; gap: .3em; margin: .5em 0; }
.living .removal-words button { opacity: 1; }
.living .removal-words button[aria-pressed=true] { text-decoration: line-through 2px;
  border: 1px dashed; box-shadow: none; background: color-mix(in srgb, @query 18%, transparent); }
.removal-head, .removal-row { display: grid; grid-template-columns: 9.5em 1fr 1fr;
  gap: .2em .8em; align-items: center; font-variant-numeric: tabular-nums; }
.removal-head { font-weight: 600; font-size: .9rem; align-items: end; }
.removal-row { min-height: 2.4rem; padding: 0 .2em; border-radius: .4em; cursor: pointer; }
.removal-chosen { background: color-mix(in srgb, currentColor 8%, transparent); }
.living .removal-row input { min-height: 0; }
.removal-cell { display: grid; grid-template-columns: 1fr 2.9em; gap: .4em; align-items: center; }
.removal-bar { position: relative; display: block; height: 1.1em;
  background: color-mix(in srgb, currentColor 10%, transparent); }
.removal-bar i { display: block; height: 100%; background: @output; }
.removal-bar::after { content: ""; position: absolute; left: 50%; top: -.15em; bottom: -.15em;
  border-left: 2px solid currentColor; opacity: .55; }
.removal-share { text-align: right; }
.removal-reading { min-height: 4.2em; }
.removal-text { font-family: ui-monospace, monospace; font-size: .92em; }
@media (max-width: 500px) {
  .removal-head, .removal-row { grid-template-columns: 7.4em 1fr 1fr; gap: .2em .4em; }
  .removal-name { font-size: .92rem; }
  .removal-cell { grid-template-columns: 1fr 2.5em; gap: .2em; }
}
"""
_DRAWING = """<div class="removal-words" role="group"
 aria-label="Words; press one to take it away">{chips}</div>
<p class="removal-reading">The models read: <span class="removal-text">{text}</span>\
<span class="removal-more"></span></p>
<div class="removal-head"><span>What stands there?</span>{heads}</div>
<div role="radiogroup" aria-label="What stands in the place of a word that is away">{rows}</div>"""
