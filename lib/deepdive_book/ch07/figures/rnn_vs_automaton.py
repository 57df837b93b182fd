"""A recurrent network and the automaton that was read out of it, side by side, word by word.

    side_by_side(network.start, network.gru, network.out, {"two states": found}, rule)

The reader presses symbols. A column for each: what the rule says, what the network says and how
surely, and what the card says; below, the automaton moves from state to state. Python draws the
first state, which stays where nothing moves: on paper, without scripts.
"""

import math
from collections.abc import Mapping, Sequence
from html import escape
from pathlib import Path
from typing import Any

import torch
from torch import Tensor, nn

from deepdive.explain.surrogates.automata import Automaton, Word
from deepdive_book.kit.diagrams import svg
from deepdive_book.kit.living import Button, Choice, living
from deepdive_book.kit.markup import Html
from deepdive_book.kit.palette import ROLES

SHOWN = 14  # so many symbols are drawn, the last ones
WIDE, LEFT, STEP, ROW, RING, PAIR, ROUND = 400.0, 66.0, 23.5, 30.0, 250.0, 84.0, 18.0
ROWS = ("", "light", "network", "card")
Point = tuple[float, float]
_SCRIPT = Path(__file__).with_suffix(".js").read_text(encoding="utf-8")


def side_by_side(
    start: Tensor,
    gru: nn.GRU,
    out: nn.Linear,
    cards: Mapping[str, Automaton],
    rule: Automaton,
    *,
    symbols: tuple[str, str] = ("pause", "press"),
    word: Word = (),
) -> Html:
    """Return the picture with `word` read and the first card chosen.

    start      the state before the first symbol (d,); symbols are read one-hot, `gru` (2 -> d)
    out        its state -> margin: above 0 the network says yes, "on"
    cards      the automata, by what they are called
    rule       what is true

    Raises ValueError where there is no card, or the network is no GRU of one layer and one margin.
    """
    d = gru.hidden_size
    if not cards or gru.num_layers != 1 or gru.input_size != 2 or out.out_features != 1:
        raise ValueError("expected a card, and a GRU of one layer from 2 symbols to one margin")
    parts: dict[str, Any] = {"W": gru.weight_ih_l0, "U": gru.weight_hh_l0, "b": gru.bias_ih_l0,
             "c": gru.bias_hh_l0, "out": out.weight[0], "last": out.bias,
             "start": start.reshape(d)}  # fmt: skip
    net = {name: _rounded(part) for name, part in parts.items()}
    chances, card = _chances(net, word), next(iter(cards.values()))
    ring = RING if max(len(a.next) for a in cards.values()) > 2 else PAIR
    graphs = "".join(_ring(i, a, word, ring) for i, a in enumerate(cards.values()))
    drawing = svg(WIDE, 4 * ROW + ring + 4, [
        _strip(word, chances, card, rule),
        f'<g transform="translate(0 {4 * ROW:g})">{graphs}</g>',
    ])  # fmt: skip
    return living(
        "automaton", "A network and an automaton read the same word", code=_SCRIPT, style=_STYLE,
        drawing=drawing, status=describe(word, chances, card, rule, symbols), lines=3,
        alt=f"Columns for {len(word)} symbols with three rows: the light, the network and the "
            f"card. Below, {len(card.next)} states as circles with arrows for "
            f"{' and '.join(symbols)}.",
        below=_KEY.format(no=escape(symbols[0]), yes=escape(symbols[1])),
        spec={"net": net, "symbols": symbols, "shown": SHOWN, "left": LEFT, "step": STEP,
              "row": ROW, "cards": [{"next": a.next, "accepts": a.accepts}
                                    for a in (*cards.values(), rule)]},
        state={"word": list(word)},
        controls=[Button("yes", f"{symbols[1]} |"), Button("no", f"{symbols[0]} ·"),
                  Button("back", "take back"), Button("start", "from the start"),
                  *([Choice("card", "card", [*cards])] if len(cards) > 1 else [])],
        try_this="press the two symbols, or the keys `1` and `0`, until network and card differ "
                 "(an orange frame); `Backspace` takes one back.",
    )  # fmt: skip


def _rounded(part: Tensor) -> Any:
    return torch.round(part.detach().double(), decimals=6).tolist()


def _chances(net: Mapping[str, Any], word: Sequence[int]) -> list[float]:
    """How surely the network says yes, before the first symbol and after each."""
    values = {name: torch.tensor(part, dtype=torch.float64) for name, part in net.items()}
    h, chances = values["start"], []
    for place in range(len(word) + 1):
        chances.append(float((values["out"] @ h + values["last"]).sigmoid()))
        if place < len(word):
            x = values["W"][:, word[place]] + values["b"]
            reset, keep, new = (x + values["U"] @ h + values["c"]).chunk(3)
            new = x.chunk(3)[2] + reset.sigmoid() * (values["U"] @ h + values["c"]).chunk(3)[2]
            h = (1 - keep.sigmoid()) * new.tanh() + keep.sigmoid() * h
    return chances


def _walk(automaton: Automaton, word: Sequence[int]) -> list[int]:
    states = [0]
    for symbol in word:
        states.append(automaton.next[states[-1]][symbol])
    return states


def describe(
    word: Sequence[int],
    chances: Sequence[float],
    card: Automaton,
    rule: Automaton,
    symbols: Sequence[str],
) -> str:
    """The state in words."""
    light, says = (a.accepts[_walk(a, word)[-1]] for a in (rule, card))
    network = chances[-1] > 0.5
    counts = ", ".join(f"{list(word).count(k)} × {symbols[k]}" for k in (1, 0))
    verdict = "Network and card agree" if network == says else "Network and card differ"
    right = "both are right" if network == says == light else "both are wrong"
    if network != says:
        right = "the card is right" if says == light else "the network is right"
    on = ("off", "on")
    return (
        f"{counts}. The light is {on[light]}. Network: {on[network]} "
        f"({_per_cent(chances[-1])} sure of on). Card: {on[says]}. {verdict}: {right}."
    )


def _per_cent(chance: float) -> str:
    return f"{math.floor(100 * chance + 0.5)} %"


def _strip(word: Sequence[int], chances: Sequence[float], card: Automaton, rule: Automaton) -> str:
    """A column for the start and each of the last symbols; the script draws it so too."""
    states = _walk(card, word)
    truth = [rule.accepts[s] for s in _walk(rule, word)]
    accepts = [card.accepts[s] for s in states]
    first = max(0, len(word) + 1 - SHOWN)
    labels = [
        f'<text x="{LEFT - 8:g}" y="{ROW * k + 20:g}" font-size="13" text-anchor="end" '
        f'fill="currentColor">{called}</text>'
        for k, called in enumerate(ROWS) if called
    ]  # fmt: skip
    body = []
    for column, place in enumerate(range(first, len(word) + 1)):
        x = LEFT + STEP * column
        sign = "·|"[word[place - 1]] if place else ""
        body.append(
            f'<text x="{x + 10:g}" y="20" font-size="15" font-weight="700" text-anchor="middle" '
            f'fill="currentColor">{sign}</text>'
        )
        filled = (float(truth[place]), chances[place], float(accepts[place]))
        wrong = (chances[place] > 0.5) != accepts[place]
        for row, share in enumerate(filled, 1):
            role = ("value", "key", "weight")[row - 1]
            y, high = ROW * row + 3, (ROW - 6) * share
            edge = ROLES["query"] if wrong and row > 1 else "#888"
            body.append(
                f'<rect x="{x:g}" y="{y:g}" width="20" height="{ROW - 6:g}" fill="none" '
                f'stroke="{edge}" stroke-width="{2.5 if wrong and row > 1 else 0.8}"/>'
                f'<rect x="{x:g}" y="{y + ROW - 6 - high:.2f}" width="20" height="{high:.2f}" '
                f'fill="{ROLES[role]}"/>'
            )
    return f'{"".join(labels)}<g class="automaton-columns">{"".join(body)}</g>'


def _ring(number: int, automaton: Automaton, word: Word, high: float) -> str:
    """The states on a ring, the first at the left, then clockwise; arrows for both symbols."""
    n, states = len(automaton.next), _walk(automaton, word)
    at = [_place(k, n, high) for k in range(n)]
    taken = (states[-2], word[-1]) if word else None
    body = []
    for a, row in enumerate(automaton.next):
        for symbol, b in enumerate(row):
            lines = _arrow(at[a], at[b], symbol, b < a, high)
            wide = 4 if (a, symbol) == taken else 1.3
            body.append(
                f'<g class="automaton-arrow" data-from="{a}" data-symbol="{symbol}" '
                f'stroke-width="{wide:g}">{lines}</g>'
            )
    for k, (x, y) in enumerate(at):
        ring = (
            f'<circle cx="{x:.1f}" cy="{y:.1f}" r="{ROUND - 4:g}" fill="none" '
            'stroke="currentColor" stroke-width="1"/>' if automaton.accepts[k] else ""
        )  # fmt: skip
        body.append(
            f'<circle class="automaton-state" data-state="{k}" cx="{x:.1f}" cy="{y:.1f}" '
            f'r="{ROUND:g}" stroke="currentColor" stroke-width="1.2" '
            f'fill="{ROLES["weight"]}" fill-opacity="{int(k == states[-1])}"/>{ring}'
            f'<text x="{x:.1f}" y="{y + 4.5:.1f}" font-size="12" text-anchor="middle" '
            f'fill="currentColor">{("off", "on")[automaton.accepts[k]]}</text>'
        )
    display = "none" if number else "inline"
    return f'<g class="automaton-card" display="{display}">{"".join(body)}</g>'


def _place(k: int, n: int, high: float) -> Point:
    angle = math.pi - 2 * math.pi * k / n if n > 2 else math.pi * (1 - k)
    wide, tall = (90.0, 0.0) if n == 2 else (150.0, 88.0)
    return WIDE / 2 + wide * math.cos(angle), high / 2 - tall * math.sin(angle)


def _arrow(a: Point, b: Point, symbol: int, back: bool, high: float) -> str:
    """One arrow: a loop outwards, or a line that bends to its left; a press that leads back bends
    towards the middle of the ring, clear of the states between.
    """
    color = ROLES[("key", "query")[symbol]]
    far = math.hypot(a[0] - WIDE / 2, a[1] - high / 2) or 1.0
    out = ((a[0] - WIDE / 2) / far, (a[1] - high / 2) / far)
    side = (-out[1], out[0])
    if a == b:
        ends = [(a[0] + ROUND * (0.8 * out[0] + s * side[0]),
                 a[1] + ROUND * (0.8 * out[1] + s * side[1])) for s in (-0.6, 0.6)]  # fmt: skip
        bends = [(a[0] + 46 * out[0] + s * 34 * side[0], a[1] + 46 * out[1] + s * 34 * side[1])
                 for s in (-1, 1)]  # fmt: skip
        curve = "M{:.1f} {:.1f}C{:.1f} {:.1f} {:.1f} {:.1f} {:.1f} {:.1f}".format(
            *ends[0], *bends[0], *bends[1], *ends[1]
        )
        tip, come = ends[1], bends[1]
    else:
        dx, dy = b[0] - a[0], b[1] - a[1]
        bend = 0.14 if symbol else 0.08
        middle = ((a[0] + b[0]) / 2, (a[1] + b[1]) / 2)
        inwards = dy * (WIDE / 2 - middle[0]) - dx * (high / 2 - middle[1])
        if symbol and back and inwards < -1:
            bend = -bend
        come = (middle[0] + bend * dy, middle[1] - bend * dx)
        begin, tip = _toward(a, come), _toward(b, come)
        curve = "M{:.1f} {:.1f}Q{:.1f} {:.1f} {:.1f} {:.1f}".format(*begin, *come, *tip)
    long = math.hypot(come[0] - tip[0], come[1] - tip[1])
    ux, uy = (come[0] - tip[0]) / long, (come[1] - tip[1]) / long
    wings = [(tip[0] + 8 * ux + s * 4 * uy, tip[1] + 8 * uy - s * 4 * ux) for s in (-1, 1)]
    head = "M{:.1f} {:.1f}L{:.1f} {:.1f}L{:.1f} {:.1f}Z".format(*tip, *wings[0], *wings[1])
    dash = "" if symbol else ' stroke-dasharray="5 3"'
    return (
        f'<path d="{curve}" fill="none" stroke="{color}"{dash}/><path d="{head}" fill="{color}"/>'
    )


def _toward(state: Point, other: Point) -> Point:
    """The point of a state's circle that is nearest to another point."""
    dx, dy = other[0] - state[0], other[1] - state[1]
    long = math.hypot(dx, dy)
    return state[0] + ROUND * dx / long, state[1] + ROUND * dy / long


_KEY = """<div class="automaton-key"><span><i class="automaton-yes"></i>{yes}</span>
<span><i class="automaton-no"></i>{no}</span><span>double circle: the card says on</span></div>
"""
_STYLE = """
.living [data-control=yes] { border: 2px solid @query; }
.living [data-control=no] { border: 2px dashed @key; }
.automaton-key { display: flex; flex-wrap: wrap; gap: .2em 1.2em; font-size: .9rem; }
.automaton-key i { display: inline-block; width: 1.8em; vertical-align: .3em; margin-right: .4em; }
.automaton-yes { border-top: 2px solid @query; }
.automaton-no { border-top: 2px dashed @key; }
"""
