"""The explorer as HTML: a still picture, and beside it the bytes, the style and the script."""

import base64
import hashlib
import textwrap
from collections.abc import Mapping, Sequence
from html import escape
from importlib.resources import files
from pathlib import Path

import numpy as np
import torch
from matplotlib import colormaps
from matplotlib.figure import Figure
from torch import Tensor

from deepdive_book.kit.explorer.maps import Maps
from deepdive_book.kit.explorer.pack import MASKED, pack, pooled, say
from deepdive_book.kit.figures import Picture
from deepdive_book.kit.markup import Html, script
from deepdive_book.kit.palette import painted
from deepdive_book.kit.plotting import SEQUENTIAL, png

Sides = tuple[list[str], list[str]]  # tokens of the queries, tokens of the keys
Marked = Mapping[int, tuple[str, Tensor]]  # token -> what is said of heads, and which (L, H)


class Explorer(Html):
    """An attention explorer, shown as a notebook's output; `save` writes it as one file."""

    def __init__(self, html: str, plain: str, title: str, pictures: Sequence[Picture] = ()) -> None:
        super().__init__(html, plain, pictures)
        self.title = title

    def save(self, path: str | Path) -> Path:
        """Write the explorer as one HTML file that needs nothing else; return its path."""
        path = Path(path)
        path.write_text(_FILE.format(title=escape(self.title), body=self.html), encoding="utf-8")
        return path


def page(
    maps: list[Maps],
    sides: list[Sides],
    start: tuple[int, int, int],
    *,
    links: bool = False,
    marked: Marked | None = None,
) -> Explorer:
    """Return the explorer of `maps`, one pair of token lists a part; it begins at `start`.

    `links` and `marked` as in `attention_explorer`.
    """
    packed = pack(maps, start)
    lists: list[list[str]] = []
    for part, maps_, pair in zip(packed.parts, maps, sides, strict=True):
        for tokens in pair:
            if tokens not in lists:
                lists.append(tokens)
        part |= {"label": _label(maps_), "said": say(maps_)}
        part |= {"rows": lists.index(pair[0]), "cols": lists.index(pair[1])}
        alike = pair[0] == pair[1] and not maps_.name.startswith("cross")
        part["self"] = alike and not links
    more: dict[str, object] = {"links": True} if links else {}
    if marked:
        more["word"] = next(iter(marked))
        more["marked"] = {place: _marks(text, heads) for place, (text, heads) in marked.items()}
    head = packed.head(tokens=lists, start=start, **more)
    # in lines: a notebook's text is searched when it is built, which long words make slow
    lines = "\n".join(textwrap.wrap(base64.b64encode(packed.data).decode(), 1000))
    name = hashlib.sha256((head + lines).encode()).hexdigest()[:10]
    title = "; ".join(_title(part, maps_) for part, maps_ in zip(packed.parts, maps, strict=True))
    stills = [_still(part, maps_) for part, maps_ in zip(packed.parts, maps, strict=True)]
    body = _asset("explorer.js")
    html = _BOX.format(
        name=name,
        style=painted(_asset("explorer.css")),
        title=escape(title),
        pictures="".join(html for _, html in stills),
        script=script(body, name=name, head=head, bytes=lines),
    )
    plain = [f"[attention explorer: {title}]"]
    for part in packed.parts:
        plain += [f"  {part['name']} {habit}" for habit in _habits(part["said"])]
    return Explorer(html, "\n".join(plain), title, [picture for picture, _ in stills])


def _marks(text: str, heads: Tensor) -> tuple[str, list[int]]:
    """`✓ 8 of 72 heads: text`, and the numbers of these heads."""
    numbers = heads.flatten().nonzero().flatten().tolist()
    return f"✓ {len(numbers)} of {heads.numel()} heads: {text}", numbers


def _asset(name: str) -> str:
    return files(__package__).joinpath(name).read_text(encoding="utf-8")


def _label(maps: Maps) -> str:
    """`decoder, causal self-attention`, from what the maps are."""
    kind, T, S = maps.name.split()[0], *maps.weights.shape[2:]
    if kind == "cross" or T != S:
        return "cross-attention" + maps.name[5:] if kind == "cross" else f"{maps.name}, attention"
    what = "causal self-attention" if maps.causal else "self-attention"
    return what if maps.name == "attention" else f"{maps.name}, {what}"


def _title(part: dict[str, object], maps: Maps) -> str:
    L, H, T, S = maps.weights.shape
    size = f"{T} tokens" if T == S else f"{T} by {S} tokens"
    return f"{part['label']}: layers 1 to {L}, heads 0 to {H - 1}, {size}"


def _habits(habits: list[list[str]]) -> list[str]:
    """`layer 1 head 0: 52% to the token itself`, one for each head."""
    return [
        f"layer {layer} head {head}: {habit}"
        for layer, heads in enumerate(habits, start=1)
        for head, habit in enumerate(heads)
    ]


def _still(part: dict[str, object], maps: Maps) -> tuple[Picture, str]:
    """All heads of a part, layers down and heads across, grey where masked; and that as HTML."""
    levels = pooled(maps.weights, maps.masked)  # (L, H, t, s)
    L, H, t, s = levels.shape
    value = levels.float().masked_fill(levels == MASKED, float("nan"))
    value = (value / 254 * 7).round() / 7  # few colours: a small file
    wide = torch.nn.functional.pad(value, (0, 1, 0, 1), value=2.0)  # a gap, above the scale
    sheet = wide.permute(0, 2, 1, 3).reshape(L * (t + 1), H * (s + 1))[:-1, :-1].numpy()
    figure = Figure(figsize=(0.8 + min(6.2, 0.75 * H), 0.7 + min(9.0, 0.75 * L * t / s)))
    axes = figure.add_subplot()
    colors = colormaps[SEQUENTIAL].with_extremes(bad="#c8c8c8", over="white")
    image = axes.imshow(np.ma.masked_invalid(sheet), cmap=colors, vmin=0, vmax=1, aspect="auto")
    image.set_interpolation("nearest")  # no mixed colours at the edges
    axes.set_xticks([h * (s + 1) + (s - 1) / 2 for h in range(H)], [str(h) for h in range(H)])
    axes.set_yticks([i * (t + 1) + (t - 1) / 2 for i in range(L)], [str(i + 1) for i in range(L)])
    axes.set(xlabel="head", ylabel="layer")
    axes.tick_params(length=0)
    axes.spines[:].set_visible(False)
    habits = _habits(say(maps))
    alt = f"Maps of {_title(part, maps)}, queries down and keys across. {'; '.join(habits[:8])}"
    alt += f"; and {len(habits) - 8} more heads." if len(habits) > 8 else "."
    source = base64.b64encode(png(figure)).decode()
    return Picture([figure], alt), (
        f'<figure><img alt="{escape(alt)}" src="data:image/png;base64,{source}">'
        f"<figcaption>{escape(_title(part, maps))}; grey is masked, colour by the square root of "
        "the weight.</figcaption></figure>"
    )


_BOX = """\
<style>{style}</style>
<div class="dd-explorer" data-explorer="{name}" role="group" aria-label="Attention: {title}">
<div class="still">{pictures}</div>
</div>
{script}"""

_FILE = """\
<!DOCTYPE html>
<html lang="en">
<head>
<meta charset="utf-8">
<meta name="viewport" content="width=device-width, initial-scale=1">
<meta name="color-scheme" content="light dark">
<title>Attention: {title}</title>
<style>
body {{ font: 1rem/1.5 system-ui, sans-serif; margin: 1rem; }}
body {{ background: Canvas; color: CanvasText; }}
</style>
</head>
<body>
<main>
<h1 style="font-size:1.2rem">Attention explorer</h1>
{body}
</main>
</body>
</html>
"""
