"""Subsampling of speech frames by strided convolutions, before the encoder."""

from collections.abc import Sequence

import torch
import torch.nn.functional as F
from torch import Tensor, nn

from deepdive.core.checks import each_at_least, positive
from deepdive.core.feed_forward import Activation
from deepdive.core.masks import padding


def check_frames(frames: Tensor, n_features: int) -> None:
    """Raise ValueError unless `frames` are numbers (B, T, n_features), not empty and finite."""
    valid = frames.ndim == 3 and frames.shape[-1] == n_features and frames.numel()
    if not valid or not frames.is_floating_point():
        raise ValueError(
            f"frames must be floats (B, T, n_features={n_features}), not empty; got "
            f"{frames.dtype} {tuple(frames.shape)}: use one feature vector per frame, such as a "
            "log-mel spectrum"
        )
    if not torch.isfinite(frames).all():
        raise ValueError("frames have NaN or infinite values: check for empty recordings or log(0)")


class Subsample(nn.Module):
    """Frames (B, T, n_features) -> states (B, T', d_model), T' = T / 2 ** len(kernels), rounded up.

        x[i] = a * sigmoid(b),  (a, b) = conv(x)[i], over `kernel` frames around frame 2 i

    The convolutions between are `width` wide, which the gate halves. A padding frame counts as 0 in
    each of them, so that the output for a recording is the same alone and in a batch. The released
    code includes it: `tests/models/speech/test_parity_speech2text.py` has both.
    Source: Synnaeve et al. 2020, section 3; Wang et al. 2020, section 2.
    """

    def __init__(self, n_features: int, d_model: int, width: int, kernels: Sequence[int]) -> None:
        super().__init__()
        positive(n_features=n_features, d_model=d_model, width=width)
        each_at_least(1, "kernels", kernels)
        if width % 2 or any(kernel % 2 == 0 for kernel in kernels):
            raise ValueError(
                f"width={width}, kernels={tuple(kernels)}: the width must be even (for the "
                "gate), kernels odd (for a center frame)"
            )
        self.n_features, last = n_features, len(kernels) - 1
        self.convs = nn.ModuleList(
            nn.Conv1d(
                width // 2 if i else n_features, 2 * d_model if i == last else width, kernel,
                stride=2, padding=kernel // 2,
            )
            for i, kernel in enumerate(kernels)
        )  # fmt: skip

    def forward(self, frames: Tensor, mask: Tensor | None = None) -> tuple[Tensor, Tensor | None]:
        """Return states, and which of them are real: those whose middle frame is."""
        check_frames(frames, self.n_features)
        padding(mask, frames[..., 0], "src_mask")
        x = frames
        for conv in self.convs:
            x = F.glu(conv(mask_padding(x, mask).mT), dim=1).mT
            mask = None if mask is None else mask[:, ::2]
        return x, mask


def mask_padding(x: Tensor, mask: Tensor | None) -> Tensor:
    """Return x with 0 where `mask` is False."""
    return x if mask is None else x * mask.unsqueeze(-1)


class Window(nn.Module):
    """Exactly `length` frames -> length / 2 states: two convolutions of kernel 3, the second of
    stride 2. A shorter recording is padded with silence, which counts as sound.

    Source: Radford et al. 2022, section 2.2, and their released code.
    """

    def __init__(self, n_features: int, d_model: int, length: int, activation: Activation) -> None:
        super().__init__()
        positive(n_features=n_features, d_model=d_model, length=length)
        self.n_features, self.length, self.activation = n_features, length, activation
        self.convs = nn.ModuleList(
            nn.Conv1d(n, d_model, 3, stride=stride, padding=1)
            for n, stride in ((n_features, 1), (d_model, 2))
        )

    def forward(self, frames: Tensor, mask: Tensor | None = None) -> tuple[Tensor, None]:
        """Return states, all of them real."""
        check_frames(frames, self.n_features)
        if frames.shape[1] != self.length or mask is not None:
            raise ValueError(
                f"a window needs exactly {self.length} frames and no mask; got {frames.shape[1]}"
                f"{'' if mask is None else ' and src_mask'}: pad the recording with silence, or "
                "split it into windows"
            )
        x = frames.mT
        for conv in self.convs:
            x = self.activation(conv(x))
        return x.mT, None
