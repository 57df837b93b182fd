"""The inputs of a layer besides its states (masks, positions, memory, cache), in one record."""

from __future__ import annotations

from dataclasses import dataclass, fields, replace
from typing import Any, ClassVar

from torch import Tensor, nn

from deepdive.core.cache import KVCache, Slot
from deepdive.core.masks import Mask, describe


@dataclass(frozen=True, eq=False)
class Context:
    """The inputs of a layer besides its states x (B, T, d_model); None: absent.

    mask              which states of x a query may attend to
    bias              added to the scores, broadcastable to (B, H, T, S)
    positions         integers (T,) or (B, T), those of x; with a cache also those of all S states
                      so far, (S,) or (B, S). By default they count from the cache's length
    memory            states for cross-attention (B, S, d_context), such as an encoder's output
    memory_mask       which states of the memory a query may attend to
    memory_positions  integers (S,) or (B, S); by default they count from 0
    global_tokens     bool (B, T), tokens that attend to all and are attended to by all (Longformer)
    cache             keys and values of earlier calls: a `KVCache` for a stack, of which each
                      layer gets its `Slot`
    """

    mask: Mask | Tensor | None = None
    bias: Tensor | None = None
    positions: Tensor | None = None
    memory: Tensor | None = None
    memory_mask: Mask | Tensor | None = None
    memory_positions: Tensor | None = None
    global_tokens: Tensor | None = None
    cache: KVCache | Slot | None = None

    @property
    def slot(self) -> Slot | None:
        """This layer's part of the cache. Raises TypeError for the cache of a whole stack."""
        if isinstance(self.cache, KVCache):
            raise TypeError(
                "cache is a KVCache, which is for a stack: pass one of its slots to a layer"
            )
        return self.cache

    def for_layer(self, i: int) -> Context:
        """Return the context of layer call i: with its own slot of the cache."""
        if self.cache is None:
            return self
        if isinstance(self.cache, Slot):
            raise TypeError("cache is a Slot, which is for one layer: pass a KVCache to a stack")
        return replace(self, cache=self.cache[i])

    def without_memory(self) -> Context:
        """Return the context for self-attention, without the memory."""
        if self.memory is None:
            return self
        return replace(self, memory=None, memory_mask=None, memory_positions=None)

    def of_memory(self) -> Context:
        """Return the context for cross-attention, which attends only to the memory."""
        return replace(self, mask=None, bias=None, global_tokens=None)

    def sources(self, x: Tensor) -> tuple[Tensor, Mask | Tensor | None, Tensor | None]:
        """Return the states that keys and values are projected from, their mask, and their
        positions: those of the memory if there is one, else those of x.
        """
        if self.memory is None:
            return x, self.mask, self.positions
        return self.memory, self.memory_mask, self.memory_positions


FIELDS = tuple(field.name for field in fields(Context))
EMPTY = Context()


class Layer(nn.Module):
    """Base class of modules whose inputs are states and a `Context`.

    A layer is called with the fields of a `Context` by name, `layer(x, mask=Causal())`, or with
    the context that its caller received. Its `forward(x, context)` returns (B, T, d_model).

    reads    the fields that it honors; any other raises ValueError, so none is ever ignored
    instead  what to do about such a field, for the message
    """

    reads: ClassVar[tuple[str, ...]] = FIELDS
    instead: ClassVar[str] = "do not pass it"
    unread: ClassVar[tuple[str, ...]] = ()

    def __init_subclass__(cls, **kwargs: Any) -> None:
        super().__init_subclass__(**kwargs)
        cls.unread = tuple(name for name in FIELDS if name not in cls.reads)

    def __call__(self, x: Tensor, context: Context | None = None, **kwargs: Any) -> Any:
        """Return forward(x, context), where keyword fields replace those of the context."""
        if context is None:
            context = Context(**kwargs) if kwargs else EMPTY
        elif not isinstance(context, Context):
            raise TypeError(
                f"{type(self).__name__} takes a Context after x; got {describe(context)}. States "
                "to attend to are memory=, a mask is mask="
            )
        elif kwargs:
            context = replace(context, **kwargs)
        for name in self.unread:
            if getattr(context, name) is not None:
                raise ValueError(f"{name}: {type(self).__name__} cannot honor it; {self.instead}")
        return super().__call__(x, context)

    def forward(self, x: Tensor, context: Context) -> Tensor:
        """Return the states (B, T, d_model) for x (B, T, d_model)."""
        raise NotImplementedError
