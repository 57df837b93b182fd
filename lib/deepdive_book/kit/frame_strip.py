"""Film strips: a few frames side by side, which a script turns into one place that plays.

Without scripts, on paper, and where the reader wants no motion, the strip stays as it is.
"""

import base64
import hashlib
import re
import struct
from collections.abc import Sequence
from html import escape

from matplotlib.figure import Figure

from deepdive_book.kit.figures import Picture
from deepdive_book.kit.markup import STEPS, Html, marked, script
from deepdive_book.kit.plotting import png

LARGEST = 300_000  # bytes of HTML


def film(frames: Sequence[Figure | str], captions: Sequence[str], alt: str) -> Html:
    """Return a film strip for a notebook's output; it never starts by itself.

    Args:
        frames: figures, or SVG texts with a viewBox; all of one size, on one scale, and small:
            in the still strip, wide ones are shown at three fifths.
        captions: one short line a frame, plain text; `code` in backticks.
        alt: alternative text of the whole: what changes from the first frame to the last.

    Raises:
        ValueError: frames and captions differ in number, there are fewer than two, their sizes
            differ, `alt` is empty, or the strip is larger than 300 kB.
    """
    count = len(frames)
    if count != len(captions):
        raise ValueError(f"captions has {len(captions)} lines for {count} frames: one a frame")
    if count < 2:
        raise ValueError(f"frames has {count} entries; a film needs two or more")
    if not alt.strip():
        raise ValueError("alt is empty: say in one sentence what the film shows")
    images = [_image(frame) for frame in frames]
    sizes = list(dict.fromkeys(size for _, size in images))
    if len(sizes) > 1:
        raise ValueError(f"frames differ in size, {sizes}: draw them all alike")
    width = sizes[0][0]
    still = min(width, max(220.0, 0.6 * width))  # side by side, and yet to be read
    strip = "".join(
        f'<figure style="margin:0;width:{still:g}px;max-width:100%;break-inside:avoid">'
        f'<img alt="Frame {i} of {count}" src="{source}"><figcaption>{marked(caption)}</figcaption>'
        "</figure>"
        for i, ((source, _), caption) in enumerate(zip(images, captions, strict=True), start=1)
    )
    name = f"f{hashlib.sha256((alt + strip).encode()).hexdigest()[:10]}"
    html = _FILM.format(
        id=name,
        alt=escape(alt),
        strip=strip,
        count=count,
        width=width,
        script=script(STEPS + _PLAY, id=name),
    )
    if len(html.encode()) > LARGEST:
        raise ValueError(
            f"the film has {len(html.encode()) / 1000:.0f} kB, at most {LARGEST / 1000:.0f}: "
            "draw fewer frames, or smaller ones"
        )
    lines = [f"  {i}. {caption}" for i, caption in enumerate(captions, start=1)]
    return Html(html, "\n".join([f"[film: {alt}]", *lines]), [Picture(frames, alt, captions)])


def _image(frame: Figure | str) -> tuple[str, tuple[float, float]]:
    """Return a frame's data address and its width and height in pixels."""
    if isinstance(frame, str):
        box = re.search(r'<svg[^>]*\sviewBox="[-\d.]+ [-\d.]+ ([\d.]+) ([\d.]+)"', frame)
        if box is None:
            raise ValueError(
                f"no SVG with a viewBox: {frame[:60]!r}; see deepdive_book.kit.diagrams.svg"
            )
        kind, data, size = "svg+xml", frame.encode(), (float(box[1]), float(box[2]))
    else:
        kind, data = "png", png(frame, tight=False)  # trimmed, frames would differ in size
        size = struct.unpack(">II", data[16:24])
    return f"data:image/{kind};base64,{base64.b64encode(data).decode()}", size


_FILM = """\
<style>
.film :is(input[type=range], select, button) {{ min-height: 1.7rem; }}
.film label {{ padding-block: .25rem; }}
.film img {{ max-width: 100%; height: auto; background: #fff; }}
.film figcaption {{ font-size: .85em; line-height: 1.35; }}
.film button {{ margin: 0; }}
.film .buttons {{ display: flex; gap: .5em; align-items: center; }}
.film input {{ flex: 1; min-width: 3em; }}
@media screen {{
  .film.live figure:not(.now), .film.live figcaption {{ display: none; }}
  #{id}.live figure {{ width: {width:g}px !important; }}
}}
@media print {{ .film .controls {{ display: none; }} }}
@media (prefers-reduced-motion: reduce) {{
  .film .buttons button:nth-child(3) {{ display: none; }}
}}
</style>
<div class="film" id="{id}" role="group" aria-label="{alt}">
<div style="display:flex;flex-wrap:wrap;gap:.8em">{strip}</div>
<div class="controls" style="max-width:max({width:g}px,24em)" hidden><div class="buttons">
<button type="button">Back</button><button type="button">Next</button>
<button type="button">Play</button>
<input type="range" min="1" max="{count}" value="1" aria-label="Frame">
</div><p role="status" aria-live="polite" style="margin:.3em 0;min-height:1.6em"></p></div>
</div>
{script}"""

_PLAY = """
const frames = [...box.querySelectorAll("figure")], last = frames.length - 1;
const slider = box.querySelector("input"), said = box.querySelector("[role=status]");
let timer = 0;
const stop = () => {
  timer = clearInterval(timer);
  more.textContent = "Play";
  said.setAttribute("aria-live", "polite");
};
const show = () => {
  if (at === last) stop();
  frames.forEach((frame, i) => frame.classList.toggle("now", i === at));
  const caption = frames[at].querySelector("figcaption").textContent;
  said.textContent = `${at + 1} of ${frames.length}: ${caption}`;
  slider.value = at + 1;
  slider.setAttribute("aria-valuetext", said.textContent);
};
more.onclick = () => {
  if (timer) return stop();
  if (at === last) go(0);
  timer = setInterval(() => go(at + 1), 1200);
  more.textContent = "Pause";
  said.setAttribute("aria-live", "off");
};
for (const what of ["click", "input", "keydown"])
  box.addEventListener(what, event => { if (event.target !== more) stop(); }, true);
slider.oninput = () => go(slider.value - 1);
box.classList.add("live");
go(0);
"""
