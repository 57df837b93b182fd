"""Labeled images: Fashion-MNIST, signed digits, Omniglot, small digits; and generated shapes.

Pixels are bytes, (N, C, H, W) from 0 to 255: a model's input is `pixels / 255`.
"""

from __future__ import annotations

import gzip
import io
import re
import tarfile
import zipfile
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from deepdive.data.errors import DataError
from deepdive.data.fetch import fetch
from deepdive.data.generated import whole

Bytes = NDArray[np.uint8]
Floats = NDArray[np.float64]
CLOTHES = ("T-shirt/top", "Trouser", "Pullover", "Dress", "Coat", "Sandal", "Shirt", "Sneaker",
           "Bag", "Ankle boot")  # fmt: skip
SHAPES = ("disc", "square", "diamond", "cross")
EVERY = 5  # one student in 5 is in the test set


@dataclass(frozen=True)
class Images:
    """Images of one size with class labels, and their source.

    pixels  uint8 (N, C, H, W)
    labels  int64 (N,), indices into `names`
    source  ends in (real) or (generated)
    Raises DataError if pixels and labels differ in number, or a label has no name.
    """

    pixels: Bytes
    labels: NDArray[np.int64]
    names: tuple[str, ...]
    source: str = "(your images)"

    def __post_init__(self) -> None:
        if self.pixels.ndim != 4 or len(self.pixels) != len(self.labels) or not len(self.labels):
            shapes = f"{self.pixels.shape} and {self.labels.shape}"
            raise DataError(f"pixels and labels: got {shapes}, expected (N, C, H, W) and (N,)")
        if self.labels.min() < 0 or self.labels.max() >= len(self.names):
            raise DataError(f"labels: expected 0 to {len(self.names) - 1}, one name per class")

    def __len__(self) -> int:
        return len(self.labels)

    def first(self, n: int) -> Images:
        """Return the first n images, or all if there are fewer; the subsets are nested."""
        whole("n", n, 1, None)
        return Images(self.pixels[:n], self.labels[:n], self.names, self.source)


def fashion_mnist(part: str = "train") -> Images:
    """Return Fashion-MNIST: ten classes of clothing, gray, 28 x 28, in the order of the file:
    "train" (60,000) or "test" (10,000). Raises ValueError for another part.

    Source: Xiao, Rasul and Vollgraf 2017.
    """
    prefix = {"train": "train", "test": "t10k"}.get(part)
    if prefix is None:
        raise ValueError(f"part: got {part!r}, expected train or test")
    pixels = _idx("fashion_mnist", f"{prefix}-images-idx3-ubyte.gz")
    labels = _idx("fashion_mnist", f"{prefix}-labels-idx1-ubyte.gz").astype(np.int64)
    return Images(pixels[:, None], labels, CLOTHES, f"fashion_mnist, {part} (real)")


def _idx(name: str, file: str) -> Bytes:
    """Read an array from an idx file: two zeros, the type, the number of axes, their sizes."""
    data = gzip.decompress(fetch(name, file).read_bytes())
    if data[:3] != b"\0\0\x08":
        raise DataError(f"{file}: not an idx file of bytes")
    sizes = np.frombuffer(data, ">i4", data[3], 4)
    return np.frombuffer(data, np.uint8, offset=4 + 4 * data[3]).reshape(*sizes)


def sign_digits(part: str = "train", size: int = 100, seed: int | None = 0) -> Images:
    """Return photographs of hands that sign the digits 0 to 9, in color, size x size pixels.

    A student's ten photographs have consecutive numbers, from digit 0 to 9, which identify the
    student: every fifth student is in "test" (420 photographs), the others in "train" (1,642), and
    no hand is in both. `seed` shuffles the images; with None they are sorted by student. Raises
    ValueError for another part. Source: Mavi 2020.
    """
    if part not in ("train", "test"):
        raise ValueError(f"part: got {part!r}, expected train or test")
    whole("size", size, 1, None)
    with tarfile.open(fetch("sign_digits", "images.tar")) as packed:
        found = (re.fullmatch(r"(\d)/IMG_(\d+)\.JPG", name) for name in packed.getnames())
        numbered = sorted((int(match[2]), int(match[1]), match[0]) for match in found if match)
        images = [
            (np.moveaxis(_opened(_member(packed, name), "RGB", size), 2, 0), digit)
            for student, hand in enumerate(_hands(numbered))
            for _, digit, name in hand
            if (student % EVERY == 0) == (part == "test")
        ]
    return _drawn(images, tuple("0123456789"), f"sign_digits, {part} (real)", seed)


Numbered = tuple[int, int, str]


def _hands(numbered: Iterable[Numbered]) -> list[list[Numbered]]:
    """Group photographs (number, digit, name) by student, in order: another student begins where
    the digit falls from 7 or more to 2 or less, or where nine numbers are missing.
    """
    hands: list[list[Numbered]] = []
    before, last = -10, 0
    for number, digit, name in numbered:
        if number - before > 9 or (last >= 7 and digit <= 2):
            hands.append([])
        hands[-1].append((number, digit, name))
        before, last = number, digit
    return hands


def _member(packed: tarfile.TarFile, name: str) -> bytes:
    file = packed.extractfile(name)
    if file is None:
        raise DataError(f"{name}: not a file in its archive")
    return file.read()


def omniglot(size: int = 28, seed: int | None = 0) -> Images:
    """Return Omniglot (small): 242 characters of eight alphabets, each drawn by twenty people:
    4,840 images, gray, size x size, ink bright. A class is a character, "Greek/character01".

    Source: Lake, Salakhutdinov and Tenenbaum 2015.
    """
    whole("size", size, 1, None)
    drawn = dict[str, list[Bytes]]()
    for letter, data in _letters():
        drawn.setdefault(letter, []).append(255 - _opened(data, "L", size)[None])
    names = tuple(sorted(drawn))
    images = [(image, kind) for kind, name in enumerate(names) for image in drawn[name]]
    return _drawn(images, names, "omniglot_small (real)", seed)


def _letters() -> Iterator[tuple[str, bytes]]:
    """Yield alphabet/character and the file of each drawing, without duplicates of the two sets."""
    seen = set()
    for k in (1, 2):
        with zipfile.ZipFile(fetch("omniglot_small", f"images_background_small{k}.zip")) as packed:
            for name in packed.namelist():
                _, *letter, file = name.split("/")
                if file.endswith(".png") and (*letter, file) not in seen:
                    seen.add((*letter, file))
                    yield "/".join(letter), packed.read(name)


def _opened(data: bytes, mode: str, size: int) -> Bytes:
    """Decode and resize an image by area averaging: (size, size) or (size, size, 3)."""
    from PIL import Image

    with Image.open(io.BytesIO(data)) as image:
        return np.asarray(image.convert(mode).resize((size, size), Image.Resampling.BOX))


def small_digits(part: str = "train") -> Images:
    """Return scikit-learn's handwritten digits of 8 x 8 pixels: "train" (1,437) or "test" (the last
    360, by other writers as far as the file shows). Pixels are scaled from 0 to 16 to 0 to 255.
    Raises ValueError for another part.

    Source: Alpaydin and Kaynak 1998 (UCI).
    """
    from sklearn.datasets import load_digits

    if part not in ("train", "test"):
        raise ValueError(f"part: got {part!r}, expected train or test")
    digits: Any = load_digits()
    some = slice(1437) if part == "train" else slice(1437, None)
    pixels = (digits.images[some] * (255 / 16)).round().astype(np.uint8)[:, None]
    labels = digits.target[some].astype(np.int64)
    return Images(pixels, labels, tuple("0123456789"), f"digits of scikit-learn, {part} (real)")


def shape(kind: int, y: Floats, x: Floats, radius: float) -> NDArray[np.bool_]:
    """Return which positions, relative to its center, are inside a shape (index into `SHAPES`)."""
    y, x, r = np.abs(y), np.abs(x), radius
    if kind == 0:
        return x**2 + y**2 <= r**2
    if kind == 1:
        return np.maximum(x, y) <= 0.8 * r
    return x + y <= r if kind == 2 else (np.minimum(x, y) <= r / 4) & (np.maximum(x, y) <= r)


def generated_shapes(n: int, size: int = 16, seed: int = 0) -> Images:
    """Return n gray images of one shape on a dark noisy background, with random class, position,
    size and brightness. size: at least 8 pixels.
    """
    whole("n", n, 1, None)
    whole("size", size, 8, None)
    rng = np.random.default_rng(seed)
    lines, columns = np.mgrid[:size, :size]
    images = []
    for _ in range(n):
        kind, r = int(rng.integers(4)), rng.uniform(size / 6, size / 3)
        y, x = (axis - rng.uniform(r, size - 1 - r) for axis in (lines, columns))
        inside = shape(kind, y, x, r)
        light = np.where(inside, rng.uniform(140, 230), 30) + rng.normal(0, 12, (size, size))
        images.append((light.clip(0, 255).astype(np.uint8)[None], kind))
    return _drawn(images, SHAPES, f"generated_shapes({n}, size={size}, seed={seed}) (generated)")


def _drawn(
    images: Iterable[tuple[Bytes, int]],
    names: tuple[str, ...],
    source: str,
    seed: int | None = None,
) -> Images:
    """Return the images shuffled by `seed`; None keeps their order."""
    pixels, labels = zip(*images, strict=True)
    order = np.arange(len(labels))
    if seed is not None:
        np.random.default_rng(seed).shuffle(order)
    return Images(np.stack(pixels)[order], np.array(labels, np.int64)[order], names, source)
