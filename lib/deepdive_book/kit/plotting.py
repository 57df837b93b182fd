"""Figures: one style, attention as heat maps, and alternative text on every figure.

Figures are made without pyplot, so nothing is kept alive and nothing is shown twice.
"""

import io
import textwrap
from collections.abc import Sequence
from typing import Any

import matplotlib as mpl
import numpy as np
from matplotlib.axes import Axes
from matplotlib.figure import Figure
from matplotlib.rcsetup import cycler
from matplotlib.text import Text

from deepdive_book.kit.figures import Picture, save
from deepdive_book.kit.fonts import families, one_warning
from deepdive_book.kit.palette import PALETTE, WORDS

SEQUENTIAL, DIVERGING = "Blues", "RdBu_r"
DPI = 110


def style() -> None:
    """Set matplotlib's defaults, and show figures in a notebook with their alternative text."""
    mpl.rcParams.update(
        {
            "axes.prop_cycle": cycler(color=PALETTE),
            "axes.spines.right": False,
            "axes.spines.top": False,
            "axes.titlesize": "medium",
            "figure.constrained_layout.use": True,
            "figure.dpi": DPI,
            "figure.figsize": (6.0, 3.6),
            "font.family": families(),
            "font.size": 10,
            "image.cmap": SEQUENTIAL,
            "legend.frameon": False,
            "savefig.dpi": DPI,
            "svg.hashsalt": "deepdive",  # the same figure gives the same file
        }
    )
    shell = _shell()
    if shell is not None:
        shell.display_formatter.mimebundle_formatter.for_type(Figure, _bundle)


def heatmap(
    weights: Any,
    rows: Sequence[str],
    cols: Sequence[str],
    *,
    title: str = "",
    limits: tuple[float, float] | None = None,
    digits: int | None = None,
    alt: str = "",
) -> Figure:
    """One map of weights or scores: queries down, keys across, their tokens as ticks.

    Args:
        weights: (T, S), tensor or array. Where a value is negative the colours diverge from 0.
        rows, cols: the T query tokens and the S key tokens.
        limits: values of the first and last colour; by default 0 (or -max|w|) and max|w|.
        digits: print each value with so many decimals.
        alt: alternative text; by default each query with the key of its largest value.

    Raises:
        ValueError: `weights` is not (T, S).
    """
    values = _array(weights)
    _check("weights", values, (len(rows), len(cols)))
    size = (1.6 + 0.42 * len(cols), 1.1 + 0.36 * len(rows))
    figure = Figure(figsize=(min(size[0], 11), min(size[1], 9)))
    axes = figure.add_subplot()
    image = _draw(axes, values, rows, cols, limits or _limits(values))
    axes.set_xlabel("key", color=WORDS["key"])
    axes.set_ylabel("query", color=WORDS["query"])
    axes.set_title(title)
    if digits is not None:
        _print_values(axes, image, values, digits)
    figure.colorbar(image, ax=axes, shrink=0.85)
    return with_alt(figure, alt or describe(values, rows, cols, title or "Heat map"))


def heads(
    weights: Any,
    rows: Sequence[str],
    cols: Sequence[str],
    *,
    names: Sequence[str] | None = None,
    limits: tuple[float, float] | None = None,
    across: int = 4,
    alt: str = "",
) -> Figure:
    """Small multiples, one map a head, all on one scale.

    Args:
        weights: (H, T, S), tensor or array.
        rows, cols, limits, alt: as in `heatmap`.
        names: the H titles; by default "head 0", "head 1", ...
        across: how many stand side by side at most; a phone shows two small ones.

    Raises:
        ValueError: `weights` is not (H, T, S), or `across` is below 1.
    """
    if across < 1:
        raise ValueError(f"across is {across}; expected how many maps stand side by side")
    values = _array(weights)
    count = len(names) if names is not None else len(values)
    _check("weights", values, (count, len(rows), len(cols)))
    titles = names or [f"head {i}" for i in range(count)]
    tall = -(-count // across)
    wide = -(-count // tall)
    size = (0.8 + wide * max(1.8, 0.28 * len(cols)), 0.6 + tall * max(1.6, 0.28 * len(rows)))
    figure = Figure(figsize=(min(size[0], 11), min(size[1], 12)))
    grid = figure.subplots(tall, wide, squeeze=False, sharex=True, sharey=True).ravel()
    scale = limits or _limits(values)
    for axes, head, title in zip(grid, values, titles, strict=False):
        image = _draw(axes, head, rows, cols, scale)
        axes.set_title(title)
    for axes in grid[count:]:
        axes.set_axis_off()
    for axes in grid[count - wide : count]:
        axes.tick_params(labelbottom=True)
    figure.supxlabel("key", size="medium", color=WORDS["key"])
    figure.supylabel("query", size="medium", color=WORDS["query"])
    figure.colorbar(image, ax=grid.tolist(), shrink=0.7)
    parts = [describe(v, rows, cols, t) for v, t in zip(values, titles, strict=True)]
    return with_alt(figure, alt or " ".join(parts))


def with_alt(figure: Figure, alt: str) -> Figure:
    """Store the alternative text that `show` and the notebook's output use."""
    figure.alt = alt  # type: ignore[attr-defined, unused-ignore]
    return figure


def describe(values: Any, rows: Sequence[str], cols: Sequence[str], title: str) -> str:
    """Say in words where each query's largest value lies; long maps are cut at eight queries."""
    array = _array(values)
    best = array.argmax(-1)
    pairs = [
        f"{r} to {cols[j]} ({array[i, j]:.2f})"
        for i, (r, j) in enumerate(zip(rows, best, strict=True))
    ]
    more = f", and {len(pairs) - 8} more queries" if len(pairs) > 8 else ""
    return f"{title}: largest value of each query: {', '.join(pairs[:8])}{more}."


def show(figure: Figure | str, alt: str = "") -> None:
    """Display a figure, or SVG text, with its alternative text; in a plain script print the text.

    Raises:
        ValueError: there is no alternative text.
    """
    alt = alt or getattr(figure, "alt", "")
    if not alt:
        raise ValueError("alt is empty: say in one sentence what the figure shows")
    if _shell() is None:
        print(textwrap.shorten(f"[figure: {alt}]", 300))
        return
    from IPython.display import display

    data, metadata = _shown(figure, alt)
    show_bundle: Any = display  # it declares no types
    show_bundle(data, metadata=metadata, raw=True)


def _bundle(figure: Figure, include: Any = None, exclude: Any = None) -> Any:
    return _shown(figure, getattr(figure, "alt", ""))


def _shown(figure: Figure | str, alt: str) -> Any:
    """Return the data and metadata of a notebook's output."""
    save(Picture([figure], alt))
    kind = "image/svg+xml" if isinstance(figure, str) else "image/png"
    data = figure if isinstance(figure, str) else png(figure)
    about: dict[str, Any] = {"alt": alt}
    if not isinstance(figure, str):
        about["letters"] = letters(figure)
    return {kind: data, "text/plain": alt or repr(figure)}, {kind: about}


def letters(figure: Figure) -> float:
    """The size of the smallest letters of a figure in pixels: the book keeps them readable."""
    said = [text for text in figure.findobj(Text) if text.get_visible() and text.get_text().strip()]
    return round(min((float(text.get_fontsize()) for text in said), default=10.0) * DPI / 72, 1)


def png(figure: Figure, *, tight: bool = True) -> bytes:
    """Return the figure as PNG, its empty margins trimmed if `tight`; the same at each call."""
    buffer = io.BytesIO()
    box = "tight" if tight else None
    with one_warning():
        figure.savefig(buffer, format="png", bbox_inches=box, metadata={"Software": None})
    return buffer.getvalue()


def _shell() -> Any:
    try:
        from IPython import get_ipython
    except ImportError:
        return None
    return get_ipython()  # type: ignore[no-untyped-call, unused-ignore]


def _array(values: Any) -> np.ndarray[Any, np.dtype[np.float64]]:
    if hasattr(values, "detach"):
        values = values.detach().double().cpu()
    return np.asarray(values, dtype=np.float64)


def _check(name: str, values: np.ndarray[Any, Any], shape: tuple[int, ...]) -> None:
    if values.shape != shape:
        raise ValueError(
            f"{name} has shape {values.shape}; its names give {shape}: "
            "pass one token a row and one a column, and index the batch away"
        )


def _limits(values: np.ndarray[Any, Any]) -> tuple[float, float]:
    finite = values[np.isfinite(values)]
    top = float(np.abs(finite).max(initial=0.0)) or 1.0
    return (-top if (finite < 0).any() else 0.0, top)


def _draw(
    axes: Axes,
    values: np.ndarray[Any, Any],
    rows: Sequence[str],
    cols: Sequence[str],
    limits: tuple[float, float],
) -> Any:
    low, high = limits
    image = axes.imshow(
        values, vmin=low, vmax=high, cmap=DIVERGING if low < 0 else SEQUENTIAL, aspect="auto"
    )
    axes.set_xticks(range(len(cols)), cols)
    if max(map(len, cols), default=0) > 2:
        axes.tick_params(axis="x", labelrotation=60)
        for label in axes.get_xticklabels():
            label.set(ha="right", rotation_mode="anchor")
    axes.set_yticks(range(len(rows)), rows)
    axes.tick_params(length=0)
    axes.spines[:].set_visible(False)
    return image


def _print_values(axes: Axes, image: Any, values: np.ndarray[Any, Any], digits: int) -> None:
    for (i, j), value in np.ndenumerate(values):
        red, green, blue, _ = image.cmap(image.norm(value))
        dark = 0.299 * red + 0.587 * green + 0.114 * blue < 0.5
        color = "white" if dark else "black"
        axes.text(j, i, f"{value:.{digits}f}", ha="center", va="center", color=color, size="small")
