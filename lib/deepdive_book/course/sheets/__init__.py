"""Pencil sheets: one mechanism worked by hand on one A4 page, drawn from a seed, with its key.

make("attention", seed=3)             the numbers
document(make("attention", seed=3))   one HTML file: sheet, key, stepper
stepper(make("attention", seed=3))    the stepper in a notebook
"""

import difflib
import random
from collections.abc import Callable

from deepdive_book.course.sheets.attention import attention, causal_mask, multi_head, softmax
from deepdive_book.course.sheets.layers import feed_forward, layer_norm, positions
from deepdive_book.course.sheets.model import Grid, Sheet, Step, Work
from deepdive_book.course.sheets.page import document, stepper
from deepdive_book.course.sheets.search import beam_search, cross_entropy

# Name -> title, section of the book, minutes, and what draws its numbers.
SHEETS: dict[str, tuple[str, str, int, Callable[[random.Random], Work]]] = {
    "attention": ("Dot-product attention", "2.3.2", 12, attention),
    "softmax": ("Softmax with temperature", "2.3.2", 12, softmax),
    "causal_mask": ("The causal mask", "2.4.2.3", 12, causal_mask),
    "multi_head": ("Two heads", "2.4.2.2", 15, multi_head),
    "positions": ("Sinusoidal positions", "2.4.1.2", 10, positions),
    "layer_norm": ("Layer norm", "2.4.3", 8, layer_norm),
    "feed_forward": ("Feed-forward with a residual", "2.4.4", 8, feed_forward),
    "cross_entropy": ("Cross-entropy", "2.2.3", 8, cross_entropy),
    "beam_search": ("Beam search", "2.5.3", 12, beam_search),
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
    title, section, minutes, draw = SHEETS[name]
    question, steps, answer = draw(random.Random(f"{name} {seed}"))
    return Sheet(name, title, question, section, minutes, seed, steps, answer)
