"""What a decoder keeps from earlier steps: the keys and values of each layer call."""

from __future__ import annotations

from dataclasses import dataclass, field

import torch
from torch import Tensor


@dataclass(frozen=True, eq=False)
class Places:
    """Where the first `length` rows of a sequence stand: counted from 0, or as they were given."""

    length: int = 0
    given: Tensor | None = None  # integers (length,) or (B, length); None: 0, 1, 2 ...

    def after(self, positions: Tensor | None, T: int, device: torch.device) -> Tensor:
        """Return the positions of the next T rows, (T,) or (B, T): those given, or the numbers
        that follow the last one.
        """
        if positions is not None:
            return positions
        if self.given is None:
            return torch.arange(self.length, self.length + T, device=device)
        return self.given[..., -1:] + torch.arange(1, T + 1, device=device)

    def plus(self, positions: Tensor | None, T: int, device: torch.device) -> Places:
        """Return the places with T rows added, at `positions` or behind the last one."""
        length = self.length + T
        if positions is None and self.given is None:
            return Places(length)
        parts = [self.all(device), self.after(positions, T, device)]
        texts = [len(part) for part in parts if part.ndim == 2]
        parts = [part.expand(texts[0], -1) if texts and part.ndim == 1 else part for part in parts]
        return Places(length, torch.cat(parts, dim=-1))

    def all(self, device: torch.device) -> Tensor:
        """Return the positions of all rows, (length,) or (B, length)."""
        return torch.arange(self.length, device=device) if self.given is None else self.given

    def first(self, length: int) -> Places:
        """Return the first `length` places, or all where there are fewer."""
        length = min(length, self.length)
        return Places(
            length, None if self.given is None or not length else self.given[..., :length]
        )

    def of(self, index: Tensor) -> Places:
        """Return the places with row index[b] of the batch in row b."""
        if self.given is None or self.given.ndim == 1:
            return self
        return Places(self.length, self.given[index])


@dataclass
class Slot:
    """One layer call's memory: its own keys and values so far, and its cross-attention's, computed
    once. Beside them stand the places of the own keys, of the foreign ones, and of the queries
    that have asked these.
    """

    keys: Tensor | None = None
    values: Tensor | None = None
    length: int = 0
    cross: tuple[Tensor, Tensor] | None = None
    places: Places = field(default_factory=Places)
    cross_places: Places = field(default_factory=Places)
    asked: Places = field(default_factory=Places)

    def append(self, k: Tensor, v: Tensor) -> tuple[Tensor, Tensor]:
        """Add k and v (B, H, t, d_head) and return all of them so far, (B, H, length, d_head).

        Room is doubled when it runs out, so that a step copies nothing that is already there.
        Raises RuntimeError when gradients are asked for, ValueError when the batch changes.
        """
        if k.requires_grad or v.requires_grad:
            raise RuntimeError(
                "a KVCache serves decoding without gradients: wrap the call in torch.no_grad()"
            )
        end = self.length + k.shape[2]
        if self.keys is None or self.values is None or end > self.keys.shape[2]:
            self._grow(k, v, max(end, 2 * self.length, 16))
        assert self.keys is not None
        assert self.values is not None
        if self.keys.shape[0] != k.shape[0]:
            raise ValueError(
                f"the cache holds a batch of {self.keys.shape[0]}, this step has {k.shape[0]}: "
                "use one cache a batch, or reorder(index) to select rows"
            )
        self.keys[:, :, self.length : end] = k
        self.values[:, :, self.length : end] = v
        self.length = end
        return self.keys[:, :, :end], self.values[:, :, :end]

    def reorder(self, index: Tensor) -> None:
        """Let row b continue from row index[b]. Rows that stay where they are cost nothing."""
        for name in ("places", "cross_places", "asked"):
            setattr(self, name, getattr(self, name).of(index))
        if self.keys is not None and self.values is not None:
            self.keys = _reordered(self.keys, index, self.length)
            self.values = _reordered(self.values, index, self.length)
        if self.cross is not None:
            k, v = self.cross
            self.cross = (_reordered(k, index, k.shape[2]), _reordered(v, index, v.shape[2]))

    def crop(self, length: int) -> None:
        """Forget all own rows, and all queries to the foreign ones, after the first `length`."""
        self.length = min(length, self.length)
        self.places, self.asked = self.places.first(length), self.asked.first(length)

    def _grow(self, k: Tensor, v: Tensor, capacity: int) -> None:
        for name, new in (("keys", k), ("values", v)):
            old = getattr(self, name)
            room = new.new_empty(*new.shape[:2], capacity, new.shape[3])
            if old is not None:
                room = new.new_empty(old.shape[0], old.shape[1], capacity, old.shape[3])
                room[:, :, : self.length] = old[:, :, : self.length]
            setattr(self, name, room)


def _reordered(rows: Tensor, index: Tensor, length: int) -> Tensor:
    """Return rows (B, H, >= length, d) with row index[b] in place b: in place where the number of
    rows stays, and then only the first `length` of each, and only what moves.
    """
    if len(index) != len(rows):
        return rows[index]
    moved = (index != torch.arange(len(index), device=index.device)).nonzero()[:, 0]
    used = rows[:, :, :length]
    used[moved] = used.index_select(0, index[moved])
    return rows


@dataclass
class KVCache:
    """A list of slots, one a layer call; the stack passes the index, so that shared blocks do not
    collide.
    """

    slots: list[Slot] = field(default_factory=list)

    def __getitem__(self, index: int) -> Slot:
        """Return slot `index`, making it on the first call."""
        while len(self.slots) <= index:
            self.slots.append(Slot())
        return self.slots[index]

    @property
    def length(self) -> int:
        """The number of tokens decoded so far."""
        return self.slots[0].length if self.slots else 0

    def reorder(self, index: Tensor) -> None:
        """Let row b of the batch continue from row index[b]: beams are kept, dropped and doubled
        this way.
        """
        for slot in self.slots:
            slot.reorder(index)

    def crop(self, length: int) -> None:
        """Forget all tokens after the first `length`. Raises ValueError when there are fewer."""
        if not 0 <= length <= self.length:
            raise ValueError(
                f"length must lie between 0 and {self.length}, the tokens in the cache; got "
                f"{length}"
            )
        for slot in self.slots:
            slot.crop(length)


@dataclass
class DecodingState:
    """What decoding carries from step to step: the cache, and the encoder's states with their
    mask.
    """

    cache: KVCache
    memory: Tensor | None = None
    memory_mask: Tensor | None = None

    def reorder(self, index: Tensor) -> None:
        """Let row b continue from row index[b]; the number of rows may change."""
        self.cache.reorder(index)
        if self.memory is not None:
            self.memory = self.memory.index_select(0, index)
        if self.memory_mask is not None:
            self.memory_mask = self.memory_mask.index_select(0, index)

    def crop(self, length: int) -> None:
        """Forget all target tokens after the first `length`."""
        self.cache.crop(length)
