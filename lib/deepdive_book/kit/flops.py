"""Floating-point operations, counted as they run, in the kernels that torch's counter skips too."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from math import prod
from typing import Any

import torch
from torch.utils.flop_counter import FlopCounterMode

Shape = Sequence[int]


def _attention(q: Shape, k: Shape, v: Shape, *_: Any, **__: Any) -> int:
    rows, keys = prod(q[:-1]), k[-2]  # B * H * T, S
    return 2 * rows * keys * q[-1] + 2 * rows * keys * v[-1]


def _attention_backward(_grad: Shape, q: Shape, k: Shape, v: Shape, *_: Any, **__: Any) -> int:
    """Scores again, then the gradients of weights, v, q and k: five products."""
    rows, keys = prod(q[:-1]), k[-2]
    return 2 * rows * keys * (3 * q[-1] + 2 * v[-1])


def _linear(x: Shape, weight: Shape, *_: Any, **__: Any) -> int:
    return 2 * prod(x) * weight[0]


def _recurrent_cpu(x: Shape, w_input: Shape, w_hidden: Shape, *_: Any, **__: Any) -> int:
    return 2 * prod(x[:2]) * (prod(w_input) + prod(w_hidden))


def _recurrent_cuda(x: Shape, weights: Sequence[Shape], *_: Any, **__: Any) -> int:
    tokens = prod(x[:-1])  # (T, B, d), or (tokens, d) when packed
    return 2 * tokens * sum(prod(w) for w in weights if len(w) == 2)


def _twice(count: Callable[..., int]) -> Callable[..., int]:
    """Return a count of the backward pass: one product for the input's, one for the weight's."""

    def backward(*shapes: Any, **more: Any) -> int:
        return 2 * count(*shapes, **more)

    return backward


def _vector(a: Shape, *_: Any, **__: Any) -> int:
    return 2 * prod(a)


def _formulas() -> dict[Any, Any]:
    """Return operation -> count from its arguments' shapes, where this torch has the operation."""
    wanted: dict[str, Callable[..., int]] = {
        "_scaled_dot_product_flash_attention_for_cpu": _attention,
        "_scaled_dot_product_flash_attention_for_cpu_backward": _attention_backward,
        "mkldnn_rnn_layer": _recurrent_cpu,
        "mkldnn_rnn_layer_backward": _twice(_recurrent_cpu),
        "_cudnn_rnn": _recurrent_cuda,
        "_cudnn_rnn_backward": _twice(_recurrent_cuda),
        "mv": _vector,
        "dot": _vector,
    }
    aten, onednn = torch.ops.aten, torch.ops.mkldnn
    found = {getattr(aten, name): count for name, count in wanted.items() if hasattr(aten, name)}
    if hasattr(onednn, "_linear_pointwise"):  # `deepdive._fast.optimize`
        found[onednn._linear_pointwise] = _linear
    return found


class _Whole:
    """In the place of torch's tracker of modules: the whole is counted, and no part. That tracker
    stops at a view of a parameter that was made without gradients.
    """

    parents = frozenset({"Global"})

    def __enter__(self) -> _Whole:
        return self

    def __exit__(self, *_: object) -> None:
        pass


@contextmanager
def counting() -> Iterator[FlopCounterMode]:
    """Count what runs inside; the yielded counter's `get_total_flops()` is the count so far."""
    fast = torch.backends.mha.get_fastpath_enabled()
    torch.backends.mha.set_fastpath_enabled(False)  # torch's encoder fused whole, in eval mode
    try:
        counter = FlopCounterMode(display=False, custom_mapping=_formulas())
        counter.mod_tracker = _Whole()  # type: ignore[assignment]
        with counter:
            yield counter
    finally:
        torch.backends.mha.set_fastpath_enabled(fast)


def count_flops(call: Callable[[], Any]) -> int:
    """Run `call()` once and return the floating-point operations of its products.

    A product of (m, k) and (k, n) counts 2 * m * k * n; counted are matrix products, convolutions,
    attention and recurrent kernels, forward and backward. Elementwise work (norms, softmax,
    activations, the optimizer) and look-ups are not. A causal mask saves nothing in the count.
    `call` has its effects: gradients are left, random numbers are drawn.

    >>> count_flops(lambda: torch.ones(3, 4) @ torch.ones(4, 5))
    120
    """
    with counting() as counter:
        call()
    return int(counter.get_total_flops())
