"""Where a place of an image looks: the reader presses a place, and the weights lie over the image.

    # image (H, W), weights (T, T), T = grid^2
    image_attention({"first": (image, weights)}, grid=14)

Rows of the weights ask. Python draws the first state, which stays where nothing moves: on paper,
without scripts.
"""

import base64
import hashlib
import json
from collections.abc import Mapping
from html import escape
from pathlib import Path
from typing import Any

import numpy as np

from deepdive.core.checks import positive
from deepdive_book.kit.diagrams import FONT
from deepdive_book.kit.figures import Picture
from deepdive_book.kit.markup import Html, script
from deepdive_book.kit.palette import ROLES

SIDE = 308.0  # how large an image is drawn
_SCRIPT = Path(__file__).with_suffix(".js").read_text(encoding="utf-8")


def image_attention(images: Mapping[str, tuple[Any, Any]], grid: int, *, at: int = 0) -> Html:
    """Return the picture, with the place `at` of the first image pressed.

    Args:
        images: name -> the image, grey from 0 to 1 (H, W), and its weights (T, T), rows ask.
        grid: how many places a side has; T = grid^2, counted line by line.
        at: the place that is pressed at first.

    Raises:
        ValueError: there is no image, weights have another shape, or no place is `at`.
    """
    positive(grid=grid)
    n = grid**2
    if not images:
        raise ValueError("images is empty; give one image and its weights at least")
    if not 0 <= at < n:
        raise ValueError(f"at is {at}; expected a place from 0 to {n - 1}")
    told = {}
    for name, (image, weights) in images.items():
        gray, shares = (np.asarray(_plain(each), dtype=np.float64) for each in (image, weights))
        if gray.ndim != 2 or shares.shape != (n, n):
            raise ValueError(
                f"{name!r}: expected an image (H, W) and weights ({n}, {n}); got {gray.shape} and "
                f"{shares.shape}"
            )
        told[name] = {"grey": _bytes(gray), "size": list(gray.shape), "tops": [
            round(float(top) * n, 3) for top in shares.max(1)
        ], "shares": _bytes(shares / shares.max(1, keepdims=True))}  # fmt: skip
    values = json.dumps({"images": told, "grid": grid, "at": at, "side": SIDE})
    name = f"lk{hashlib.sha256(values.encode()).hexdigest()[:10]}"
    gray, shares = (np.asarray(_plain(each)) for each in next(iter(images.values())))
    drawn, said = _drawn(gray, shares[at], grid, at), alt_text(shares[at], grid, at)
    html = _PAGE.format(
        id=name, drawn=drawn, said=escape(said), query=ROLES["query"],
        names="".join(f"<option>{escape(each)}</option>" for each in images),
        script=script(_SCRIPT, id=name, values=values),
    )  # fmt: skip
    alt = f"An image in {grid} times {grid} places, and where one of them looks. {said}"
    return Html(html, f"[looks: {said}]", [Picture([drawn], alt)])


def alt_text(shares: Any, grid: int, at: int) -> str:
    """The state in words, for the weights (T,) of the place `at`."""
    best, top = int(np.argmax(shares)), float(np.max(shares))
    where = [f"line {place // grid + 1}, column {place % grid + 1}" for place in (at, best)]
    if top < 1.5 / len(shares):
        return f"The place in {where[0]} looks everywhere alike."
    more = round(top * len(shares), 3)
    return f"The place in {where[0]} looks most at {where[1]}: {more:.1f} times an even share."


def _plain(values: Any) -> Any:
    return values.detach().double().cpu().numpy() if hasattr(values, "detach") else values


def _bytes(shares: Any) -> str:
    """Numbers from 0 to 1 as one byte each, in base64."""
    return base64.b64encode((shares.clip(0, 1) * 255).round().astype(np.uint8).tobytes()).decode()


def _drawn(gray: Any, shares: Any, grid: int, at: int) -> str:
    high, wide = gray.shape
    dot, place = SIDE / max(high, wide), SIDE / grid
    body = []
    for (y, x), light in np.ndenumerate(gray.clip(0, 1)):
        shade = round(255 * float(light))
        body.append(
            f'<rect class="lk-dot" x="{dot * x:g}" y="{dot * y:g}" width="{dot + 0.4:g}" '
            f'height="{dot + 0.4:g}" fill="rgb({shade},{shade},{shade})"/>'
        )
    for p, share in enumerate(shares / shares.max()):
        body.append(
            f'<rect class="lk-place" data-at="{p}" x="{place * (p % grid):g}" '
            f'y="{place * (p // grid):g}" width="{place:g}" height="{place:g}" '
            f'fill="{ROLES["weight"]}" fill-opacity="{0.85 * share:.2f}"/>'
        )
    body.append(
        f'<rect class="lk-asks" x="{place * (at % grid):g}" y="{place * (at // grid):g}" '
        f'width="{place:g}" height="{place:g}" fill="none" stroke="{ROLES["query"]}" '
        'stroke-width="3"/>'
    )
    return (
        f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="-2 -2 {SIDE + 4:g} {SIDE + 4:g}" '
        f'width="{SIDE:g}" style="max-width:100%;height:auto;{FONT}" class="lk-image" role="img" '
        f'aria-label="The image, with weights over its places">{"".join(body)}</svg>'
    )


_PAGE = """\
<style>
.lk :is(input[type=range], select, button) {{ min-height: 1.7rem; }}
.lk label {{ padding-block: .25rem; }}
.lk {{ max-width: 34rem; font: 1rem/1.4 system-ui, sans-serif; margin: .4em 0; }}
.lk p {{ margin: .35em 0; }}
.lk-image {{ display: block; }}
.lk.lk-live .lk-place {{ cursor: pointer; }}
.lk.lk-live .lk-image:focus-visible {{ outline: 3px solid {query}; }}
.lk-choose[hidden] {{ display: none; }}
@media print {{ .lk-choose {{ display: none; }} }}
</style>
<div class="lk" id="{id}" role="group" aria-label="Where a place of the image looks">
<p class="lk-choose" hidden><label>image <select class="lk-name">{names}</select></label></p>
{drawn}
<p class="lk-said" role="status" aria-live="polite">{said}</p>
</div>
{script}"""
