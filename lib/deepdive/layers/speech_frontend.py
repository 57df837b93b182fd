"""The front end of wav2vec 2.0: a convolutional feature encoder, and positional convolutions."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import torch
import torch.nn.functional as F
from torch import Tensor, nn

from deepdive.core.checks import each_at_least, real_input
from deepdive.core.feed_forward import Activation
from deepdive.core.norms import LayerNorm


class ChannelNorm(LayerNorm):
    """Layer norm of (B, C, T) over the channels, at each time step. The output is contiguous as the
    input: that speeds the next convolution up by more than this copy takes.
    """

    def forward(self, x: Tensor) -> Tensor:
        return super().forward(x.transpose(1, 2)).transpose(1, 2).contiguous()


def layer_norms(layer: int, width: int) -> nn.Module:
    """Return the norm of a convolution: over the channels at each time step, in every layer."""
    return ChannelNorm(width)


def group_norm_first(layer: int, width: int) -> nn.Module:
    """Return the norm of a convolution: each channel of the first layer over the full recording,
    padding included; later layers have none.
    """
    return nn.GroupNorm(width, width) if layer == 0 else nn.Identity()


class FeatureEncoder(nn.Module):
    """x = activation(norm_l(W_l * x)), layer after layer, without padding: sound -> features.

    Layer l has the kernel `kernels[l]`, the stride `strides[l]`, and `widths[l]` channels. The
    input has `channels` numbers per step: 1 of a waveform (B, n), whose axis may be left out, 13 of
    cepstra (B, n, 13). The same convolutions encode all, so that only `channels`, kernels and
    strides differ.
    Source: Baevski et al. 2020, section 2 (feature encoder) and 4.2.
    """

    def __init__(self, config: Any) -> None:
        super().__init__()
        shapes = list(zip(config.widths, config.kernels, config.strides, strict=True))
        self.channels, self.steps = config.channels, [(k, s) for _, k, s in shapes]
        self.activation: Activation = config.convolution_activation
        self.convolutions, self.norms = nn.ModuleList(), nn.ModuleList()
        d_in = config.channels
        for layer, (width, kernel, stride) in enumerate(shapes):
            convolution = nn.Conv1d(d_in, width, kernel, stride, bias=config.convolution_bias)
            nn.init.kaiming_normal_(convolution.weight)
            self.convolutions.append(convolution)
            self.norms.append(config.norms(layer, width))
            d_in = width

    @property
    def reach(self) -> int:
        """The receptive field of one output, in steps of the sound."""
        reach, stride = 1, 1
        for kernel, step in self.steps:
            reach, stride = reach + (kernel - 1) * stride, stride * step
        return reach

    def rows(self, n: int) -> int:
        """Return the number of outputs for n steps."""
        for kernel, stride in self.steps:
            n = (n - kernel) // stride + 1 if n >= kernel else 0
        return n

    def real(self, steps: Tensor) -> Tensor:
        """Return which outputs are real, bool (B, T): those with only real steps, bool (B, n)."""
        for kernel, stride in self.steps:
            steps = steps.unfold(1, kernel, stride).all(-1)
        return steps

    def forward(self, sound: Tensor) -> Tensor:
        """Return features (B, T, widths[-1]) of sound (B, n) or (B, n, channels)."""
        shape = f"(B, n) or (B, n, {self.channels})"
        real_input("sound", sound, shape, "divide 16-bit samples by 32768")
        x = sound[..., None] if sound.ndim == 2 else sound
        if x.ndim != 3 or x.shape[-1] != self.channels:
            raise ValueError(
                f"sound: got {tuple(sound.shape)}, expected (B, n) or (B, n, {self.channels})"
            )
        if x.shape[1] < self.reach:
            raise ValueError(
                f"sound: got {x.shape[1]} samples, expected at least {self.reach} (one frame); pad"
            )
        x = sound[:, None] if sound.ndim == 2 else sound.mT  # (B, channels, n)
        for convolution, norm in zip(self.convolutions, self.norms, strict=True):
            x = self.activation(norm(convolution(x)))
        return x.transpose(1, 2)


class ConvPositionalEmbedding(nn.Module):
    """activation(W * x), a grouped convolution over `width` positions around each; its zero padding
    marks the ends.

        W[:, :, j] = gain[j] V[:, :, j] / |V[:, :, j]|          # a norm for each distance j

    Source: Baevski et al. 2020, section 2; Salimans and Kingma 2016 (weight normalization).
    """

    def __init__(self, config: Any) -> None:
        super().__init__()
        width, groups, d_model = config.place_width, config.place_groups, config.d_model
        if d_model % groups:
            raise ValueError(f"place_groups={groups} does not divide d_model={d_model}")
        self.groups, self.activation = groups, config.convolution_activation
        self.direction = nn.Parameter(torch.empty(d_model, d_model // groups, width))
        nn.init.normal_(self.direction, std=2 * (width * d_model) ** -0.5)
        self.gain = nn.Parameter(self.direction.detach().norm(dim=(0, 1)))
        self.bias = nn.Parameter(torch.zeros(d_model))

    def forward(self, x: Tensor) -> Tensor:
        """Return the position embeddings added to x (B, T, d_model)."""
        width = self.direction.shape[-1]
        weight = self.direction * (self.gain / self.direction.norm(dim=(0, 1)))
        y = F.pad(x.transpose(1, 2), (width // 2, (width - 1) // 2))
        return self.activation(F.conv1d(y, weight, self.bias, groups=self.groups)).transpose(1, 2)


def check_steps(widths: Sequence[int], kernels: Sequence[int], strides: Sequence[int]) -> None:
    """Raise ValueError unless there are as many widths, kernels and strides, and at least one."""
    if not len(widths) == len(kernels) == len(strides) > 0:
        raise ValueError(
            f"widths, kernels, strides: got {len(widths)}, {len(kernels)} and {len(strides)}; "
            "expected one of each per convolution"
        )
    for name, values in (("widths", widths), ("kernels", kernels), ("strides", strides)):
        each_at_least(1, name, values)
