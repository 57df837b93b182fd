"""Things that the reader hides: an image, what a network paints of it, and what is right.

    segmentation_occlusion(["red disc", "blue cross"], {(True, True): frame, (True, False): frame,
    ...})

A button for each thing takes it out of the image, or puts it back. Every frame was made by the page
beforehand; the first one stays where nothing moves: on paper and without scripts.
"""

import base64
import hashlib
import io
import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from html import escape
from itertools import product
from typing import Any

import numpy as np

from deepdive_book.kit.markup import Html, script
from deepdive_book.kit.palette import ROLES

LARGEST = 200_000  # bytes of HTML
PANELS = ("the image", "painted by the network", "right")


@dataclass(frozen=True)
class Frame:
    """One state: three images of one size, uint8 (H, W, 3) each, and what is said of them."""

    image: Any
    painted: Any
    right: Any
    says: str


def segmentation_occlusion(things: Sequence[str], frames: Mapping[tuple[bool, ...], Frame]) -> Html:
    """Return the picture of `things`, at first with all of them.

    `frames` has one for each choice of things that are there. Raises ValueError where one lacks.
    """
    choices = [tuple(choice) for choice in product((True, False), repeat=len(things))]
    if not things or set(choices) != set(frames):
        raise ValueError(f"frames: expected {2 ** len(things)}, one for each choice of {things}")
    made = [frames[choice] for choice in choices]
    shown = [[_png(part) for part in (one.image, one.painted, one.right)] for one in made]
    says = [one.says for one in made]
    given = json.dumps({"shown": shown, "says": says})
    name = f"hd{hashlib.sha256(given.encode()).hexdigest()[:10]}"
    panels = "".join(
        f'<figure><img alt="{label}" src="{png}"><figcaption>{label}</figcaption></figure>'
        for label, png in zip(PANELS, shown[0], strict=True)
    )
    buttons = "".join(
        f'<button type="button" aria-pressed="true">{escape(thing)}</button>' for thing in things
    )
    html = _PAGE.format(id=name, panels=panels, buttons=buttons, says=escape(says[0]),
                        score=ROLES["score"], script=script(_JS, id=name, data=given))  # fmt: skip
    if len(html.encode()) > LARGEST:
        raise ValueError(f"the picture has {len(html.encode())} bytes, at most {LARGEST}")
    return Html(html, f"[things to hide: {', '.join(things)}. {says[0]}]")


def _png(pixels: Any) -> str:
    """An image (H, W, 3) as an address that holds it."""
    from PIL import Image

    packed = io.BytesIO()
    Image.fromarray(np.asarray(pixels, np.uint8)).save(packed, "PNG", optimize=True)
    return "data:image/png;base64," + base64.b64encode(packed.getvalue()).decode()


_PAGE = """\
<style>
.hd {{ font: 1rem/1.4 system-ui, sans-serif; max-width: 44rem; margin: .4em 0; }}
.hd-panels {{ display: grid; grid-template-columns: repeat(3, minmax(0, 1fr)); gap: .6em; }}
.hd figure {{ margin: 0; }}
.hd img {{ width: 100%; image-rendering: pixelated; display: block;
  border: 1px solid {score}; }}
.hd figcaption {{ font-size: .9rem; text-align: center; }}
.hd .controls {{ display: flex; flex-wrap: wrap; gap: .5em; margin: .6em 0; }}
.hd .controls[hidden] {{ display: none; }}
.hd button {{ font: inherit; margin: 0; padding: .25em .8em; color: inherit; cursor: pointer;
  background: transparent; border: 1px solid currentColor; border-radius: .3em; }}
.hd button[aria-pressed=true] {{ font-weight: 700; box-shadow: inset 0 0 0 1px currentColor; }}
.hd button[aria-pressed=false] {{ text-decoration: line-through; }}
.hd p {{ margin: .3em 0; min-height: 2.8em; }}
</style>
<div class="hd" id="{id}" role="group" aria-label="Things to hide">
<div class="controls" hidden>{buttons}</div><div class="hd-panels">{panels}</div>
<p role="status" aria-live="polite">{says}</p></div>
{script}"""
_JS = """
const { shown, says } = JSON.parse(given.data), box = document.getElementById(given.id);
const buttons = [...box.querySelectorAll("button")], images = box.querySelectorAll("img");
const show = () => {
  const at = buttons.reduce((sum, b) => 2 * sum + (b.ariaPressed === "true" ? 0 : 1), 0);
  images.forEach((image, i) => { image.src = shown[at][i]; });
  box.querySelector("p").textContent = says[at];
  box.dataset.at = at;
};
for (const button of buttons) button.onclick = () => {
  button.setAttribute("aria-pressed", button.ariaPressed !== "true");
  show();
};
box.querySelector(".controls").hidden = false;
"""
