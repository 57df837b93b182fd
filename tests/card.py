"""A graphics card that is not there: tensors on the device `card`, whose numbers lie in memory.

An operation on one of them and on a tensor elsewhere raises `Mixed`, as it does with a real card:
a part that makes a tensor and forgets the device is found without one. Results are those of the
CPU. It follows forward passes only: gradients on a card need one.
"""

from __future__ import annotations

import sys
from collections.abc import Callable, Mapping, Sequence
from typing import Any

import torch
from torch import Tensor
from torch.overrides import TorchFunctionMode
from torch.utils._device import _device_constructors
from torch.utils._python_dispatch import TorchDispatchMode
from torch.utils._pytree import tree_leaves, tree_map
from torch.utils.backend_registration import _setup_privateuseone_for_python_backend

NAME = "card"
Named = Mapping[str, Any]
MAKERS = _device_constructors()  # torch.zeros and its like
# What takes tensors of two devices: copies, an index from the CPU, and lengths, which must be
# there.
BOTH = ("aten::copy_", "aten::_to_copy", "aten::index", "aten::_pack_padded_sequence")
# Torch chooses their kernels by a table of devices, in which this one does not stand.
WHOLE = (torch.gru, torch.lstm, torch.rnn_tanh, Tensor.__getitem__, Tensor.__setitem__)

if not torch.cuda.is_available():  # torch counts on one accelerator
    _setup_privateuseone_for_python_backend(NAME)  # type: ignore[no-untyped-call]


class Mixed(RuntimeError):
    """Tensors of two devices met."""


class OnCard(Tensor):
    """A tensor on the card; `here` has its numbers."""

    here: Tensor

    @staticmethod
    def __new__(cls, here: Tensor) -> OnCard:
        made = Tensor._make_wrapper_subclass(  # type: ignore[attr-defined]
            cls, here.shape, strides=here.stride(), storage_offset=here.storage_offset(),
            dtype=here.dtype, device=torch.device(NAME, 0),
        )  # fmt: skip
        made.here = here
        return made  # type: ignore[no-any-return]

    def __repr__(self, **settings: Any) -> str:
        return f"OnCard({self.here})"

    @classmethod
    def __torch_function__(cls, func: Any, types: Any, args: Any = (), kwargs: Any = None) -> Any:
        if func is Tensor.tolist:
            return args[0].here.tolist()
        if func in WHOLE:
            return _on_cpu(func, args, kwargs or {}, card=True)
        with torch._C.DisableTorchFunctionSubclass():
            return func(*args, **(kwargs or {}))

    @classmethod
    def __torch_dispatch__(cls, func: Any, types: Any, args: Any = (), kwargs: Any = None) -> Any:
        return _compute(func, args, kwargs or {})


class Card(TorchDispatchMode):
    """While it holds, what is asked for on the device `card` is made there."""

    def __torch_dispatch__(self, func: Any, types: Any, args: Any = (), kwargs: Any = None) -> Any:
        return _compute(func, args, kwargs or {})


class MadeByTests(TorchFunctionMode):
    """While it holds, what code of the tests makes is on `device`, and what the library makes is
    where the library says.
    """

    def __init__(self, device: str) -> None:
        super().__init__()
        self.device = device

    def __torch_function__(self, func: Any, types: Any, args: Any = (), kwargs: Any = None) -> Any:
        kwargs = dict(kwargs or {})
        placed = "device" in kwargs
        # `torch.tensor` is no operation: it is made here, and moved.
        wanted = kwargs.pop("device", None) if func in (torch.tensor, torch.as_tensor) else None
        found = func(*args, **kwargs)
        if wanted is not None:
            return found.to(wanted)
        ours = "/tests/" in sys._getframe(1).f_code.co_filename
        return found.to(self.device) if func in MAKERS and ours and not placed else found


def _compute(func: Any, args: Sequence[Any], kwargs: Named) -> Any:
    tensors = [t for t in tree_leaves((args, kwargs)) if isinstance(t, Tensor)]
    there = [isinstance(t, OnCard) for t in tensors if t.ndim]
    name, wanted = func._schema.name, kwargs.get("device")
    if name not in BOTH and len(set(there)) > 1:
        met = ", ".join(f"{tuple(t.shape)} on {t.device.type}" for t in tensors)
        raise Mixed(f"{name}: {met}; make the one on the device of the other, device=x.device")
    card = any(isinstance(t, OnCard) for t in tensors) if wanted is None else wanted.type == NAME
    if name == "aten::copy_":
        card = isinstance(args[0], OnCard)
    if wanted is not None:
        kwargs = {**kwargs, "device": torch.device("cpu")}
    found = _on_cpu(func, args, kwargs, card)
    # How many rows a packed batch has at each place stays on the CPU.
    return (found[0], found[1].here) if card and name == "aten::_pack_padded_sequence" else found


def _on_cpu(func: Callable[..., Any], args: Sequence[Any], kwargs: Named, card: bool) -> Any:
    """Call with the numbers; put the result on the card, in place where it was changed in place."""
    same = {id(t.here): t for t in tree_leaves((args, kwargs)) if isinstance(t, OnCard)}
    bare_args, bare_kwargs = tree_map(
        lambda x: x.here if isinstance(x, OnCard) else x, (tuple(args), dict(kwargs))
    )
    found = func(*bare_args, **bare_kwargs)

    def back(x: Any) -> Any:
        if not isinstance(x, Tensor):
            return x
        return same[id(x)] if id(x) in same else OnCard(x)

    return tree_map(back, found) if card else found
