"""A picture whose patches the reader hides, and what a masked autoencoder says of them, at once.

    masked_patches(model, [("a boot", pixels)], hidden)

A press on a patch hides it or shows it; a button hides some by lot. The model is the page's own, in
plain JavaScript with its weights in half precision; a test holds it to PyTorch. Python draws the
first state, which stays where nothing moves: on paper, without scripts.
"""

import base64
import hashlib
import io
import json
from collections.abc import Sequence
from html import escape
from pathlib import Path
from typing import Any

import numpy as np
import torch

from deepdive.layers.patches import patchify, unpatchify
from deepdive_book.kit.figures import Picture
from deepdive_book.kit.markup import Html, script
from deepdive_book.kit.palette import painted

LARGEST = 400_000  # bytes of HTML
LOTS = (0.25, 0.5, 0.75, 0.875)
CELL = 4.0  # of the drawing, a pixel
_SCRIPT = Path(__file__).with_suffix(".js").read_text(encoding="utf-8")


def masked_patches(model: Any, images: Sequence[tuple[str, Any]], hidden: Sequence[bool]) -> Html:
    """Return the picture, with the first image, as `hidden` says.

    Args:
        model: of grey squares, with a decoder, that says pixels as they are (`normalized` False).
        images: name and pixels, (side, side) bytes.
        hidden: for each patch of the first state, whether it is hidden; some are, not all.

    Raises:
        ValueError: the model reads colours or says normalised pixels, or a size does not fit.
    """
    c, sizes = model.config, []
    if c.channels != 1 or c.normalized or c.n_special != 1:
        raise ValueError("model: expected one of grey images that says pixels as they are")
    n = c.image_size // c.patch_size
    if len(hidden) != n * n or not 0 < sum(hidden) < n * n:
        raise ValueError(f"hidden: expected {n * n} patches, some of them hidden and some not")
    for called, pixels in images:
        if np.shape(pixels) != (c.image_size, c.image_size) or np.asarray(pixels).dtype != np.uint8:
            raise ValueError(f"{called}: expected a byte square of {c.image_size} pixels")
    numbers = []
    for name, tensor in model.state_dict().items():
        sizes.append([name, tensor.numel()])
        numbers.append(tensor.detach().flatten().half())
    values: dict[str, Any] = {
        "weights": base64.b64encode(torch.cat(numbers).numpy().tobytes()).decode(),
        "sizes": sizes,
        "images": [{"called": called, "pixels": _text(pixels)} for called, pixels in images],
        "hidden": [bool(each) for each in hidden],
        "lots": [int(n * n * share) for share in LOTS],
        "n": n, "patch": c.patch_size, "width": c.d_model, "narrow": c.decoder_d_model,
        "eps": c.eps, "encoder": [c.n_layers, c.n_heads],
        "decoder": [c.decoder_n_layers, c.decoder_n_heads],
    }  # fmt: skip
    given = json.dumps(values, separators=(",", ":"))
    drawn, error = _still(model, images[0], torch.tensor(values["hidden"]), n)
    count = sum(values["hidden"])
    told = f"{count} of {n * n} patches hidden. Loss over them: {error:.3f}"
    name = f"hp{hashlib.sha256(given.encode()).hexdigest()[:10]}"
    options = "".join(f"<option value={i}>{escape(each[0])}" for i, each in enumerate(images))
    lots = "".join(f'<button type="button">{lot} of {n * n}</button>' for lot in values["lots"])
    run = script(_SCRIPT, id=name, values=given)
    html = _PAGE.format(
        id=name, style=painted(_STYLE.replace("SIDES", str(n))), drawn=drawn, told=escape(told),
        options=options, lots=lots, side=c.image_size, script=run,
    )  # fmt: skip
    if len(html.encode()) > LARGEST:
        raise ValueError(f"{len(html.encode()):,} bytes, at most {LARGEST:,}: give a smaller model")
    alt = (
        f"{images[0][0]}, cut into {n} by {n} patches: left with {count} of them hidden, in the "
        "middle what the model fills in, right as it is."
    )
    words = ["what the model sees", "what it fills in", "the picture"]
    return Html(html, f"[hidden patches: {told}]", [Picture([drawn], alt, words)])


def rounded(model: Any) -> Any:
    """Return the model, in place, with weights that half precision has."""
    with torch.no_grad():
        for tensor in model.state_dict().values():
            tensor.copy_(tensor.half())
    return model


def _text(pixels: Any) -> str:
    return base64.b64encode(np.ascontiguousarray(pixels).tobytes()).decode()


@torch.no_grad()
def _still(model: Any, image: tuple[str, Any], hidden: torch.Tensor, n: int) -> tuple[str, float]:
    """The first state as a drawing, and its loss."""
    size, side = model.config.patch_size, model.config.image_size
    x = torch.from_numpy(np.asarray(image[1]).copy()).float()[None, None] / 127.5 - 1
    training = model.training
    said = model.eval()(x, hidden[None])[0]
    model.train(training)
    true = patchify(x, size)[0]
    error = float((said[hidden] - true[hidden]).square().mean())
    filled = unpatchify(torch.where(hidden[:, None], said, true)[None], size, side, side)[0, 0]
    gone = hidden.reshape(n, n).repeat_interleave(size, 0).repeat_interleave(size, 1)
    shades = torch.stack([x[0, 0], filled, x[0, 0]]).add(1).mul(127.5).round().clamp(0, 255)
    wide, body = side * CELL, []
    for k, title in enumerate(("the model sees", "it fills in", "the picture")):
        colors = shades[k, :, :, None].expand(-1, -1, 3).byte().clone()
        if k == 0:
            colors[gone] = torch.tensor([120, 134, 158], dtype=torch.uint8)
        left = k * (wide + 14)
        body.append(f'<text x="{left:g}" y="12" font-size="13" fill="currentColor">{title}</text>')
        body.append(
            f'<image x="{left:g}" y="18" width="{wide:g}" height="{wide:g}" '
            f'style="image-rendering:pixelated" href="data:image/png;base64,{_png(colors)}"/>'
        )
    return (
        f'<svg viewBox="0 0 {3 * wide + 28:g} {wide + 20:g}" role="img" style="max-width:100%" '
        f'font-family="system-ui, sans-serif">{"".join(body)}</svg>',
        error,
    )


def _png(colors: torch.Tensor) -> str:
    from PIL import Image

    file = io.BytesIO()
    Image.fromarray(colors.numpy()).save(file, "PNG")
    return base64.b64encode(file.getvalue()).decode()


_STYLE = """
.hp { font: 1rem/1.4 system-ui, sans-serif; max-width: 42rem; margin: .4em 0; }
.hp-panes { display: grid; grid-template-columns: repeat(3, minmax(0, 1fr)); gap: .6em; }
.hp figure { margin: 0; } .hp figcaption { font-size: .9rem; }
.hp canvas { width: 100%; aspect-ratio: 1; display: block; image-rendering: pixelated; }
.hp-pad { position: relative; }
.hp-grid { position: absolute; inset: 0; display: grid;
  grid-template-columns: repeat(SIDES, 1fr); grid-template-rows: repeat(SIDES, 1fr); }
.hp-grid button { background: transparent; padding: 0; margin: 0; cursor: pointer;
  border: 1px solid rgb(128 128 128 / .55); min-width: 0; }
.hp button:focus-visible, .hp select:focus-visible { outline: 3px solid @key; outline-offset: 1px; }
.hp-row { display: flex; flex-wrap: wrap; gap: .4em .6em; align-items: center; margin: .5em 0; }
.hp-lots { display: contents; }
.hp-lots button, .hp select { font: inherit; color: inherit; background: transparent;
  border: 1px solid currentColor; border-radius: .4em; padding: .3em .6em; min-height: 2.4rem; }
.hp select option { color: #111; background: #fff; }
.hp-told { min-height: 1.5em; margin: .2em 0; font-variant-numeric: tabular-nums; }
.hp [hidden] { display: none; }
"""

_PAGE = """\
<style>{style}</style>
<div class="hp" id="{id}" role="group" aria-label="Hide patches of a picture">
<div class="hp-still">{drawn}</div>
<div class="hp-live" hidden>
<div class="hp-panes">
<figure><figcaption>the model sees</figcaption><div class="hp-pad">
<canvas width="{side}" height="{side}"></canvas>
<div class="hp-grid" role="group" aria-label="Patches: press to hide"></div></div></figure>
<figure><figcaption>it fills in</figcaption>
<canvas width="{side}" height="{side}"></canvas></figure>
<figure><figcaption>the picture</figcaption>
<canvas width="{side}" height="{side}"></canvas></figure>
</div>
<div class="hp-row"><label>Picture <select>{options}</select></label>
<span>hide by lot:</span><span class="hp-lots">{lots}</span></div>
</div>
<p class="hp-told" role="status" aria-live="polite">{told}</p>
</div>
{script}"""
