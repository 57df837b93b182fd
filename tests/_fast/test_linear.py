"""The linear layer's other kernel: where it runs, and that it computes the same."""

from __future__ import annotations

from collections.abc import Callable

import pytest
import torch
from torch import Tensor
from torch.profiler import ProfilerActivity, profile

from deepdive._fast.optimize import LARGE_PRODUCT, FastLinear
from deepdive_book.kit.flops import count_flops

ROWS = -(-LARGE_PRODUCT // (128 * 256))
KINDS: dict[str, Callable[[], Tensor]] = {
    "plain": lambda: torch.randn(2, ROWS, 128),
    "one row": lambda: torch.randn(ROWS, 128),
    "columns first": lambda: torch.randn(128, ROWS).T,
    "batch second": lambda: torch.randn(ROWS, 2, 128).transpose(0, 1),
    "expanded": lambda: torch.randn(1, 1, 128).expand(2, ROWS, 128),
    "every second column": lambda: torch.randn(ROWS, 256)[:, ::2],
}


def kernels(call: Callable[[], object]) -> set[str]:
    with profile(activities=[ProfilerActivity.CPU]) as seen:
        call()
    return {event.key for event in seen.key_averages()}


def other_kernel(layer: FastLinear, x: Tensor) -> bool:
    return "mkldnn::_linear_pointwise" in kernels(lambda: layer(x))


@pytest.mark.parametrize("bias", [True, False])
@pytest.mark.parametrize("kind", KINDS)
def test_large_products_without_gradients_are_the_same(kind: str, bias: bool) -> None:
    layer, x = FastLinear(128, 256, bias=bias), KINDS[kind]()
    expected = layer(x)
    for mode in (torch.no_grad(), torch.inference_mode()):
        with mode:
            found = layer(x)
        assert found.shape == expected.shape
        assert (found - expected).abs().max() < 1e-5
        assert not found.requires_grad


@pytest.mark.skipif(not torch.backends.mkldnn.is_available(), reason="this torch has no oneDNN")
def test_where_the_other_kernel_runs() -> None:
    layer, x = FastLinear(128, 256), torch.randn(ROWS, 128)
    assert not other_kernel(layer, x)  # gradients are wanted
    with torch.no_grad():
        assert other_kernel(layer, x)
        assert not other_kernel(layer, x[:-1])  # too small
        assert not other_kernel(layer.double(), x.double())
        assert not other_kernel(layer.bfloat16(), x.bfloat16())
        with torch.autocast("cpu"):
            assert layer.float()(x).dtype == torch.bfloat16
        with pytest.raises(RuntimeError, match=r"mat1 and mat2 shapes|expected"):
            layer(torch.randn(2 * ROWS, 127))


def test_its_operations_are_counted() -> None:
    layer, x = FastLinear(128, 256), torch.randn(ROWS, 128)
    expected = count_flops(lambda: layer(x))
    assert expected == 2 * ROWS * 128 * 256
    with torch.no_grad():
        assert count_flops(lambda: layer(x)) == expected
