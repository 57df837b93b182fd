"""A recording whose moment the reader chooses: the window around it, its spectrum, its mel bands.

    spectrogram_explorer([Spoken("seven", wave, 8000)], n_mels=20)

Above stand the waveform and its log-mel features over time; below the 25 ms at the chosen moment,
and what frequencies are in them. The moment is chosen with pointer, finger or the arrow keys.
Python draws the first state, which stays where nothing moves: on paper, without scripts.
"""

import base64
import io
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import torch
from numpy.typing import NDArray

from deepdive.audio.mel import (
    FLOOR,
    frames,
    hann,
    hertz_to_mel,
    mel_filters,
    mel_to_hertz,
    power_spectrum,
    to_waveform,
)
from deepdive_book.kit.diagrams import svg
from deepdive_book.kit.living import Choice, living
from deepdive_book.kit.markup import Html
from deepdive_book.kit.palette import ROLES
from deepdive_book.kit.sound import address

WIDE, WAVE, MEL, LOW, HALF = 400.0, 64.0, 96.0, 92.0, 190.0  # lengths of the drawing
LOUD = 9.0  # natural logarithms of power from the loudest down to what is drawn as nothing
_SCRIPT = Path(__file__).with_suffix(".js").read_text(encoding="utf-8")


@dataclass(frozen=True)
class Spoken:
    """A recording (n,), and what it is called."""

    called: str
    wave: Any
    rate: int


def spectrogram_explorer(
    recordings: Sequence[Spoken], *, n_mels: int = 20, start: float = 0.4
) -> Html:
    """Return the picture, with the first recording at `start`, a share of its length.

    Raises ValueError for no recording, or recordings of several rates.
    """
    if not recordings or len({each.rate for each in recordings}) > 1:
        raise ValueError("recordings: expected one at least, all of one rate")
    rate = recordings[0].rate
    values = [_measured(each, n_mels) for each in recordings]
    edges = mel_to_hertz(torch.linspace(*_ends(rate), n_mels + 2).double()).tolist()
    first = values[0]
    at = round(start * (len(first["power"]) - 1))
    names = [each.called for each in recordings]
    return living(
        "spectrum", "A moment of a recording", code=_SCRIPT, style=_STYLE, wide=44,
        drawing=_drawing(first, at, rate, edges), status=describe(first, at, rate, edges),
        alt=f"The waveform of {names[0]}, its mel bands over time, and at one moment 25 "
            "milliseconds of the wave beside the frequencies in them.",
        spec={"recordings": [v["packed"] for v in values], "rate": rate, "mels": n_mels,
              "edges": [round(edge) for edge in edges], "bins": first["power"].shape[1],
              "length": round(0.025 * rate), "step": round(0.01 * rate), "start": start,
              "wide": WIDE, "wave": WAVE, "mel": MEL, "low": LOW, "half": HALF},
        state={"at": at}, controls=[Choice("recording", "recording", names)],
        above='<audio controls preload="metadata" aria-label="the recording" '
              f'src="{first["packed"]["sound"]}"></audio>',
        try_this="move over the waveform, or press the arrow keys: in a vowel the spectrum has a "
                 "few high peaks, in an s it rises to the right.",
    )  # fmt: skip


def _ends(rate: int) -> tuple[float, float]:
    low, high = hertz_to_mel(torch.tensor([20.0, rate / 2])).tolist()
    return low, high


def _measured(spoken: Spoken, n_mels: int) -> dict[str, Any]:
    """Spectrum (T, bins) and bands (T, n_mels) as shares of LOUD below the loudest, and all as the
    script gets it.
    """
    rate, wave = spoken.rate, to_waveform(spoken.wave)
    length, step = round(0.025 * rate), round(0.01 * rate)
    n_fft = 1 << (length - 1).bit_length()
    power = power_spectrum(frames(wave, length, step) * hann(length), n_fft)
    bands = power @ mel_filters(n_mels, n_fft, rate, low=20)
    heights = [_shares(each.clamp(min=FLOOR).log().numpy()) for each in (power, bands)]
    top = float(wave.abs().max()) or 1.0
    samples = (127 * wave / top).round().to(torch.int8).numpy()
    packed = {
        "samples": _text(samples),
        "power": _text((255 * heights[0]).round().astype(np.uint8)),
        "bands": _text((255 * heights[1]).round().astype(np.uint8)),
        "image": _image(heights[1]), "sound": address(wave, rate),
    }  # fmt: skip
    return {"power": heights[0], "bands": heights[1], "samples": samples, "packed": packed}


def _shares(logs: NDArray[np.float64]) -> NDArray[np.float64]:
    return ((logs - logs.max()) / LOUD + 1).clip(0, 1)


def _text(array: Any) -> str:
    return base64.b64encode(np.ascontiguousarray(array).tobytes()).decode()


def _image(bands: NDArray[np.float64]) -> str:
    """The bands over time as a picture, low ones below: what is loud is full of colour."""
    from PIL import Image

    ink = tuple(int(ROLES["key"][i : i + 2], 16) for i in (1, 3, 5))
    alpha = (255 * bands.T[::-1]).round().astype(np.uint8)
    pixels = np.stack([*(np.full_like(alpha, c) for c in ink), alpha], -1)
    file = io.BytesIO()
    Image.fromarray(pixels, "RGBA").save(file, "PNG")
    return base64.b64encode(file.getvalue()).decode()


def describe(values: Any, at: int, rate: int, edges: Sequence[float]) -> str:
    """The moment in words."""
    length, step = round(0.025 * rate), round(0.01 * rate)
    power, bands = values["power"], values["bands"]
    begin = 1000 * at * step / rate
    if not power[at].max():
        return f"From {begin:.0f} ms on, 25 ms: nothing that is loud enough to be drawn."
    # of bytes, as the script has them; halves are rounded up, as it does
    top = int((255 * power[at]).round().argmax()) * rate / (2 * (power.shape[1] - 1)) + 0.5
    band = int((255 * bands[at]).round().argmax())
    return (
        f"From {begin:.0f} ms on, 25 ms: {length} numbers of the wave, {bands.shape[1]} mel bands. "
        f"Loudest at {int(top)} Hz; the fullest band is number {band + 1}, "
        f"from {edges[band]:.0f} to {edges[band + 2]:.0f} Hz."
    )


def _drawing(values: Any, at: int, rate: int, edges: Sequence[float]) -> str:
    samples, power, bands = (values[name] for name in ("samples", "power", "bands"))
    length, step = round(0.025 * rate), round(0.01 * rate)
    window_samples = samples[at * step : at * step + length]
    tops = 20.0, 20 + WAVE + 22, 20 + WAVE + 22 + MEL + 42
    x, wide = WIDE * at * step / len(samples), WIDE * length / len(samples)
    covered = WIDE * (len(power) * step + length - step) / len(samples)
    label = '<text x="{:g}" y="{:g}" font-size="13" fill="currentColor">{}</text>'
    frame = (
        '<rect x="{:g}" y="{:g}" width="{:g}" height="{:g}" fill="none" stroke="currentColor" '
        'stroke-opacity=".4"/>'
    )
    window = f'fill="{ROLES["query"]}" fill-opacity=".3" stroke="{ROLES["query"]}"'
    right, hz = WIDE - HALF, rate / 2
    bars = "".join(
        f'<rect x="{right + HALF * edges[j + 1] / hz - 2:.1f}" '
        f'y="{tops[2] + LOW * (1 - share):.1f}" width="4" height="{LOW * share:.1f}"/>'
        for j, share in enumerate(bands[at].tolist())
    )
    ticks = "".join(
        f'<text x="{right + HALF * f / hz:.1f}" y="{tops[2] + LOW + 14:g}" font-size="12" '
        f'text-anchor="middle" fill="currentColor">{f // 1000} kHz</text>'
        for f in range(1000, int(hz), 1000)
    )
    body = [
        label.format(2, 14, "the waveform"), frame.format(0, tops[0], WIDE, WAVE),
        f'<path class="spectrum-wave" d="{_envelope(samples, tops[0])}" stroke="currentColor" '
        'fill="none" stroke-width="1"/>',
        f'<rect class="spectrum-window" x="{x:.1f}" y="{tops[0]:g}" width="{wide:.1f}" '
        f'height="{WAVE:g}" {window}/>',
        label.format(2, tops[1] - 6, "its mel bands over time, low ones below"),
        f'<image class="spectrum-image" x="0" y="{tops[1]:g}" width="{covered:.1f}" '
        f'height="{MEL:g}" preserveAspectRatio="none" style="image-rendering:pixelated" '
        f'href="data:image/png;base64,{values["packed"]["image"]}"/>',
        frame.format(0, tops[1], WIDE, MEL), _hertz(edges, tops[1]),
        f'<g class="spectrum-times" font-size="12" text-anchor="middle" fill="currentColor">'
        f"{_times(len(samples) / rate, tops[1] + MEL + 13)}</g>",
        f'<rect class="spectrum-window" x="{x:.1f}" y="{tops[1]:g}" width="{wide:.1f}" '
        f'height="{MEL:g}" {window}/>',
        label.format(2, tops[2] - 7, "these 25 ms"), frame.format(0, tops[2], HALF, LOW),
        f'<path class="spectrum-slice" d="{_zoom(window_samples, tops[2])}" '
        f'stroke="{ROLES["query"]}" stroke-width="1.5" fill="none"/>',
        label.format(right, tops[2] - 7, "their spectrum and bands"),
        frame.format(right, tops[2], HALF, LOW),
        f'<g class="spectrum-bars" fill="{ROLES["key"]}" fill-opacity=".55">{bars}</g>',
        f'<path class="spectrum-power" d="{_curve(power[at], right, tops[2])}" '
        f'stroke="{ROLES["query"]}" stroke-width="1.3" fill="none"/>', ticks,
    ]  # fmt: skip
    return svg(WIDE, tops[2] + LOW + 20, body)


def _hertz(edges: Sequence[float], top: float) -> str:
    """The middle of some bands in Hz, over the right end of their picture."""
    n = len(edges) - 2
    return "".join(
        f'<text x="{WIDE - 3:g}" y="{top + MEL * (1 - (j + 0.5) / n) + 4:.1f}" font-size="12" '
        'text-anchor="end" fill="currentColor" class="spectrum-over">'
        f"{round(edges[j + 1], -1):.0f} Hz</text>"
        for j in sorted({n // 10, n // 2, n - 1 - n // 10})
    )


def _times(seconds: float, y: float) -> str:
    """Tenths of a second below the pictures, or halves where it is long; as the script does."""
    step = 0.1 if seconds < 1 else 0.5
    return "".join(
        f'<text x="{WIDE * step * i / seconds:.1f}" y="{y:g}">{step * i:.1f} s</text>'
        for i in range(1, int((seconds - 0.03) / step) + 1)
    )


def _envelope(samples: Any, top: float, columns: int = 400) -> str:
    """The least and the largest sample of each column of the drawing."""
    pieces = np.array_split(samples.astype(float) / 127, min(columns, len(samples)))
    middle, half = top + WAVE / 2, WAVE / 2
    return "".join(
        f"M{WIDE * i / len(pieces):.1f} {middle - half * p.max():.1f}"
        f"V{middle - half * p.min() + 0.5:.1f}"
        for i, p in enumerate(pieces)
    )


def _zoom(samples: Any, top: float) -> str:
    height = max(1, int(np.abs(samples.astype(int)).max()))
    points = [
        f"{HALF * i / (len(samples) - 1):.1f} {top + LOW / 2 * (1 - 0.95 * s / height):.1f}"
        for i, s in enumerate(samples.tolist())
    ]
    return "M" + "L".join(points)


def _curve(power: Any, left: float, top: float) -> str:
    points = [
        f"{left + HALF * k / (len(power) - 1):.1f} {top + LOW * (1 - share):.1f}"
        for k, share in enumerate(power.tolist())
    ]
    return "M" + "L".join(points)


_STYLE = """
.living-drawing:has(.spectrum-window) { cursor: ew-resize; touch-action: pan-y; }
.living .spectrum-over { paint-order: stroke; stroke: Canvas; stroke-width: 3px; }
.living audio { max-width: 100%; height: 2.6rem; }
"""
