"""A system beside its parent: counts, the same input, code, and the diagram of the change."""

from __future__ import annotations

import re

import pytest
import torch

from deepdive.core import FeedForward, GatedFeedForward
from deepdive_book.site.atlas import compare
from deepdive_book.site.atlas.comparison import comparable
from deepdive_book.site.atlas.diagrams import changes, difference, parts
from deepdive_book.site.atlas.rows import rows
from deepdive_book.site.atlas.specimens import code, specimen

NAMES = comparable()


def test_every_built_model_with_a_built_parent_is_compared() -> None:
    assert {"gnmt", "transformer", "multi_query", "glu_variants", "fsmt"} <= set(NAMES)


@pytest.mark.parametrize("name", NAMES)
def test_a_view_has_all_its_parts(name: str) -> None:
    (row,) = (row for row in rows() if row.id == name)
    view = compare(name)
    assert [line[0] for line in view.counts] == [
        "class", "input", "output", "parameters", "operations"
    ]  # fmt: skip
    for bullet in row.bullets:
        assert bullet in repr(view)
    assert view.html.count("<svg") == 1
    assert view.html.count("<details>") == 3
    assert view.child.operations >= 0
    assert torch.isfinite(view.child.output).all()
    again = compare(name)
    assert view.html == again.html, "the same seed, the same page"


def test_counts_are_those_of_the_modules() -> None:
    plain, gated = FeedForward(16, 32), GatedFeedForward(16, 24)
    view = compare("glu_variants")
    for module, one in ((plain, view.parent), (gated, view.child)):
        assert one.parameters == sum(p.numel() for p in module.parameters())
    assert view.parent.operations == 2 * 2 * 6 * 2 * 16 * 32
    assert view.child.operations == 2 * 2 * 6 * 3 * 16 * 24


def test_one_seed_and_one_input_go_through_both() -> None:
    view = compare("masked_attention")
    weights = [one.module.state_dict() for one in (view.parent, view.child)]
    for (name, a), b in zip(weights[0].items(), weights[1].values(), strict=True):
        assert torch.equal(a, b), name
    assert torch.equal(view.parent.input, view.child.input)
    last = (view.parent.output - view.child.output)[:, -1].abs().max()
    first = (view.parent.output - view.child.output)[:, 0].abs().max()
    assert last < 1e-6 < first, "the last row may see all; the first only itself"


def test_code_is_compared_without_docstrings_imports_and_cases() -> None:
    lines = code("glu_variants")
    assert lines[0].startswith("class GatedFeedForward")
    assert not any('"""' in line or "Case(" in line or line.startswith("import") for line in lines)
    found = compare("glu_variants").lines
    assert any(line.startswith("+") and "self.gate" in line for line in found)
    assert not any(line.startswith("-") and "self.gate" in line for line in found)
    assert compare("multi_query").lines == [], "one class; the difference is an argument"
    whole = code("gnmt")
    assert {"class GNMTDecoder(nn.Module):", "def gnmt("} <= set(whole)


def test_what_is_new_is_lit_and_what_is_gone_is_dashed() -> None:
    old = [(0, "A", 1), (1, "B", 2), (1, "C", 1)]
    new = [(0, "A", 1), (1, "B", 3), (1, "D", 1)]
    assert list(changes(old, new)) == [
        ("same", old[0]), ("new", new[1]), ("gone", old[2]), ("new", new[2])
    ]  # fmt: skip
    view = compare("transformer")
    lit = set(re.findall(r'font-weight="600">([^<]+)<', view.diagram))
    assert any("Block" in words for words in lit)
    assert "without BahdanauDecoder" in view.diagram
    assert "stroke-dasharray" in view.diagram
    assert "Block" in view.alt
    assert "BahdanauDecoder" in view.alt


def test_a_parent_in_its_heads_is_read_from_inside_and_depth_shows_what_differs() -> None:
    parent, child = (specimen(n).traced.top.inside for n in ("bert", "nystromformer"))
    found = difference(parent, child, set())
    assert [(what, kind) for what, (_, kind, _) in found if what != "same"] == [
        ("gone", "BertForPreTraining"), ("gone", "MaskedHead"), ("gone", "SoftmaxAttention"),
        ("new", "NystromAttention"),
    ]  # fmt: skip
    assert {"Bert", "Stack", "Block"} <= {kind for what, (_, kind, _) in found if what == "same"}
    assert not [kind for _, (_, kind, _) in found if kind == "ValueConvolution"], "inside the new"


def test_equal_neighbours_are_one_box() -> None:
    found = {(kind, many) for _, kind, many in parts(specimen("transformer").traced.top.inside)}
    assert ("Block", 2) in found


@pytest.mark.parametrize(
    ("name", "message"),
    [
        ("vilbert", "'vilbert' is not built"),
        ("bretr", "not built"),
        ("sinusoidal", "no parent"),
        ("decoding", "no module that could be called"),
    ],
)
def test_what_cannot_be_compared_is_refused(name: str, message: str) -> None:
    with pytest.raises(ValueError, match=message):
        compare(name)


def test_compare_is_a_function_also_after_its_first_call() -> None:
    """A cell that imports it is run twice."""
    for _ in range(2):
        from deepdive_book.site.atlas import compare as imported

        assert imported("multi_query").child
