"""Sound in a page: players in a table, a listening test that counts what the reader understood, and
a recorder.

    players([("as recorded", wave), ("of 20 bands", again)], 8000)
    listening([Hidden("80 bands", wave, "SEVEN"), ...], 8000, choices)
    recorder(8000)

Each player holds its recording as WAV in its own address, so that nothing comes from a network.
"""

import base64
import hashlib
import json
from collections.abc import Sequence
from dataclasses import dataclass
from html import escape
from pathlib import Path
from typing import Any

from deepdive.audio.files import wav_bytes
from deepdive.core.checks import positive
from deepdive_book.kit.markup import Html, script
from deepdive_book.kit.palette import ROLES

_SCRIPT, _RECORDER = (
    Path(__file__).with_name(name).read_text(encoding="utf-8")
    for name in ("listening.js", "recorder.js")
)


def address(wave: Any, rate: int) -> str:
    """The recording as the address of a player."""
    return f"data:audio/wav;base64,{base64.b64encode(wav_bytes(wave, rate)).decode()}"


def player(wave: Any, rate: int, label: str) -> str:
    """One player; `label` is read to those who do not see it."""
    return (
        f'<audio controls preload="metadata" aria-label="{escape(label)}" '
        f'src="{address(wave, rate)}"></audio>'
    )


def players(rows: Sequence[tuple[str, Any]], rate: int, told: str = "") -> Html:
    """A player for each (label, wave), one below the other. Raises ValueError for none."""
    if not rows:
        raise ValueError("rows: got none, expected a label and a wave at least")
    lines = "".join(
        f"<li><span>{escape(label)}</span>{player(wave, rate, label)}</li>" for label, wave in rows
    )
    html = f'{_STYLE}<ul class="sound">{lines}</ul><p class="sound-told">{escape(told)}</p>'
    return Html(html, f"[sound: {'; '.join(label for label, _ in rows)}]")


@dataclass(frozen=True)
class Hidden:
    """A recording whose word the reader guesses, and what kind of recording it is."""

    kind: str
    wave: Any
    word: str


def listening(hidden: Sequence[Hidden], rate: int, choices: Sequence[str]) -> Html:
    """A listening test: play, press a word; what was right is counted by kind.

    Raises ValueError for no recording, or one whose word is no choice.
    """
    if not hidden or any(each.word not in choices for each in hidden):
        raise ValueError(f"hidden: expected recordings of words among {list(choices)}")
    given = json.dumps(
        {"kinds": [each.kind for each in hidden], "words": [each.word for each in hidden]}
    )
    name = f"li{hashlib.sha256(given.encode()).hexdigest()[:10]}"
    options = "".join(f"<option>{escape(word)}</option>" for word in choices)
    lines = "".join(
        f"<li><span>{i}</span>{player(each.wave, rate, f'recording {i}')}"
        f'<label class="sound-choose" hidden>I hear <select aria-label="what recording {i} says">'
        f'<option value="">...</option>{options}</select></label>'
        f'<output></output><details class="sound-plain"><summary>it says</summary>'
        f"{escape(each.word)}, {escape(each.kind)}</details></li>"
        for i, each in enumerate(hidden, 1)
    )
    html = (
        f'{_STYLE}<div id="{name}" role="group" aria-label="A listening test">'
        f'<ol class="sound sound-test">{lines}</ol>'
        f'<p role="status" aria-live="polite"></p></div>{script(_SCRIPT, id=name, values=given)}'
    )
    return Html(html, f"[a listening test of {len(hidden)} recordings]")


def recorder(rate: int, longest: int = 20, name: str = "recording.wav") -> Html:
    """A button that records the reader's microphone, up to `longest` seconds, plays it and saves
    it as a WAV file of one channel at `rate`; nothing is sent anywhere.
    """
    positive(rate=rate, longest=longest)
    box = f"re{rate}-{longest}"
    html = (
        f'{_STYLE}<div id="{box}" class="sound-record" role="group" aria-label="A recorder">'
        f'<button type="button" hidden>record</button> <audio controls hidden></audio> '
        f'<a download="{escape(name)}" hidden>save as {escape(name)}</a>'
        '<p role="status" aria-live="polite"></p></div>'
        f"{script(_RECORDER, id=box, rate=rate, longest=longest)}"
    )
    return Html(html, "[a recorder, where the page is open in a browser]")


_STYLE = f"""<style>
.sound {{ list-style: none; margin: .4em 0; padding: 0; max-width: 40rem;
  font: 1rem/1.4 system-ui, sans-serif; }}
.sound li {{ display: flex; flex-wrap: wrap; gap: .3em .8em; align-items: center; margin: .5em 0; }}
.sound span {{ flex: 1 1 11rem; min-width: 0; }}
.sound audio {{ flex: 1 1 15rem; max-width: 22rem; min-width: 0; height: 2.6rem; }}
.sound-test span {{ flex: 0 0 1.2em; font-weight: 600; }}
.sound-test select {{ font: inherit; min-height: 2.4rem; color: inherit; background: transparent; }}
.sound-test select option {{ color: #111; background: #fff; }}
.sound-test select:focus-visible {{ outline: 3px solid {ROLES["key"]}; }}
.sound-told {{ margin: .3em 0; }}
.sound-record {{ font: 1rem/1.4 system-ui, sans-serif; display: flex; flex-wrap: wrap; gap: .8em;
  align-items: center; }}
.sound-record button {{ font: inherit; min-height: 2.6rem; padding: 0 1em; cursor: pointer; }}
.sound-record audio {{ max-width: 22rem; height: 2.6rem; }}
.sound-record p {{ flex-basis: 100%; margin: 0; }}
.sound-record [hidden] {{ display: none; }}
</style>"""
