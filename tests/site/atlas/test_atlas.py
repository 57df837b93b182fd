"""The atlas: what each row says is true, and a model with a header is on the map by existing."""

from __future__ import annotations

import csv
import importlib
import os
import shutil
import subprocess
import sys
from dataclasses import replace
from pathlib import Path

import pytest
from proofs import Proofs, matches, unproved
from pybtex.database import parse_file

from deepdive_book.site.atlas.headers import MOST, HeaderError, blocks, header, headers
from deepdive_book.site.atlas.pages import headings
from deepdive_book.site.atlas.rows import (
    LIBRARY,
    PLACES,
    ROOT,
    SYSTEMS,
    TABLES,
    Row,
    growth,
    read_csv,
    rows,
    table,
)

HEADER = """System: new_one
Parent: gnmt
What differs:
- it is newer (`New`),
  by a line
Source: Someone 2026, section 1.
Book: 2.5"""
ROWS = rows()
BUILT = [row for row in ROWS if row.built]
IDS = {row.id for row in ROWS}


# -- the file


def test_the_file_is_what_the_code_says() -> None:
    """`make atlas` writes it."""
    assert (ROOT / "atlas.csv").read_text("utf-8") == table(ROWS), "run `make atlas`"


def test_every_listed_system_has_a_row() -> None:
    listed = [each["id"] for each in read_csv(SYSTEMS)]
    assert [row.id for row in ROWS][: len(listed)] == listed
    assert len(listed) >= 200  # those that the companion was planned with, and what came since
    assert len(IDS) == len(ROWS)


def test_a_system_is_planned_or_built_and_said_once() -> None:
    listed = [each["id"] for each in read_csv(SYSTEMS)]
    assert len(listed) == len(set(listed))
    built = headers(LIBRARY, ROOT)
    assert {row.id for row in BUILT} == set(built)
    for each in read_csv(SYSTEMS):
        assert not (each["parent"] and each["id"] in built), f"{each['id']}: its header says this"


def test_nothing_pretends() -> None:
    for row in ROWS:
        assert row.status in ("planned", "proved"), row.id
        of_code = (row.module, row.test, row.page, row.oracle, row.checkpoints, row.differs)
        if not row.built:
            assert not any(of_code), f"{row.id} is planned: there is nothing to point at"


# -- each field


def test_parents_exist_and_form_a_forest() -> None:
    parents = {row.id: row.parent for row in ROWS}
    for name in parents:
        seen = [name]
        while parent := parents[seen[-1]]:
            assert parent in parents, f"{seen[-1]}: no system {parent!r}"
            assert parent not in seen, f"a circle: {[*seen, parent]}"
            seen.append(parent)


def test_places_bullets_and_complexity() -> None:
    for row in ROWS:
        assert row.place in PLACES, row.id
        assert len(row.bullets) <= MOST, row.id
        for cost in (row.time, row.memory):
            assert cost.startswith("O(") or (not row.built and not cost), f"{row.id}: {cost!r}"
        if row.built:
            assert row.bullets or not row.parent, f"{row.id}: what differs from {row.parent}?"


def test_papers_are_in_the_bibliography_with_their_year() -> None:
    entries = parse_file(str(ROOT / "book" / "references.bib")).entries
    for row in ROWS:
        years = {entries[key].fields["year"] for key in row.paper.split()}
        assert row.year.isdigit(), row.id
        assert row.built or row.year == min(years), row.id
        for key in row.paper.split():
            assert row.id in entries[key].fields["systems"].split(", "), f"{row.id}: {key}"


@pytest.mark.parametrize("row", BUILT, ids=lambda row: row.id)
def test_the_module_can_be_imported_and_has_the_class(row: Row) -> None:
    module, _, part = row.module.partition(":")
    if not module.startswith("deepdive"):
        assert (ROOT / f"{module}.ipynb").is_file()
        return
    found = importlib.import_module(module)
    assert not part or isinstance(getattr(found, part), type)


@pytest.mark.parametrize("row", BUILT, ids=lambda row: row.id)
def test_page_and_anchor_exist(row: Row) -> None:
    page, _, anchor = row.page.partition("#")
    assert page, f"no page of chapter {row.chapter} uses {row.module}: name its page in systems.csv"
    source = ROOT / f"{page}.py"
    assert source.is_file(), row.page
    assert anchor in {name for _, name in headings(source)}, row.page


@pytest.mark.parametrize("row", BUILT, ids=lambda row: row.id)
def test_oracle_and_checkpoints_are_named(row: Row) -> None:
    assert len(row.oracle) > 8, "an oracle, or `none: ` and what proves it instead"
    assert row.oracle != "none", "none: and what proves it instead"
    assert row.checkpoints


@pytest.fixture(scope="session")
def collected(request: pytest.FixtureRequest) -> tuple[str, ...]:
    """The tests that pytest finds in the files that the atlas names; in a whole run it has them."""
    files = {pattern.split("::")[0] for row in BUILT for pattern in row.test.split()}
    wanted = sorted(file for file in files if file.startswith("tests/"))
    here = tuple(item.nodeid for item in request.session.items)
    if {node.split("::")[0] for node in here} >= set(wanted):
        return here
    command = [sys.executable, "-m", "pytest", "--collect-only", "-q", *wanted]
    env = {k: v for k, v in os.environ.items() if k != "DEEPDIVE_WHOLE"}  # this is no whole run
    told = subprocess.run(
        command, cwd=ROOT, env=env, capture_output=True, text=True, check=True
    ).stdout
    return tuple(line for line in told.splitlines() if "::" in line)


@pytest.mark.parametrize("row", BUILT, ids=lambda row: row.id)
def test_its_tests_are_there(row: Row, collected: tuple[str, ...]) -> None:
    """That they ran and passed is asked at the end of a whole run: `proofs`."""
    from run_tests import pages

    assert row.test, "no test is named"
    for pattern in row.test.split():
        file = pattern.split("::")[0]
        if file.endswith(".ipynb"):
            assert file in pages(), pattern
        else:
            assert any(matches(pattern, node) for node in collected), pattern


# -- what ran


def test_a_system_whose_test_did_not_run_or_failed_is_named() -> None:
    (row,) = (row for row in BUILT if row.id == "dot_attention")
    law = "tests/test_laws.py::test_law[dot_attention-order]"
    parity = "tests/test_parity.py::test_parity[dot_attention]"
    good = {law: "passed", parity: "passed"}
    assert unproved([row], good) == []
    assert "nothing ran" in unproved([row], {law: "passed"})[0]
    assert unproved([row], good | {law: "failed"}) == [f"dot_attention: {law} failed"]
    assert unproved([row], good | {parity: "skipped"}) == [f"dot_attention: {parity} skipped"]
    assert not unproved([replace(row, status="planned")], {})


def test_brackets_are_letters_and_a_star_is_any_text() -> None:
    assert matches("t.py::law[A-*]", "t.py::law[A-b]")
    assert not matches("t.py::law[A-*]", "t.py::law[BA-b]")
    assert matches("t.py::one", "t.py::one[1]")
    assert not matches("t.py::one", "t.py::one_more")


def test_a_whole_run_that_leaves_a_proof_out_fails(monkeypatch: pytest.MonkeyPatch) -> None:
    class Session:
        config, exitstatus = object(), pytest.ExitCode.OK

    proofs, session = Proofs(), Session()
    monkeypatch.delenv("DEEPDIVE_WHOLE", raising=False)
    proofs.pytest_sessionfinish(session)  # type: ignore[arg-type]
    assert session.exitstatus == pytest.ExitCode.OK
    monkeypatch.setenv("DEEPDIVE_WHOLE", "1")
    proofs.pytest_sessionfinish(session)  # type: ignore[arg-type]
    assert session.exitstatus == pytest.ExitCode.TESTS_FAILED
    assert len(proofs.faults) >= len(BUILT)


# -- headers


@pytest.fixture
def package(tmp_path: Path) -> Path:
    """A copy of both packages' code in a folder of their own."""
    copy = tmp_path / "lib"
    shutil.copytree(LIBRARY, copy, ignore=shutil.ignore_patterns("__pycache__", "*.safetensors"))
    return copy


def test_a_header_without_a_line_in_the_table_is_refused(package: Path) -> None:
    new = package / "deepdive" / "models" / "new_one.py"
    new.write_text(f'"""New.\n\n{HEADER}\n"""\n', encoding="utf-8")
    with pytest.raises(HeaderError, match=r"new_one has no line in systems.csv"):
        rows(ROOT, package)


def test_a_listed_system_becomes_built_by_its_header(package: Path) -> None:
    (plan,) = (row for row in ROWS if row.id == "vilbert")
    code = f'"""ViLBERT. Lu et al. 2019.\n\n{HEADER.replace("new_one", "vilbert")}\n"""\n'
    (package / "deepdive" / "models" / "vilbert.py").write_text(code, encoding="utf-8")
    (now,) = (row for row in rows(ROOT, package) if row.id == "vilbert")
    assert not plan.built
    assert now.built
    assert (now.name, now.chapter, now.paper) == (plan.name, plan.chapter, plan.paper)
    assert now.module == "deepdive.models.vilbert"


def test_two_headers_of_one_system_are_refused(package: Path) -> None:
    for name in ("one", "two"):
        new = package / "deepdive" / "models" / f"{name}.py"
        new.write_text(f'"""X.\n\n{HEADER}\n"""\n', "utf-8")
    with pytest.raises(HeaderError, match=r"two.py: new_one has a header in deepdive.models.one"):
        rows(ROOT, package)


@pytest.mark.parametrize(
    ("change", "message"),
    [
        (("Book: 2.5", "Book:"), "lacks Book"),
        (("Book: 2.5", "Book: 2.5\nBook: 2.6"), "Book stands twice"),
        (("Source: Someone 2026, section 1.\nBook: 2.5", "Book: 2\nSource: S"), "expected System"),
        (("- it is newer (`New`),\n  by a line\n", "- more\n" * 6), "6 bullets, at most 5"),
    ],
)
def test_a_header_that_cannot_be_read_is_refused(change: tuple[str, str], message: str) -> None:
    with pytest.raises(HeaderError, match=message):
        [header(block, "deepdive.models.x") for block in blocks(HEADER.replace(*change))]


def test_a_docstring_may_hold_two_headers_and_prose() -> None:
    text = f"What it is.\n\n{HEADER}\n\nMore prose: with a colon.\n\n{HEADER}"
    first, second = blocks(text)
    assert first == second
    assert first["Source"] == ["Someone 2026, section 1."]


def test_how_time_grows_with_the_length() -> None:
    assert growth("O(n_layers d_model (T + d_ff))") == "T"
    assert growth("O(S d_head)") == "T"
    assert growth("O(n_rounds log T d_model)") == "log T"
    assert growth("O(sqrt(T) d_model)") == "sqrt(T)"
    assert growth("O(window d_model)") == "none"
    assert growth("") == "not stated"


def test_the_atlas_is_read_without_torch() -> None:
    code = "import sys, deepdive_book.site.atlas.rows as a; a.rows(); print('torch' in sys.modules)"
    told = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert told.stdout.strip() == "False"


# -- the tables of the book


def test_the_tables_name_systems_and_say_what_was_printed() -> None:
    for each in read_csv(TABLES):
        assert each["table"] in ("1.1", "1.2", "1.3", "1.4")
        assert each["modification"]
        assert each["printed"] or each["ours"], each
        assert (each["system"] in IDS) == (each["table"] != "1.4"), each


def test_the_printed_tables_are_whole() -> None:
    """Every cell of the book's text between the captions of tables 1.1 to 1.4."""
    source = ROOT.parent / "shared" / "sources" / "book.txt"
    if not source.is_file():
        pytest.skip("the text of the printed book is not beside this checkout")
    text = source.read_text("utf-8")
    for each in read_csv(TABLES):
        start = text.index(f"\nTABLE {each['table']} ")
        assert each["printed"] in text[start : start + 1600], each
        assert each["modification"] in text[start : start + 1600], each


def test_the_committed_file_opens_as_a_table() -> None:
    with (ROOT / "atlas.csv").open(encoding="utf-8", newline="") as file:
        found = list(csv.DictReader(file))
    assert list(found[0])[:5] == ["id", "name", "kind", "chapter", "parent"]
    assert {row["status"] for row in found} == {"planned", "proved"}
