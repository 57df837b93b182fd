"""Matrices as pictures: what a reader must be able to check stands in them."""

import re

import pytest

from deepdive_book.kit.diagrams.matrices import Matrix, falk, matrix


def numbers(svg: str) -> list[str]:
    return re.findall(r">([-\d.]+)</text>", svg)


def test_a_matrix_shows_its_numbers_and_its_shape() -> None:
    drawn = matrix(0, 20, Matrix("A", "query", [[1.0, -2.0], [0.5, -0.001]]), labels=["the", "<b>"])
    assert numbers(drawn) == ["1", "-2", "0.5", "0"]
    assert "A 2×2" in drawn
    assert "&lt;b&gt;" in drawn
    assert numbers(matrix(0, 20, Matrix("A", "", [[None] * 3] * 2))) == []


def test_falk_draws_each_product_under_its_factor() -> None:
    left, right = Matrix("X", "", [[1, 2]]), Matrix("W", "key", [[3], [4]])
    drawn = falk(left, [right, right], [Matrix("K", "key", [[11]])] * 2, ["bank"])
    assert numbers(drawn) == ["1", "2", "3", "4", "11", "3", "4", "11"]
    corners = re.findall(r'<rect x="([\d.]+)"', drawn)
    assert corners[2] == corners[3] == corners[4]
    assert corners[2] != corners[5]


def test_falk_refuses_what_is_no_product() -> None:
    left = Matrix("X", "", [[None] * 3] * 2)
    with pytest.raises(ValueError, match=r"X \(2, 3\) times W \(2, 1\) is not Y \(2, 1\)"):
        falk(left, [Matrix("W", "", [[None]] * 2)], [Matrix("Y", "", [[None]] * 2)])
