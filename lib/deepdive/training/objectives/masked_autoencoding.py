"""Masked images: which patches are hidden, and how well their pixels are said."""

from typing import Any

import torch
from torch import Tensor

from deepdive.layers.patches import patchify


def hidden_patches(noise: Tensor, share: float) -> Tensor:
    """Return which patches are hidden, bool (B, N): those with the most noise, (B, N).

    Of N patches floor(N (1 - share)) stay, in each image. Raises ValueError where that is none,
    and for a share that is none.
    Source: He et al. 2022, section 3, and their released code.
    """
    if not 0 <= share < 1:
        raise ValueError(f"share: came as {share}, expected 0 or more, and less than 1")
    stay = int(noise.shape[1] * (1 - share))
    if not stay:
        raise ValueError(f"share={share} of {noise.shape[1]} patches: none stays to be seen")
    return noise.argsort(1).argsort(1) >= stay


def normalised(patches: Tensor, eps: float = 1e-6) -> Tensor:
    """Return each patch (..., pixels) less its mean, divided by its deviation."""
    mean, variance = patches.mean(-1, keepdim=True), patches.var(-1, keepdim=True)
    return (patches - mean) / (variance + eps) ** 0.5


def pixel_loss(
    predicted: Tensor, images: Tensor, hidden: Tensor, size: int, normal: bool = True
) -> Tensor:
    """loss = mean over hidden patches n and their pixels p of (predicted[n, p] - target[n, p])^2

    predicted (B, N, C * size^2); images (B, C, H, W); hidden bool (B, N). target = cut(images),
    with `normal` each patch `normalised`. Raises ValueError where nothing is hidden.
    Source: He et al. 2022, section 3 and table 1d.
    """
    if not hidden.any():
        raise ValueError("hidden: nothing is hidden, so that there is nothing to say")
    target = patchify(images, size)[hidden]
    return (predicted[hidden] - (normalised(target) if normal else target)).square().mean()


def mae_step(model: Any, images: Tensor, draw: torch.Generator | None = None) -> Tensor:
    """Return the loss of a `deepdive.models.vision.mae.Mae` whose patches are hidden by lot."""
    config = model.config
    n = (images.shape[2] // config.patch_size) * (images.shape[3] // config.patch_size)
    hidden = hidden_patches(torch.rand(len(images), n, generator=draw), config.share)
    said = model(images, hidden)
    return pixel_loss(said, images, hidden, config.patch_size, config.normalised)
