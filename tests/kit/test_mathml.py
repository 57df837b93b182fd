"""Formulas as MathML are spaced as LaTeX spaces them."""

import re

import pytest

from deepdive_book.kit.mathml import mathml


@pytest.mark.parametrize(
    ("latex", "gaps"),
    [
        (r"T \log T", 2),
        (r"n \log_2 n", 2),
        (r"\exp(x)", 0),
        (r"\arccos\cos x", 2),
        ("x y", 0),
        (r"\log \mathrm{cost}", 1),
        (r"\log \text{cost}", 1),
    ],
)
def test_a_function_stands_apart_from_its_argument(latex: str, gaps: int) -> None:
    assert mathml(latex, "inline").count("<mspace") == gaps


def test_bars_stand_close_to_what_they_enclose() -> None:
    found = mathml(r"|x| + \lVert y \rVert + \|z\|", "inline")
    bars = re.findall(r"<mo([^>]*)>&#x0(?:007C|2016);", found)
    assert bars == [' stretchy="false" lspace="0" rspace="0"'] * 6


@pytest.mark.parametrize(
    ("latex", "signs"),
    [
        ("(-1, -1)", 2),
        (r"a = -\infty", 1),
        (r"x \le \pm c", 1),
        ("[a; -b]", 1),
        ("a - b", 0),
        ("(a) - b", 0),
        ("|a| - b", 0),
        ("n! - 1", 0),
        ("x^2 - 1", 0),
        ("1 + \\ldots - b", 0),
    ],
)
def test_a_sign_belongs_to_its_number(latex: str, signs: int) -> None:
    assert mathml(latex, "inline").count('form="prefix"') == signs
