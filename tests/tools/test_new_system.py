"""`deepdive new`: what is written stands in its places, and what cannot be is refused."""

from __future__ import annotations

import ast
import re
import shlex
import shutil
import subprocess
import sys
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import new_system
import pytest
from checkout import ROOT
from click.testing import CliRunner, Result

from deepdive_book import cli
from deepdive_book.site.atlas.headers import Header, headers
from deepdive_book.site.atlas.rows import read_csv, rows

NUMBERS = (
    "newbert",
    "--parent",
    "roberta",
    "--page",
    "none",
    "--oracle",
    "transformers XLMRobertaModel",
)
ABSENT = ("--name", "Gated heads", "--kind", "mechanism", "--chapter", "5", "--tier", "C")


@pytest.fixture
def root(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A checkout that holds what is read, with one more system that is planned: newbert."""
    without = shutil.ignore_patterns("__pycache__", "*.safetensors", "*.ipynb", "results")
    for name in ("lib", "tests/laws", "chapters/05_efficient", "chapters/03_bert"):
        shutil.copytree(ROOT / name, tmp_path / name, ignore=without)
    (tmp_path / "book").mkdir()
    shutil.copy(ROOT / "book" / "references.bib", tmp_path / "book")
    shutil.copy(ROOT / "pyproject.toml", tmp_path)
    with (tmp_path / new_system.TABLE).open("a", encoding="utf-8") as table:
        table.write(
            "newbert,DeeBERT early exit,model,book table 1.1,5,B,bert,between,O(1),O(1),,,,\n"
        )
    monkeypatch.setattr(new_system, "ROOT", tmp_path)
    described = new_system.systems_of
    monkeypatch.setattr(
        new_system,
        "systems_of",
        lambda paper: {"newbert" if name == "deebert" else name for name in described(paper)},
    )
    return tmp_path


def new(*words: str) -> Result:
    headers.cache_clear()
    return CliRunner().invoke(new_system.new, words)


def found(root: Path, system: str) -> Header:
    headers.cache_clear()
    return headers(root / "lib", root)[system]


def row(root: Path, system: str) -> dict[str, str]:
    return {row["id"]: row for row in read_csv(root / new_system.TABLE)}[system]


def contents(root: Path) -> Mapping[Path, bytes]:
    return {path: path.read_bytes() for path in root.rglob("*") if path.is_file()}


def test_a_system_of_other_numbers_is_its_parent_s_builder_and_sizes(root: Path) -> None:
    done = new(*NUMBERS)
    assert done.exit_code == 0, done.output
    text = (root / "lib/deepdive/models/bert/newbert.py").read_text("utf-8")
    kinds = {type(node) for node in ast.parse(text).body}
    assert ast.ClassDef not in kinds
    assert "return roberta.roberta(config, **changes)" in text
    assert "BASE = roberta.BASE" in text
    assert "TINY = roberta.TINY" in text
    assert "Xin et al. 2020" in text
    head = found(root, "newbert")
    assert (head.parent, head.module, head.part) == ("roberta", "deepdive.models.bert.newbert", "")
    assert '"newbert": _tokens(lambda: for_masked_lm(newbert.newbert(newbert.TINY)))' in (
        root / new_system.EXAMPLES
    ).read_text("utf-8")


def test_its_row_changes_and_no_other(root: Path) -> None:
    before = (root / new_system.TABLE).read_text("utf-8").splitlines()
    new(*NUMBERS)
    after = (root / new_system.TABLE).read_text("utf-8").splitlines()
    assert [a.split(",")[0] for a, b in zip(after, before, strict=True) if a != b] == ["newbert"]
    new_row = row(root, "newbert")
    assert (new_row["parent"], new_row["oracle"]) == ("", "transformers XLMRobertaModel")
    headers.cache_clear()
    (now,) = (one for one in rows(root, root / "lib") if one.id == "newbert")
    assert now.built
    assert now.year == "2020"


def test_the_proof_is_red_until_it_proves_something(
    root: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    import laws
    import parity_registry

    monkeypatch.setattr(laws, "CASES", {})
    monkeypatch.setattr(laws, "PARTS", {})
    monkeypatch.setattr(parity_registry, "ORACLES", {})
    new(*NUMBERS)
    text = (root / "tests/laws/models/bert/newbert.py").read_text("utf-8")
    exec(compile(text, "newbert.py", "exec"), {})
    assert set(laws.CASES) == {"newbert"}
    with pytest.raises(AssertionError, match=r"newbert computes what its oracle does"):
        parity_registry.ORACLES["newbert"]()


def test_a_system_without_an_oracle_has_no_proof(root: Path) -> None:
    new(*NUMBERS[:-1], "none: its parent's proof, on other sizes")
    assert "parity_registry" not in (root / "tests/laws/models/bert/newbert.py").read_text("utf-8")


def test_a_system_with_another_method_is_a_class_that_overrides_it(root: Path) -> None:
    words = ("--parent", "talking_heads", "--override", "TalkingHeadsAttention.mix")
    done = new("gated_heads", *words, *ABSENT)
    assert done.exit_code == 0, done.output
    text = (root / "lib/deepdive/attention/heads/gated_heads.py").read_text("utf-8")
    (node,) = (node for node in ast.parse(text).body if isinstance(node, ast.ClassDef))
    assert (node.name, ast.unparse(node.bases[0])) == (
        "GatedHeadsAttention",
        "TalkingHeadsAttention",
    )
    assert "`GatedHeadsAttention.mix`" in (ast.get_docstring(node) or "")
    assert found(root, "gated_heads").part == "GatedHeadsAttention"
    names: dict[str, type] = {}
    exec(compile(text, "gated_heads.py", "exec"), names)
    import torch

    rows = torch.randn(1, 2, 3, 4)
    parent = names["TalkingHeadsAttention"](2)
    assert torch.equal(names["GatedHeadsAttention"](2)(rows, rows, rows), parent(rows, rows, rows))
    cases = (root / "tests/laws/attention/heads.py").read_text("utf-8")
    assert '@case("gated_heads", GatedHeadsAttention)' in cases
    ast.parse(cases)
    *_, last, page = sorted(root.glob("chapters/05_efficient/[0-9][0-9]_*.py"))
    assert page.stem == f"{int(last.stem[:2]) + 1:02}_gated_heads"  # the chapter's next page
    assert 'compare("gated_heads")' in page.read_text("utf-8")
    assert row(root, "gated_heads")["page"] == f"chapters/05_efficient/{page.stem}#in-code"


def test_a_model_with_another_part_is_a_class_and_a_builder(root: Path) -> None:
    done = new(*NUMBERS, "--override", "Block.forward")
    assert done.exit_code == 0, done.output
    names: dict[str, Any] = {}
    exec((root / "lib/deepdive/models/bert/newbert.py").read_text("utf-8"), names)
    assert issubclass(names["NewbertBlock"], names["Block"])
    assert isinstance(names["newbert"](names["TINY"]), names["Bert"])


@pytest.mark.parametrize(
    ("words", "most"),
    [
        (NUMBERS, 4),
        ((*NUMBERS, "--override", "Block.forward"), 4),
        (("gated_heads", "--parent", "talking_heads", *ABSENT), 5),  # with a page of its own
    ],
)
def test_a_system_touches_at_most_six_files(root: Path, words: tuple[str, ...], most: int) -> None:
    """What is left of the six: a page that uses it, and its paper or its checkpoints."""
    before = contents(root)
    assert new(*words).exit_code == 0
    after = {p: data for p, data in contents(root).items() if p.suffix in (".py", ".csv")}
    assert len([path for path in after if after[path] != before.get(path)]) == most


def test_the_first_case_of_a_folder_needs_no_package(root: Path) -> None:
    (root / "lib/deepdive/models/speech/small").mkdir()
    done = new(*NUMBERS, "--folder", "models/speech/small")
    assert done.exit_code == 0, done.output
    assert '@case("newbert"' in (root / "tests/laws/models/speech/small.py").read_text("utf-8")


def test_a_dry_run_prints_and_writes_nothing(root: Path) -> None:
    before = contents(root)
    done = new(*NUMBERS, "--dry-run")
    assert "def newbert(" in done.output
    assert contents(root) == before


@pytest.mark.parametrize(
    ("words", "message"),
    [
        (("newbert", "--parent", "rober"), "did you mean roberta"),
        (("XLM-R", "--parent", "roberta"), "cannot name a file"),
        (("gnmt", "--parent", "roberta"), "is built already"),
        (("gated_heads", "--parent", "talking_heads"), "give --name, --kind, --chapter, --tier"),
        (("dpr", "--parent", "roberta"), "say --page none"),
        ((*NUMBERS[:3], "--page", "chapters/03_bert/09_roberta#nowhere"), "no heading"),
        ((*NUMBERS, "--folder", "models/none"), "no folder lib/deepdive/models/none"),
        ((*NUMBERS, "--override", "BertEmbeddings.fly"), "no method BertEmbeddings.fly"),
        (("newbert", "--parent", "wordpiece", "--page", "none"), "belongs in models"),
    ],
)
def test_what_cannot_be_is_refused_and_nothing_is_written(
    root: Path, words: tuple[str, ...], message: str
) -> None:
    before = contents(root)
    done = new(*words)
    assert done.exit_code == 2
    assert message in " ".join(done.output.split())
    assert contents(root) == before


def test_nothing_is_overwritten(root: Path) -> None:
    (root / "tests/laws/models/bert/newbert.py").write_text("mine", encoding="utf-8")
    before = contents(root)
    assert "exists already" in new(*NUMBERS).output
    assert contents(root) == before


@pytest.mark.parametrize("move", range(1, 5))
def test_a_run_that_is_interrupted_leaves_what_was_there(
    root: Path, monkeypatch: pytest.MonkeyPatch, move: int
) -> None:
    before, written, write = contents(root), [], Path.write_text

    def interrupted(self: Path, text: str, encoding: str) -> int:
        written.append(self)
        if len(written) == move:
            write(self, text[:9], encoding)
            raise KeyboardInterrupt
        return write(self, text, encoding)

    monkeypatch.setattr(Path, "write_text", interrupted)
    assert new(*NUMBERS).exit_code != 0
    assert len(written) == move
    assert contents(root) == before


@pytest.mark.parametrize("words", [NUMBERS, ("gated_heads", "--parent", "talking_heads", *ABSENT)])
def test_what_is_written_is_in_style(root: Path, words: tuple[str, ...]) -> None:
    assert new(*words).exit_code == 0
    for check in (["check"], ["format", "--check"]):
        ruff = [sys.executable, "-m", "ruff", *check, "."]
        done = subprocess.run(ruff, cwd=root, capture_output=True, text=True, check=False)
        assert done.returncode == 0, done.stdout


def test_the_command_runs_the_checkout_s_tool() -> None:
    command = [sys.executable, "-m", "deepdive_book", "new", "gnmt", "--parent", "roberta"]
    done = subprocess.run(command, cwd=ROOT, capture_output=True, text=True, check=False)
    assert done.returncode == 2
    assert "gnmt is built already" in done.stderr


def test_without_a_checkout_it_says_that_it_needs_one(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "chapters").mkdir()
    monkeypatch.chdir(tmp_path)
    done = CliRunner().invoke(cli.main, ("new", *NUMBERS))
    assert done.exit_code == 2
    assert "creating a system requires a checkout" in " ".join(done.output.split())


def printed_examples() -> list[tuple[str, str]]:
    """Each command that the guide and --help print, and the files listed under it."""
    guide = (ROOT / "docs" / "adding-a-system.md").read_text("utf-8")
    helped = CliRunner(env={"COLUMNS": "80"}).invoke(new_system.new, ["--help"]).output
    pattern = r"^ *(deepdive new (?:[^\n]*\\\n)*[^\n]*)\n(?:```\n\n```text\n(.*?)```)?"
    found = re.findall(pattern, f"{guide}\n{helped}", re.MULTILINE | re.DOTALL)
    return [(command.replace("\\\n", " "), listed) for command, listed in found]


def test_the_printed_examples_are_found() -> None:
    commands = printed_examples()
    assert len(commands) == 3
    assert [bool(listed) for _, listed in commands] == [True, False, False]


@pytest.mark.parametrize("number", range(3))
def test_a_printed_example_runs(root: Path, number: int) -> None:
    """An example that names a system that was built meanwhile is red here."""
    command, listed = printed_examples()[number]
    done = new(*shlex.split(command)[2:])
    assert done.exit_code == 0, done.output
    assert listed in done.output


@pytest.mark.parametrize(
    ("name", "near"), [("BERT", "bert"), ("my-bert", "my_bert"), ("2bert", "")]
)
def test_a_name_in_other_letters_is_told_how_to_write_it(root: Path, name: str, near: str) -> None:
    done = new(name, "--parent", "roberta")
    assert done.exit_code == 2
    assert "use lowercase letters" in " ".join(done.output.split())
    assert f"(did you mean {near or 'bert'}?)" in " ".join(done.output.split())
