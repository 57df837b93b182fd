"""Photographs that readers bring are read right, or refused with one sentence that says what to do.

The picture of most tests is a quarter red, green, blue, and black: where a color is found says how
the picture was turned, and what became of its color.
"""

from __future__ import annotations

import io
import zlib
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from PIL import Image

from deepdive.data import DataError
from deepdive_book.data import photographs
from deepdive_book.data.photographs import read_photograph

RED, GREEN, BLUE, BLACK = (255, 0, 0), (0, 255, 0), (0, 0, 255), (0, 0, 0)
QUARTERS = (RED, GREEN, BLUE, BLACK)  # upper left, upper right, lower left, lower right
ORIENTATION = 0x0112


def quarters(side: int = 64) -> Image.Image:
    pixels = np.zeros((side, side, 3), np.uint8)
    half = side // 2
    pixels[:half, :half], pixels[:half, half:], pixels[half:, :half] = RED, GREEN, BLUE
    return Image.fromarray(pixels)


def saved(image: Image.Image, kind: str = "PNG", **options: Any) -> bytes:
    file = io.BytesIO()
    image.save(file, kind, **options)
    return file.getvalue()


def corners(pixels: np.ndarray) -> list[tuple[int, ...]]:
    """The colors in the middle of the four quarters."""
    n = pixels.shape[1]
    near, far = n // 4, n - 1 - n // 4
    places = ((near, near), (near, far), (far, near), (far, far))
    return [tuple(pixels[:, y, x].tolist()) for y, x in places]


def alike(pixels: np.ndarray, colors: Any = QUARTERS, near: int = 3) -> bool:
    return bool(np.abs(np.array(corners(pixels)) - np.array(colors)).max() <= near)


@pytest.mark.parametrize("kind", ["PNG", "WEBP", "TIFF", "BMP", "GIF", "PPM"])
def test_a_picture_of_any_kind_is_read(kind: str) -> None:
    options = {"lossless": True} if kind == "WEBP" else {}
    pixels = read_photograph(saved(quarters(), kind, **options), 16)
    assert pixels.shape == (3, 16, 16)
    assert pixels.dtype == np.uint8
    assert pixels.flags["C_CONTIGUOUS"]
    assert pixels.flags["WRITEABLE"]
    assert alike(pixels)


def test_paths_open_files_and_bytes_are_the_same(tmp_path: Path) -> None:
    path = tmp_path / "my hand.png"
    path.write_bytes(saved(quarters()))
    found = read_photograph(path, 8)
    with path.open("rb") as file:
        assert np.array_equal(read_photograph(file, 8), found)
    assert np.array_equal(read_photograph(f'"{path}"', 8), found)
    assert np.array_equal(read_photograph(path.read_bytes(), 8), found)


@pytest.mark.parametrize("orientation", range(1, 9))
@pytest.mark.parametrize("kind", ["JPEG", "PNG", "WEBP"])
def test_the_orientation_of_exif_is_applied(kind: str, orientation: int) -> None:
    """Each way a camera may be held: stored turned, shown upright."""
    method = Image.Transpose
    undo = {2: method.FLIP_LEFT_RIGHT, 3: method.ROTATE_180, 4: method.FLIP_TOP_BOTTOM,
            5: method.TRANSPOSE, 6: method.ROTATE_90, 7: method.TRANSVERSE,
            8: method.ROTATE_270}  # fmt: skip
    stored = quarters() if orientation == 1 else quarters().transpose(undo[orientation])
    exif = Image.Exif()
    exif[ORIENTATION] = orientation
    options = {"quality": 95, "subsampling": 0} if kind == "JPEG" else {}
    pixels = read_photograph(saved(stored, kind, exif=exif.tobytes(), **options), 16)
    assert alike(pixels, near=20)


def test_exif_data_that_mean_nothing_leave_the_picture_as_it_is_stored() -> None:
    for exif in (b"Exif\0\0nothing", b"Exif\0\0MM\0*\xff\xff\xff\xff"):
        assert alike(read_photograph(saved(quarters(), "JPEG", exif=exif, quality=95), 16), near=20)


def test_a_telephones_picture_is_cut_to_the_square_in_its_middle() -> None:
    """12 million pixels, upright by EXIF: the bars at top and bottom are cut off."""
    upright = Image.new("RGB", (3000, 4000), "white")
    upright.paste(quarters(3000), (0, 500))
    exif = Image.Exif()
    exif[ORIENTATION] = 6
    data = saved(upright.transpose(Image.Transpose.ROTATE_90), "JPEG", exif=exif.tobytes())
    pixels = read_photograph(data, 100)
    assert pixels.shape == (3, 100, 100)
    assert alike(pixels, near=20)
    assert pixels[2, 0].mean() < 60  # no bar of white at the top: it would be 255


@pytest.mark.parametrize("side", [160, 1600])
def test_a_jpeg_decoded_at_a_fraction_of_its_size_has_the_same_means(side: int) -> None:
    draw = np.random.default_rng(0)
    slow = Image.fromarray(draw.integers(0, 256, (20, 20, 3), dtype=np.uint8))
    data = saved(slow.resize((side, side), Image.Resampling.BICUBIC), "JPEG", quality=95)
    whole = np.asarray(Image.open(io.BytesIO(data)).resize((50, 50), Image.Resampling.BOX))
    found = np.moveaxis(read_photograph(data, 50), 0, 2)
    assert np.abs(found.astype(int) - whole.astype(int)).max() <= 4


def test_resizing_takes_the_mean_of_each_area() -> None:
    pixels = np.arange(16, dtype=np.uint8).reshape(4, 4) * 16
    found = read_photograph(saved(Image.fromarray(pixels)), 2)
    assert found[0].tolist() == pixels.reshape(2, 2, 2, 2).mean((1, 3)).tolist()


def test_gray_comes_as_three_equal_channels_or_one() -> None:
    data = saved(Image.new("L", (8, 8), 77))
    assert (read_photograph(data, 4) == 77).all()
    one = read_photograph(data, 4, channels=1)
    assert one.shape == (1, 4, 4)
    assert (one == 77).all()


def test_gray_of_16_bits_is_scaled_and_not_cut_off() -> None:
    deep = np.full((8, 8), 40_000, np.uint16)
    deep[:, 4:] = 100
    found = read_photograph(saved(Image.fromarray(deep)), 2)
    assert found[0].tolist() == [[155, 0], [155, 0]]


def test_what_is_transparent_is_white() -> None:
    image = quarters().convert("RGBA")
    image.paste((0, 0, 0, 0), (32, 32, 64, 64))
    white = (RED, GREEN, BLUE, (255, 255, 255))
    assert alike(read_photograph(saved(image), 16), white)
    assert alike(read_photograph(saved(image, "WEBP", lossless=True), 16), white)
    half = Image.new("LA", (8, 8), (0, 51))
    assert (read_photograph(saved(half), 4) == 204).all()


def test_a_palette_is_looked_up_and_its_transparent_color_is_white() -> None:
    image = quarters().quantize(4)
    assert alike(read_photograph(saved(image), 16))
    black = image.getpixel((48, 48))
    found = read_photograph(saved(image, transparency=black), 16)
    assert alike(found, (RED, GREEN, BLUE, (255, 255, 255)))


def test_a_drawing_of_one_bit_is_black_and_white() -> None:
    found = read_photograph(saved(Image.new("1", (8, 8), 1)), 4)
    assert (found == 255).all()


def test_cmyk_becomes_rgb() -> None:
    pixels = read_photograph(saved(quarters().convert("CMYK"), "JPEG", quality=95), 16)
    assert alike(pixels, near=40)


def test_a_picture_of_one_pixel_is_one_color() -> None:
    assert (read_photograph(saved(Image.new("RGB", (1, 3), RED)), 4)[0] == 255).all()


@pytest.mark.parametrize(
    ("data", "told"),
    [
        (b"no picture at all", "not a picture that can be read: give a JPEG or PNG file"),
        (b"", "the file is empty"),
        (b"\0\0\0\x18ftypheic\0\0\0\0mif1heic", "it is HEIC.*export it as JPEG"),
        (b"%!PS-Adobe-3.0 EPSF-3.0\n%%BoundingBox: 0 0 9 9\n", "not a picture"),
        (saved(quarters(256), "JPEG")[:900], r"broken or cut short"),
        (saved(quarters(256))[:200], r"broken or cut short"),
        (saved(Image.new("F", (4, 4)), "TIFF"), "its pixels are floats of no known scale"),
    ],
)
def test_what_is_no_picture_is_refused_with_one_sentence(
    tmp_path: Path, data: bytes, told: str
) -> None:
    path = tmp_path / "a.jpg"
    path.write_bytes(data)
    for source in (path, data, io.BytesIO(data)):
        with pytest.raises(DataError, match=told) as caught:
            read_photograph(source, 16)
        assert "\n" not in str(caught.value)
        assert not str(caught.value).rstrip(".").count(". ")


def test_any_byte_may_be_damaged() -> None:
    """A damaged file is read or refused; nothing else is raised."""
    draw, refused = np.random.default_rng(0), 0
    for kind in ("JPEG", "PNG", "WEBP", "GIF", "TIFF", "BMP"):
        exif = Image.Exif()
        exif[ORIENTATION] = 6
        data = saved(quarters(), kind, exif=exif.tobytes()) if kind in ("JPEG", "PNG") else saved(
            quarters(), kind
        )  # fmt: skip
        for k in range(60):
            damaged = bytearray(data[: int(draw.integers(1, len(data))) if k % 2 else None])
            for place in draw.integers(0, len(damaged), 3):
                damaged[place] = int(draw.integers(256))
            try:
                assert read_photograph(bytes(damaged), 8).shape == (3, 8, 8)
            except DataError:
                refused += 1
    assert 180 < refused < 360


def test_a_huge_picture_is_refused_before_it_is_decoded(monkeypatch: pytest.MonkeyPatch) -> None:
    """A file of a few bytes may claim any size."""
    data = bytearray(saved(Image.new("1", (64, 64))))
    data[16:24] = (60_000).to_bytes(4, "big") * 2  # the sides in the header of a PNG
    data[29:33] = zlib.crc32(data[12:29]).to_bytes(4, "big")
    with pytest.raises(DataError, match="more than 150 million pixels: make a smaller copy"):
        read_photograph(bytes(data), 16)
    monkeypatch.setattr(photographs, "MOST", 3000)
    with pytest.raises(DataError, match="million pixels"):
        read_photograph(saved(quarters()), 16)


def test_a_path_that_is_no_file_is_named(tmp_path: Path) -> None:
    (tmp_path / "hand.jpg").write_bytes(saved(quarters(), "JPEG"))
    with pytest.raises(DataError, match=r"did you mean hand\.jpg"):
        read_photograph(tmp_path / "hnad.jpg", 16)
    with pytest.raises(DataError, match="is a folder"):
        read_photograph(tmp_path, 16)


def test_wrong_settings_are_refused() -> None:
    data = saved(quarters())
    with pytest.raises(ValueError, match="channels=2: expected 3 for RGB, or 1 for gray"):
        read_photograph(data, 16, channels=2)
    with pytest.raises(DataError, match="size: 0, expected"):
        read_photograph(data, 0)
