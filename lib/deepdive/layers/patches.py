"""Patches of images: split into squares, embed each as a vector, and reassemble."""

import torch.nn.functional as F
from torch import Tensor, nn

from deepdive.core.checks import positive, real_input


def patchify(images: Tensor, size: int) -> Tensor:
    """Return the patches of images (B, C, H, W), flattened, (B, H/size * W/size, C * size * size),
    line by line; inside a patch channels come first, then lines, then columns.

    Raises ValueError for images that are not (B, C, H, W), or not a multiple of `size`.
    """
    if images.ndim != 4:
        raise ValueError(f"images: got {tuple(images.shape)}, expected (B, C, H, W)")
    if odd := [side for side in images.shape[2:] if side % size]:
        raise ValueError(f"a side of {odd[0]} pixels has no whole patches of {size}: resize it")
    b, c, h, w = images.shape
    squares = images.reshape(b, c, h // size, size, w // size, size)
    return squares.permute(0, 2, 4, 1, 3, 5).reshape(b, -1, c * size * size)


def check_pixels(images: Tensor, shape: str = "(B, C, H, W)") -> None:
    """Raise unless images are finite floats, as `checks.real_input` does."""
    fix = "divide pixels of 0 to 255 by 255, then normalize them as in training"
    real_input("images", images, shape, fix)


def unpatchify(rows: Tensor, size: int, height: int, width: int) -> Tensor:
    """Return the images (B, C, height, width) from their patches: the inverse of `patchify`."""
    b, h, w = rows.shape[0], height // size, width // size
    if rows.ndim != 3 or rows.shape[1] != h * w or rows.shape[2] % size**2:
        raise ValueError(f"rows: got {tuple(rows.shape)}, expected ({b}, {h * w}, C * {size**2})")
    squares = rows.reshape(b, h, w, -1, size, size)
    return squares.permute(0, 3, 1, 4, 2, 5).reshape(b, -1, height, width)


def per_side(image_size: int, patch_size: int) -> int:
    """Return the number of patches per side of the image. Raises ValueError where none fits."""
    if image_size < patch_size:
        raise ValueError(f"image_size={image_size}: no patch of patch_size={patch_size} fits")
    return image_size // patch_size


class Patches(nn.Module):
    """Patch embedding, patchify(images) W^T + b: one vector (d_model) per square of `size` pixels.


    It is a convolution whose kernel and stride are both `size`: `weight` (d_model, C * size * size)
    is that kernel, flattened.
    Source: Dosovitskiy et al. 2021, section 3.1, equation 1.
    """

    def __init__(self, size: int, channels: int, d_model: int) -> None:
        super().__init__()
        positive(size=size, channels=channels, d_model=d_model)
        self.size, self.channels, self.d_model = size, channels, d_model
        self.project = nn.Linear(channels * size * size, d_model)

    def forward(self, images: Tensor) -> Tensor:
        """Return patch embeddings (B, N, d_model) for images (B, C, H, W)."""
        if images.ndim == 4 and images.shape[1] != self.channels:
            raise ValueError(f"images have {images.shape[1]} channels, expected {self.channels}")
        return self.project(patchify(images, self.size))


def resized(table: Tensor, old: tuple[int, int], new: tuple[int, int]) -> Tensor:
    """Resize position embeddings (old[0] * old[1], d) to another grid, (new[0] * new[1], d): as an
    image of d channels, by bicubic interpolation.

    Source: Dosovitskiy et al. 2021, section 3.2; the kernel is that of the released weights' users.
    """
    if old == new:
        return table
    grid = table.reshape(1, *old, -1).permute(0, 3, 1, 2)
    return F.interpolate(grid, new, mode="bicubic", align_corners=False).flatten(2)[0].t()
