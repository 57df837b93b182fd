"""The palette: told apart, readable on light and dark paper, and turned into the book's theme."""

from __future__ import annotations

import numpy as np
import pytest

from deepdive_book.kit.mathml import mathml
from deepdive_book.kit.palette import COLORS, PALETTE, ROLES, css, lettered, painted, themed

PAPERS = {"light": ("#ffffff", "#f3f4f5"), "dark": ("#14181e", "#29313d")}  # page and surface


def light(color: str) -> float:
    """The relative luminance of a colour, as WCAG 2 has it."""
    parts = np.array([int(color[i : i + 2], 16) / 255 for i in (1, 3, 5)])
    linear = np.where(parts <= 0.03928, parts / 12.92, ((parts + 0.055) / 1.055) ** 2.4)
    return float(linear @ [0.2126, 0.7152, 0.0722])


def contrast(one: str, other: str) -> float:
    low, high = sorted((light(one), light(other)))
    return (high + 0.05) / (low + 0.05)


@pytest.mark.parametrize("role", COLORS)
def test_words_in_a_role_s_colour_can_be_read_on_both_papers(role: str) -> None:
    for theme, papers in PAPERS.items():
        for paper in papers:
            assert contrast(getattr(COLORS[role], theme), paper) >= 4.5, (theme, paper)


@pytest.mark.parametrize(
    "colors",
    [PALETTE, tuple(ROLES.values()), tuple(c.dark for c in COLORS.values())],
    ids=["series", "marks", "dark"],
)
def test_colours_are_told_apart_without_colour_vision(colors: tuple[str, ...]) -> None:
    """Simulated deuteranopia and protanopia (Vienot, Brettel and Mollon 1999), linear RGB."""
    to_lms = np.array(
        [[17.8824, 43.5161, 4.1194], [3.4557, 27.1554, 3.8671], [0.03, 0.1843, 1.4671]]
    )
    missing = {
        "protan": np.array([[0, 2.0234, -2.5258], [0, 1, 0], [0, 0, 1]]),
        "deutan": np.array([[1, 0, 0], [0.4942, 0, 1.2483], [0, 0, 1]]),
    }
    least = 0.1 if colors == PALETTE else 0.06
    rgb = np.array([[int(c[i : i + 2], 16) / 255 for i in (1, 3, 5)] for c in colors]) ** 2.2
    for name, loss in missing.items():
        seen = (np.linalg.inv(to_lms) @ loss @ to_lms @ rgb.T).T.clip(0, 1) ** (1 / 2.2)
        gaps = np.linalg.norm(seen[:, None] - seen[None], axis=-1)
        assert gaps[~np.eye(len(gaps), dtype=bool)].min() > least, name


def test_marks_follow_the_theme_words_in_their_own_colour_and_scripts_stay() -> None:
    shown = themed(
        '<rect fill="#d55e00"/><text fill="#D55E00">q</text><i style="color: #0072B2">k</i>'
        '<b style="border-color: #0072B2; background: #0072B233"></b>'
        '<i style="background: #0072b2f">no colour</i><script>"#D55E00"</script>'
    )
    assert shown == (
        '<rect fill="var(--dd-query,#d55e00)"/>'
        '<text fill="var(--dd-query-words,#D55E00)">q</text>'
        '<i style="color: var(--dd-key-words,#0072B2)">k</i>'
        '<b style="border-color: var(--dd-key,#0072B2); '
        'background: color-mix(in srgb,var(--dd-key,#0072B2) 20%,transparent)"></b>'
        '<i style="background: #0072b2f">no colour</i><script>"#D55E00"</script>'
    )


def test_every_role_has_its_properties_in_both_themes() -> None:
    for role, color in COLORS.items():
        assert f"--dd-{role}:{color.mark};--dd-{role}-words:{color.light};" in css()
        assert css().count(f"--dd-{role}:{color.dark};") == 2  # chosen, and as the system has it


def test_a_style_sheet_names_roles_and_keeps_its_rules() -> None:
    assert painted("@media print { a { color: @key; } } b { color: @weight-dark; }") == (
        "@media print { a { color: #0072B2; } } b { color: #f5c84c; }"
    )


def test_letters_of_a_formula_wear_their_roles_where_queries_meet_keys() -> None:
    both = lettered(mathml(r"\mathrm{softmax}(Q K^\top / \sqrt{d_k})\,V", "block"))
    for letter, role in (("Q", "query"), ("K", "key"), ("V", "value")):
        assert f'<mi class="role-{role}">{letter}</mi>' in both
    assert "<mi>k</mi>" in both, "the k of d_k names a size"
    assert 'role-key">&#x1D424;' in lettered(mathml(r"\mathbf{q}^\top \mathbf{k}", "inline"))
    alone = mathml(r"p(c) = k\,V", "inline")
    assert lettered(alone) == alone
