"""A photograph of the reader's own, as the pixels that an image classifier was trained on.

    pixels = read_photograph("IMG_1234.jpg", size=100)       # uint8 (3, 100, 100)

The picture is turned upright as its EXIF data say, put on white where it is transparent, cut to the
square in its middle, and resized by the means of areas, as the library's data sets are.
"""

from __future__ import annotations

import contextlib
import io
import os
import struct
import warnings
from typing import IO, Any

import numpy as np
from numpy.typing import NDArray

from deepdive.core.checks import own_file
from deepdive.data.errors import DataError
from deepdive.data.generated import whole

Source = str | os.PathLike[str] | IO[bytes] | bytes
MOST = 150_000_000  # pixels that a picture may have; a telephone's have 12 to 108 million
# No format that runs another program (EPS starts Ghostscript).
FORMATS = ("JPEG", "MPO", "PNG", "WEBP", "AVIF", "HEIF", "TIFF", "GIF", "BMP", "PPM")
HEIC = (b"heic", b"heix", b"heim", b"heis", b"hevc", b"hevx", b"heif", b"mif1", b"msf1")
UNREADABLE = (OSError, SyntaxError, ValueError, TypeError, IndexError, KeyError, EOFError,
          OverflowError, struct.error)  # fmt: skip


def read_photograph(source: Source, size: int, channels: int = 3) -> NDArray[np.uint8]:
    """Return a photograph as bytes (channels, size, size), upright, the square in its middle.

    Args:
        source: a path (as people paste it), a file open for bytes, or the bytes: JPEG, PNG, WebP,
            TIFF, GIF (its first picture), BMP, and AVIF and HEIC where Pillow can read them. Gray,
            palette, CMYK, and 16-bit pictures become RGB; color profiles are ignored.
        size: the sides of the square in pixels, 1 or more.
        channels: 3 for RGB, 1 for gray.

    Raises:
        DataError: there is no such file, or it is no picture that can be read: an unknown or
            broken file, HEIC, pixels that are floats, or more than `MOST` pixels. Also where `size`
            is no whole number of 1 or more.
        ValueError: `channels` is neither 1 nor 3.
    """
    whole("size", size, 1, None)
    if channels not in (1, 3):
        raise ValueError(f"channels={channels!r}: expected 3 for RGB, or 1 for gray")
    name = str(source) if isinstance(source, str | os.PathLike) else "the photograph"
    given: Any = io.BytesIO(source) if isinstance(source, bytes) else source
    if isinstance(given, str | os.PathLike):
        given = own_file(given, DataError)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # Pillow's, of large pictures and odd EXIF data
        image = _opened(given, name)
        with image:
            try:
                square = _square(image, size)
            except UNREADABLE as error:
                raise DataError(
                    f"{name}: the picture is broken or cut short ({_short(error)}): copy it again "
                    "from where it came from"
                ) from error
        if square is None:
            raise DataError(
                f"{name}: its pixels are floats of no known scale: save it as JPEG or PNG"
            )
        small = square.convert("L" if channels == 1 else "RGB")
        pixels = np.asarray(small.resize((size, size), _pillow().Resampling.BOX), dtype=np.uint8)
    return np.array(pixels[None] if channels == 1 else np.moveaxis(pixels, 2, 0), order="C")


def _pillow() -> Any:
    from PIL import Image

    return Image


def _opened(given: Any, name: str) -> Any:
    """The picture with its header read and no pixel yet."""
    Image = _pillow()
    Image.init()
    known = [kind for kind in FORMATS if kind in Image.OPEN]
    try:
        image = Image.open(given, formats=known)
    except Image.DecompressionBombError as error:
        raise _too_large(name) from error
    except UNREADABLE as error:
        raise DataError(f"{name}: {_reason(given)}") from error
    if image.width * image.height > MOST:
        image.close()
        raise _too_large(name)
    return image


def _too_large(name: str) -> DataError:
    return DataError(
        f"{name}: more than {MOST // 10**6} million pixels: make a smaller copy, with sides of "
        "4,000 pixels at most"
    )


def _reason(given: Any) -> str:
    """Why a file is no picture that can be read, and what to do."""
    if isinstance(given, str | os.PathLike):
        with open(given, "rb") as file:
            head = file.read(16)
    else:
        given.seek(0)
        head = given.read(16)
    if not head:
        return "the file is empty: copy it again from where it came from"
    if head[4:8] == b"ftyp" and head[8:12] in HEIC:
        return (
            "it is HEIC, an iPhone's format that can't be read here: export it as JPEG (on the "
            "phone: Settings, Camera, Formats, Most Compatible)"
        )
    return "not a picture that can be read: give a JPEG or PNG file"


def _square(image: Any, size: int) -> Any:
    """The square in the middle of a picture that was turned upright, in RGB; None for floats."""
    from PIL import ImageOps

    Image = _pillow()
    if image.format in ("JPEG", "MPO"):
        # A JPEG is decoded at 1/2, 1/4, or 1/8 of its sides where that is still twice the size.
        image.draft(image.mode, (2 * size, 2 * size))
    image.load()
    with contextlib.suppress(*UNREADABLE):  # EXIF data that can't be read: as it is stored
        ImageOps.exif_transpose(image, in_place=True)
    if image.mode == "F":
        return None
    if image.mode.startswith("I"):  # 16 bits
        deep = np.asarray(image).astype(np.int64)
        image = Image.fromarray((deep.clip(0, 65535) // 257).astype(np.uint8))
    if image.mode in ("RGBA", "LA", "PA", "RGBa", "La") or "transparency" in image.info:
        image = image.convert("RGBA")
        image = Image.alpha_composite(Image.new("RGBA", image.size, "white"), image)
    side = min(image.size)
    left, top = (image.width - side) // 2, (image.height - side) // 2
    return image.crop((left, top, left + side, top + side)).convert("RGB")


def _short(error: BaseException) -> str:
    """What an error says in 80 plain characters; its type where it says nothing."""
    told = " ".join(str(error).split())
    return (told or type(error).__name__)[:80]
