"""What a model asks of a machine, computed before anything is downloaded: on torch's meta device
tensors have sizes and no numbers, so that the largest model is run through in seconds.
"""

from __future__ import annotations

import weakref
from collections.abc import Callable, Sequence
from typing import Any, NamedTuple

import torch
from torch import Tensor, nn
from torch.utils._python_dispatch import TorchDispatchMode
from torch.utils._pytree import tree_leaves

from deepdive_book.kit.flops import count_flops


class Demands(NamedTuple):
    """parameters, their number; operations, of the products of one reading (`count_flops`); memory,
    the most bytes at one time while it reads, in float32, the parameters among them.
    """

    parameters: int
    operations: int
    memory: int


def resource_estimate(
    build: Callable[[], nn.Module], inputs: Callable[[], Sequence[Tensor]]
) -> Demands:
    """Return what one reading, without gradients, asks of a machine.

    build, inputs  make the model and what it reads; both are called on the meta device

    Attention counts as written out, with its weights (T, S) in memory: where a fused kernel runs,
    less is needed. What kernels use inside is not counted.

    >>> linear = lambda: nn.Linear(4, 5)
    >>> resource_estimate(linear, lambda: [torch.ones(3, 4)])
    Demands(parameters=25, operations=120, memory=208)
    """
    with torch.device("meta"), torch.no_grad():
        model = build().eval()
        given = inputs()
        held = {each.untyped_storage()._cdata: each for each in [*model.parameters(), *given]}
        live = _Live(sum(each.untyped_storage().nbytes() for each in held.values()))
        with live:
            operations = count_flops(lambda: model(*given))
    return Demands(sum(p.numel() for p in model.parameters()), operations, live.most)


class _Live(TorchDispatchMode):
    """Counts the bytes of the tensors that are alive. Whether numbers are as they should be, where
    there are none, is answered with yes.
    """

    def __init__(self, held: int) -> None:
        super().__init__()  # type: ignore[no-untyped-call]
        self.now = self.most = held
        self.known: set[int] = set()

    def __torch_dispatch__(
        self, function: Any, types: Any, args: Any = (), kwargs: Any = None
    ) -> Any:
        if function is torch.ops.aten._local_scalar_dense.default:
            return True
        before = {_key(each) for each in tree_leaves((args, kwargs)) if isinstance(each, Tensor)}
        found = function(*args, **(kwargs or {}))
        for each in tree_leaves(found):
            if isinstance(each, Tensor) and _key(each) not in before | self.known:
                self._enter(each.untyped_storage(), _key(each))
        return found

    def _enter(self, storage: torch.UntypedStorage, key: int) -> None:
        size = storage.nbytes()
        self.known.add(key)
        self.now += size
        self.most = max(self.most, self.now)
        weakref.finalize(storage, self._leave, key, size)

    def _leave(self, key: int, size: int) -> None:
        self.known.discard(key)
        self.now -= size


def _key(tensor: Tensor) -> int:
    return tensor.untyped_storage()._cdata
