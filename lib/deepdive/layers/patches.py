"""Images as rows: cut into squares, each a row of numbers, and put together again."""

import torch.nn.functional as F
from torch import Tensor, nn

from deepdive.core.checks import positive, real_input


def patchify(images: Tensor, size: int) -> Tensor:
    """Return the squares of images (B, C, H, W) as rows (B, H/size * W/size, C * size * size),
    line by line; inside a row channels come first, then lines, then columns.

    Raises ValueError for images that are not (B, C, H, W), or that no whole squares fill.
    """
    if images.ndim != 4:
        raise ValueError(f"images: came {tuple(images.shape)}, expected (B, C, H, W)")
    if wrong := [side for side in images.shape[2:] if side % size]:
        raise ValueError(f"a side of {wrong[0]} pixels has no whole patches of {size}: resize it")
    b, c, h, w = images.shape
    squares = images.reshape(b, c, h // size, size, w // size, size)
    return squares.permute(0, 2, 4, 1, 3, 5).reshape(b, -1, c * size * size)


def check_pixels(images: Tensor, shape: str = "(B, C, H, W)") -> None:
    """Raise unless what enters a model are finite floats, as `checks.real_input` does."""
    fix = "divide pixels of 0 to 255 by 255, then normalize them as in training"
    real_input("images", images, shape, fix)


def unpatchify(rows: Tensor, size: int, height: int, width: int) -> Tensor:
    """Return the images (B, C, height, width) that `patchify` made `rows` of."""
    b, h, w = rows.shape[0], height // size, width // size
    if rows.ndim != 3 or rows.shape[1] != h * w or rows.shape[2] % size**2:
        raise ValueError(f"rows: came {tuple(rows.shape)}, expected ({b}, {h * w}, C * {size**2})")
    squares = rows.reshape(b, h, w, -1, size, size)
    return squares.permute(0, 3, 1, 4, 2, 5).reshape(b, -1, height, width)


def per_side(image_size: int, patch_size: int) -> int:
    """Return how many patches a side of the image has. Raises ValueError where none fits."""
    if image_size < patch_size:
        raise ValueError(f"image_size={image_size}: no patch of patch_size={patch_size} fits")
    return image_size // patch_size


class Patches(nn.Module):
    """rows = patchify(images) W^T + b: each square of `size` pixels becomes one row of d_model
    numbers.

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
        """Return rows (B, N, d_model) for images (B, C, H, W)."""
        if images.ndim == 4 and images.shape[1] != self.channels:
            raise ValueError(f"images have {images.shape[1]} channels, expected {self.channels}")
        return self.project(patchify(images, self.size))


def resized(table: Tensor, old: tuple[int, int], new: tuple[int, int]) -> Tensor:
    """Return a table of positions (old[0] * old[1], d) for another grid, (new[0] * new[1], d): the
    rows as an image of d channels, resized by bicubic interpolation.

    Source: Dosovitskiy et al. 2021, section 3.2; the kernel is that of the released weights' users.
    """
    if old == new:
        return table
    grid = table.reshape(1, *old, -1).permute(0, 3, 1, 2)
    return F.interpolate(grid, new, mode="bicubic", align_corners=False).flatten(2)[0].t()
