"""An interactive figure: a photograph as patches of any size, in order or shuffled.

    # pixels: bytes (C, H, W)
    patch_shuffle({"a hand": pixels}, sizes=(10, 20, 25, 50), size=20)

The reader chooses a patch size, shuffles the patches, and shows each one's position. The text below
has the number of tokens, the values of a patch, and the number of attention weights. Python draws
the first state, which stays where scripts don't run, as on paper.
"""

import base64
import hashlib
import io
import json
from collections.abc import Mapping, Sequence
from html import escape
from pathlib import Path
from typing import Any

import numpy as np

from deepdive_book.kit.diagrams import FONT
from deepdive_book.kit.figures import Picture
from deepdive_book.kit.markup import Html, script
from deepdive_book.kit.palette import painted

WIDE = 320  # how large the photograph is drawn
_SCRIPT = Path(__file__).with_suffix(".js").read_text(encoding="utf-8")


def patch_shuffle(images: Mapping[str, Any], *, sizes: Sequence[int], size: int) -> Html:
    """Return the picture, with the first image in patches of `size`, in order.

    Args:
        images: name -> bytes (C, H, W), gray or in color, all of one size, as wide as high.
        sizes: sides in pixels, each of which divides the image's.
        size: the first of them to be shown.

    Raises ValueError for no image, for images of other shapes, and for a size that doesn't fit.
    """
    found = {name: np.asarray(pixels, dtype=np.uint8) for name, pixels in images.items()}
    shapes = {pixels.shape for pixels in found.values()}
    shape = next(iter(shapes), ())
    if len(shapes) != 1 or len(shape) != 3 or shape[0] not in (1, 3) or shape[1] != shape[2]:
        raise ValueError(f"images: got {shapes or 'none'}; expected one shape (1 or 3, S, S)")
    side = shape[1]
    if size not in sizes or any(side % each for each in sizes):
        raise ValueError(f"size {size} of {list(sizes)}: expected sizes that divide {side}")
    values = {
        "images": {name: _address(pixels) for name, pixels in found.items()}, "wide": WIDE,
        "side": side, "channels": shape[0], "sizes": list(sizes), "size": size,
    }  # fmt: skip
    given = json.dumps(values, ensure_ascii=False, separators=(",", ":"))
    name = f"jg{hashlib.sha256(given.encode()).hexdigest()[:10]}"
    said = alt_text(side, shape[0], size)
    first = next(iter(values["images"].values()))
    drawn = _drawn(first, side, size, f"{name}i")
    html = _PAGE.format(
        id=name, style=painted(_STYLE), drawn=drawn, said=escape(said), last=len(sizes) - 1,
        at=list(sizes).index(size), hidden=" hidden" * (len(found) == 1),
        choices="".join(f"<option>{escape(each)}</option>" for each in found),
        script=script(_SCRIPT, id=name, values=given),
    )  # fmt: skip
    alt = f"A photograph, {next(iter(found))}, cut into {(side // size) ** 2} patches. {said}"
    return Html(html, f"[a photograph in patches: {said}]", [Picture([drawn], alt)])


def alt_text(side: int, channels: int, size: int) -> str:
    """The state in words."""
    tokens = (side // size) ** 2
    return (
        f"{tokens:,} patch{'es' if tokens > 1 else ''} of {size} × {size} pixels, with "
        f"{channels * size * size:,} values{' each' if tokens > 1 else ''}, "
        f"become{'' if tokens > 1 else 's'} {tokens:,} token{'s' if tokens > 1 else ''}. With the "
        f"class token, each attention head has {tokens + 1:,} × {tokens + 1:,} = "
        f"{(tokens + 1) ** 2:,} weights."
    )


def _address(pixels: Any) -> str:
    """The image as a PNG in an address of its own."""
    from PIL import Image

    buffer = io.BytesIO()
    whole = np.moveaxis(pixels, 0, 2)
    Image.fromarray(whole[:, :, 0] if whole.shape[2] == 1 else whole).save(
        buffer, format="WEBP" if whole.shape[2] == 3 else "PNG", quality=85
    )
    kind = "webp" if whole.shape[2] == 3 else "png"
    return f"data:image/{kind};base64,{base64.b64encode(buffer.getvalue()).decode()}"


def _drawn(address: str, side: int, size: int, name: str) -> str:
    """The patches in order, a little apart."""
    across, one = side // size, WIDE / (side // size)
    gap = 1.0 if size > side // 20 else 0.5
    parts = [
        f'<svg x="{one * (t % across) + gap:.2f}" y="{one * (t // across) + gap:.2f}" '
        f'width="{one - 2 * gap:.2f}" height="{one - 2 * gap:.2f}" viewBox="{size * (t % across)} '
        f'{size * (t // across)} {size} {size}" preserveAspectRatio="none">'
        f'<use href="#{name}"/></svg>'
        for t in range(across**2)
    ]
    return (
        f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {WIDE} {WIDE}" width="{WIDE}" '
        f'height="{WIDE}" style="max-width:100%;height:auto;{FONT}" class="jg-cut" role="img" '
        f'aria-label="The photograph in patches"><defs><image id="{name}" width="{side}" '
        f'height="{side}" href="{address}"/></defs><g class="jg-parts">{"".join(parts)}</g></svg>'
    )


_STYLE = """
.jg { font: 1rem/1.4 system-ui, sans-serif; max-width: 40rem; margin: .4em 0; }
.jg p { margin: .5em 0; }
.jg-cut { display: block; }
.jg-cut image { image-rendering: pixelated; }
.jg-row { display: flex; flex-wrap: wrap; gap: .4em 1.2em; align-items: center; margin: .6em 0; }
.jg-row label { display: inline-flex; gap: .5em; align-items: center; margin: 0;
  min-height: 2.2rem; }
.jg input[type=range] { width: 10rem; accent-color: @key; }
.jg input[type=checkbox] { width: 1.2em; height: 1.2em; margin: 0; accent-color: @key; }
.jg select { font: inherit; color: inherit; background: transparent; padding: .2em .4em;
  border: 1px solid currentColor; border-radius: .3em; }
.jg select option { color: #111; background: #fff; }
.jg :focus-visible { outline: 3px solid @key; outline-offset: 2px; }
.jg [role=status] { min-height: 4.2em; }
.jg [hidden] { display: none; }
@media print { .jg-row { display: none; } }
"""

_PAGE = """\
<style>{style}
.jg :is(input[type=range], select, button) {{ min-height: 1.7rem; }}
.jg label {{ padding-block: .25rem; }}
</style>
<div class="jg" id="{id}" role="group" aria-label="A photograph in patches">
{drawn}
<div class="jg-row" hidden>
<label>patch size <input type="range" min="0" max="{last}" step="1" value="{at}">
<output></output></label>
<label><input type="checkbox" class="jg-mix">shuffled</label>
<label><input type="checkbox" class="jg-count">position numbers</label>
<label{hidden}>photograph <select>{choices}</select></label></div>
<p role="status" aria-live="polite">{said}</p>
</div>
{script}"""
