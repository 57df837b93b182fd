"""Attention masks. True = may attend, everywhere (the opposite of `nn.MultiheadAttention`).

A mask is a small description that is combined with `&` and `|`; `dense(T, S)` is the bool tensor,
for teaching, pictures and tests. A mechanism with a faster form reads the description instead, and
refuses a part that it cannot honor. Queries are right-aligned to the keys: query t of T has
position S - T + t, so that one mask serves training (T = S) and cached decoding (T = 1, S = the
cache's length).
"""

from __future__ import annotations

from dataclasses import dataclass

import torch
from torch import Tensor


def _positions(T: int, S: int, device: torch.device | None) -> tuple[Tensor, Tensor]:
    """Return query positions (T, 1), right-aligned, and key positions (1, S)."""
    queries = torch.arange(S - T, S, device=device).unsqueeze(1)
    return queries, torch.arange(S, device=device).unsqueeze(0)


def _of_keys(values: Tensor, S: int, name: str) -> Tensor:
    """Return values (B, S). Raises ValueError where they are for another number of keys."""
    if values.shape[1] != S:
        raise ValueError(f"the {name} mask describes {values.shape[1]} keys, but there are {S}")
    return values


def of_queries(values: Tensor, T: int, name: str) -> Tensor:
    """Return the last T of the S values along the last axis, those of the queries. Raises
    ValueError where there are fewer: a query before the first key has no position.
    """
    S = values.shape[-1]
    if T > S:
        raise ValueError(
            f"{name} aligns queries with the last keys, so it needs at least as many keys; got "
            f"{T} queries for {S} keys. Use a Dense mask, or more keys"
        )
    return values[..., S - T :]


def _fitting(a: Tensor, b: Tensor) -> Tensor:
    """Return `a`, a mask to combine with `b`. Raises ValueError where they are for different
    batches or heads.
    """
    pairs = zip(a.shape[::-1], b.shape[::-1], strict=False)
    if any(m != n and 1 not in (m, n) for m, n in pairs):
        raise ValueError(
            f"masks combined by & or | must be for one batch; got {tuple(a.shape)} and "
            f"{tuple(b.shape)} for (B, H, T, S). Make both from the same batch"
        )
    return a


class Mask:
    """Base class of all masks. `a & b` allows what both allow, `a | b` what either allows."""

    def allowed(self, T: int, S: int, device: torch.device | None) -> Tensor | None:
        """Return a bool tensor that broadcasts to (B, H, T, S), or None where everything is
        allowed.
        """
        raise NotImplementedError

    def dense(
        self, T: int, S: int | None = None, device: torch.device | str | None = None
    ) -> Tensor:
        """Return the mask as a bool tensor (B or 1, H or 1, T, S), True = query t may attend to
        key s.

        `S` defaults to `T`. Raises ValueError when a part is for another number of keys.
        """
        S = T if S is None else S
        device = torch.device(device) if device is not None else None
        allowed = self.allowed(T, S, device)
        if allowed is None:
            return torch.ones(1, 1, T, S, dtype=torch.bool, device=device)
        return allowed.expand(*torch.broadcast_shapes(allowed.shape, (1, 1, T, S)))

    @property
    def parts(self) -> tuple[Mask, ...]:
        """The masks that are combined by `&`; a mask that is not a conjunction is its only part."""
        return (self,)

    def __and__(self, other: Mask) -> Mask:
        return And((*self.parts, *other.parts)) if isinstance(other, Mask) else NotImplemented

    def __or__(self, other: Mask) -> Mask:
        return Or((self, other)) if isinstance(other, Mask) else NotImplemented


@dataclass(frozen=True)
class And(Mask):
    """Allows what every part allows."""

    members: tuple[Mask, ...]

    @property
    def parts(self) -> tuple[Mask, ...]:
        return self.members

    def allowed(self, T: int, S: int, device: torch.device | None) -> Tensor | None:
        result: Tensor | None = None
        for member in self.members:
            part = member.allowed(T, S, device)
            if part is not None:
                result = part if result is None else _fitting(result, part) & part
        return result


@dataclass(frozen=True)
class Or(Mask):
    """Allows what any member allows."""

    members: tuple[Mask, ...]

    def allowed(self, T: int, S: int, device: torch.device | None) -> Tensor | None:
        result: Tensor | None = None
        for member in self.members:
            part = member.allowed(T, S, device)
            if part is None:
                return None
            result = part if result is None else _fitting(result, part) | part
        return result


@dataclass(frozen=True)
class Causal(Mask):
    """A query attends to its own position and those before it: s <= t."""

    def allowed(self, T: int, S: int, device: torch.device | None) -> Tensor | None:
        if T == 1:  # the last query may attend to every key, so decoding needs no mask
            return None
        queries, keys = _positions(T, S, device)
        return (keys <= queries)[None, None]


@dataclass(frozen=True, eq=False)
class Padding(Mask):
    """Only real keys may be attended to. `real`: bool (B, S), True = a real token."""

    real: Tensor

    def __post_init__(self) -> None:
        real = self.real
        if not isinstance(real, Tensor) or real.dtype != torch.bool or real.ndim != 2:
            raise TypeError(
                "Padding(real) needs a bool tensor of shape (B, S), True = real token; got "
                f"{describe(real)}. From token ids: Padding(tokens != pad); from lengths: "
                "Padding.from_lengths(lengths)"
            )

    @classmethod
    def from_lengths(cls, lengths: Tensor, size: int | None = None) -> Padding:
        """Return the mask of sequences whose first `lengths[b]` keys are real, padded to `size`."""
        size = int(lengths.max()) if size is None else size
        return cls(torch.arange(size, device=lengths.device) < lengths[:, None])

    def allowed(self, T: int, S: int, device: torch.device | None) -> Tensor | None:
        return _of_keys(self.real, S, "padding")[:, None, None, :]

    def reorder(self, index: Tensor) -> Padding:
        """Return the mask with sequence index[b] at b."""
        return Padding(self.real.index_select(0, index))


@dataclass(frozen=True)
class Window(Mask):
    """A query attends to `left` positions before it, itself, and `right` after it, in steps of
    `dilation`.
    """

    left: int
    right: int = 0
    dilation: int = 1

    def __post_init__(self) -> None:
        if self.left < 0 or self.right < 0 or self.dilation < 1:
            raise ValueError(f"Window needs left, right >= 0 and dilation >= 1; got {self}")

    def allowed(self, T: int, S: int, device: torch.device | None) -> Tensor | None:
        queries, keys = _positions(T, S, device)
        offset = keys - queries
        in_range = (offset >= -self.left * self.dilation) & (offset <= self.right * self.dilation)
        return (in_range & (offset % self.dilation == 0))[None, None]


@dataclass(frozen=True)
class Prefix(Mask):
    """Every query attends to the first `length` keys (combine with `Causal() | Prefix(n)`)."""

    length: int

    def __post_init__(self) -> None:
        if self.length < 0:
            raise ValueError(f"Prefix(length={self.length}): expected 0 keys or more")

    def allowed(self, T: int, S: int, device: torch.device | None) -> Tensor | None:
        return (torch.arange(S, device=device) < self.length)[None, None, None]


@dataclass(frozen=True)
class Global(Mask):
    """The named positions attend to every key and are attended to by every query (combine with
    `Window | Global`). Negative positions count from the end.
    """

    at: tuple[int, ...]

    def allowed(self, T: int, S: int, device: torch.device | None) -> Tensor | None:
        if any(not -S <= position < S for position in self.at):
            raise ValueError(f"Global(at={self.at}) has a position outside the {S} tokens")
        is_global = torch.zeros(S, dtype=torch.bool, device=device)
        is_global[list(self.at)] = True
        return (of_queries(is_global, T, "Global")[:, None] | is_global)[None, None]


@dataclass(frozen=True, eq=False)
class Segments(Mask):
    """Tokens attend only within their own segment. `ids`: integers (B, S), one per position."""

    ids: Tensor

    def __post_init__(self) -> None:
        if not isinstance(self.ids, Tensor) or self.ids.ndim != 2 or self.ids.is_floating_point():
            raise TypeError(
                f"Segments(ids) needs an integer tensor of shape (B, S); got {describe(self.ids)}"
            )

    def allowed(self, T: int, S: int, device: torch.device | None) -> Tensor | None:
        query_ids = of_queries(_of_keys(self.ids, S, "segment"), T, "Segments")
        return (query_ids[:, :, None] == self.ids[:, None, :])[:, None]


@dataclass(frozen=True, eq=False)
class Dense(Mask):
    """A mask given as a bool tensor that broadcasts to (B, H, T, S), True = may attend."""

    values: Tensor

    def __post_init__(self) -> None:
        if not isinstance(self.values, Tensor) or self.values.dtype != torch.bool:
            raise TypeError(
                f"a dense mask is a bool tensor, True = may attend; got {describe(self.values)}. A "
                "float mask of 0 and -inf becomes one by `mask == 0`; a mask in which True = "
                "masked by `~mask`"
            )

    def allowed(self, T: int, S: int, device: torch.device | None) -> Tensor | None:
        values = self.values
        fits = values.ndim <= 4 and all(
            m in (1, n) for m, n in zip(values.shape[::-1], (S, T), strict=False)
        )
        if not fits or values.ndim == 0:
            raise ValueError(
                f"a dense mask must broadcast to (B, H, T, S) with T={T}, S={S}; got shape "
                f"{tuple(values.shape)}. A padding mask (B, S) is written Padding(real)"
            )
        return values.reshape((1,) * (4 - values.ndim) + values.shape)


def describe(value: object) -> str:
    """Describe an argument, for messages: dtype and shape of a tensor, else its type."""
    if isinstance(value, Tensor):
        return f"{str(value.dtype).removeprefix('torch.')} {tuple(value.shape)}"
    return type(value).__name__


def as_mask(mask: Mask | Tensor | None) -> Mask | None:
    """Return `mask` as a `Mask`: None and masks as they are, a bool tensor as `Dense`.

    Raises TypeError for anything else, float masks included.
    """
    if mask is None or isinstance(mask, Mask):
        return mask
    return Dense(mask)


def both(a: Mask | Tensor | None, b: Mask | Tensor | None) -> Mask | None:
    """Return `a & b`, where None allows everything."""
    a, b = as_mask(a), as_mask(b)
    if a is None or b is None:
        return a if b is None else b
    return a & b


def padding(mask: Tensor | Padding | None, tokens: Tensor, name: str) -> Padding | None:
    """Return the padding mask of `tokens` (B, S) from a bool tensor (B, S), True = real token; None
    and a `Padding` stay as they are. `name` is the argument's, for the message.

    Raises TypeError unless `mask` is bool, ValueError unless its shape is that of `tokens`, and
    when a sequence has no real token, which detects an inverted mask (True = padding) in every
    batch that is padded to its longest sequence.
    """
    if mask is None or isinstance(mask, Padding):
        return mask
    if not isinstance(mask, Tensor) or mask.dtype != torch.bool:
        raise TypeError(
            f"{name} must be a bool tensor (B, S), True = real token, such as tokens != pad; got "
            f"{describe(mask)}"
        )
    if mask.shape != tokens.shape or mask.ndim != 2:
        raise ValueError(
            f"{name} has shape {tuple(mask.shape)}, but the tokens have {tuple(tokens.shape)}; "
            "expected (B, S) for both"
        )
    empty = (~mask.any(dim=1)).nonzero().flatten().tolist()
    if empty:
        raise ValueError(
            f"{name} masks all tokens of sequence {empty[0]} ({len(empty)} such sequences). True "
            "means real token: invert the mask (~mask), or drop empty sequences"
        )
    return Padding(mask)
