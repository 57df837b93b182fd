"""Sound above, letters below: the reader presses a letter, and sees where in the sound it looked.

    letters_heard([Heard("four digits", frames, words, "SIX TWO", {"1-0": weights}, wave, 8000)])

Row u of the weights belongs to letter u, the row after the last one to the decision to stop. Python
draws the first state, which stays where nothing moves: on paper and without scripts.
"""

import base64
import hashlib
import io
import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from html import escape
from pathlib import Path
from typing import Any

import numpy as np

from deepdive.page.diagrams import FONT, ROLES
from deepdive.page.figures import Picture
from deepdive.page.markup import Html, script

WIDE, LEFT, TOP, HIGH, BARS, FOOT = 400.0, 4.0, 20.0, 84.0, 176.0, 214.0
_SCRIPT = Path(__file__).with_suffix(".js").read_text(encoding="utf-8")
State = Mapping[str, Any]


@dataclass(frozen=True)
class Heard:
    """One recording and what was written of it.

    frames   (T, bands), `seconds` from one to the next
    words    each with its first frame and the one after its last
    text     the letters that were written
    weights  name of a head -> (len(text) + 1, S), row s of the sound begins at frame s * T / S
    wave     the sound in -1..1, with its rate; None: silent
    """

    name: str
    frames: Any
    words: Sequence[tuple[str, int, int]]
    text: str
    weights: Mapping[str, Any]
    wave: Any = None
    rate: int = 8000
    seconds: float = field(default=0.01)


def letters_heard(strings: Sequence[Heard], *, letter: int = 0, every: int = 4) -> Html:
    """Return the picture, with a letter of the first recording pressed; `every`: frames a row.

    Raises ValueError where there is none, heads differ, or weights are not one row a letter.
    """
    heads = [*strings[0].weights] if strings else []
    states = []
    for each in strings:
        states.append(_state(each, heads, every))
    if not heads or not 0 <= letter <= len(strings[0].text):
        raise ValueError(f"strings, letter={letter}: expected a recording with heads, and one of "
                         "its letters")  # fmt: skip
    given = json.dumps({"strings": states, "letter": letter, "every": every}, separators=(",", ":"))
    name = f"lh{hashlib.sha256(given.encode()).hexdigest()[:10]}"
    first, drawn = states[0], _drawing(states[0], heads[0], letter, every)
    players = "".join(
        f'<audio controls preload="none" src="{each}"{" hidden" if i else ""}></audio>'
        for i, each in enumerate(_sound(each) for each in strings) if each
    )  # fmt: skip
    html = _PAGE.format(
        id=name, drawn=drawn, told=escape(said_of(first, heads[0], letter, every)), players=players,
        strings=_choices("string", name, [each.name for each in strings]),
        heads=_choices("head", name, heads), letters=_letters(first["text"], letter),
        weight=ROLES["weight"], query=ROLES["query"], script=script(_SCRIPT, id=name, values=given),
    )  # fmt: skip
    alt = ("A spectrum over time, cut into words by upright lines; below it bars, the weights of "
           "one letter, and below them the letters that were written.")  # fmt: skip
    return Html(html, f"[letters heard: {first['text']}]", [Picture([drawn], alt, ["letters"])])


def _state(heard: Heard, heads: Sequence[str], every: int) -> dict[str, Any]:
    """What the script is told of a recording; weights in thousandths."""
    frames = np.asarray(heard.frames, np.float64)
    if [*heard.weights] != heads or frames.ndim != 2:
        raise ValueError(f"{heard.name}: expected frames (T, bands) and the heads {heads}")
    found = {}
    for head, weights in heard.weights.items():
        rows = np.asarray(weights, np.float64)
        if rows.shape != (len(heard.text) + 1, -(-len(frames) // every)):
            raise ValueError(
                f"{heard.name}, {head}: weights {rows.shape}, expected a row for each of "
                f"{len(heard.text)} letters and one for the end, over {-(-len(frames) // every)}"
            )
        found[head] = np.round(1000 * rows).astype(int).tolist()
    return {"name": heard.name, "png": _png(frames), "n": len(frames), "text": heard.text,
            "words": [list(word) for word in heard.words], "weights": found,
            "step": heard.seconds}  # fmt: skip


def centre(row: Sequence[int], every: int) -> float:
    """The centre of the weights, in frames."""
    return every * sum(s * w for s, w in enumerate(row)) / max(1, sum(row))


def said_of(state: State, head: str, letter: int, every: int) -> str:
    """The state in words."""
    text, row = state["text"], state["weights"][head][letter]
    largest, middle = every * row.index(max(row)), centre(row, every)
    digit = text[:letter].count(" ")
    if letter == len(text):
        who = "The decision to stop"
    elif text[letter] == " ":
        who = f"Letter {letter + 1} of {len(text)}, the space after word {digit + 1}"
    else:
        who = f"Letter {letter + 1} of {len(text)}, {text[letter]} of word {digit + 1}"
    at = state["step"]
    here = [w for w, first, last in state["words"] if first <= largest < last]
    inside = f"in {here[0].lower()}" if here else "outside all words"
    return (f"{who}: the largest weight is {max(row) / 1000:.2f}, at {largest * at:.2f} s, "
            f"{inside}; the centre of all is at {middle * at:.2f} s.")  # fmt: skip


def _x(frame: float, state: State) -> float:
    return LEFT + (WIDE - 2 * LEFT) * frame / state["n"]


def _drawing(state: State, head: str, letter: int, every: int) -> str:
    """The sound, its words, and the bars; the classes are what the script looks for."""
    return (
        f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {WIDE:g} {FOOT:g}" '
        f'width="{1.7 * WIDE:g}" style="max-width:100%;height:auto;{FONT}" class="lh-all" '
        'role="img" aria-label="A spectrum over time, its words, and the weights of one letter">'
        f'<image class="lh-sound" x="{LEFT:g}" y="{TOP:g}" width="{WIDE - 2 * LEFT:g}" '
        f'height="{HIGH:g}" preserveAspectRatio="none" href="{state["png"]}"/>'
        f'<g class="lh-words">{_words(state)}</g>'
        f'<g class="lh-bars">{_bars(state, head, letter, every)}</g></svg>'
    )


def _words(state: State) -> str:
    body = []
    for word, first, last in state["words"]:
        a, b = _x(first, state), _x(last, state)
        body.append(
            f'<text x="{(a + b) / 2:.1f}" y="14" font-size="12" text-anchor="middle" '
            f'fill="currentColor">{escape(word.lower())}</text><path d="M{b:.1f} 4V{BARS:g}" '
            'stroke="#888" stroke-width="1" stroke-dasharray="4 3"/>'
        )
    seconds = state["n"] * state["step"]
    gap = 0.5 if seconds < 2.4 else 1.0
    for k in range(int(seconds / gap) + 1):
        at = _x(k * gap / state["step"], state)
        anchor = "start" if k == 0 else "middle"
        body.append(f'<text x="{at:.1f}" y="{FOOT - 4:g}" font-size="12" text-anchor="{anchor}" '
                    f'fill="currentColor">{k * gap:g} s</text>')  # fmt: skip
    return "".join(body)


def _bars(state: State, head: str, letter: int, every: int) -> str:
    row = state["weights"][head][letter]
    wide, room = (WIDE - 2 * LEFT) * every / state["n"], BARS - TOP - HIGH - 6
    body = []
    for s, weight in enumerate(row):
        high = room * weight / max(1, *row)
        x = _x(every * s, state)
        body.append(f'<rect x="{x:.1f}" y="{BARS - high:.1f}" width="{wide * 0.86:.1f}" '
                    f'height="{high:.1f}" fill="{ROLES["weight"]}"/>')  # fmt: skip
    at = _x(centre(row, every) + every / 2, state)
    body.append(f'<path d="M{at:.1f} {BARS + 3:g}l6 10h-12z" fill="{ROLES["query"]}"/>')
    return "".join(body)


def _letters(text: str, letter: int) -> str:
    """A button for each letter, and one for the end."""
    names = [("␣", "space") if c == " " else (c, c) for c in text] + [("end", "the end")]
    return "".join(
        f'<button type="button" aria-label="{said}" aria-pressed="{str(i == letter).lower()}">'
        f"{shown}</button>"
        for i, (shown, said) in enumerate(names)
    )


def _choices(kind: str, name: str, options: Sequence[str]) -> str:
    return "".join(
        f'<label><input type="radio" name="{name}{kind}" value="{escape(each)}"'
        f"{' checked' * (i == 0)}> {escape(each)}</label>"
        for i, each in enumerate(options)
    )


def _png(frames: Any) -> str:
    """The spectrum as a small image: low bands below, loud is dark."""
    from PIL import Image

    low, high = np.percentile(frames, (5, 99.5))
    grey = 255 - 215 * ((frames - low) / max(high - low, 1e-9)).clip(0, 1)
    file = io.BytesIO()
    Image.fromarray(grey.T[::-1].astype(np.uint8)).save(file, "PNG", optimize=True)
    return f"data:image/png;base64,{base64.b64encode(file.getvalue()).decode()}"


def _sound(heard: Heard) -> str:
    """The wave as an address that holds it, 16 bits a sample; "" for none."""
    if heard.wave is None:
        return ""
    import wave

    file = io.BytesIO()
    with wave.open(file, "wb") as target:
        target.setnchannels(1)
        target.setsampwidth(2)
        target.setframerate(heard.rate)
        loud = np.asarray(heard.wave, np.float64)
        loud = 0.8 * loud / max(1e-9, float(np.abs(loud).max()))
        target.writeframes((32767 * loud).astype("<i2").tobytes())
    return f"data:audio/wav;base64,{base64.b64encode(file.getvalue()).decode()}"


_PAGE = """\
<style>
.lh {{ max-width: 44rem; font: 1rem/1.4 system-ui, sans-serif; margin: .4em 0; }}
.lh p {{ margin: .35em 0; min-height: 4.2em; }}
.lh svg {{ display: block; margin: .4em 0; }}
.lh audio {{ width: 100%; max-width: 26rem; height: 2.4rem; display: block; }}
.lh audio[hidden], .lh fieldset[hidden] {{ display: none; }}
.lh fieldset {{ border: 0; margin: .2em 0; padding: 0; display: flex; flex-wrap: wrap;
  gap: .2em 1em; }}
.lh label {{ display: inline-flex; gap: .35em; align-items: center; margin: 0; }}
.lh input {{ margin: 0; accent-color: {query}; }}
.lh-letters {{ display: flex; flex-wrap: wrap; gap: 3px; }}
.lh-letters button {{ font: 600 1rem/1 ui-monospace, monospace; padding: .45em .4em; margin: 0;
  min-width: 1.9em; border: 1px solid #888; border-radius: 4px; background: none; color: inherit; }}
.lh-live .lh-letters button {{ cursor: pointer; }}
.lh-letters button[aria-pressed=true] {{ border-color: {query}; box-shadow: 0 0 0 2px {query}; }}
.lh-letters button:focus-visible {{ outline: 3px solid {weight}; outline-offset: 2px; }}
@media print {{ .lh fieldset, .lh audio {{ display: none; }} .lh p {{ min-height: 0; }} }}
</style>
<div class="lh" id="{id}" role="group" aria-label="Where in the sound each letter looked">
<fieldset class="lh-strings" hidden aria-label="recording">{strings}</fieldset>
{players}
{drawn}
<div class="lh-letters">{letters}</div>
<fieldset class="lh-heads" hidden aria-label="head">{heads}</fieldset>
<p role="status" aria-live="polite">{told}</p>
</div>
{script}"""
