"""Sound above, letters below: the reader presses a letter, and sees where in the sound it looked.

    speech_cross_attention([Heard("four digits", frames, words, "SIX TWO", {"1-0": weights}, wave,
    8000)])

Row u of the weights belongs to letter u, the row after the last one to the decision to stop. Python
draws the first state, which stays where nothing moves: on paper and without scripts.
"""

import base64
import io
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from html import escape
from pathlib import Path
from typing import Any

import numpy as np

from deepdive_book.kit.diagrams import svg
from deepdive_book.kit.living import Choice, living
from deepdive_book.kit.markup import Html
from deepdive_book.kit.palette import ROLES
from deepdive_book.kit.sound import address

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


def speech_cross_attention(strings: Sequence[Heard], *, letter: int = 0, every: int = 4) -> Html:
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
    first, names = states[0], [each.name for each in strings]
    players = "".join(
        f'<audio controls preload="none" src="{_sound(each)}"{" hidden" if i else ""}></audio>'
        for i, each in enumerate(strings) if each.wave is not None
    )  # fmt: skip
    return living(
        "letters", "Where in the sound each letter looked", code=_SCRIPT, style=_STYLE, wide=44,
        drawing=_drawing(first, 0, letter, every), status=describe(first, 0, letter, every),
        alt="A spectrum over time, cut into words by upright lines; below it bars, the weights of "
            "one letter.",
        spec={"recordings": states, "every": every, "wide": WIDE, "left": LEFT, "top": TOP,
              "high": HIGH, "bars": BARS, "foot": FOOT},
        state={"letter": letter, "recording": 0},
        controls=[*([Choice("recording", "recording", names)] if len(names) > 1 else []),
                  Choice("head", "head", heads)],
        above=players, below=_letters(first["text"], letter),
        try_this="press one letter after another, or use the arrow keys, and see whether the bars "
                 "move to the right; then choose another head.",
    )  # fmt: skip


def _state(heard: Heard, heads: Sequence[str], every: int) -> dict[str, Any]:
    """A recording for the script; weights of each head in thousandths."""
    frames = np.asarray(heard.frames, np.float64)
    if [*heard.weights] != heads or frames.ndim != 2:
        raise ValueError(f"{heard.name}: expected frames (T, bands) and the heads {heads}")
    thousandths = []
    for head, weights in heard.weights.items():
        rows = np.asarray(weights, np.float64)
        if rows.shape != (len(heard.text) + 1, -(-len(frames) // every)):
            raise ValueError(
                f"{heard.name}, {head}: weights {rows.shape}, expected a row for each of "
                f"{len(heard.text)} letters and one for the end, over {-(-len(frames) // every)}"
            )
        thousandths.append(np.round(1000 * rows).astype(int).tolist())
    return {"name": heard.name, "png": _png(frames), "frames": len(frames), "text": heard.text,
            "words": [list(word) for word in heard.words], "weights": thousandths,
            "step": heard.seconds}  # fmt: skip


def center(row: Sequence[int], every: int) -> float:
    """The centre of the weights, in frames."""
    return every * sum(s * w for s, w in enumerate(row)) / max(1, sum(row))


def describe(state: State, head: int, letter: int, every: int) -> str:
    """The state in words."""
    text, row = state["text"], state["weights"][head][letter]
    largest, middle = every * row.index(max(row)), center(row, every)
    word = text[:letter].count(" ") + 1
    if letter == len(text):
        place = "The decision to stop"
    elif text[letter] == " ":
        place = f"Letter {letter + 1} of {len(text)}, the space after word {word}"
    else:
        place = f"Letter {letter + 1} of {len(text)}, {text[letter]} of word {word}"
    at = state["step"]
    spoken = [w for w, first, last in state["words"] if first <= largest < last]
    inside = f"in {spoken[0].lower()}" if spoken else "outside all words"
    return (f"{place}: the largest weight is {max(row) / 1000:.2f}, at {largest * at:.2f} s, "
            f"{inside}; the centre of all is at {middle * at:.2f} s.")  # fmt: skip


def _x(frame: float, state: State) -> float:
    return LEFT + (WIDE - 2 * LEFT) * frame / state["frames"]


def _drawing(state: State, head: int, letter: int, every: int) -> str:
    """The sound, its words, and the bars; the classes are what the script looks for."""
    return svg(WIDE, FOOT, [
        f'<image class="letters-sound" x="{LEFT:g}" y="{TOP:g}" width="{WIDE - 2 * LEFT:g}" '
        f'height="{HIGH:g}" preserveAspectRatio="none" href="{state["png"]}"/>',
        f'<g class="letters-words">{_words(state)}</g>',
        f'<g class="letters-bars">{_bars(state, head, letter, every)}</g>',
    ])  # fmt: skip


def _words(state: State) -> str:
    body = []
    for word, first, last in state["words"]:
        a, b = _x(first, state), _x(last, state)
        body.append(
            f'<text x="{(a + b) / 2:.1f}" y="14" font-size="12" text-anchor="middle" '
            f'fill="currentColor">{escape(word.lower())}</text><path d="M{b:.1f} 4V{BARS:g}" '
            'stroke="#888" stroke-width="1" stroke-dasharray="4 3"/>'
        )
    seconds = state["frames"] * state["step"]
    gap = 0.5 if seconds < 2.4 else 1.0
    for k in range(int(seconds / gap) + 1):
        at = _x(k * gap / state["step"], state)
        anchor = "start" if k == 0 else "middle"
        body.append(f'<text x="{at:.1f}" y="{FOOT - 4:g}" font-size="12" text-anchor="{anchor}" '
                    f'fill="currentColor">{k * gap:g} s</text>')  # fmt: skip
    return "".join(body)


def _bars(state: State, head: int, letter: int, every: int) -> str:
    row = state["weights"][head][letter]
    wide, room = (WIDE - 2 * LEFT) * every / state["frames"], BARS - TOP - HIGH - 6
    body = []
    for s, weight in enumerate(row):
        high = room * weight / max(1, *row)
        x = _x(every * s, state)
        body.append(f'<rect x="{x:.1f}" y="{BARS - high:.1f}" width="{wide * 0.86:.1f}" '
                    f'height="{high:.1f}" fill="{ROLES["weight"]}"/>')  # fmt: skip
    at = _x(center(row, every) + every / 2, state)
    body.append(f'<path d="M{at:.1f} {BARS + 3:g}l6 10h-12z" fill="{ROLES["query"]}"/>')
    return "".join(body)


def _letters(text: str, letter: int) -> str:
    """A button for each letter, and one for the end."""
    names = [*text, "end"]
    buttons = "".join(
        f'<button type="button" aria-pressed="{str(i == letter).lower()}">'
        f"{'␣' if name == ' ' else escape(name)}</button>"
        for i, name in enumerate(names)
    )
    return f'<div class="letters-row">{buttons}</div>'


def _png(frames: Any) -> str:
    """The spectrum as a small image: low bands below, loud is dark."""
    from PIL import Image

    low, high = np.percentile(frames, (5, 99.5))
    gray = 255 - 215 * ((frames - low) / max(high - low, 1e-9)).clip(0, 1)
    file = io.BytesIO()
    Image.fromarray(gray.T[::-1].astype(np.uint8)).save(file, "PNG", optimize=True)
    return f"data:image/png;base64,{base64.b64encode(file.getvalue()).decode()}"


def _sound(heard: Heard) -> str:
    """The recording as an address that holds it, at one loudness."""
    wave = np.asarray(heard.wave, np.float64)
    return address(0.8 * wave / max(1e-9, float(np.abs(wave).max())), heard.rate)


_STYLE = """
.letters-row { display: flex; flex-wrap: wrap; gap: 3px; }
.living .letters-row button { font: 600 1rem/1 ui-monospace, monospace; padding: .45em .4em;
  min-width: 1.9em; border-radius: 4px; }
.living audio { width: 100%; max-width: 26rem; height: 2.4rem; }
"""
