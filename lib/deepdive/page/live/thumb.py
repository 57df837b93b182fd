"""Two classifiers that run in the page: the reader takes words away, and chooses what stands there.

    thumb({"learned with blanks": (toy, games), "whole texts only": (other, games)}, SENTENCE, 0,
          draws, gone=[12])

Five meanings of *gone* stand under each other (`deepdive.explain.games.removal`), each with a bar
for either model. The arithmetic is that of `forward.js` and `judge.js`, with the weights in half
precision; a test holds it to the games. Nothing comes from a network. Without scripts the first
state stands there, as the games have it.
"""

import hashlib
import json
from collections.abc import Mapping, Sequence
from html import escape
from importlib.resources import files
from typing import Any

import torch
from torch import Tensor

from deepdive.explain.games.game import Game
from deepdive.page.live.export import described_judge, half
from deepdive.page.markup import Html, script
from deepdive.page.palette import painted
from deepdive.page.toys.reviews import ReviewToy

LARGEST = 500_000  # bytes of HTML
WAYS = {
    "mask": "[MASK]",
    "zero": "a row of zeros",
    "no key": "no key",
    "cut": "cut out",
    "drawn": "another word",
}
Judge = tuple[ReviewToy, Mapping[str, Game]]


def thumb(
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
        "gone": [*gone],
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
    body = json.dumps(spec, ensure_ascii=False)
    kept = torch.tensor([i not in gone for i in range(len(words))])
    found = {
        way: [float(games[way](kept)) for _, games in models.values()] for way in WAYS
    }  # fmt: skip
    away = " ".join(words[i] for i in sorted(gone)) or "nothing"
    said = "; ".join(
        f"{name}, {_percent(p)} {called}" for name, p in zip(models, found["mask"], strict=True)
    )
    told = f"Away: {away}. {WAYS['mask']}: {said}."
    name = f"th{hashlib.sha256(body.encode()).hexdigest()[:10]}"
    html = _PAGE.format(
        id=name,
        style=painted(_STYLE),
        chips="".join(_chip(word, i in gone) for i, word in enumerate(words)),
        heads="".join(f"<span>{escape(each)}</span>" for each in models),
        rows="".join(_row(name, way, shares) for way, shares in found.items()),
        reads=escape(" ".join("[MASK]" if i in gone else w for i, w in enumerate(words))),
        told=escape(told),
        script=script(
            "".join(map(_file, ("forward.js", "masked.js", "judge.js", "thumb.js"))),
            id=name,
            spec=body,
        ),
    )
    if len(html.encode()) > LARGEST:
        raise ValueError(f"the models have {len(html.encode()) / 1000:.0f} kB, at most 500")
    plain = "\n".join(
        f"{WAYS[way]}: " + ", ".join(map(_percent, shares)) for way, shares in found.items()
    )
    return Html(html, f"[words to take away: {told}]\n{plain}")


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
            raise ValueError(f"draws: came {tuple(draws.shape)}, expected (J, {len(tokens)})")


def _percent(share: float) -> str:
    return f"{int(100 * share + 0.5)}%"


def _chip(word: str, gone: bool) -> str:
    return (
        f'<button type="button" disabled aria-pressed="{str(gone).lower()}">{escape(word)}</button>'
    )


def _row(name: str, way: str, shares: Sequence[float]) -> str:
    bars = "".join(
        f'<span class="th-cell"><span class="th-bar"><i style="width:{100 * p:.1f}%"></i></span>'
        f'<span class="th-share">{_percent(p)}</span></span>'
        for p in shares
    )
    first = way == next(iter(WAYS))
    return (
        f'<label class="th-row{" th-chosen" * first}" data-way="{way}" data-name="{WAYS[way]}">'
        f'<span class="th-name"><input type="radio" name="{name}" disabled'
        f"{' checked' * first}> {WAYS[way]}</span>{bars}</label>"
    )


def _file(name: str) -> str:
    return files(__package__).joinpath(name).read_text(encoding="utf-8")


_STYLE = """
.th { font: 1rem/1.4 system-ui, sans-serif; max-width: 40rem; margin: .4em 0; }
.th p { margin: .5em 0; }
.th-words { display: flex; flex-wrap: wrap; gap: .3em; margin: .5em 0; }
.th button { font: inherit; color: inherit; cursor: pointer; margin: 0; padding: .25em .55em;
  background: transparent; border: 1px solid color-mix(in srgb, currentColor 55%, transparent);
  border-radius: .4em; min-height: 2.2rem; opacity: 1; }
.th button:focus-visible, .th input:focus-visible { outline: 3px solid @key; outline-offset: 1px; }
.th-words button[aria-pressed=true] { text-decoration: line-through 2px; border-style: dashed;
  background: color-mix(in srgb, @query 18%, transparent); }
.th-head, .th-row { display: grid; grid-template-columns: 9.5em 1fr 1fr; gap: .2em .8em;
  align-items: center; font-variant-numeric: tabular-nums; }
.th-head { font-weight: 600; font-size: .9rem; align-items: end; }
.th-row { min-height: 2.2rem; padding: 0 .2em; border-radius: .4em; cursor: pointer; }
.th-chosen { background: color-mix(in srgb, currentColor 8%, transparent); }
.th-cell { display: grid; grid-template-columns: 1fr 2.9em; gap: .4em; align-items: center; }
.th-bar { position: relative; display: block; height: 1.1em;
  background: color-mix(in srgb, currentColor 10%, transparent); }
.th-bar i { display: block; height: 100%; background: @output; }
.th-bar::after { content: ""; position: absolute; left: 50%; top: -.15em; bottom: -.15em;
  border-left: 2px solid currentColor; opacity: .55; }
.th-share { text-align: right; }
.th-reading { min-height: 4.2em; }
.th-reads { font-family: ui-monospace, monospace; font-size: .92em; }
.th [role=status] { min-height: 2.8em; }
.th [hidden] { display: none; }
@media (max-width: 500px) {
  .th-head, .th-row { grid-template-columns: 7.4em 1fr 1fr; gap: .2em .4em; }
  .th-name { font-size: .92rem; }
  .th-cell { grid-template-columns: 1fr 2.5em; gap: .2em; }
  .th [role=status] { min-height: 4.2em; }
}
@media print { .th-back { display: none; } }
"""

_PAGE = """\
<style>{style}</style>
<div class="th" id="{id}" role="group" aria-label="Take words away from two models">
<div class="th-words" role="group" aria-label="Words; press one to take it away">{chips}
<button type="button" class="th-back" hidden>all back</button></div>
<p class="th-reading">The models read: <span class="th-reads">{reads}</span>\
<span class="th-more"></span></p>
<div class="th-head"><span>What stands there?</span>{heads}</div>
<div role="radiogroup" aria-label="What stands in the place of a word that is away">{rows}</div>
<p role="status" aria-live="polite">{told}</p>
</div>
{script}"""
