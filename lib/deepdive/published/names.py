"""Name tables: map a family's published parameter names to ours, and back, with one table."""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from typing import TypeVar

import torch
from torch import Tensor

from deepdive.published.weights import Source, Sources

T = TypeVar("T")
Pairs = dict[str | tuple[str, ...], str]
Fused = tuple[Callable[[Tensor], Sequence[Tensor]], Callable[[Sequence[Tensor]], Tensor]]
Layout = tuple[Callable[[Tensor], Tensor], Callable[[Tensor], Tensor]]


@dataclass(frozen=True)
class Names:
    """A table of name prefixes, theirs -> ours; `{}` matches a number, the same on both sides.

        Names({
            "embeddings.word_embeddings": "embeddings.tokens",
            ("layer.{}.key", "layer.{}.value"): "blocks.{}.attn.kv",     # concatenated by rows
        })

    The suffix (`.weight`, `.bias`) is unchanged. `layouts` maps a prefix of ours to a pair of
    functions (to ours, to theirs) for tensors with another layout in their files, `rows` to the
    number of rows of each part of a concatenated tensor if they differ. `fused` maps a prefix of
    theirs to the functions (split, merge) of a tensor that is several tensors here; the parts have
    its name with `:0`, `:1` and so on.
    As a rule of `deepdive.published.weights.adopt` it maps theirs to ours.
    """

    pairs: Mapping[str | tuple[str, ...], str]
    layouts: Mapping[str, Layout] = field(default_factory=dict)
    rows: Mapping[str, tuple[int, ...]] = field(default_factory=dict)
    fused: Mapping[str, Fused] = field(default_factory=dict)

    def __or__(self, other: Names | Mapping[str | tuple[str, ...], str]) -> Names:
        """Return both tables merged, or this one with more pairs; for a name of ours in both,
        `other` takes precedence.
        """
        other = other if isinstance(other, Names) else Names(other)
        mine = {t: o for t, o in self.pairs.items() if o not in other.pairs.values()}
        layouts, rows = {**self.layouts, **other.layouts}, {**self.rows, **other.rows}
        return Names({**mine, **other.pairs}, layouts, rows, {**self.fused, **other.fused})

    def within(self, theirs: str, ours: str) -> Names:
        """Return the table for the same module as a submodule, with these prefixes."""
        pairs: Pairs = {
            tuple(theirs + name for name in _several(names)): ours + name
            for names, name in self.pairs.items()
        }
        layouts = {ours + name: layout for name, layout in self.layouts.items()}
        rows = {ours + name: rows for name, rows in self.rows.items()}
        fused = {theirs + name: functions for name, functions in self.fused.items()}
        return Names(pairs, layouts, rows, fused)

    def knows(self, name: str) -> bool:
        """Return whether the table has this name of theirs."""
        known = any(pattern.match(name) for pattern, *_ in self._patterns)
        return known or _of(self.fused, name) is not None

    def ours(self, name: str) -> str:
        """Return our name for one of theirs; a name not in the table is unchanged."""
        return self._to_ours(name)[0]

    @cached_property
    def _patterns(self) -> list[tuple[re.Pattern[str], str, int, int]]:
        """(pattern of their name, our name, index of the part, number of parts) of each name."""
        return [
            (_pattern(name), ours, i, len(_several(names)))
            for names, ours in self.pairs.items()
            for i, name in enumerate(_several(names))
        ]

    def __call__(self, sources: Sources) -> Sources:
        """Return tensors under our names; a name not in the table is unchanged.

        Raises ValueError if a part of a concatenated tensor is missing, or two names collide.
        """
        found: Sources = {}
        joined: dict[str, dict[int, Source]] = {}
        for name, source in self._apart(sources).items():
            ours, part, parts = self._to_ours(name)
            if parts > 1:
                joined.setdefault(ours, {})[part] = source
                source = Source(source.tensor, ", ".join(s.names for s in joined[ours].values()))
                if len(joined[ours]) == parts:
                    whole = [joined[ours][i].tensor for i in range(parts)]
                    found[ours] = Source(torch.cat(whole), source.names)
                    del joined[ours]
            elif ours in found:
                raise ValueError(f"two tensors map to {ours}: {found[ours].names}, {name}")
            else:
                found[ours] = source
        for ours, some in joined.items():
            got = ", ".join(source.names for source in some.values())
            raise ValueError(f"{ours} is concatenated from several tensors, but got only {got}")
        return {n: Source(self._laid(n, 0)(s.tensor), s.names) for n, s in found.items()}

    def theirs(self, tensors: Mapping[str, Tensor]) -> dict[str, Tensor]:
        """Return tensors under their names, concatenated ones split. Raises KeyError for a name
        that is not in the table.
        """
        found: dict[str, Tensor] = {}
        for name, tensor in tensors.items():
            names = self._to_theirs(name)
            laid, rows = self._laid(name, 1)(tensor), _of(self.rows, name)
            parts = [laid]
            if len(names) > 1:
                parts = list(laid.split(rows) if rows else laid.chunk(len(names)))
            found.update(zip(names, (part.contiguous().clone() for part in parts), strict=True))
        return self._together(found)

    def _apart(self, sources: Sources) -> Sources:
        """Return the sources, with each fused one split into its parts."""
        found: Sources = {}
        for name, source in sources.items():
            if fused := _of(self.fused, name):
                start, end = name.rsplit(".", 1)
                for i, part in enumerate(fused[0](source.tensor)):
                    found[f"{start}:{i}.{end}"] = Source(part, source.names)
            else:
                found[name] = source
        return found

    def _together(self, tensors: dict[str, Tensor]) -> dict[str, Tensor]:
        """Merge the parts of fused tensors: the inverse of `_apart`."""
        found: dict[str, Tensor] = {}
        parts: dict[str, list[Tensor]] = {}
        for name in sorted(tensors):
            whole = re.sub(r":\d+(?=\.)", "", name)
            if whole == name:
                found[name] = tensors[name]
            else:
                parts.setdefault(whole, []).append(tensors[name])
        for whole, several in parts.items():
            fused = _of(self.fused, whole)
            assert fused is not None, f"{whole} has parts in the table, but no entry in fused"
            found[whole] = fused[1](several).contiguous()
        return found

    def _to_ours(self, name: str) -> tuple[str, int, int]:
        for pattern, ours, part, parts in self._patterns:
            if match := pattern.match(name):
                return ours.format(*match.groups()) + name[match.end() :], part, parts
        return name, 0, 1

    def _to_theirs(self, name: str) -> list[str]:
        for theirs, ours in self.pairs.items():
            if match := _pattern(ours).match(name):
                rest = name[match.end() :]
                return [each.format(*match.groups()) + rest for each in _several(theirs)]
        raise KeyError(f"{name}: not in the name table")

    def _laid(self, name: str, direction: int) -> Callable[[Tensor], Tensor]:
        layout = _of(self.layouts, name)
        return layout[direction] if layout else lambda tensor: tensor


def fairseq_layer(theirs: str, ours: str) -> Pairs:
    """Return the name table of a fairseq layer, with cross-attention."""
    pairs: Pairs = {
        f"{theirs}.final_layer_norm": f"{ours}.ff_residual.norm",
        f"{theirs}.fc1": f"{ours}.ff.inner",
        f"{theirs}.fc2": f"{ours}.ff.out",
    }
    for part, name in (("self_attn", "attn"), ("encoder_attn", "cross")):
        attention, attn = f"{theirs}.{part}", f"{ours}.{name}"
        pairs[f"{attention}.q_proj"] = f"{attn}.q"
        pairs[f"{attention}.k_proj", f"{attention}.v_proj"] = f"{attn}.kv"
        pairs[f"{attention}.out_proj"] = f"{attn}.out"
        pairs[f"{attention}_layer_norm"] = f"{attn}_residual.norm"
    return pairs


def axis(dim: int) -> Layout:
    """Return the layout of a tensor with an additional axis of size 1 in their files."""
    return lambda tensor: tensor.squeeze(dim), lambda tensor: tensor.unsqueeze(dim)


def _several(names: str | tuple[str, ...]) -> tuple[str, ...]:
    return (names,) if isinstance(names, str) else names


def _of(table: Mapping[str, T], name: str) -> T | None:
    """Return a table's value for its first key that is a prefix of `name`, or None."""
    return next((found for start, found in table.items() if _pattern(start).match(name)), None)


def _pattern(beginning: str) -> re.Pattern[str]:
    """Return the regular expression of a name prefix that ends at a dot or at the name's end."""
    return re.compile(re.escape(beginning).replace(r"\{\}", r"(\d+)") + r"(?=\.|$)")
