"""A recogniser in the page: the reader says a digit, and sees features, units, phones, a guess.

    toy = spoken_digits()                               # deepdive_book.ch06c.toys.spoken_digits
    spoken_digit_recognizer(toy.model, [("seven", wave)], said="...")

The wave comes from the microphone, a file or a sample, is brought to 8,000 samples a second and
prepared as in `spoken_digit_features.py`. `speech.js` has the arithmetic, a test holds it to
PyTorch. Nothing comes from a network, and nothing that is said leaves the page. Without scripts the
first sample stands there with its answer.
"""

import base64
import io
from collections.abc import Sequence
from html import escape
from typing import Any, NamedTuple

import numpy as np
import torch
from torch import Tensor

from deepdive.audio.files import resampled, wav_bytes
from deepdive_book.ch06c.figures.spoken_digit_features import (
    AROUND,
    BANDS,
    FLOOR,
    LOW,
    MOST,
    QUIET,
    RATE,
    prepared,
)
from deepdive_book.kit.diagrams import svg
from deepdive_book.kit.live.export import half
from deepdive_book.kit.live.scripts import live_script
from deepdive_book.kit.living import Button, Choice, living
from deepdive_book.kit.markup import Html
from deepdive_book.kit.palette import ROLES, painted

LARGEST = 700_000  # bytes of HTML
LEFT, WIDE, BAND, TIME, STRIP, ROW = 44.0, 400.0, 4.0, 18.0, 14.0, 17.0  # lengths of the drawing
TICKS = (5, 10, 20, 50, 100, 200, 500)  # frames from one tick of the time to the next
SHOWN, SURE = 8, 0.2  # phones that are drawn, and what one must reach to be
LONGEST = 20  # seconds of a file
SHARED = ("forward.js", "masked.js", "speech.js")


class Heard(NamedTuple):
    """What the model makes of a wave: its features (T, 24), the probabilities of the phones
    (ceil(T / 2), phones) and of the digits (10,), and the unit of each frame (T,).
    """

    features: Tensor
    shares: Tensor
    digits: Tensor
    units: Tensor


@torch.no_grad()
def read(model: Any, wave: Any) -> Heard:
    """Let the model hear a wave (n,) of 8,000 samples a second."""
    x = prepared(wave)
    logits = model(x[None], torch.tensor([len(x)]))[0]
    units = torch.cdist(x.double(), model.units.double()).argmin(1)
    return Heard(x, logits.softmax(-1), model.digits(logits), units)


def spoken_digit_recognizer(
    model: Any, samples: Sequence[tuple[str, Any]], *, rate: int = RATE,
    phones: Sequence[str], targets: Sequence[Sequence[int]], names: Sequence[str], said: str = "",
) -> Html:  # fmt: skip
    """Return the page's recogniser, with the first sample in it.

    Args:
        model: a `deepdive_book.ch06c.toys.spoken_digits.SpokenDigits`.
        samples: what a button is called, and its wave (n,) at `rate`.
        phones, targets, names: the model's outputs, the digits' phones by number, their names.
        said: a sentence below: how often it is right for voices that it has not learned.

    Raises:
        ValueError: there is no sample, or the whole is larger than 700 kB.
    """
    if not samples:
        raise ValueError("samples: got none, expected what stands there first")
    waves = [(name, resampled(wave, rate, RATE)) for name, wave in samples]
    block = model.encoder["stack"].blocks[0]
    state = model.state_dict()
    spec = {
        "width": state["first.bias"].numel(), "heads": block.attn.n_heads,
        "eps": model.encoder["stack"].norm.eps, "post": False,
        "layers": {"encoder": len(model.encoder["stack"].blocks)},
        "shapes": [[name, *(t.shape if t.ndim == 2 else (1, t.numel()))]
                   for name, t in state.items()],
        "weights": half(state), "rate": RATE, "bands": BANDS, "low": LOW, "most": MOST,
        "around": AROUND, "quiet": QUIET, "floor": FLOOR, "phones": list(phones),
        "targets": [list(t) for t in targets], "names": [name.lower() for name in names],
        "samples": [base64.b64encode(wav_bytes(wave, RATE)).decode() for _, wave in waves],
        "left": LEFT, "wide": WIDE, "band": BAND, "time": TIME, "ticks": TICKS,
        "strip": STRIP, "row": ROW, "shown": SHOWN, "sure": SURE, "longest": LONGEST,
    }  # fmt: skip
    heard = read(model, waves[0][1])
    status = alt_text(heard, phones, spec["names"])
    figure = living(
        "speech", "A recogniser that hears a digit",
        code=painted(live_script(*SHARED, figure=__file__)),
        drawing=_drawing(heard, phones), status=status, wide=46, style=_STYLE,
        alt=f"Features, units and phones of a spoken digit over time. {status}",
        spec=spec, state={"own": None},
        controls=[Button("speak", "speak a digit"),
                  Choice("sample", "sample", [name for name, _ in waves])],
        above=_SOURCES,
        below=f'<ol class="speech-bars" aria-label="How probable each digit is">'
              f'{"".join(map(_bar, spec["names"], heard.digits.tolist()))}</ol>'
              f'<p class="speech-note">{escape(said)}</p>',
        try_this="choose another sample and read its phones from left to right; then speak a digit "
                 "yourself, first clearly, then in a whisper.",
    )  # fmt: skip
    if len(figure.html.encode()) > LARGEST:
        raise ValueError(f"model, samples: {len(figure.html.encode()) / 1000:.0f} kB, at most 700")
    return figure


def spelled(shares: Tensor, phones: Sequence[str]) -> list[str]:
    """The most probable phone of each row, what repeats once, blanks left out."""
    best = shares.argmax(1).tolist()
    return [phones[p] for p, before in zip(best, [0, *best], strict=False) if p not in (0, before)]


def alt_text(heard: Heard, phones: Sequence[str], names: Sequence[str]) -> str:
    """What was heard, in words."""
    order = heard.digits.argsort(descending=True)
    first, second = (int(i) for i in order[:2])
    sounds = " ".join(spelled(heard.shares, phones)) or "none is surer than silence"
    return (
        f"It hears {names[first]}, {_percent(float(heard.digits[first]))}; next {names[second]}, "
        f"{_percent(float(heard.digits[second]))}. Its sounds: {sounds}."
    )


def rows_shown(shares: Tensor) -> list[int]:
    """The phones that are drawn, by the time of their peak."""
    peaks = shares[:, 1:].max(0)
    sure = [p for p in range(len(peaks.values)) if float(peaks.values[p]) >= SURE]
    most = sorted(sure, key=lambda p: -float(peaks.values[p]))[:SHOWN]
    return [p + 1 for p in sorted(most, key=lambda p: (int(peaks.indices[p]), p))]


def _percent(share: float) -> str:
    whole = int(100 * share + 0.5)
    return "over 99%" if share > 0.995 else "under 1%" if share < 0.005 else f"{whole}%"


def _image(features: Tensor) -> str:
    from PIL import Image

    low, high = float(features.min()), float(features.max())
    full = ((features - low) / max(high - low, 1e-9)).T.flip(0)
    ink = tuple(int(ROLES["key"][i : i + 2], 16) for i in (1, 3, 5))
    alpha = (255 * full).round().to(torch.uint8).numpy()
    pixels = np.stack([*(np.full_like(alpha, c) for c in ink), alpha], -1)
    file = io.BytesIO()
    Image.fromarray(pixels, "RGBA").save(file, "PNG")
    return base64.b64encode(file.getvalue()).decode()


def _ticks(t: int, y: float) -> str:
    """The time below t frames of 10 ms, at most six times."""
    gap = next((gap for gap in TICKS if t / gap <= 5), TICKS[-1])
    body = []
    for frame in range(0, t + 1, gap):
        x = LEFT + (WIDE - LEFT) * frame / t
        anchor = "start" if frame == 0 else "end" if x > WIDE - 14 else "middle"
        body.append(
            f'<path d="M{x:.2f} {y:g}v4" stroke="currentColor"/><text x="{x:.2f}" y="{y + 15:g}" '
            f'font-size="12" text-anchor="{anchor}" fill="currentColor">{frame / 100:g} s</text>'
        )
    return "".join(body)


def _drawing(heard: Heard, phones: Sequence[str]) -> str:
    t, room = len(heard.features), WIDE - LEFT
    top, high = 20.0, BAND * BANDS
    strip = top + high + TIME + 24
    first = strip + STRIP + 24
    cells = [
        f'<rect x="{LEFT + room * i / t:.2f}" y="{strip:g}" width="{room / t + 0.2:.2f}" '
        f'height="{STRIP:g}" fill="hsl({u * 137 % 360} 60% 55%)"/>'
        for i, u in enumerate(heard.units.tolist())
    ]
    rows = []
    for k, p in enumerate(rows_shown(heard.shares)):
        y = first + ROW * k
        rows.append(
            f'<text x="2" y="{y + 12:g}" font-size="13" fill="currentColor">{phones[p]}</text>'
        )
        rows += [
            f'<rect x="{LEFT + room * 2 * i / t:.2f}" y="{y + 1:g}" '
            f'width="{min(2, t - 2 * i) * room / t:.2f}" height="{ROW - 2:g}" '
            f'fill="{ROLES["output"]}" fill-opacity="{share:.2f}"/>'
            for i, share in enumerate(heard.shares[:, p].tolist())
        ]
    label = '<text x="2" y="{:g}" font-size="13" fill="currentColor">{}</text>'
    body = [
        label.format(14, "24 mel bands over time"),
        f'<image class="speech-image" x="{LEFT:g}" y="{top:g}" width="{room:g}" height="{high:g}" '
        'preserveAspectRatio="none" style="image-rendering:pixelated" '
        f'href="data:image/png;base64,{_image(heard.features)}"/>',
        f'<rect x="{LEFT:g}" y="{top:g}" width="{room:g}" height="{high:g}" fill="none" '
        'stroke="currentColor" stroke-opacity=".4"/>',
        f'<g class="speech-time">{_ticks(t, top + high)}</g>',
        label.format(strip - 6, "the unit of each frame, a colour for each of 32"),
        f'<g class="speech-units">{"".join(cells)}</g>',
        label.format(first - 6, "how probable each phone is; where all are pale, the blank is"),
        f'<g class="speech-phones">{"".join(rows)}</g>',
    ]
    return svg(WIDE, first + ROW * SHOWN + 4, body)


def _bar(name: str, share: float) -> str:
    return (
        f'<li><span>{escape(name)}</span><span class="speech-bar">'
        f'<i style="width:{100 * share:.1f}%"></i></span>'
        f'<span class="speech-share">{_percent(share)}</span></li>'
    )


_SOURCES = """<div class="living-controls" hidden>
<label class="speech-file">open a file <input type="file" accept="audio/*"></label>
<audio controls aria-label="what was heard"></audio></div>
"""
_STYLE = """
.living .speech-file input { padding: .4em 0; width: 16rem; }
.living audio { height: 2.6rem; max-width: 100%; }
.living .speech-bars { list-style: none; margin: .3em 0; padding: 0; display: grid; gap: .15em; }
.living .speech-bars li { display: grid; grid-template-columns: 3.6em 1fr 5.6em; gap: .5em;
  margin: 0; align-items: center; font-variant-numeric: tabular-nums; }
.speech-bar { height: .9em; background: color-mix(in srgb, currentColor 8%, transparent); }
.speech-bar i { display: block; height: 100%; background: @output; }
.speech-best { font-weight: 700; }
.speech-share { white-space: nowrap; }
@media (min-width: 50rem) {
  .living-drawing:has(+ .speech-bars) { float: left; width: 27rem; margin-right: 1.5rem; }
  .speech-note { clear: both; } }
"""
