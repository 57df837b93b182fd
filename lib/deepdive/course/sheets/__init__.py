"""Pencil sheets: one mechanism worked by hand on one A4 page, drawn from a seed, with its key.

make("attention", seed=3)             the numbers
document(make("attention", seed=3))   one HTML file: sheet, key, stepper
stepper(make("attention", seed=3))    the stepper in a notebook
"""

from __future__ import annotations

import difflib
from collections.abc import Callable

from deepdive.course.sheets.attention import attention, causal_mask, multi_head, softmax
from deepdive.course.sheets.layers import feed_forward, layer_norm, positions
from deepdive.course.sheets.model import Grid, Sheet, Step
from deepdive.course.sheets.page import document, stepper
from deepdive.course.sheets.search import beam_search, cross_entropy

SHEETS: dict[str, Callable[[int], Sheet]] = {
    "attention": attention,
    "softmax": softmax,
    "causal_mask": causal_mask,
    "multi_head": multi_head,
    "positions": positions,
    "layer_norm": layer_norm,
    "feed_forward": feed_forward,
    "cross_entropy": cross_entropy,
    "beam_search": beam_search,
}

__all__ = ["SHEETS", "Grid", "Sheet", "Step", "document", "make", "stepper"]


def make(name: str, seed: int = 0) -> Sheet:
    """The sheet of this mechanism with the numbers of this seed.

    Raises:
        ValueError: there is no sheet of that name; the message names near ones.
    """
    if name not in SHEETS:
        near = difflib.get_close_matches(name, SHEETS, n=3, cutoff=0.4) or list(SHEETS)
        raise ValueError(f"no sheet {name!r}; did you mean {' or '.join(near)}?")
    return SHEETS[name](seed)
