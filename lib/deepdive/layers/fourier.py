"""Fourier mixing (FNet): a Fourier transform in place of attention, without parameters."""

from typing import Any

import torch
from torch import Tensor

from deepdive.attention.structure import read_mask
from deepdive.core.checks import positive
from deepdive.core.context import Context, Layer


class Fourier(torch.autograd.Function):
    """y = Re(DFT over positions (DFT over width (x))), x (B, T, d).

        y[t, c] = sum over s, e of cos(2 pi (t s / T + c e / d)) x[s, e]

    The cosine is the same with (t, c) and (s, e) exchanged: the map is its own transpose, so
    backward is forward. x is real, so half of the columns are computed; y[t, d - c] = y[T - t, c].
    """

    @staticmethod
    def forward(ctx: Any, x: Tensor) -> Tensor:
        """Return (B, T, d)."""
        return transform(x)

    @staticmethod
    def backward(ctx: Any, *grads: Tensor) -> Tensor:
        """Return the gradient of x."""
        return transform(grads[0])


def fourier(x: Tensor) -> Tensor:
    """Return y of `Fourier`, differentiable."""
    y: Tensor = Fourier.apply(x)  # type: ignore[no-untyped-call]
    return y


def transform(x: Tensor) -> Tensor:
    """Return y of `Fourier`; computed in float32 for half precision."""
    precise = x.float() if x.dtype in (torch.float16, torch.bfloat16) else x
    half = torch.fft.rfftn(precise, dim=(1, 2)).real  # (B, T, d // 2 + 1)
    mirrored = half[:, :, 1 : (x.shape[2] + 1) // 2].flip(2)
    mirrored = torch.cat([mirrored[:, :1], mirrored[:, 1:].flip(1)], dim=1)
    return torch.cat([half, mirrored], dim=2).to(x.dtype)


class FourierMixing(Layer):
    """y = Re(DFT over positions (DFT over width (x))): mixes all positions, without weights.

    It costs O(log(T d)) operations for each of the T d numbers.

    Honours `Padding`: the real tokens of a text are transformed as that text alone, one length
    after the other, and outputs at padding are 0. (The published model has no mask: there, padding
    is text.) Refuses `Causal` and every other mask, a memory, a bias and a cache: each output
    depends on every position. No weights exist that `record` could show.

    Source: Lee-Thorp et al. 2022 (FNet), section 3.2, equation 3.
    """

    reads = ("mask", "positions")
    instead = (
        "a Fourier transform mixes all positions of a sequence: it has no scores for a bias, and a "
        "memory or a cache needs MultiHeadAttention"
    )

    def __init__(self, d_model: int) -> None:
        super().__init__()
        positive(d_model=d_model)
        self.d_model = d_model

    def extra_repr(self) -> str:
        return f"d_model={self.d_model}"

    def forward(self, x: Tensor, context: Context) -> Tensor:
        """Return (B, T, d_model) for x (B, T, d_model). Positions count from the start of the
        text; others change nothing.
        """
        if x.ndim != 3 or x.shape[-1] != self.d_model or 0 in x.shape:
            raise ValueError(f"x must be (B, T, {self.d_model}), not empty; got {tuple(x.shape)}")
        instead = "Use MultiHeadAttention, which supports every mask"
        keys = x.unsqueeze(1)
        real, _ = read_mask(context.mask, keys, "FourierMixing", causal=False, instead=instead)
        if real is None:
            return fourier(x)
        y, lengths = torch.zeros_like(x), real.sum(1)
        for n in lengths[lengths > 0].unique().tolist():
            same_length = real & (lengths == n).unsqueeze(1)
            y[same_length] = fourier(x[same_length].view(-1, n, self.d_model)).flatten(0, 1)
        return y
