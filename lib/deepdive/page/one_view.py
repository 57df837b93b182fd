"""One text, coloured by several methods side by side, from which a reader takes words away.

    one_view(words, says, {"occlusion": explain, ...}, ["negative", "positive"])

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
import hashlib
import json
from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from html import escape
from itertools import combinations
from pathlib import Path

import numpy as np
import torch
from torch import Tensor

from deepdive.page.explained import AGAINST, FOR, HALF, STYLE, relative, word
from deepdive.page.markup import Html, script
from deepdive.page.palette import ROLES

Says = Callable[[Tensor], Tensor]
Explain = Callable[[Tensor], Tensor | Sequence[float]]
LARGEST = 400_000  # bytes of an output
FULL, NONE = 127, 255  # bytes: a share of 1, and the place of no word
_SCRIPT = Path(__file__).with_suffix(".js").read_text(encoding="utf-8")


def one_view(
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
            f"came {len(words)} words, {len(methods)} methods, {len(names)} names and most={most}, "
            "expected some of each, and 1 word or more that may be gone"
        )
    if len(words) >= NONE:
        raise ValueError(f"words: came {len(words)}, expected fewer than {NONE}")
    if set(at_first) - set(methods):
        raise ValueError(f"shown: came as {at_first}, expected some of {list(methods)}")
    sets = removed_sets(len(words), most)
    size = 4 * len(sets) * (len(names) + len(methods) * (5 + len(words)) / 4) * 4 / 3
    if size > LARGEST:
        raise ValueError(
            f"{len(sets)} sets of words and {len(methods)} methods make {size / 1000:.0f} kB, at "
            f"most {LARGEST / 1000:.0f} are shown: fewer methods, a shorter text or a smaller most"
        )
    found = tables(words, says, methods, len(names), sets)
    said, values, places, shares = found
    given = json.dumps(
        {
            "words": list(words), "methods": list(methods), "names": list(names), "most": most,
            "half": HALF, "for": f"var(--dd-key,{FOR})", "against": f"var(--dd-query,{AGAINST})",
            "bytes": base64.b64encode(b"".join(a.tobytes() for a in found)).decode(),
        },
        separators=(",", ":"), ensure_ascii=False,
    )  # fmt: skip
    name = f"ov{hashlib.sha256(given.encode()).hexdigest()[:10]}"
    told = told_of(words, names, said[0], [places[0, list(methods).index(m)] for m in at_first])
    rows = "".join(
        _row(
            words,
            method,
            shares[0, m],
            largest_of(words, places[0, m], values[0, m]),
            method in at_first,
        )
        for m, method in enumerate(methods)
    )
    html = _PAGE.format(
        id=name, told=escape(told), rows=rows, gone=escape(gone), style=STYLE, most=most,
        focus=ROLES["weight"], bar=ROLES["score"],
        buttons="".join(_button(w, "false") for w in words),
        choices="".join(_button(m, str(m in at_first).lower()) for m in methods),
        bars="".join(_bar(n, float(p)) for n, p in zip(names, said[0], strict=True)),
        script=script(_SCRIPT, id=name, values=given),
    )  # fmt: skip
    plain = [f"[one view: {told}]"]
    plain += [f"{m}: {_all_of(words, shares[0, i])}" for i, m in enumerate(methods)]
    return Html(html, "\n".join(plain))


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

    said, values = [], []
    for removed in tqdm(sets, desc="words away", leave=False, delay=3):
        kept = torch.ones(len(words), dtype=torch.bool)
        kept[list(removed)] = False
        row = torch.as_tensor(says(kept)).detach().cpu().double()
        if row.shape != (classes,) or not row.isfinite().all():
            raise ValueError(
                f"says: came {tuple(row.shape)}, expected ({classes},), a finite number a class"
            )
        said.append(row.numpy())
        found = [torch.as_tensor(explain(kept)).detach().cpu() for explain in methods.values()]
        for method, value in zip(methods, found, strict=True):
            relative(value, len(words), method)  # refuses what is not one number a word
        values.append(torch.stack([f.double() * kept for f in found]).numpy())
    each = np.stack(values)  # (N, M, S)
    sizes = np.abs(each)
    full = np.maximum(sizes.max(-1), sizes[:1].max(-1))
    shares = each / np.where(full > 0, full, 1.0)[..., None]
    places = sizes.argmax(-1)
    strongest = np.take_along_axis(each, places[..., None], -1)[..., 0]
    return (
        np.stack(said).astype("<f4"),
        strongest.astype("<f4"),
        np.where(strongest == 0, NONE, places).astype("u1"),
        np.rint(FULL * shares).astype("i1"),
    )


def told_of(
    words: Sequence[str], names: Sequence[str], said: np.ndarray, places: Sequence[int]
) -> str:
    """The whole text in words: the prediction, and which word how many methods name first."""
    bars = ", ".join(f"{n} {100 * float(p):.0f} %" for n, p in zip(names, said, strict=True))
    counts = Counter(int(place) for place in places if place != NONE)
    order = sorted(counts, key=lambda place: (-counts[place], place))
    first = "; ".join(f"“{words[i]}” {counts[i]}" for i in order)
    return f"Whole text: {bars}. Strongest word, by how many of {len(places)}: {first or 'none'}."


def largest_of(words: Sequence[str], place: int, value: float) -> str:
    """The strongest word of a row and its value, in the method's own unit."""
    if place == NONE:
        return "nothing"
    return f"{words[place]} {f'{value:+.2f}' if abs(value) >= 0.01 else 'below 0.01'}"


def _all_of(words: Sequence[str], shares: np.ndarray) -> str:
    return " ".join(f"{w} {int(s) / FULL:+.2f}" for w, s in zip(words, shares, strict=True))


def _row(words: Sequence[str], method: str, shares: np.ndarray, first: str, there: bool) -> str:
    cells = "".join(word(w, int(s) / FULL) for w, s in zip(words, shares, strict=True))
    return (
        f'<div class="ex-row"{"" if there else " hidden"}><span class="ex-name">{escape(method)} '
        f'<small>{escape(first)}</small></span><span class="ex-text">{cells}</span></div>'
    )


def _button(text: str, pressed: str) -> str:
    return f'<button type="button" aria-pressed="{pressed}">{escape(text)}</button>'


def _bar(name: str, share: float) -> str:
    return (
        f'<div class="ov-bar"><span>{escape(name)}</span><span class="ov-way"><span '
        f'style="width:{100 * share:.1f}%"></span></span><b>{100 * share:.0f} %</b></div>'
    )


_PAGE = """\
{style}<style>
.ov {{ max-width: 60rem; font: 1rem/1.4 system-ui, sans-serif; margin: .4em 0; }}
.ov p {{ margin: .35em 0; min-height: 2.8em; font-variant-numeric: tabular-nums; }}
.ov small {{ display: inline-block; font-weight: 400; font-variant-numeric: tabular-nums; }}
.ov .ex {{ margin: 0; }}
.ov .ex-row[hidden], .ov-choose[hidden] {{ display: none; }}
.ov-choose > div {{ display: flex; flex-wrap: wrap; gap: .3em; margin: .3em 0; }}
.ov-choose button {{ font: inherit; min-height: 2.4rem; padding: 0 .5em; border-radius: 4px;
  border: 1px solid {bar}; background: transparent; color: inherit; cursor: pointer; }}
.ov-choose .ov-words button {{ font-size: 1.1rem; }}
.ov-choose .ov-words [aria-pressed=true] {{ text-decoration: line-through; opacity: .75;
  border-style: dashed; }}
.ov-choose .ov-which button {{ font-size: .88rem; min-height: 2.1rem; }}
.ov-choose .ov-which [aria-pressed=true] {{ border-width: 2px; font-weight: 600; }}
.ov-choose .ov-which [aria-pressed=false] {{ border-style: dotted; opacity: .75; }}
.ov-choose [aria-disabled=true] {{ opacity: .5; }}
.ov-choose :focus-visible {{ outline: 3px solid {focus}; outline-offset: 2px; }}
.ov-live .ex-word {{ cursor: pointer; }}
.ov .ov-gone {{ text-decoration: line-through; opacity: .75; }}
.ov-bar {{ display: flex; gap: .6em; align-items: center; max-width: 32rem; margin: .15em 0; }}
.ov-bar > span:first-child {{ flex: 0 0 7rem; }}
.ov-bar b {{ flex: 0 0 3.2rem; text-align: right; font-variant-numeric: tabular-nums; }}
.ov-way {{ flex: 1; height: .9rem; border: 1px solid {bar}88; border-radius: 3px; }}
.ov-way span {{ display: block; height: 100%; background: {bar}; transition: width .2s; }}
@media (prefers-reduced-motion: reduce) {{ .ov-way span {{ transition: none; }} }}
@media (max-width: 480px) {{ .ov .ex-name {{ flex: 1 1 100%; }} .ov .ex-text {{ flex: 1 1 100%; }}
  .ov .ex-word {{ font-size: .92rem; padding: 0 .16em; margin: 0; }} }}
@media print {{ .ov-choose {{ display: none; }} .ov p {{ min-height: 0; }} }}
</style>
<div class="ov" id="{id}" role="group" aria-label="A text, coloured by several methods">
<div class="ov-choose" hidden>
<div class="ov-words" role="group"
 aria-label="The words; a pressed one is taken away">{buttons}</div>
<div><button type="button" class="ov-back" aria-disabled="true">all words back</button>
<small>Tap a word: {gone}. At most {most} at once.</small></div></div>
<div class="ov-bars">{bars}</div>
<p role="status" aria-live="polite">{told}</p>
<div class="ov-choose" hidden><div class="ov-which" role="group"
 aria-label="The methods that are shown">{choices}</div></div>
<div class="ex">{rows}</div>
</div>
{script}"""
