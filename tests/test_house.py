"""The house: one list of dependencies, imports that run one way, sizes, documents that agree."""

from __future__ import annotations

import ast
import json
import os
import pkgutil
import re
import shlex
import subprocess
import sys
import tomllib
from functools import cache
from graphlib import CycleError, TopologicalSorter
from pathlib import Path
from statistics import median
from types import SimpleNamespace
from typing import Any

import book_table
import click
import new_system
import pytest
import quick
import yaml
from checkout import ROOT
from packaging.requirements import Requirement
from packaging.specifiers import SpecifierSet
from packaging.utils import canonicalize_name
from packaging.version import Version
from PIL import Image

import deepdive
from deepdive_book import cli

LIB = ROOT / "lib" / "deepdive"
BOOK = ROOT / "lib" / "deepdive_book"
GRADER = ROOT / "tools" / "grader" / "src" / "deepdive_grader"
PROJECT: dict[str, Any] = tomllib.loads((ROOT / "pyproject.toml").read_text("utf-8"))["project"]
EXTRAS: dict[str, list[str]] = PROJECT["optional-dependencies"]
PUBLIC_INDEXES = {"https://download.pytorch.org/whl/cpu", "https://download.pytorch.org/whl/cu126"}
GUIDES = [
    "CONTRIBUTING.md",
    "docs/adding-a-page.md",
    "docs/adding-a-system.md",
    "docs/publishing-and-releasing.md",
    "docs/style.md",
]


def text(name: str) -> str:
    return (ROOT / name).read_text(encoding="utf-8")


@cache
def tracked() -> list[Path]:
    """Every file that is committed."""
    told = subprocess.run(
        ["git", "ls-files", "-z"], cwd=ROOT, capture_output=True, check=True, text=True
    )
    return [ROOT / name for name in told.stdout.split("\0") if name and (ROOT / name).is_file()]


@cache
def tracked_text() -> dict[str, str]:
    """Name -> content of every committed file that is text."""
    found = {}
    for path in tracked():
        try:
            found[str(path.relative_to(ROOT))] = path.read_text(encoding="utf-8")
        except UnicodeDecodeError:
            continue
    return found


# -- one list of dependencies


def pins() -> dict[str, str]:
    lines = [line for line in text("constraints.txt").splitlines() if not line.startswith("#")]
    return dict(line.split("==") for line in lines)


def listed() -> list[Requirement]:
    """Every requirement of pyproject, without those that name another extra."""
    lines = [*PROJECT["dependencies"], *(line for extra in EXTRAS.values() for line in extra)]
    return [found for line in lines if (found := Requirement(line)).name != "deepdive"]


def extras_of(line: str) -> set[str]:
    """The extras in `.[a,b]`, `-e .[a]` or `deepdive[a]`."""
    match = re.fullmatch(r"(?:-e )?(?:\.|deepdive)\[([\w,-]+)\]", line)
    assert match, f"{line!r} does not install this project with extras"
    return set(match[1].split(","))


def test_each_dependency_is_pinned_within_its_range() -> None:
    pinned = pins()
    for requirement in listed():
        version = pinned.get(canonicalize_name(requirement.name))
        assert version, f"{requirement.name} is not in constraints.txt: make constraints"
        assert requirement.specifier.contains(version), f"{requirement}, but {version} is pinned"


def test_each_range_has_a_lower_end_and_no_upper_one() -> None:
    for requirement in listed():
        operators = [specifier.operator for specifier in requirement.specifier]
        assert operators == [">="], f"{requirement}: people get a range, CI gets the pin"


def test_constraints_name_versions_and_nothing_else() -> None:
    for line in text("constraints.txt").splitlines():
        assert line.startswith("#") or re.fullmatch(r"[a-z0-9-]+==[A-Za-z0-9.!]+", line), line


def test_environment_yml_takes_its_list_from_pyproject() -> None:
    environment = yaml.safe_load(text("environment.yml"))
    python, pip, packages = environment["dependencies"]
    assert pip == "pip"
    option, torch, line = packages["pip"]
    assert option.split()[0] == "--extra-index-url"
    assert option.split()[1] in PUBLIC_INDEXES
    assert torch == "torch"
    assert extras_of(line) <= set(EXTRAS)
    version = python.removeprefix("python=")
    assert SpecifierSet(PROJECT["requires-python"]).contains(version)


def test_binder_takes_its_list_from_pyproject_and_its_versions_from_constraints() -> None:
    lines = [x for x in text("binder/postBuild").splitlines() if not x.startswith("#")]
    stops, torch, project, weights = (shlex.split(line) for line in lines)
    assert stops == ["set", "-e"]
    # Where two indexes can give a package, whoever holds its name in the other gives it.
    assert torch[torch.index("--index-url") + 1] in PUBLIC_INDEXES
    assert "--no-deps" in torch
    assert torch[-1] == "$(grep '^torch==' constraints.txt)"
    assert project[project.index("-c") + 1] == "constraints.txt"
    assert "index" not in " ".join(project)
    assert extras_of(project[-1]) <= set(EXTRAS)
    assert weights == ["deepdive", "weights", "install"]
    assert os.access(ROOT / "binder" / "postBuild", os.X_OK)
    version = text("binder/runtime.txt").strip().removeprefix("python-")
    assert SpecifierSet(PROJECT["requires-python"]).contains(version)


def test_an_extra_names_only_extras_that_exist() -> None:
    for name, lines in EXTRAS.items():
        for line in lines:
            if line.startswith("deepdive"):
                assert extras_of(line) <= set(EXTRAS) - {name}


def test_no_address_of_an_index_but_the_public_one() -> None:
    option = re.compile(r"(?:index-url|find-links|trusted-host)[ =]+(\S+)")
    for name, content in tracked_text().items():
        for found in option.findall(content):
            if "://" in found:
                assert found.strip("\"'`,") in PUBLIC_INDEXES, f"{name}: {found}"


# -- imports


def unit_of(module: str) -> str:
    """`deepdive.core.norms` -> `layers`."""
    parts = module.split(".")
    return parts[1] if len(parts) > 1 else ""


@cache
def parsed(path: Path) -> ast.Module:
    """The syntax tree of a file, which several tests walk."""
    return ast.parse(path.read_text(encoding="utf-8"))


def imported_names(path: Path, everywhere: bool) -> list[str]:
    """Names that a file imports from the library, at its top or (if `everywhere`) in any function.

    `from deepdive_book.site.pages import find` gives `deepdive_book.site.pages.find`. What stands
    under TYPE_CHECKING is for the type checker only and does not count.
    """
    tree = parsed(path)
    hidden = {
        inner
        for node in ast.walk(tree)
        if isinstance(node, ast.If) and "TYPE_CHECKING" in ast.unparse(node.test)
        for inner in ast.walk(node)
    }
    package = module_of(path).split(".")[: -1 if path.name != "__init__.py" else None]
    names: list[str] = []
    for node in ast.walk(tree) if everywhere else tree.body:
        if node in hidden:
            continue
        if isinstance(node, ast.Import):
            names += [alias.name for alias in node.names]
        elif isinstance(node, ast.ImportFrom):
            base = package[: len(package) - node.level + 1] if node.level else []
            module = ".".join([*base, *([node.module] if node.module else [])])
            names += [f"{module}.{alias.name}" for alias in node.names]
    return [name for name in names if name.split(".")[0] in (LIB.name, BOOK.name, GRADER.name)]


@cache
def graph(package: Path, everywhere: bool) -> dict[str, set[str]]:
    """unit -> units of its package that it imports. The package's own __init__ is no unit."""
    units = {path.stem if path.is_file() else path.name for path in package.iterdir()}
    found: dict[str, set[str]] = {}
    for path in package.rglob("*.py"):
        unit = path.relative_to(package).parts[0].removesuffix(".py")
        if unit != "__init__":
            names = imported_names(path, everywhere)
            own = {unit_of(name) for name in names if name.startswith(f"{package.name}.")}
            found.setdefault(unit, set()).update(own & units - {unit})
    return found


def sources() -> list[Path]:
    """Every module of the wheel and of the grader."""
    return [*LIB.parent.glob("deepdive*/**/*.py"), *GRADER.glob("*.py")]


def module_of(path: Path) -> str:
    """`lib/deepdive/core/norms.py` -> `deepdive.core.norms`."""
    top = GRADER.parent if path.is_relative_to(GRADER) else LIB.parent
    parts = [*path.relative_to(top).with_suffix("").parts]
    return ".".join(parts[:-1] if parts[-1] == "__init__" else parts)


def file_graph() -> dict[str, set[str]]:
    """file -> files that it imports, at its top or inside a function, both as module names."""
    modules = {module_of(path): path for path in sources()}
    found: dict[str, set[str]] = {}
    for module, path in modules.items():
        imports = imported_names(path, everywhere=True)
        # A name is a module itself, or else stands in the module before its last dot.
        targets = {name if name in modules else name.rpartition(".")[0] for name in imports}
        found[module] = targets & set(modules) - {module}
    return found


# The rooms, from the ground up: a room may import those before it, and none after it.
ORDER = {
    LIB: [
        "locks", "core", "positions", "_fast", "attention", "recurrent", "layers", "tokenizers",
        "audio", "data", "models", "training", "published", "decoding", "evaluate", "topics",
        "explain",
    ],
    BOOK: [
        "data", "tasks", "kit", "ch00", "ch01", "ch02", "ch03", "ch04", "ch06a", "ch05", "ch06b",
        "ch06c", "ch06d", "ch07",
        "studies", "site", "course", "cli", "__main__",
    ],
}  # fmt: skip
# Who in the library may know models: the rest sees them through hook points and tensors.
KNOW_MODELS = ("models/", "published/", "topics/")
MOST_ROOMS, MOST_FILES = 17, 2


def test_the_top_of_the_library_is_one_screen() -> None:
    rooms = [path for path in LIB.iterdir() if path.is_dir() and path.name != "__pycache__"]
    files = list(LIB.glob("*.py"))
    assert len(rooms) <= MOST_ROOMS, sorted(path.name for path in rooms)
    assert len(files) <= MOST_FILES, sorted(path.name for path in files)


def test_each_room_says_what_is_in_it() -> None:
    for path in LIB.parent.glob("deepdive*/*/__init__.py"):
        told = ast.get_docstring(ast.parse(path.read_text("utf-8"))) or ""
        assert len(told) > 60, f"{path.parent.name}: what is in the room, and where to start?"


@pytest.mark.parametrize("package", ORDER, ids=lambda path: path.name)
def test_imports_run_one_way(package: Path) -> None:
    units, order = graph(package, everywhere=True), ORDER[package]
    assert set(units) == set(order), "a room came, went or was renamed: give it its place here"
    for place, unit in enumerate(order):
        above = {later for later in units[unit] if later in order[place + 1 :]}
        assert not above, f"{unit} imports {sorted(above)}"


def test_the_library_never_imports_the_book_package() -> None:
    for path in LIB.rglob("*.py"):
        known = [n for n in imported_names(path, everywhere=True) if n.startswith(BOOK.name)]
        assert not known, f"{path.relative_to(LIB)} imports {known}: what it needs belongs below"


def test_one_interface_loads_the_grader() -> None:
    """The wheel does not contain it: the course says so where it is missing, and so does doctor."""
    naming = [
        path.relative_to(BOOK).as_posix()
        for path in sorted(BOOK.rglob("*.py"))
        if re.search(r"\"deepdive_grader|(?:from|import) deepdive_grader", path.read_text("utf-8"))
    ]
    assert naming == ["course/assignment/grader.py", "site/doctor.py"]


def test_only_models_and_what_publishes_them_import_models() -> None:
    for path in LIB.rglob("*.py"):
        name = str(path.relative_to(LIB))
        if not name.startswith(KNOW_MODELS):
            known = {unit_of(each) for each in imported_names(path, everywhere=True)}
            assert "models" not in known, f"{name} imports models"


def test_no_circle_of_imports() -> None:
    for package in ORDER:
        try:
            TopologicalSorter(graph(package, everywhere=False)).prepare()
        except CycleError as error:
            pytest.fail(f"units that import each other at their top: {' -> '.join(error.args[1])}")


def test_no_circle_of_imports_between_files_not_even_inside_a_function() -> None:
    """An import inside a function hides a circle and does not remove it."""
    try:
        TopologicalSorter(file_graph()).prepare()
    except CycleError as error:
        pytest.fail(
            f"files that import each other: {' -> '.join(error.args[1])}; "
            "move what they share to a file below both"
        )


def test_the_library_imports_no_page_and_no_test() -> None:
    outside = {"tests", "chapters", "casestudies", "benchmarks", "tools", "book"}
    for path in LIB.parent.glob("deepdive*/**/*.py"):
        for node in ast.walk(parsed(path)):
            names = [a.name for a in node.names] if isinstance(node, ast.Import) else []
            if isinstance(node, ast.ImportFrom) and not node.level:
                names = [node.module or ""]
            assert not {name.split(".")[0] for name in names} & outside, f"{path}: {names}"


def test_import_deepdive_loads_the_core_and_nothing_else() -> None:
    core = "torch, einops, numpy, safetensors.torch"
    code = f"import sys, {core}; before = set(sys.modules); import deepdive; print(*sys.modules)"
    code = code.replace("print(*sys.modules)", "print(*(set(sys.modules) - before))")
    told = subprocess.run(
        [sys.executable, "-c", code],
        env={**os.environ, "PYTHONPATH": str(LIB.parent)},
        capture_output=True,
        text=True,
        check=True,
    )
    loaded = {name.split(".")[0] for name in told.stdout.split()}
    allowed = {"deepdive", "torch", "einops", "numpy", "safetensors"} | sys.stdlib_module_names
    assert "deepdive" in loaded
    assert loaded <= allowed, sorted(loaded - allowed)


# -- files


LONGEST_FUNCTION = 60


def long_functions(source: str) -> dict[str, int]:
    """Name -> lines of the body, without its docstring, of each function that is too long."""
    found = {}
    for node in ast.walk(ast.parse(source)):
        if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef):
            body = node.body[1:] if ast.get_docstring(node) is not None else node.body
            lines = (body[-1].end_lineno or 0) - body[0].lineno + 1 if body else 0
            if lines > LONGEST_FUNCTION:
                found[node.name] = lines
    return found


def test_no_library_function_is_long() -> None:
    long = {module_of(path): long_functions(path.read_text("utf-8")) for path in sources()}
    long = {name: functions for name, functions in long.items() if functions}
    assert not long, f"bodies above {LONGEST_FUNCTION} lines: cut them into named steps: {long}"


def test_a_long_function_is_seen_and_its_docstring_does_not_count() -> None:
    docstring = '    """' + "\n" * LONGEST_FUNCTION + '    """\n'
    fits = "def fits():\n" + docstring + "    pass\n" * LONGEST_FUNCTION
    inner = "    async def inner(self):\n" + "        pass\n" * (LONGEST_FUNCTION + 1)
    assert long_functions(f"{fits}class Outer:\n{inner}") == {"inner": LONGEST_FUNCTION + 1}


# -- a system's file is its difference

LONG_MODEL, MEDIAN_MODEL = 90, 75
VERY_LONG_MODEL, VERY_LONG_MODELS = 120, 15  # so many may be that long, each with its reason


def model_files() -> dict[str, str]:
    """Name -> source of each file of a model."""
    return {
        str(path.relative_to(LIB)): path.read_text("utf-8")
        for path in sorted((LIB / "models").rglob("*.py"))
        if path.name != "__init__.py"
    }


def unexplained(source: str) -> bool:
    """Whether a file is long and its docstring has no sentence that begins with Long because."""
    docstring = ast.get_docstring(ast.parse(source)) or ""
    explained = re.search(r"^Long because \w", docstring, flags=re.MULTILINE)
    return source.count("\n") > LONG_MODEL and explained is None


def test_a_model_s_file_is_short_or_says_why_not() -> None:
    long = [name for name, source in model_files().items() if unexplained(source)]
    assert not long, f"above {LONG_MODEL} lines: move what is no difference, or say why: {long}"
    lengths = [source.count("\n") for source in model_files().values()]
    assert median(lengths) <= MEDIAN_MODEL
    assert sum(length > VERY_LONG_MODEL for length in lengths) <= VERY_LONG_MODELS


def test_a_long_model_without_a_reason_is_seen() -> None:
    lines = "x = 1\n" * LONG_MODEL
    assert not unexplained(lines)
    assert unexplained(lines + "x = 1\n")
    assert unexplained(f'"""A model."""\n{lines}')
    assert not unexplained(f'"""A model.\n\nLong because its rule has two halves.\n"""\n{lines}')


def test_no_committed_file_is_large() -> None:
    for path in tracked():
        limit = 1_000_000 if path.suffix == ".ipynb" else 500_000
        size = path.stat().st_size
        assert size <= limit, f"{path.relative_to(ROOT)}: {size} bytes, at most {limit}"


def test_nothing_names_a_folder_of_one_machine() -> None:
    folders = "|".join(["home", "root", "work", "opt", "mnt", "Users", "private"])
    absolute = re.compile(rf"(?<![\w.~)}}\]/-])/(?:{folders})/(?!me\b|you\b|c\b)[\w.-]+")
    for name, content in tracked_text().items():
        found = absolute.search(content)
        assert not found, f"{name}: {found and found[0]}"


def test_nothing_unpickles() -> None:
    """Weights and training state are safetensors: a pickle runs whatever its author wrote.

    joblib's hash pickles in memory only; its `load` and `dump` stay out.
    """
    written = {p for p in tracked() if p.suffix == ".py" and p.parts[len(ROOT.parts)] != "tests"}
    for path in written | {*LIB.rglob("*.py")}:  # tracked, or about to be
        for node in ast.walk(parsed(path)):
            names = [a.name for a in node.names] if isinstance(node, ast.Import) else []
            if isinstance(node, ast.ImportFrom):
                names = [node.module or "", *(f"{node.module}.{a.name}" for a in node.names)]
            files = {"joblib.load", "joblib.dump", "joblib.numpy_pickle"}
            bad = {"pickle", "cPickle", "cloudpickle", "dill", "shelve", *files} & set(names)
            assert not bad, f"{path}: imports {bad}"
            if isinstance(node, ast.Call) and isinstance(node.func, ast.Attribute):
                call = ast.unparse(node.func) if node.func.attr in {"load", "save", "dump"} else ""
                assert call not in {"torch.load", "torch.save", *files}, f"{path}:{node.lineno}"
            if isinstance(node, ast.keyword) and node.arg == "allow_pickle":
                assert ast.unparse(node.value) == "False", f"{path}:{node.lineno}"
    kinds = {".pt", ".pth", ".pkl", ".pickle", ".ckpt", ".bin", ".joblib"}
    assert not [path for path in tracked() if path.suffix in kinds]


def test_no_mark_is_left_to_say() -> None:
    """`deepdive new` leaves marks where only a person can speak."""
    folders = [LIB, ROOT / "tests" / "laws", ROOT / "chapters"]
    files = [*(p for f in folders for p in f.rglob("*.py")), *LIB.rglob("*.csv")]
    left = [str(p.relative_to(ROOT)) for p in files if new_system.MARK in p.read_text("utf-8")]
    assert not left, f"{new_system.MARK!r} stands in {left}"


# -- documents


def targets() -> set[str]:
    """Every target of the Makefile that a person may call."""
    line = next(x for x in text("Makefile").splitlines() if x.startswith(".PHONY:"))
    return set(line.removeprefix(".PHONY:").split())


def blocks(name: str) -> list[str]:
    """The lines of the shell blocks of a document, without comments."""
    found = re.findall(r"```sh\n(.*?)```", text(name), flags=re.DOTALL)
    lines = [line.partition("#")[0].strip() for block in found for line in block.splitlines()]
    return [line for line in lines if line]


# Read as text, that is: not where it is set, only asked for, or handed on to a canvas.
READ_STYLE = re.compile(
    r"""\.style\.(?!setProperty|getPropertyValue\(.--)(?!\w+(?:\s*=[^=]|\s\?\s|\]))\w|cssText"""
)


def test_no_test_reads_how_a_browser_writes_a_style_back() -> None:
    """It changes between versions of a browser: `browser.PLACED` and `browser.PAINTED` measure."""
    said = [
        f"{path.relative_to(ROOT)}:{n}: {line.strip()}"
        for path in sorted((ROOT / "tests").rglob("*.py"))
        if path.name != "test_colours.py"  # its examples are lines of figures
        for n, line in enumerate(path.read_text(encoding="utf-8").splitlines(), 1)
        if READ_STYLE.search(line) and not line.startswith('    r"""')
    ]
    assert not said, "\n".join(said)


def test_the_readme_says_first_what_this_is_and_shows_it() -> None:
    lines = [line for line in text("README.md").splitlines() if line]
    assert lines[0].startswith("# deepdive: ")
    shown = re.search(r"!\[(.{80,})\]\((.+\.webp)\)\n\n\*[^*]{80,}\*\n", text("README.md"))
    assert shown, "a picture, with an alternative text and a caption"
    assert "companion to *Transformers for Machine Learning" in text("README.md")[: shown.start()]
    with Image.open(ROOT / shown[2]) as picture:
        assert picture.n_frames > 10
    assert (ROOT / shown[2]).stat().st_size < 300_000
    assert [line.split()[:2] for line in blocks("README.md")[:3:2]] == [
        ["git", "clone"], ["make", "first"]
    ]  # fmt: skip
    assert (ROOT / "README.md").stat().st_size <= 9 * 1024


def test_the_readme_s_code_runs() -> None:
    code = re.search(r"```python\n(.*?)```", text("README.md"), re.DOTALL)
    assert code
    seen: dict[str, Any] = {}
    exec(code[1], seen)  # as a reader pastes it
    assert seen["weights"].shape == (1, 4, 10, 10)
    assert seen["weights"].sum(-1).allclose(seen["weights"].new_ones(1))


def test_the_readme_s_numbers_and_table_are_the_generated_ones() -> None:
    """After a new page, system, or exercise: make readme."""
    assert book_table.written(text("README.md"), ROOT) == text("README.md")


@pytest.mark.parametrize("name", ["README.md", *GUIDES])
def test_the_make_commands_of_a_document_exist(name: str) -> None:
    inline = re.findall(r"`make ([a-z-]+)", text(name))
    inside = [word for line in blocks(name) for word in re.findall(r"^make ([a-z-]+)", line)]
    assert {"run", "test"} <= {*inline, *inside} or name.startswith("docs/")
    assert {*inline, *inside} <= targets()


@pytest.mark.parametrize(
    ("asked", "marks", "left"),
    [
        ("tests", "", ["quick"]),
        ("tests/faults", "", ["quick"]),
        ("tests", "slow_fault", ["quick", "slow"]),
        ("tests/faults/test_it.py::slow", "", ["quick", "slow"]),
    ],
)
def test_a_slow_fault_is_made_only_where_it_is_asked_for(
    request: pytest.FixtureRequest, asked: str, marks: str, left: list[str]
) -> None:
    conftest = request.config.pluginmanager.get_plugin(str(ROOT / "tests" / "conftest.py"))
    assert conftest is not None
    file, gone = ROOT / "tests" / "faults" / "test_it.py", []
    items = [
        SimpleNamespace(
            name=name, path=file, get_closest_marker=lambda _, name=name: name == "slow"
        )
        for name in ("quick", "slow")
    ]
    config = SimpleNamespace(
        option=SimpleNamespace(markexpr=marks),
        args=[asked],
        invocation_params=SimpleNamespace(dir=ROOT),
        hook=SimpleNamespace(pytest_deselected=lambda items: gone.extend(items)),
    )
    conftest.pytest_collection_modifyitems(config, items)
    assert [item.name for item in items] == left
    assert len(gone) == 2 - len(left)


def test_make_help_names_every_target() -> None:
    told = subprocess.run(["make", "help"], cwd=ROOT, capture_output=True, text=True, check=True)
    named = re.findall(r"^  make ([a-z-]+) +\S", told.stdout, flags=re.MULTILINE)
    assert set(named) == targets()
    defined = re.findall(r"^([a-z-]+):", text("Makefile"), flags=re.MULTILINE)
    assert set(defined) == targets()


def test_ci_runs_the_readme_s_commands_and_nothing_else() -> None:
    lines = [x for x in text(".ci/run").splitlines() if x and not x.startswith("#")]
    *before, browser, test = lines
    assert before == ["set -euo pipefail", 'cd "$(dirname "$0")/.."']
    assert [browser, test] == ["make browser", "make test"]
    assert {browser, test} <= set(blocks("README.md"))
    assert (ROOT / ".ci" / "run").stat().st_mode & 0o111


def test_the_map_of_the_library_names_its_models_and_tokenizers() -> None:
    rooms = text("ARCHITECTURE.md").partition("```text\n")[2].partition("```")[0]
    entries = dict(re.findall(r"^(\w+) +((?:.*\n)(?:  +.*\n)*)", rooms, re.MULTILINE))
    folders = {path.parent.name for path in LIB.glob("models/*/__init__.py")}
    assert folders <= set(re.findall(r"\w+", entries["models"]))
    kinds = {path.stem for path in LIB.glob("tokenizers/*.py")}
    named = {"word": "words", "character": "characters", "byte": "bytes", "bpe": "BPE"}
    named |= {"wordpiece": "WordPiece", "unigram": "unigram", "xlmr": "XLM-R"}
    assert set(named) <= kinds
    assert all(name in entries["tokenizers"] for name in named.values())


def test_the_guides_say_what_there_is() -> None:
    assert f"more than {quick.WIDE} modules" in " ".join(text("CONTRIBUTING.md").split())
    for chapter in ROOT.glob("chapters/[0-9]*"):
        if chapter.name == "06d_applications":  # its first page only: book/use.md says so
            assert "except 6d" in text("book/use.md")
            continue
        assert (chapter / "exercises.ipynb").is_file(), "book/use.md: every chapter has exercises"
    listed = section_of(text("book/teach.md"), "The case studies ")
    studies = {path.name.split("_")[0].lstrip("0") for path in ROOT.glob("casestudies/0*.py")
               if not path.stem.endswith("_more")}  # fmt: skip
    assert set(re.findall(r"\d[ab]?", listed)) == studies


def section_of(content: str, begins: str) -> str:
    """The sentence that begins so."""
    return content.partition(begins)[2].partition(".")[0]


def test_links_between_documents_lead_somewhere() -> None:
    for path in [*ROOT.glob("*.md"), *ROOT.glob("docs/*.md")]:
        for target in re.findall(r"\]\(([^)#]+)", path.read_text("utf-8")):
            assert "://" in target or (path.parent / target).exists(), f"{path.name}: {target}"


@pytest.mark.parametrize("name", GUIDES)
def test_the_guides_name_files_modules_and_commands_that_exist(name: str) -> None:
    """Capitals stand for what a contributor names: `chapters/NN_name/KK_concept.py`."""
    words = {word for quoted in re.findall(r"`([^`\n]+)`", text(name)) for word in quoted.split()}
    words |= {word for line in blocks(name) for word in line.split()}
    places = r"(?:lib|tests|tools|book|benchmarks|\.github|\.ci)/[a-z0-9_./-]+"
    for word in words:
        if re.fullmatch(places, word):
            assert (ROOT / word).exists(), word
        elif re.fullmatch(r"deepdive(?:_book)?(?:\.\w+)+", word):
            pkgutil.resolve_name(word)
    for command in re.findall(r"`deepdive ([a-z]+)", text(name)):
        assert command in cli.main.list_commands(click.Context(cli.main)), command


def test_the_first_guide_is_short_and_leads_to_the_others() -> None:
    assert len(text("CONTRIBUTING.md").splitlines()) <= 60
    linked = set(re.findall(r"\]\((docs/[^)#]+)", text("CONTRIBUTING.md")))
    assert linked == {*GUIDES[1:]}


def wrong_release(version: str, headings: list[str], tags: list[str]) -> str:
    """What is wrong with a version, the changelog and the tags of its commit; or nothing."""
    first, *released = headings
    if first != "Unreleased":
        return f"the changelog begins with {first!r}, not with what is not released"
    dated = [re.fullmatch(r"(\d+\.\d+\.\d+) - \d{4}-\d\d-\d\d", heading) for heading in released]
    if None in dated:
        return f"{released[dated.index(None)]!r} is not 'X.Y.Z - YYYY-MM-DD'"
    versions = [Version(found[1]) for found in dated if found]
    if versions != sorted(set(versions), reverse=True):
        return "the newest version does not stand first"
    if versions and Version(version) < versions[0]:
        return f"the version is {version}, the changelog has released {versions[0]}"
    if tags and tags != [f"v{version}"]:
        return f"the commit is tagged {tags}, its version is {version}"
    if tags and (not versions or Version(version) != versions[0]):
        return f"{version} is tagged, and the changelog does not begin with it"
    return ""


@pytest.mark.parametrize(
    ("headings", "tags", "fault"),
    [
        (["Unreleased"], [], ""),
        (["Unreleased", "1.2.0 - 2026-01-31", "1.1.9 - 2026-01-30"], ["v1.2.0"], ""),
        (["1.2.0 - 2026-01-31"], [], "begins with"),
        (["Unreleased", "1.2.0"], [], "is not 'X.Y.Z"),
        (["Unreleased", "1.1.9 - 2026-01-30", "1.1.10 - 2026-01-31"], [], "newest"),
        (["Unreleased", "1.3.0 - 2026-01-31"], [], "has released 1.3.0"),
        (["Unreleased", "1.2.0 - 2026-01-31"], ["v1.2.1"], "is tagged"),
        (["Unreleased"], ["v1.2.0"], "does not begin with it"),
    ],
)
def test_a_wrong_release_is_named(headings: list[str], tags: list[str], fault: str) -> None:
    found = wrong_release("1.2.0", headings, tags)
    assert fault in found
    assert bool(found) == bool(fault)


def test_this_version_its_changelog_and_its_tag_agree() -> None:
    headings = re.findall(r"^## (.+)$", text("CHANGELOG.md"), flags=re.MULTILINE)
    asked = ["git", "tag", "--points-at", "HEAD", "--list", "v*"]
    told = subprocess.run(asked, cwd=ROOT, capture_output=True, text=True, check=True)
    assert not wrong_release(deepdive.__version__, headings, told.stdout.split())


def test_licences_and_version_agree() -> None:
    assert text("LICENSE").startswith("MIT License")
    assert "https://creativecommons.org/licenses/by/4.0/legalcode" in text("LICENSE-text")
    citation = yaml.safe_load(text("CITATION.cff"))
    assert citation["version"] == deepdive.__version__
    assert citation["license"] == ["MIT", "CC-BY-4.0"]
    assert PROJECT["license"] == "MIT"


def test_hooks_are_local() -> None:
    hooks = yaml.safe_load(text(".pre-commit-config.yaml"))
    assert [repository["repo"] for repository in hooks["repos"]] == ["local"]


def test_committed_notebooks_name_no_machine() -> None:
    for path in [p for p in tracked() if p.suffix == ".ipynb"]:
        kernel = json.loads(path.read_text(encoding="utf-8"))["metadata"].get("kernelspec", {})
        assert kernel.get("name", "python3") == "python3", f"{path.name}: {kernel}"
