"""A family is read from the atlas: parents before children, and what proves each."""

from __future__ import annotations

import pytest

from deepdive_book.site.atlas.lineage import kin, proof
from deepdive_book.site.atlas.rows import rows


def test_a_parent_stands_before_its_children_and_these_by_year() -> None:
    found = kin("longformer", "roberta", "bert", "albert", "distilbert", "bigbird")
    assert [(one.row.id, one.depth) for one in found] == [
        ("bert", 0), ("roberta", 1), ("longformer", 2), ("bigbird", 3), ("distilbert", 1),
        ("albert", 1),
    ]  # fmt: skip


def test_a_parent_that_is_not_asked_for_makes_its_child_a_root() -> None:
    assert [(one.row.id, one.depth) for one in kin("roberta", "longformer", "fnet")] == [
        ("roberta", 0), ("longformer", 1), ("fnet", 0),
    ]  # fmt: skip


def test_a_proof_names_the_reference_or_says_that_there_is_none() -> None:
    known = {row.id: row for row in rows()}
    assert proof(known["roberta"]) == "Its numbers equal those of transformers RobertaModel."
    assert proof(known["hebb"]).startswith("There is no reference implementation; ")
    planned = next(row for row in known.values() if not row.built)
    assert proof(planned) == ""


def test_an_unknown_or_repeated_system_is_refused() -> None:
    with pytest.raises(ValueError, match="'bort' is not in the atlas"):
        kin("bert", "bort")
    with pytest.raises(ValueError, match="each once; got bert, bert"):
        kin("bert", "bert")
