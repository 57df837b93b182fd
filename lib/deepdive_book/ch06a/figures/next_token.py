"""The likeliest next tokens of a real model as bars: the reader moves temperature and three cuts.

    next_token([candidates("The sky is", logits, tokenizer.decode)])

Kept are the first LISTED tokens of each text, and of all others together how much they weigh at
each temperature, so every share is exact. The cuts come in the library's order: top k, top p, min
p. Python draws the first state, which stays where nothing moves: on paper and without scripts.
"""

import hashlib
import json
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from html import escape
from math import exp
from pathlib import Path
from typing import NamedTuple

from torch import Tensor

from deepdive_book.kit.markup import Html, script
from deepdive_book.kit.palette import ROLES

TEMPERATURES = (0.25, 0.5, 0.7, 1.0, 1.3, 1.6, 2.0)
TOP_K = (0, 1, 2, 5, 10, 20, 50)  # 0: off
TOP_P = (0.0, 0.5, 0.7, 0.8, 0.9, 0.95, 0.99)
MIN_P = (0.0, 0.01, 0.02, 0.05, 0.1, 0.2, 0.5)
LISTED, BARS = 150, 12
_SCRIPT = Path(__file__).with_suffix(".js").read_text(encoding="utf-8")


@dataclass(frozen=True)
class Candidates:
    """What may follow a text: the likeliest `tokens` with their logits, the largest made 0, and at
    each temperature the sum of exp(logit / temperature) of all `others`, `n_others` of them.
    """

    text: str
    tokens: tuple[str, ...]
    logits: tuple[float, ...]
    others: tuple[float, ...]
    n_others: int


class Setting(NamedTuple):
    """Places in TEMPERATURES, TOP_K, TOP_P and MIN_P."""

    temperature: int = 3
    k: int = 0
    p: int = 0
    min_p: int = 0


class Left(NamedTuple):
    """Shares of the listed tokens before the cuts; how many are kept, None for more than are
    listed; what these had together.
    """

    shares: list[float]
    kept: int | None
    part: float


def candidates(text: str, logits: Tensor, decode: Callable[[list[int]], str]) -> Candidates:
    """Return what is kept of the logits (V,) of the token after a text."""
    best = logits.double().topk(min(LISTED, len(logits)))
    shifted = logits.double() - best.values[0]
    kept = [round(float(v), 3) for v in best.values - best.values[0]]
    others = []
    for t in TEMPERATURES:
        whole = float((shifted / t).exp().sum())
        others.append(float(f"{max(0.0, whole - sum(exp(x / t) for x in kept)):.5g}"))
    tokens = tuple(decode([i]) for i in best.indices.tolist())
    return Candidates(text, tokens, tuple(kept), tuple(others), len(logits) - len(kept))


def left(some: Candidates, setting: Setting) -> Left:
    """What a setting leaves."""
    t, k = TEMPERATURES[setting.temperature], TOP_K[setting.k]
    weights = [exp(x / t) for x in some.logits]
    whole = sum(weights) + some.others[setting.temperature]
    shares = [w / whole for w in weights]
    kept: int | None = min(k, len(shares)) if k else None
    p, mass = TOP_P[setting.p], 0.0
    if p:
        goal = p * (sum(shares[:kept]) if kept else 1.0)
        for n, share in enumerate(shares[:kept]):
            mass += share
            if mass >= goal:
                kept = n + 1
                break
    if MIN_P[setting.min_p]:
        n = sum(share >= MIN_P[setting.min_p] * shares[0] for share in shares)
        if n < len(shares):
            kept = min(n, kept) if kept else n
    if kept is None:  # the nucleus ends beyond the listed tokens, just above p
        return Left(shares, None, p or 1.0)
    return Left(shares, kept, sum(shares[:kept]))


def alt_text(some: Candidates, setting: Setting) -> str:
    """The state in words."""
    found = left(some, setting)
    every = len(some.tokens) + some.n_others
    if found.kept is None:
        uncut = not (setting.k or setting.p or setting.min_p)
        stay = (
            f"All {every:,} tokens stay" if uncut else f"More than {len(some.tokens)} tokens stay"
        )
        drawn = found.shares[0] / found.part
        return f"{stay}; the likeliest is drawn in {drawn:.1%} of all cases."
    word = "token stays" if found.kept == 1 else "tokens stay"
    return (
        f"{found.kept} of {every:,} {word}; together they had {found.part:.1%}. The likeliest is "
        f"drawn in {found.shares[0] / found.part:.1%} of all cases."
    )


def next_token(texts: Sequence[Candidates], setting: Setting = Setting()) -> Html:  # noqa: B008
    """Return the picture of the first text.

    Raises ValueError for no text, and for one whose logits are not the likeliest first.
    """
    if not texts:
        raise ValueError("texts: got none, expected one at least")
    for each in texts:
        if list(each.logits) != sorted(each.logits, reverse=True) or each.logits[0] != 0:
            raise ValueError(f"{each.text!r}: expected logits that begin with 0 and fall")
    spec = {
        "texts": [[t.text, t.tokens, t.logits, t.others, t.n_others] for t in texts],
        "temperatures": TEMPERATURES, "k": TOP_K, "p": TOP_P, "minP": MIN_P, "bars": BARS,
    }  # fmt: skip
    given = json.dumps(spec, separators=(",", ":"))
    name = f"nx{hashlib.sha256(given.encode()).hexdigest()[:10]}"
    said = alt_text(texts[0], setting)
    html = _PAGE.format(
        id=name, told=escape(said), rows=_rows(texts[0], setting),
        options="".join(f'<option value="{i}">{escape(t.text)}' for i, t in enumerate(texts)),
        text=escape(texts[0].text), sliders=_sliders(setting),
        key=ROLES["key"], gray=ROLES["score"], focus=ROLES["weight"],
        script=script(_SCRIPT, id=name, values=given),
    )  # fmt: skip
    return Html(html, f"[next token of “{texts[0].text}”: {said}]")


def format_token(token: str) -> str:
    """A token as it is written, its spaces and line breaks seen."""
    return token.replace(" ", "·").replace("\n", "↵") or "(nothing)"


def _sliders(setting: Setting) -> str:
    rows = []
    for name, values, at in (
        ("temperature", TEMPERATURES, setting.temperature), ("top k", TOP_K, setting.k),
        ("top p", TOP_P, setting.p), ("min p", MIN_P, setting.min_p),
    ):  # fmt: skip
        rows.append(
            f'<label>{name} <input type="range" min="0" max="{len(values) - 1}" value="{at}">'
            f"<output>{values[at] or 'off'}</output></label>"
        )
    return "".join(rows)


def _rows(some: Candidates, setting: Setting) -> str:
    found = left(some, setting)
    rows = []
    for n, (token, share) in enumerate(zip(some.tokens[:BARS], found.shares, strict=False)):
        stays = found.kept is None or n < found.kept
        drawn = share / found.part if stays else 0.0
        rows.append(
            f'<div class="nx-row"><span>{escape(format_token(token))}</span><span class="nx-line">'
            f'<i style="width:{100 * share:.2f}%"></i><b style="width:{100 * drawn:.2f}%"></b>'
            f"</span><span>{drawn:.1%}</span></div>"
        )
    return "".join(rows)


_PAGE = """\
<style>
.nx {{ max-width: 40rem; font: 1rem/1.4 system-ui, sans-serif; margin: .4em 0; }}
.nx p {{ margin: .5em 0; min-height: 4.2em; font-variant-numeric: tabular-nums; }}
.nx-choose {{ display: flex; flex-wrap: wrap; gap: .2em 1.4em; align-items: center; }}
.nx-choose[hidden] {{ display: none; }}
.nx-choose select {{ font: inherit; min-height: 2.4rem; max-width: 100%; }}
.nx-choose label {{ display: flex; gap: .5em; align-items: center; margin: 0; }}
.nx-choose input {{ width: min(7.5rem, 30vw); min-height: 2.4rem; margin: 0; accent-color: {key}; }}
.nx-choose output {{ min-width: 2.4em; font-variant-numeric: tabular-nums; }}
.nx-choose :focus-visible {{ outline: 3px solid {focus}; outline-offset: 2px; }}
.nx blockquote {{ margin: .4em 0; padding-left: .7em; border-left: 3px solid {key}; }}
.nx-row {{ display: grid; grid-template-columns: 7rem 1fr 3.6rem; align-items: center;
  gap: .5em; line-height: 1.5; font-variant-numeric: tabular-nums; }}
.nx-row > span:first-child {{ font-family: ui-monospace, monospace; text-align: right;
  overflow: hidden; text-overflow: ellipsis; white-space: nowrap; }}
.nx-row > span:last-child {{ text-align: right; }}
.nx-line {{ position: relative; display: block; height: 1.1rem; }}
.nx-line i, .nx-line b {{ position: absolute; left: 0; display: block; }}
.nx-line i {{ top: 0; height: 100%; border: 1px solid {gray}; box-sizing: border-box; }}
.nx-line b {{ top: 3px; bottom: 3px; background: {key}; }}
@media print {{ .nx-choose {{ display: none; }} .nx p {{ min-height: 0; }} }}
</style>
<div class="nx" id="{id}" role="group" aria-label="The likeliest next tokens, and what cuts leave">
<div class="nx-choose" hidden><select aria-label="text">{options}</select>{sliders}</div>
<blockquote>{text} …</blockquote>
<div class="nx-rows">{rows}</div>
<small>outline: share at this temperature; filled: how often it is drawn after the cuts</small>
<p role="status" aria-live="polite">{told}</p>
</div>
{script}"""
