"""Images with labels: three real sets, the one of scikit-learn, and the generated one."""

from __future__ import annotations

import gzip
from collections import Counter
from pathlib import Path

import numpy as np
import pytest

from deepdive.data import images
from deepdive.data.errors import DataError
from deepdive.data.images import (
    SHAPES,
    Images,
    fashion_mnist,
    generated_shapes,
    omniglot,
    sign_digits,
    small_digits,
)


def test_what_does_not_fit_is_refused() -> None:
    pixels, labels = np.zeros((2, 1, 4, 4), np.uint8), np.array([0, 1])
    with pytest.raises(DataError, match=r"got \(2, 4, 4\) and \(2,\), expected \(N, C, H, W\)"):
        Images(pixels[:, 0], labels, ("a", "b"))
    with pytest.raises(DataError, match=r"got \(1, 1, 4, 4\) and \(2,\)"):
        Images(pixels[:1], labels, ("a", "b"))
    with pytest.raises(DataError, match="expected 0 to 0, one name per class"):
        Images(pixels, labels, ("a",))
    for read in (fashion_mnist, sign_digits, small_digits):
        with pytest.raises(ValueError, match="part: got 'valid', expected train or test"):
            read("valid")
    with pytest.raises(DataError, match="size: 7, expected"):
        generated_shapes(1, size=7)
    with pytest.raises(DataError, match="n: 0, expected"):
        generated_shapes(1).first(0)


def test_generated_shapes_are_all_kinds_and_the_same_again() -> None:
    found = generated_shapes(200, size=12, seed=3)
    assert found.pixels.shape == (200, 1, 12, 12)
    assert set(found.labels.tolist()) == set(range(len(SHAPES)))
    again = generated_shapes(200, size=12, seed=3)
    assert np.array_equal(found.pixels, again.pixels)
    assert not np.array_equal(found.pixels, generated_shapes(200, size=12, seed=4).pixels)
    assert np.array_equal(found.first(5).pixels, found.first(50).first(5).pixels)
    assert found.source.endswith("(generated)")


def test_generated_shapes_are_what_they_are_called() -> None:
    """A disc fills 0.785 of its box, a square all, a diamond half, a cross less."""
    found = generated_shapes(400, size=32)
    filled = []
    for pixels in found.pixels[:, 0]:
        lines, columns = np.nonzero(pixels > 85)
        box = (np.ptp(lines) + 1) * (np.ptp(columns) + 1)
        filled.append(len(lines) / box)
    means = [np.mean([f for f, k in zip(filled, found.labels, strict=True) if k == kind])
             for kind in range(4)]  # fmt: skip
    assert means == pytest.approx([0.785, 1.0, 0.53, 0.46], abs=0.06)


def test_scikit_learns_digits_keep_their_last_ones_apart() -> None:
    train, test = small_digits("train"), small_digits("test")
    assert (train.pixels.shape, test.pixels.shape) == ((1437, 1, 8, 8), (360, 1, 8, 8))
    assert (train.pixels.max(), train.pixels.min()) == (255, 0)


@pytest.mark.data("fashion_mnist")
def test_clothing() -> None:
    train, test = fashion_mnist("train"), fashion_mnist("test")
    assert Counter(train.labels.tolist()) == dict.fromkeys(range(10), 6000)
    assert Counter(test.labels.tolist()) == dict.fromkeys(range(10), 1000)
    assert train.pixels.mean() / 255 == pytest.approx(0.2860, abs=1e-4)  # as its SOURCE.md says
    assert train.pixels.std() / 255 == pytest.approx(0.3530, abs=1e-4)
    assert train.names[int(train.labels[0])] == "Ankle boot"


@pytest.mark.data("sign_digits")
def test_no_hand_is_in_both_parts() -> None:
    train, test = sign_digits("train", 20), sign_digits("test", 20)
    assert (len(train), len(test)) == (1642, 420)
    assert min(Counter(test.labels.tolist()).values()) >= 41
    assert train.pixels.shape[1:] == (3, 20, 20)
    in_order = sign_digits("test", 20, seed=None)
    assert in_order.labels[:10].tolist() == list(range(10))
    assert sorted(in_order.labels) == sorted(test.labels)


def test_students_are_told_apart_by_their_numbers() -> None:
    ten = [(100 + digit, digit, "") for digit in range(10)]
    twice = [(110, 0, ""), (111, 1, ""), (112, 1, ""), (113, 8, ""), (114, 9, "")]
    later = [(150, 3, ""), (151, 4, "")]
    assert images._hands([*ten, *twice, *later]) == [ten, twice, later]


@pytest.mark.data("omniglot_small")
def test_letters() -> None:
    found = omniglot(20)
    assert found.pixels.shape == (4840, 1, 20, 20)
    assert set(Counter(found.labels.tolist()).values()) == {20}
    assert len({name.split("/")[0] for name in found.names}) == 8
    assert found.pixels.mean() < 60  # ink is bright, and there is little of it


def test_a_file_that_is_no_idx_is_refused(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    wrong = tmp_path / "wrong.gz"
    wrong.write_bytes(gzip.compress(b"\1\2\3\4"))
    monkeypatch.setattr(images, "fetch", lambda name, file: wrong)
    with pytest.raises(DataError, match="not an idx file of bytes"):
        fashion_mnist()
