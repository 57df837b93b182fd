"""A small GPT-2 that writes in the page: the reader begins, sees what may come next, and lets it go
on, hotter or colder, as it was at several moments of its training.

    toy = next_letters()                                  # deepdive_book.ch06a.toys.next_letters
    gpt2_generation(toy, "ROMEO:")

The arithmetic is that of `forward.js` and `writer.js`; a test holds both to PyTorch. Each weight
comes in one byte. Nothing comes from a network, and nothing the reader types leaves the page.
Without scripts the beginning stands there with its candidates.
"""

import hashlib
import json
from html import escape
from typing import Any

import torch

from deepdive_book.kit.live.export import described_writer, snapshot
from deepdive_book.kit.live.scripts import live_script
from deepdive_book.kit.markup import Html, script
from deepdive_book.kit.palette import painted

LARGEST = 500_000  # bytes of HTML
SHARED = ("forward.js", "writer.js")
NAMES = {" ": "blank", "\n": "new line"}


@torch.no_grad()
def candidates(toy: Any, text: str) -> dict[str, float]:
    """Return letter -> probability behind `text`, the most probable first."""
    most = toy.model.config.max_length
    shares = toy.model(toy.encode(text)[:, -most:])[0, -1].softmax(-1)
    order = shares.argsort(descending=True).tolist()
    return {toy.letters[i]: shares[i].item() for i in order}


def gpt2_generation(toy: Any, text: str, *, shown: int = 8) -> Html:
    """Return a page's model that writes letter by letter.

    Args:
        toy: with `model`, a GPT-2, `letters`, earlier `snapshots`, and `losses` by moment.
        text: what the reader finds there as a beginning.
        shown: so many candidates are shown.

    Raises:
        TypeError, ValueError: the page cannot run the model, the text has a letter that it does not
            know, or the whole is larger than 500 kB. The message names it.
    """
    if unknown := sorted(set(text) - set(toy.letters)):
        raise ValueError(f"text: {text!r} has letters that the model does not know: {unknown}")
    states = {**toy.snapshots, toy.trained: toy.model.state_dict()}
    moments = [
        {
            "name": name,
            "weights": snapshot(states[name]),
            "said": f"{name[0].upper()}{name[1:]}: {toy.losses[name][0]:.2f} nats a letter.",
        }
        for name in states
    ]
    most = toy.model.config.max_length
    spec = described_writer(toy.model) | {
        "letters": toy.letters, "moments": moments, "most": most, "shown": shown,
    }  # fmt: skip
    first = list(candidates(toy, text).items())[:shown]
    body = json.dumps(spec, ensure_ascii=False)
    name = f"wr{hashlib.sha256((body + text).encode()).hexdigest()[:10]}"
    said = f"{moments[-1]['said']} {_said(first)}"
    html = _PAGE.format(
        id=name,
        style=painted(_STYLE),
        text=escape(text),
        last=len(moments) - 1,
        moment=escape(toy.trained),
        bars="".join(_bar(letter, share) for letter, share in first),
        said=escape(said),
        script=script(live_script(*SHARED, figure=__file__), id=name, spec=body),
    )
    if len(html.encode()) > LARGEST:
        raise ValueError(
            f"the model has {len(html.encode()) / 1000:.0f} kB, at most {LARGEST / 1000:.0f}: give "
            "a smaller one, or fewer moments"
        )
    return Html(html, f"[a model that writes: {text} {said}]")


def _percent(share: float) -> str:
    return "under 1%" if share < 0.005 else f"{int(100 * share + 0.5)}%"


def _named(letter: str) -> str:
    return NAMES.get(letter, letter)


def _said(first: list[tuple[str, float]]) -> str:
    told = ", ".join(f"{_named(letter)} {_percent(share)}" for letter, share in first[:3])
    return f"Most likely next: {told}."


def _bar(letter: str, share: float) -> str:
    return (
        f'<li><span class="wr-letter">{escape(_named(letter))}</span>'
        f'<span class="wr-bar"><i style="width:{100 * share:.1f}%"></i></span>'
        f'<span class="wr-share">{_percent(share)}</span></li>'
    )


_STYLE = """
.wr { font: 1rem/1.4 system-ui, sans-serif; max-width: 42rem; margin: .4em 0; }
.wr p { margin: .5em 0; }
.wr label { display: block; font-weight: 600; margin: .5em 0; }
.wr textarea { font: 1rem/1.4 ui-monospace, monospace; color: inherit; background: transparent;
  width: 100%; box-sizing: border-box; padding: .45em .6em; border: 1px solid currentColor;
  border-radius: .4em; margin: .2em 0; height: 3.6em; }
.wr input[type=range] { width: 100%; accent-color: @output; min-height: 1.6rem; }
.wr button { font: inherit; color: inherit; cursor: pointer; margin: 0; padding: .3em .6em;
  background: transparent; border: 1px solid color-mix(in srgb, currentColor 55%, transparent);
  border-radius: .4em; min-height: 2.2rem; }
.wr button:hover { box-shadow: inset 0 0 0 1px currentColor; }
.wr :is(button, textarea, input):focus-visible { outline: 3px solid @key; outline-offset: 1px; }
.wr-sliders { display: grid; grid-template-columns: 1fr 1fr; gap: 0 1.5em; }
.wr-write { display: flex; flex-wrap: wrap; gap: .4em; margin: .5em 0; }
.wr .wr-out { font: 1rem/1.4 ui-monospace, monospace; white-space: pre-wrap;
  overflow-wrap: anywhere; min-height: 7em; margin: .6em 0; padding: .5em .6em;
  background: color-mix(in srgb, currentColor 6%, transparent); }
.wr .wr-new { background: color-mix(in srgb, @output 25%, transparent); }
.wr .wr-bars { list-style: none; margin: .6em 0; padding: 0; display: grid; gap: .25em; }
.wr .wr-bars li { display: grid; grid-template-columns: 6em minmax(4em, 1fr) 5em; gap: .6em;
  align-items: center; margin: 0; font-variant-numeric: tabular-nums; }
.wr .wr-letter { text-align: center; }
.wr .wr-bar { height: 1.1em; background: color-mix(in srgb, currentColor 8%, transparent); }
.wr .wr-bar i { display: block; height: 100%; background: @output; }
.wr [role=status] { min-height: 2.8em; }
.wr [hidden] { display: none; }
@media (max-width: 500px) {
  .wr-sliders { grid-template-columns: 1fr; }
  .wr .wr-bars li { grid-template-columns: 5.6em minmax(3em, 1fr) 4.6em; }
  .wr [role=status] { min-height: 4.2em; }
}
@media print { .wr-controls { display: none; } }
"""

_PAGE = """\
<style>{style}</style>
<div class="wr" id="{id}" role="group" aria-label="A small GPT that writes letter by letter">
<div class="wr-controls" hidden>
<label>Begin, and it goes on<textarea rows="2" spellcheck="false">{text}</textarea></label>
<div class="wr-sliders">
<label>Temperature: <span class="wr-heat-now">1.0</span>
<input class="wr-heat" type="range" min="0" max="2" step="0.1" value="1"></label>
<label>The model <span class="wr-when-now">{moment}</span>
<input class="wr-when" type="range" min="0" max="{last}" step="1" value="{last}"></label></div>
<div class="wr-write" role="group" aria-label="Write"><button type="button">one letter</button>
<button type="button">forty letters</button>
<button type="button">from the beginning</button></div>
<div class="wr-out" aria-label="What stands there" role="region" tabindex="0"></div></div>
<noscript><p>{text}</p></noscript>
<ol class="wr-bars" aria-label="What may come next">{bars}</ol>
<p role="status" aria-live="polite">{said}</p>
</div>
{script}"""
