"""One text, coloured by several methods side by side, from which a reader takes words away.

    attribution_comparison(words, says, {"occlusion": explain, ...}, ["negative", "positive"])

    says(kept)       kept bool (S,), the words that are still there -> probabilities (C,)
    explain(kept)    -> values (S,) of the words of what is left; those that are gone count as 0

A word is taken away by a tap or by Enter, and comes back the same way; the bars of the prediction
and the colours of each method follow. Python computes all sets of at most `most` words and packs
the answers into the output, so that nothing has to run while it is read. The whole text stands
there where nothing moves.

A row's colours are shares of the largest value that its method has in the whole text, or, where it
is larger, in what is left: colours that fade say that there is less to explain.
"""

import base64
from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from html import escape
from itertools import combinations
from pathlib import Path

import numpy as np
import torch
from torch import Tensor

from deepdive_book.kit.attribution_text import AGAINST, FOR, HALF, STYLE, relative, word
from deepdive_book.kit.living import Button, living
from deepdive_book.kit.markup import Html

Says = Callable[[Tensor], Tensor]
Explain = Callable[[Tensor], Tensor | Sequence[float]]
LARGEST = 400_000  # bytes of an output
FULL, NONE = 127, 255  # bytes: a share of 1, and the place of no word
_SCRIPT = Path(__file__).with_suffix(".js").read_text(encoding="utf-8")


def attribution_comparison(
    words: Sequence[str],
    says: Says,
    methods: Mapping[str, Explain],
    names: Sequence[str],
    *,
    most: int = 2,
    shown: Sequence[str] | None = None,
    gone: str = "a blank stands in its place",
) -> Html:
    """Return the picture, with no word taken away.

    names    the C classes
    most     how many words may be gone at once
    shown    the methods whose rows are there at first: all, unless given
    gone     what it means that a word is taken away, said below the words

    Raises:
        ValueError: there is no word, method or class, `says` or a method gives another shape or a
            number that is not finite, `shown` names no method, or the output would be too large.
    """
    at_first = list(methods) if shown is None else list(shown)
    if not words or not methods or not names or not 1 <= most <= len(words):
        raise ValueError(
            f"got {len(words)} words, {len(methods)} methods, {len(names)} names and most={most}, "
            "expected some of each, and 1 word or more that may be gone"
        )
    if len(words) >= NONE:
        raise ValueError(f"words: got {len(words)}, expected fewer than {NONE}")
    if set(at_first) - set(methods):
        raise ValueError(f"shown: got {at_first}, expected some of {list(methods)}")
    sets = removed_sets(len(words), most)
    size = 4 * len(sets) * (len(names) + len(methods) * (5 + len(words)) / 4) * 4 / 3
    if size > LARGEST:
        raise ValueError(
            f"{len(sets)} sets of words and {len(methods)} methods make {size / 1000:.0f} kB, at "
            f"most {LARGEST / 1000:.0f} are shown: fewer methods, a shorter text or a smaller most"
        )
    packed = tables(words, says, methods, len(names), sets)
    probabilities, values, places, shares = packed
    first = [places[0, list(methods).index(method)] for method in at_first]
    rows = "".join(
        _row(words, method, shares[0, m], largest_of(words, places[0, m], values[0, m]),
             method in at_first)
        for m, method in enumerate(methods)
    )  # fmt: skip
    bars = "".join(_bar(n, float(p)) for n, p in zip(names, probabilities[0], strict=True))
    return living(
        "view", "A text, colored by several methods", code=_SCRIPT, style=_STYLE, wide=60,
        above=STYLE + _WORDS.format("".join(_button(word, False) for word in words)),
        drawing=f'<div class="view-bars">{bars}</div><div class="ex">{rows}</div>',
        below=_METHODS.format("".join(_button(m, m in at_first) for m in methods)),
        status=alt_text(words, names, probabilities[0], first),
        spec={"words": list(words), "methods": list(methods), "names": list(names), "most": most,
              "half": HALF, "for": f"var(--dd-key,{FOR})", "against": f"var(--dd-query,{AGAINST})",
              "bytes": base64.b64encode(b"".join(a.tobytes() for a in packed)).decode()},
        state={"removed": [], "shown": [method in at_first for method in methods]},
        controls=[Button("back", "all words back")],
        try_this=f"press a word: {gone}, at most {most} at once; see whose colors follow the "
                 "prediction.",
    )  # fmt: skip


def removed_sets(size: int, most: int) -> list[tuple[int, ...]]:
    """Every set of at most `most` places, small ones first: the order of the tables."""
    return [each for k in range(most + 1) for each in combinations(range(size), k)]


def tables(
    words: Sequence[str],
    says: Says,
    methods: Mapping[str, Explain],
    classes: int,
    sets: Sequence[tuple[int, ...]],
) -> tuple[np.ndarray, np.ndarray, np.ndarray, np.ndarray]:
    """What the script looks up, for N sets: probabilities (N, C), each method's strongest value
    and its place (N, M), of whatever sign, and shares (N, M, S), in bytes.
    """
    from tqdm import tqdm

    predictions, values = [], []
    for removed in tqdm(sets, desc="words away", leave=False, delay=3):
        kept = torch.ones(len(words), dtype=torch.bool)
        kept[list(removed)] = False
        row = torch.as_tensor(says(kept)).detach().cpu().double()
        if row.shape != (classes,) or not row.isfinite().all():
            raise ValueError(
                f"says: got {tuple(row.shape)}, expected ({classes},), a finite number a class"
            )
        predictions.append(row.numpy())
        each_method = [
            torch.as_tensor(explain(kept)).detach().cpu() for explain in methods.values()
        ]
        for method, value in zip(methods, each_method, strict=True):
            relative(value, len(words), method)  # refuses what is not one number a word
        values.append(torch.stack([value.double() * kept for value in each_method]).numpy())
    each = np.stack(values)  # (N, M, S)
    sizes = np.abs(each)
    full = np.maximum(sizes.max(-1), sizes[:1].max(-1))
    shares = each / np.where(full > 0, full, 1.0)[..., None]
    places = sizes.argmax(-1)
    strongest = np.take_along_axis(each, places[..., None], -1)[..., 0]
    return (
        np.stack(predictions).astype("<f4"),
        strongest.astype("<f4"),
        np.where(strongest == 0, NONE, places).astype("u1"),
        np.rint(FULL * shares).astype("i1"),
    )


def alt_text(
    words: Sequence[str], names: Sequence[str], probabilities: np.ndarray, places: Sequence[int]
) -> str:
    """The whole text in words: the prediction, and which word how many methods name first."""
    bars = ", ".join(
        f"{n} {100 * float(p):.0f} %" for n, p in zip(names, probabilities, strict=True)
    )
    counts = Counter(int(place) for place in places if place != NONE)
    order = sorted(counts, key=lambda place: (-counts[place], place))
    first = "; ".join(f"“{words[i]}” {counts[i]}" for i in order)
    return f"Whole text: {bars}. Strongest word, by how many of {len(places)}: {first or 'none'}."


def largest_of(words: Sequence[str], place: int, value: float) -> str:
    """The strongest word of a row and its value, in the method's own unit."""
    if place == NONE:
        return "nothing"
    return f"{words[place]} {f'{value:+.2f}' if abs(value) >= 0.01 else 'below 0.01'}"


def _row(words: Sequence[str], method: str, shares: np.ndarray, first: str, there: bool) -> str:
    cells = "".join(word(w, int(s) / FULL) for w, s in zip(words, shares, strict=True))
    return (
        f'<div class="ex-row"{"" if there else " hidden"}><span class="ex-name">{escape(method)} '
        f'<small>{escape(first)}</small></span><span class="ex-text">{cells}</span></div>'
    )


def _button(text: str, pressed: bool) -> str:
    return f'<button type="button" aria-pressed="{str(pressed).lower()}">{escape(text)}</button>'


def _bar(name: str, share: float) -> str:
    return (
        f'<div class="view-bar"><span>{escape(name)}</span><span class="view-scale"><span '
        f'style="width:{100 * share:.1f}%"></span></span><b>{100 * share:.0f} %</b></div>'
    )


_WORDS = """<div class="living-controls view-words" role="group" hidden
 aria-label="The words; a pressed one is taken away">{}</div>"""
_METHODS = """<div class="living-controls view-methods" role="group" hidden
 aria-label="The methods that are shown">{}</div>"""
_STYLE = """
.living small { display: inline-block; font-weight: 400; font-variant-numeric: tabular-nums; }
.living .ex { margin: 0; }
:is(.view-words, .view-methods).living-controls { gap: .5em; }
.living .view-words [aria-pressed=true] { text-decoration: line-through; opacity: .75;
  border-style: dashed; }
.living .view-methods button { font-size: .88rem; min-height: 2.1rem; }
.living .view-methods [aria-pressed=false] { border-style: dotted; opacity: .75; }
.ex-word { cursor: pointer; }
.view-removed { text-decoration: line-through; opacity: .75; }
.view-bar { display: flex; gap: .6em; align-items: center; max-width: 32rem; margin: .15em 0; }
.view-bar > span:first-child { flex: 0 0 7rem; }
.view-bar b { flex: 0 0 3.2rem; text-align: right; font-variant-numeric: tabular-nums; }
.view-scale { flex: 1; height: .9rem; border: 1px solid @score; border-radius: 3px; }
.view-scale span { display: block; height: 100%; background: @score; transition: width .2s; }
@media (max-width: 480px) { .living :is(.ex-name, .ex-text) { flex: 1 1 100%; }
  .living .ex-word { font-size: .92rem; padding: 0 .16em; margin: 0; } }
"""
