"""The attention explorer: every layer and head at a glance, one in detail, alive in a browser.

Against bertviz and CircuitsVis: one call, which runs the model; nothing from a network, now or
later; masked cells told from weights of 0; who looks at a token, not only where it looks; each
head's habit in words; a keyboard, a screen reader and a table do what the mouse does; 512 tokens;
bytes in place of decimal numbers, and a picture where scripts do not run.
"""

from collections.abc import Sequence
from typing import Any

from torch import nn

from deepdive_book.kit.explorer.maps import Maps, attention_maps
from deepdive_book.kit.explorer.page import Explorer, Marked, page

__all__ = ["Explorer", "Maps", "attention_explorer", "attention_maps"]

Names = Sequence[str]
LINKED = 24  # tokens that two columns can show


def attention_explorer(
    model: nn.Module,
    inputs: Any,
    tokens: Names | tuple[Names, Names],
    *,
    start: tuple[str, int, int] | None = None,
    links: bool = False,
    marked: Marked | None = None,
) -> Explorer:
    """Run the model once and return an explorer of its attention, a notebook's output.

    Args:
        model: one of ours (anything with hook points `weights`), or one of transformers that was
            loaded with attn_implementation="eager".
        inputs: one row of input: a tensor, a tuple of arguments, or a mapping of keywords.
        tokens: the strings to show, one a position, special tokens included; for a model that
            reads two sequences a pair (source, target). The target is what the decoder reads.
        start: what is shown first: "encoder", "decoder", "cross" or another name of `Maps`, its
            layer, from 1, and its head, from 0, the numbers that the explorer shows. In long
            sequences, only this head's map is kept whole; of the others the page has a thumbnail
            and each query's largest weights.
        links: show the tokens in two columns, those that look and those that are looked at, with a
            line for each weight; for one short sequence.
        marked: heads to mark while a token is chosen: its place -> a sentence about them and a bool
            (L, H), True = marked; the first token is chosen at the start.

    Raises:
        ValueError, TypeError: no attention can be seen, the tokens do not fit its maps, `start` is
            none of its heads, or `links` and `marked` do not fit; the message names the fix.
    """
    maps = attention_maps(model, inputs)
    pair = _pair(tokens, two=any(part.name.startswith("cross") for part in maps))
    sides = [_sides(part, *pair) for part in maps]
    _check(maps, links, marked or {})
    return page(maps, sides, _place(maps, start), links=links, marked=marked)


def _check(maps: list[Maps], links: bool, marked: Marked) -> None:
    """Raise where two columns or marks do not fit the maps."""
    L, H, T, S = maps[0].weights.shape
    if (links or marked) and (len(maps) > 1 or max(T, S) > LINKED):
        raise ValueError(
            f"links, marked: {len(maps)} kinds of attention over {max(T, S)} tokens, "
            f"expected one kind over {LINKED} at most: leave them out"
        )
    for place, (_, heads) in marked.items():
        if not 0 <= place < T or tuple(heads.shape) != (L, H):
            raise ValueError(
                f"marked: got token {place} and heads of shape {tuple(heads.shape)}, "
                f"expected a token from 0 to {T - 1} and a bool ({L}, {H})"
            )


def _pair(tokens: Names | tuple[Names, Names], two: bool) -> tuple[list[str], list[str]]:
    """Return source and target tokens, the same for a model that reads one sequence."""
    single = all(isinstance(token, str) for token in tokens)
    lists: list[Any] = [tokens, tokens] if single else list(tokens)
    for entry in lists:
        for token in entry if isinstance(entry, list | tuple) else [entry]:
            if not isinstance(token, str):
                raise TypeError(
                    f"tokens: got {token!r}, expected strings: tokenizer.convert_ids_to_tokens(ids)"
                )
    if (single and two) or len(lists) != 2:
        wanted = "a pair, tokens=(source tokens, target tokens)" if two else "one list of strings"
        raise ValueError(f"tokens: got {len(tokens)} entries, but this model reads {wanted}")
    source, target = lists
    return list(source), list(target)


def _sides(part: Maps, source: list[str], target: list[str]) -> tuple[list[str], list[str]]:
    """Return the tokens of the queries and of the keys."""
    T, S = part.weights.shape[2:]
    choices = {"encoder": (source, source), "decoder": (target, target), "cross": (target, source)}
    kind = part.name.split()[0]
    for queries, keys in [choices[kind]] if kind in choices else choices.values():
        if (len(queries), len(keys)) == (T, S):
            return queries, keys
    counts = f"{len(source)}"
    if source != target:
        counts = f"{len(source)} (source) and {len(target)} (target)"
    raise ValueError(
        f"tokens: got {counts}, but {part.name} has {T} queries and {S} keys: give one string a "
        "position, special tokens included"
    )


def _place(maps: list[Maps], start: tuple[str, int, int] | None) -> tuple[int, int, int]:
    """Return the numbers of part, layer and head to begin with."""
    if start is None:
        return 0, 0, 0
    name, layer, head = start
    for number, part in enumerate(maps):
        L, H = part.weights.shape[:2]
        if part.name == name and 1 <= layer <= L and 0 <= head < H:
            return number, layer - 1, head
    known = ", ".join(
        f'"{p.name}" with {p.weights.shape[0]} layers of {p.weights.shape[1]} heads' for p in maps
    )
    raise ValueError(
        f"start={start!r} is none of its heads; there is {known}, layers counted from 1 and heads "
        "from 0"
    )
