"""Key-value cache for decoding: the keys and values of each layer call."""

from __future__ import annotations

from dataclasses import dataclass, field

import torch
from torch import Tensor

from deepdive.core.masks import Padding


@dataclass
class Slot:
    """One layer call's keys and values so far, (B, H, length, d_head), and its memory's, computed
    once. `part(name)` is the slot of a second sublayer that caches states of its own.
    """

    keys: Tensor | None = None
    values: Tensor | None = None
    length: int = 0
    memory: tuple[Tensor, Tensor] | None = None
    parts: dict[str, Slot] = field(default_factory=dict)

    def part(self, name: str) -> Slot:
        """Return the slot of this name, making it on the first call."""
        return self.parts.setdefault(name, Slot())

    def append(self, k: Tensor, v: Tensor) -> tuple[Tensor, Tensor]:
        """Add k and v (B, H, t, d_head) and return all of them so far, (B, H, length, d_head).

        The buffer doubles when it is full, so that most steps copy none of the earlier keys.
        Raises RuntimeError when gradients are recorded, ValueError when the batch changes.
        """
        if k.requires_grad or v.requires_grad:
            raise RuntimeError(
                "a KVCache is for decoding without gradients: wrap the call in torch.no_grad()"
            )
        end = self.length + k.shape[2]
        if self.keys is None or self.values is None or end > self.keys.shape[2]:
            self._grow(k, v, max(end, 2 * self.length, 16))
        assert self.keys is not None
        assert self.values is not None
        if self.keys.shape[0] != k.shape[0]:
            raise ValueError(
                f"the cache has a batch of {self.keys.shape[0]}, this step has {k.shape[0]}: use "
                "one cache per batch, or reorder(index) to select sequences"
            )
        self.keys[:, :, self.length : end] = k
        self.values[:, :, self.length : end] = v
        self.length = end
        return self.keys[:, :, :end], self.values[:, :, :end]

    def reorder(self, index: Tensor) -> None:
        """Let sequence b continue from sequence index[b]. Those that stay cost nothing."""
        if self.keys is not None and self.values is not None:
            self.keys = _reorder(self.keys, index, self.length)
            self.values = _reorder(self.values, index, self.length)
        if self.memory is not None:
            k, v = self.memory
            self.memory = (_reorder(k, index, k.shape[2]), _reorder(v, index, v.shape[2]))
        for part in self.parts.values():
            part.reorder(index)

    def crop(self, length: int) -> None:
        """Drop all positions after the first `length`; those of the memory stay."""
        self.length = min(length, self.length)
        for part in self.parts.values():
            part.crop(length)

    def _grow(self, k: Tensor, v: Tensor, capacity: int) -> None:
        for name, new in (("keys", k), ("values", v)):
            old = getattr(self, name)
            buffer = new.new_empty(*new.shape[:2], capacity, new.shape[3])
            if old is not None:
                buffer = new.new_empty(old.shape[0], old.shape[1], capacity, old.shape[3])
                buffer[:, :, : self.length] = old[:, :, : self.length]
            setattr(self, name, buffer)


def _reorder(states: Tensor, index: Tensor, length: int) -> Tensor:
    """Return states (B, H, >= length, d) with sequence index[b] at b: in place where the batch size
    stays, and then only the first `length` positions, and only of sequences that move.
    """
    if len(index) != len(states):
        return states[index]
    moved = (index != torch.arange(len(index), device=index.device)).nonzero()[:, 0]
    used = states[:, :, :length]
    used[moved] = used.index_select(0, index[moved])
    return states


@dataclass
class KVCache:
    """A list of slots, one per layer call; the stack passes the index, so that shared blocks do not
    collide. It stores keys, values, and their number: positions are passed at each call.
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
        """Let sequence b of the batch continue from sequence index[b], as beam search keeps, drops,
        and duplicates hypotheses.
        """
        for slot in self.slots:
            slot.reorder(index)

    def crop(self, length: int) -> None:
        """Drop all tokens after the first `length`. Raises ValueError when there are fewer."""
        if not 0 <= length <= self.length:
            raise ValueError(
                f"length must be between 0 and {self.length}, the tokens in the cache; got {length}"
            )
        for slot in self.slots:
            slot.crop(length)


@dataclass
class DecodingState:
    """The state of decoding between steps: the cache, and the encoder's states with their mask."""

    cache: KVCache
    memory: Tensor | None = None
    memory_mask: Padding | None = None

    def reorder(self, index: Tensor) -> None:
        """Let sequence b continue from sequence index[b]; the batch size may change."""
        self.cache.reorder(index)
        if self.memory is not None:
            self.memory = self.memory.index_select(0, index)
        if self.memory_mask is not None:
            self.memory_mask = self.memory_mask.reorder(index)

    def crop(self, length: int) -> None:
        """Drop all target tokens after the first `length`."""
        self.cache.crop(length)
