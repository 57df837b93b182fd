"""The `deepdive` command: what it prints, what it refuses, and with which exit code."""

from __future__ import annotations

import csv
import errno
import os
import re
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from types import SimpleNamespace

import click
import pytest
from click.testing import CliRunner, Result

from deepdive_book import cli
from deepdive_book.site.doctor import Check


def call(*arguments: str) -> Result:
    return CliRunner().invoke(cli.main, arguments)


@pytest.fixture
def book(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A checkout with one page and one case study, as the current folder."""
    first = "# %% [markdown]\n# # {}\n#\n# **{}**\n#\n# {} min\n\n# %%\nprint(6 * 7)\n"
    for name, *words in (
        ("chapters/02_transformer/02_attention", "Attention in $n^2$", "Which words matter?", 20),
        ("casestudies/02_translation", "Translation", "Can it translate?", 30),
    ):
        path = tmp_path / f"{name}.py"
        path.parent.mkdir(parents=True)
        path.write_text(first.format(*words))
    monkeypatch.chdir(tmp_path)
    return tmp_path


def test_pages_and_studies_are_listed_with_their_titles(book: Path) -> None:
    lines = call("list").output.splitlines()
    assert [re.split(r"\s{2,}", line) for line in lines[1:]] == [
        ["2.2", "02_attention", "20", "Attention in n²"],
        ["case 2", "02_translation", "30", "Translation"],
    ]
    assert "02_attention" not in call("list", "studies").output


def test_all_systems_are_listed() -> None:
    lines = call("list", "systems").output.splitlines()
    assert len(lines) == 205
    assert "Longformer" in "\n".join(lines)
    status = {line.split()[0]: line.split()[3] for line in lines}
    assert (status["gnmt"], status["attention_regression"]) == ("proved", "proved")
    assert status["vilbert"] == "planned"


def test_the_shipped_systems_have_an_id_a_chapter_and_a_tier(root: Path) -> None:
    with (root / "lib/deepdive_book/site/atlas/systems.csv").open(newline="") as file:
        rows = list(csv.DictReader(file))
    assert len({row["id"] for row in rows}) == len(rows)
    assert all(row["tier"] in "ABC" and row["chapter"].isdigit() for row in rows)


def test_data_sets_are_listed_with_licence(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("deepdive.data.where", lambda name: None)
    line = next(line for line in call("data", "list").output.splitlines() if "tatoeba_eng" in line)
    assert re.match(r"tatoeba_eng_fra\s+3\.4\s+no\s+Tatoeba English-French.*CC BY 2\.0", line)


@pytest.mark.parametrize(
    ("arguments", "words"),
    [
        (["lst"], "no command 'lst' (did you mean list"),
        (["data", "ftch", "x"], "no command 'ftch' (did you mean fetch?)"),
        (["data", "fetch", "tatoeba_eng_fr"], "'tatoeba_eng_fr' (did you mean tatoeba_eng_fra"),
        (["data", "where", "tatoeba_eng_fr"], "'tatoeba_eng_fr' (did you mean tatoeba_eng_fra"),
        (["data", "fetch"], "Missing argument"),
        (["list", "everything"], "'pages', 'studies', 'data', 'systems'"),
        (["run", "atention"], "no page 'atention'. Near it: chapters/02_transformer/02_attention"),
        (["run", "a"], "'a' fits 2 pages"),
        (["run", "--profile", "fast"], "'ci', 'laptop', 'gpu', 'experiment'"),
        (["notebooks", "--prose", "2.2"], "has no notebook yet"),
    ],
)
def test_wrong_use_is_named_with_exit_code_2(book: Path, arguments: list[str], words: str) -> None:
    result = call(*arguments)
    assert words in result.output
    assert result.exit_code == 2


def test_outside_a_checkout_pages_are_refused(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr(
        "deepdive_book.site.pages.__file__", str(tmp_path / "a" / "b" / "c" / "d.py")
    )
    result = call("list")
    assert result.exit_code == 2
    assert "run this in a checkout" in result.output


def test_a_page_is_run_into_a_folder(book: Path) -> None:
    result = call("run", "2.2", "--profile", "ci", "--out", "there")
    assert result.exit_code == 0, result.output
    assert "chapters/02_transformer/02_attention  ok" in result.output
    assert '"42\\n"' in (book / "there/chapters/02_transformer/02_attention.ipynb").read_text()
    assert not list(book.glob("chapters/*/*.ipynb"))
    where = Path("there/chapters/02_transformer/02_attention.ipynb")
    assert f"Written: {where} (the notebook, with its outputs)" in result.output


def test_of_several_pages_the_folder_is_said(book: Path) -> None:
    result = call("run", "--all", "--profile", "ci")
    assert result.output.endswith(f"Written: {Path('build/ci')} (2 notebooks)\n")


def test_without_a_name_it_asks_before_all_pages_run(
    book: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    refused = call("run", "--profile", "ci")
    assert refused.exit_code == 2
    words = "this runs all 2 pages in the ci profile. Give page numbers (2.2), or pass --all"
    assert words in " ".join(refused.output.split())
    terminal = SimpleNamespace(isatty=lambda: True)
    monkeypatch.setattr("deepdive_book.site.pages.commands.sys", SimpleNamespace(stdin=terminal))
    monkeypatch.setattr("click.confirm", lambda *_, abort: (_ for _ in ()).throw(click.Abort))
    declined = call("run", "--profile", "ci")
    assert declined.exit_code == 130
    assert "o page given: this runs all 2 pages" in declined.output
    assert not (book / "build/ci").exists()


def test_a_page_that_fails_says_where_its_notebook_lies_too(book: Path) -> None:
    page = book / "chapters/02_transformer/02_attention.py"
    page.write_text(page.read_text() + "1 / 0\n")
    result = call("run", "2.2", "--profile", "ci")
    assert result.exit_code == 1
    assert "Written: " in result.output


def test_a_notebook_that_is_not_its_source_fails_the_check(book: Path) -> None:
    result = call("notebooks", "--check")
    assert result.exit_code == 1
    assert "chapters/02_transformer/02_attention: no notebook" in result.output


@pytest.fixture
def mirror(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A mirror in which tinyshakespeare's file is not the registered one."""
    file = tmp_path / "mirror" / "tinyshakespeare" / "input.txt"
    file.parent.mkdir(parents=True)
    file.write_text("to be")
    monkeypatch.setenv("DEEPDIVE_MIRROR", str(tmp_path / "mirror"))
    monkeypatch.setenv("DEEPDIVE_CACHE", str(tmp_path / "cache"))
    return tmp_path / "mirror"


def test_a_changed_file_is_named_and_fails(mirror: Path) -> None:
    for command in (["verify"], ["fetch"]):
        result = call("data", *command, "tinyshakespeare")
        assert result.exit_code == 1
        assert "input.txt" in result.output
        assert "truncated" in result.output
    result = call("data", "where", "tinyshakespeare")
    assert result.exit_code == 1
    assert "deepdive data fetch tinyshakespeare" in result.output


@pytest.mark.data("tinyshakespeare")
def test_a_good_data_set_is_found_and_verified() -> None:
    for command in ("fetch", "where"):
        result = call("data", command, "tinyshakespeare")
        assert result.exit_code == 0
        assert Path(result.output.strip(), "input.txt").is_file()
    result = call("data", "verify", "tinyshakespeare")
    assert result.exit_code == 0
    assert result.output.startswith("ok tinyshakespeare/input.txt")


@pytest.mark.parametrize(("lacking", "code"), [("torch", 1), ("Python", 1), ("network", 0)])
def test_the_doctor_fails_only_where_no_page_could_run(
    monkeypatch: pytest.MonkeyPatch, lacking: str, code: int
) -> None:
    found = [
        Check(name, name != lacking, "as it is", "make setup" if name == lacking else "")
        for name in ("Python", "torch", "network")
    ]
    monkeypatch.setattr("deepdive_book.site.doctor.checks", lambda: found)
    result = call("doctor")
    assert result.exit_code == code
    lines = result.output.splitlines()
    assert len(lines) == 3
    assert [line for line in lines if line.startswith("NO")] == [
        f"NO {lacking:7}  as it is; fix: make setup"
    ]


def test_every_command_has_help_and_the_module_can_be_run() -> None:
    for command in ([], ["list"], ["run"], ["notebooks"], ["doctor"], ["data", "fetch"]):
        result = call(*command, "--help")
        assert result.exit_code == 0
        assert "Usage: " in result.output
    done = subprocess.run(
        [sys.executable, "-m", "deepdive_book", "--version"], capture_output=True, check=False
    )
    assert done.returncode == 0


def commands(command: click.Command, path: tuple[str, ...] = ()) -> Iterator[tuple[str, ...]]:
    """The words of every command, groups among them."""
    yield path
    if isinstance(command, click.Group):
        for name, inner in command.commands.items():
            yield from commands(inner, (*path, name))


@pytest.mark.parametrize("words", [*commands(cli.main)], ids=" ".join)
def test_help_fits_a_terminal_and_no_sentence_is_cut(words: tuple[str, ...]) -> None:
    result = CliRunner(env={"COLUMNS": "80"}).invoke(cli.main, [*words, "--help"])
    lines = [line for line in result.output.splitlines() if not line.startswith("Usage: ")]
    assert not [line for line in lines if len(line) > 80]
    listed = result.output.partition("Commands:")[2]
    assert "..." not in listed, "the first sentence of a command is what its group shows"


@pytest.mark.parametrize("what", [["list"], ["list", "systems"], ["list", "sheets"]])
def test_a_list_fits_the_terminal_and_is_whole_lines_in_a_pipe(
    monkeypatch: pytest.MonkeyPatch, what: list[str]
) -> None:
    piped = call(*what).output.splitlines()
    monkeypatch.setattr(cli, "width", lambda: 80)
    shown = call(*what).output.splitlines()
    assert max(map(len, shown)) <= 80
    names = [line.split()[0] for line in piped]
    assert names == [line.split()[0] for line in shown if not line.startswith(" ")]


def test_a_sheet_goes_where_git_does_not_look_and_says_where(book: Path) -> None:
    result = call("sheet", "softmax")
    assert f"Written: {Path('build/sheets/softmax-0.html')}\n" in result.output
    assert (book / "build/sheets/softmax-0.html").is_file()
    assert not list(book.glob("*.html"))


@pytest.mark.parametrize("command", [["list"], ["where", "tatoeba_eng_fra"], ["verify"]])
def test_a_mirror_that_is_no_folder_is_one_clear_error(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path, command: list[str]
) -> None:
    monkeypatch.setenv("DEEPDIVE_MIRROR", str(tmp_path / "missing"))
    result = call("data", *command)
    assert result.exit_code == 1
    assert "Error: DEEPDIVE_MIRROR" in result.output
    assert "Traceback" not in result.output


@pytest.mark.parametrize("words", [["list"], ["list", "sheets"], ["data", "list"]])
def test_a_poor_locale_and_no_home_are_no_hindrance(tmp_path: Path, words: list[str]) -> None:
    (tmp_path / "file").touch()
    poor = {"LC_ALL": "C", "LANG": "C", "PYTHONUTF8": "0", "PYTHONCOERCECLOCALE": "0"}
    poor |= {"HOME": str(tmp_path / "file" / "home"), "DEEPDIVE_MIRROR": ""}
    env = {k: v for k, v in os.environ.items() if not k.startswith("XDG_")} | poor
    command = [sys.executable, "-m", "deepdive_book", *words]
    done = subprocess.run(command, capture_output=True, env=env, check=False)
    assert done.returncode == 0, done.stderr
    assert done.stdout
    assert b"Error" not in done.stderr


SUDDEN = """
import os, runpy, signal, sys

class Interrupt:
    def find_spec(self, name, path=None, target=None):
        if name == {module!r}:
            os.kill(os.getpid(), signal.SIGINT)

sys.meta_path.insert(0, Interrupt())
signal.signal(signal.SIGINT, signal.default_int_handler)
sys.argv = ["deepdive", *{arguments!r}]
runpy.run_module({run!r}, run_name="__main__", alter_sys=True)
"""


@pytest.mark.parametrize(
    ("run", "module", "arguments"),
    [
        ("deepdive_book", "click", ["list"]),
        ("deepdive_book", "deepdive_book.course.questions.commands", ["list"]),
        ("deepdive_book", "deepdive_book.site.atlas.rows", ["list", "systems"]),
        ("deepdive_book.site.pages", "click", ["run"]),
        ("deepdive_book.site.pages", "deepdive_book.site.pages.runner", ["run"]),
    ],
)
def test_an_interrupt_during_imports_is_quiet(run: str, module: str, arguments: list[str]) -> None:
    code = SUDDEN.format(run=run, module=module, arguments=arguments)
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=False)
    assert done.returncode == 130
    assert "Traceback" not in done.stderr


def test_an_interrupt_inside_a_command_exits_with_130(monkeypatch: pytest.MonkeyPatch) -> None:
    def interrupted(name: str) -> None:
        raise KeyboardInterrupt

    monkeypatch.setattr("deepdive.data.fetch", interrupted)
    result = call("data", "fetch", "tinyshakespeare")
    assert result.exit_code == 130
    assert result.output == "interrupted\n"


@pytest.mark.parametrize(
    ("number", "way"),
    [("ENOSPC", "free some space"), ("EROFS", "choose a writable"), ("EACCES", "check its")],
)
def test_what_the_disk_refuses_is_one_line(
    monkeypatch: pytest.MonkeyPatch, number: str, way: str
) -> None:
    def refused(name: str) -> None:
        code = getattr(errno, number)
        raise OSError(code, os.strerror(code), "there/file")

    monkeypatch.setattr("deepdive.data.fetch", refused)
    result = call("data", "fetch", "tinyshakespeare")
    assert result.exit_code == 1
    assert re.match(f"Error: there/file: .*: {way}", result.output)


def test_a_fault_of_ours_is_not_hidden(monkeypatch: pytest.MonkeyPatch) -> None:
    def broken(name: str) -> None:
        raise FileNotFoundError(errno.ENOENT, "no such file")

    monkeypatch.setattr("deepdive.data.fetch", broken)
    assert isinstance(call("data", "fetch", "tinyshakespeare").exception, FileNotFoundError)
