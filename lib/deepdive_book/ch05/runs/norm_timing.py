"""Time of RMSNorm as a fraction of layer normalization's, measured in one run. Page 5.15.

row = measure(512, "forward", "torch", repetitions=30)       # {"ratios": [...], ...}
"""

import time
from collections.abc import Callable, Sequence
from typing import Any

import torch
import torch.nn.functional as F
from torch import Tensor

from deepdive_book.kit.experiments import load_rows, results_path, sweep
from deepdive_book.kit.profile import profile

TOKENS, CALLS, REPETITIONS = 512, 40, 30
WIDTHS = (64, 512)
PASSES = ("forward", "forward and backward")
KINDS = ("torch", "written out")  # torch's functions, or the equations in tensor operations
Norm = Callable[[Tensor, Tensor, Tensor], Tensor]


def layer_norm(x: Tensor, weight: Tensor, bias: Tensor) -> Tensor:
    """Return layer normalization in tensor operations."""
    deviation = x - x.mean(-1, keepdim=True)
    variance = deviation.square().mean(-1, keepdim=True)
    return weight * deviation * torch.rsqrt(variance + 1e-5) + bias


def rms_norm(x: Tensor, weight: Tensor, _bias: Tensor) -> Tensor:
    """Return RMSNorm in tensor operations."""
    return weight * x * torch.rsqrt(x.square().mean(-1, keepdim=True) + 1e-5)


NORMS: dict[str, tuple[Norm, Norm]] = {
    "torch": (
        lambda x, w, _b: F.rms_norm(x, w.shape, w, 1e-5),
        lambda x, w, b: F.layer_norm(x, w.shape, w, b, 1e-5),
    ),
    "written out": (rms_norm, layer_norm),
}


def seconds(norm: Norm, x: Tensor, backward: bool, calls: int) -> float:
    """Return the processor time of `calls` calls on x (tokens, width)."""
    weight, bias = (torch.full((x.shape[1],), each, requires_grad=backward) for each in (1.0, 0.0))
    x = x.requires_grad_(backward)
    start = time.process_time()
    for _ in range(calls):
        y = norm(x, weight, bias)
        if backward:
            y.sum().backward()
    return time.process_time() - start


def measure(width: int, passes: str, kind: str, repetitions: int = REPETITIONS) -> dict[str, Any]:
    """Return RMSNorm's time divided by layer normalization's, once per repetition.

    Each repetition times both, one right after the other, and which comes first alternates.
    """
    x, backward = torch.randn(TOKENS, width), passes != "forward"
    rms, layer = NORMS[kind]
    ratios = []
    for repetition in range(-2, repetitions):  # two to warm up
        order = (rms, layer) if repetition % 2 else (layer, rms)
        took = {norm: seconds(norm, x, backward, CALLS) for norm in order}
        if repetition >= 0:
            ratios.append(took[rms] / took[layer])
    return {"ratios": [round(each, 4) for each in ratios]}


def load(points: Sequence[dict[str, Any]] = ()) -> list[dict[str, Any]]:
    """Return the saved times; in the profile `experiment` measure the missing ones first."""
    path = results_path("05_efficient", "norm_timing")
    if profile() == "experiment":
        sweep(measure, points or [
            {"kind": kind, "width": width, "passes": passes}
            for kind in KINDS for width in WIDTHS for passes in PASSES
        ], path)  # fmt: skip
    return load_rows(path)
