"""Masked autoencoding (MAE): random masking of patches, and the loss on their pixels."""

from typing import Any

import torch
from torch import Tensor

from deepdive.layers.patches import patchify


def hidden_patches(noise: Tensor, share: float) -> Tensor:
    """Return which patches are masked, bool (B, N): those with the highest noise, (B, N).

    Of N patches floor(N (1 - share)) stay visible, in each image. Raises ValueError where that is
    0, and for a share that is not a fraction.
    Source: He et al. 2022, section 3, and their released code.
    """
    if not 0 <= share < 1:
        raise ValueError(f"share: got {share}, expected 0 or more, and less than 1")
    stay = int(noise.shape[1] * (1 - share))
    if not stay:
        raise ValueError(f"share={share} of {noise.shape[1]} patches: no visible patch is left")
    return noise.argsort(1).argsort(1) >= stay


def normalized(patches: Tensor, eps: float = 1e-6) -> Tensor:
    """Return each patch (..., pixels) minus its mean, divided by its standard deviation."""
    mean, variance = patches.mean(-1, keepdim=True), patches.var(-1, keepdim=True)
    return (patches - mean) / (variance + eps) ** 0.5


def pixel_loss(
    predicted: Tensor, images: Tensor, hidden: Tensor, size: int, normal: bool = True
) -> Tensor:
    """loss = mean over masked patches n and their pixels p of (predicted[n, p] - target[n, p])^2

    predicted (B, N, C * size^2); images (B, C, H, W); hidden bool (B, N). target = cut(images),
    with `normal` each patch `normalized`. Raises ValueError where nothing is masked.
    Source: He et al. 2022, section 3 and table 1d.
    """
    if not hidden.any():
        raise ValueError("hidden: no patch is masked, so there is nothing to predict")
    target = patchify(images, size)[hidden]
    return (predicted[hidden] - (normalized(target) if normal else target)).square().mean()


def mae_step(model: Any, images: Tensor, draw: torch.Generator | None = None) -> Tensor:
    """Return the loss of a `deepdive.models.vision.mae.Mae` with randomly masked patches."""
    config = model.config
    n = (images.shape[2] // config.patch_size) * (images.shape[3] // config.patch_size)
    hidden = hidden_patches(torch.rand(len(images), n, generator=draw), config.share)
    predicted = model(images, hidden)
    return pixel_loss(predicted, images, hidden, config.patch_size, config.normalized)
